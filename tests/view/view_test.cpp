// SPDX-License-Identifier: Apache-2.0
#include "core/view/view.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/support/text.hpp"
#include "core/view/palette.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/view/plans.hpp"

using namespace optima;
using namespace optima::test;

namespace {

Json data_of(const std::string& page) {
  const std::string from = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(from) + from.size();
  const Result<Json> json = parse_json(page.substr(begin, page.find("</script>", begin) - begin), "data");
  INFO(json.status().message());
  REQUIRE(json.ok());
  return *json;
}

Plan hostile_plan() {
  Plan plan = made_plan(3, 2, 2);
  plan.model_name = "</title><script>bad()</script>";
  plan.nodes[0].name = "</script><script>bad()</script>";
  plan.nodes[1].name = "a\"b'c\\d\ne\x01 <!-- \xC3\xA4\xE4\xB8\xAD";
  plan.nodes[2].sentence = "{{DATA}} &lt;b&gt;";
  return plan;
}

}  // namespace

TEST_CASE("the page holds every node, tensor, subgraph and device, and says what the plan says") {
  const Plan plan = made_plan(40, 3, 8);
  const Result<std::string> page = view::to_html(plan);
  REQUIRE(page.ok());
  const Json data = data_of(*page);
  CHECK(data["nodes"].size() == 40);
  CHECK(data["tensors"].size() == 41);
  CHECK(data["subgraphs"].size() == plan.subgraphs.size());
  CHECK(data["devices"].size() == 3);
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    CHECK(data["nodes"][n]["n"] == plan.nodes[n].name);
    CHECK(data["texts"][data["nodes"][n]["t"].get<size_t>()] == plan.nodes[n].sentence);
    for (size_t d = 0; d < 3; ++d) CHECK(data["texts"][data["nodes"][n]["a"][d][2].get<size_t>()] == plan.nodes[n].answers[d].text);
  }
  CHECK(*page == *view::to_html(plan));
}

TEST_CASE("the page asks for nothing outside itself") {
  const Result<std::string> page = view::to_html(made_plan(5, 2, 2));
  REQUIRE(page.ok());
  for (const char* way : {" src=", " href=", "url(", "@import", "fetch(", "XMLHttpRequest", "import("}) {
    CAPTURE(way);
    CHECK(page->find(way) == std::string::npos);
  }
  CHECK(page->find("default-src 'none'") != std::string::npos);
}

TEST_CASE("no name ends the element it stands in, or changes on its way into the page") {
  const Plan plan = hostile_plan();
  const Result<std::string> page = view::to_html(plan);
  REQUIRE(page.ok());
  size_t scripts = 0;
  for (size_t at = 0; (at = page->find("</script>", at)) != std::string::npos; ++at) ++scripts;
  CHECK(scripts == 2);
  CHECK(page->find("<title>&lt;/title>") != std::string::npos);
  const Json data = data_of(*page);
  for (size_t n = 0; n < 3; ++n) CHECK(data["nodes"][n]["n"] == plan.nodes[n].name);
  CHECK(data["texts"][data["nodes"][2]["t"].get<size_t>()] == plan.nodes[2].sentence);
}

TEST_CASE("DOT escapes names, has a cluster per subgraph, and Graphviz draws it") {
  const Plan plan = hostile_plan();
  const std::string dot = view::to_dot(plan);
  CHECK(dot.find(R"(a\"b'c\\d?e? <!-- )") != std::string::npos);
  for (size_t s = 0; s < plan.subgraphs.size(); ++s) CHECK(dot.find(cat("subgraph cluster_", s, " {")) != std::string::npos);
  if (std::system("command -v dot >/dev/null") != 0) {
    MESSAGE("SKIP: Graphviz is not here, so its drawing of the DOT text is not checked");
    return;
  }
  const Result<std::string> svg = view::draw(dot, "svg"), png = view::draw(dot, "png");
  REQUIRE(svg.ok());
  CHECK(svg->find("</svg>") != std::string::npos);
  CHECK(svg->find("<script") == std::string::npos);
  REQUIRE(png.ok());
  CHECK(png->starts_with("\x89PNG"));
}

TEST_CASE("without Graphviz an SVG is one clear error that says what else there is") {
  const char* path = std::getenv("PATH");
  const std::string before = path ? path : "";
  ::setenv("PATH", "/nowhere", 1);
  const Result<std::string> svg = view::draw("digraph {}", "svg");
  ::setenv("PATH", before.c_str(), 1);
  CHECK(svg.status().kind() == StatusKind::Plugin);
  CHECK(svg.status().message().find("install the package 'graphviz'") != std::string::npos);
}

TEST_CASE("the overlay colours every node by name with its device") {
  const Plan plan = made_plan(9, 3, 2);
  const Json overlay = view::to_model_explorer(plan);
  CHECK(overlay["results"].size() == 9);
  for (const PlacedNode& node : plan.nodes) {
    CHECK(overlay["results"][node.name]["value"] == plan.devices[node.device].name);
    CHECK(overlay["results"][node.name]["bgColor"] == view::tint(view::look_of(node.device).colour, 0.55));
  }
}

TEST_CASE("up to 49 devices differ in colour or pattern, up to seven in both, and always in their letter") {
  std::set<std::string> both, letters;
  std::set<std::string_view> colours, patterns;
  for (uint32_t d = 0; d < 64; ++d) {
    const view::Look look = view::look_of(d);
    if (d < 7) colours.insert(look.colour), patterns.insert(look.pattern);
    if (d < 49) both.insert(cat(look.colour, look.pattern));
    letters.insert(look.letter);
  }
  CHECK(colours.size() == 7);
  CHECK(patterns.size() == 7);
  CHECK(both.size() == 49);
  CHECK(letters.size() == 64);
  CHECK(view::look_of(25).letter == "Z");
  CHECK(view::look_of(26).letter == "AA");
}

TEST_CASE("a trace is checked against the plan") {
  const TempFolder f;
  const Plan plan = made_plan(4, 2, 2);
  const auto trace = [&](const std::string& index, const std::string& category = "SubgraphExecute") {
    return view::read_trace(f.file("t.json", cat(R"({"traceEvents":[{"name":"late","cat":")", category, R"(","ph":"X","ts":5,"dur":2.5,"pid":1,"tid":0,"args":{"index":)", index,
                                                 R"(}},{"name":"early","cat":"Wait","ph":"X","ts":1,"dur":1,"pid":1,"tid":0,"args":{"index":7}}]})")),
                            plan);
  };
  const auto good = trace("0");
  REQUIRE(good.ok());
  CHECK((*good)[0].name == "early");
  CHECK((*good)[1].duration_us == 2.5);
  const std::string wrong = trace("99").status().message();
  CHECK(wrong.find("traceEvents[0]: found subgraph 99, the plan of 'made' has ") != std::string::npos);
  CHECK(view::read_trace(f.file("u.json", "[]"), plan).status().kind() == StatusKind::InvalidInput);
  const Result<std::string> page = view::to_html(plan, *good);
  REQUIRE(page.ok());
  CHECK(data_of(*page)["trace"].size() == 2);
}

TEST_CASE("a plan without tensors is not drawn as a page, and says what to do") {
  Plan plan = made_plan(3, 1, 1);
  plan.tensors.clear();
  CHECK(view::to_html(plan).status().message() ==
        "the plan of 'made' lists no tensors, it was written by an older version; write it again with 'plan -o'");
  CHECK(view::to_html(Plan{}).ok());
}
