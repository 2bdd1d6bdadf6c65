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

TEST_CASE("nodes that make a layer have its error in the page and in DOT, others keep their look") {
  Plan plan = made_plan(4, 2, 2);
  plan.nodes[1].precision = "int8", plan.nodes[1].precision_why = "int8 by --precision";
  const std::vector<LayerFigures> layers = {{"t", plan.nodes[1].name, "Conv", "u8 0.5 128", 0.25, {25.04, 0.99}, ErrorFigures{41, 0.999}}};
  const Json data = data_of(*view::to_html(plan, {}, nullptr, layers));
  CHECK_FALSE(data["nodes"][0].contains("e"));
  CHECK_FALSE(data["nodes"][0].contains("p"));
  const Json& error = data["nodes"][1]["e"];
  CHECK(error[0] == "25.0 dB");
  CHECK(error[1] == "#e69f00");
  CHECK(data["texts"][error[2].get<size_t>()] == "25.0 dB from the model's inputs on, 41.0 dB of its own; codes u8 0.5 128; 25 % saturated");
  CHECK(data["texts"][data["nodes"][1]["p"].get<size_t>()] == "int8 (int8 by --precision)");
  CHECK(view::to_dot(plan, layers).find(plan.nodes[1].op_type + "  25.0 dB") != std::string::npos);
  CHECK(view::to_dot(plan).find(" dB") == std::string::npos);
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

TEST_CASE("a body is a part of the page with a frame, and a cluster inside its node's in DOT") {
  const Plan plan = made_plan_with_body();
  const Result<std::string> page = view::to_html(plan);
  REQUIRE(page.ok());
  const Json data = data_of(*page);
  CHECK(data["nodes"].size() == 9);
  CHECK(data["subgraphs"].size() == count_subgraphs(plan));
  CHECK(data["bytes"] == plan.bytes + plan.bodies[0].plan.bytes);
  CHECK(data["devices"].size() == 3);
  REQUIRE(data["parts"].size() == 2);
  CHECK(data["parts"][1][0] == "loop/body");
  CHECK(data["parts"][1][1] == 2);
  CHECK(data["parts"][1][2] == "5 trips");
  CHECK(data["parts"][1][3] == 3);
  REQUIRE(data["frames"].size() == 1);
  for (size_t n = 5; n < 9; ++n) {
    CHECK(data["nodes"][n]["n"].get<std::string>().starts_with("loop/body/"));
    CHECK(data["nodes"][n]["s"] >= 3);
    CHECK(data["nodes"][n]["a"].size() == 3);
  }
  const auto& frame = data["frames"][0];
  size_t inside = 0;
  for (const Json& item : data["items"])  // no box of the main graph is in the frame, all of the body's are
    inside += item[2] > frame[1] && item[2] < frame[1].get<int>() + frame[3].get<int>() && item[3] > frame[2] &&
              item[3] < frame[2].get<int>() + frame[4].get<int>();
  size_t of_body = 0;
  for (const Json& item : data["items"]) of_body += item[0] == 0 ? item[1] >= 5 : item[1] >= 6;
  CHECK(inside == of_body);

  const std::string dot = view::to_dot(plan);
  const size_t holder = dot.find("subgraph cluster_1 {"), body = dot.find("subgraph cluster_body_1 {"), after = dot.find("subgraph cluster_2 {");
  CHECK(holder < body);
  CHECK(body < after);
  CHECK(dot.find("label=\"body loop/body, 5 trips\"") != std::string::npos);
  CHECK(dot.find("lhead=cluster_body_1") != std::string::npos);
  CHECK(view::to_model_explorer(plan)["results"].size() == 9);
  if (std::system("command -v dot >/dev/null") != 0) {
    MESSAGE("SKIP: Graphviz is not here, so its drawing of nested clusters is not checked");
    return;
  }
  const Result<std::string> svg = view::draw(dot, "svg");
  REQUIRE(svg.ok());
  CHECK(svg->find("body loop/body, 5 trips") != std::string::npos);
}

TEST_CASE("a clone is a box of its own in its subgraph, and its reader there is joined to it") {
  Plan plan = made_plan_with_body();
  clone_for(plan, 1, 3);  // node 2, on the host, still reads node 1's tensor over the cut
  plan.tensors[2].to = {2, 3};
  plan.cuts = {{plan.tensors[2].name, 2, 0, {1}, 16}, {plan.tensors[3].name, 3, 1, {2}, 16}};
  plan.tensors[1].to = {1}, plan.tensors[3].to = {3}, plan.tensors[4].to = {4}, plan.tensors[0].to = {0};
  const Result<std::string> page = view::to_html(plan);
  REQUIRE(page.ok());
  const Json data = data_of(*page);
  const auto item = [&](int kind, int index) {
    for (size_t i = 0; i < data["items"].size(); ++i)
      if (data["items"][i][0] == kind && data["items"][i][1] == index) return i;
    FAIL("no item of kind " << kind << " and index " << index);
    return size_t{0};
  };
  const auto joined = [&](size_t from, size_t to) {
    return std::any_of(data["lines"].begin(), data["lines"].end(), [&](const Json& line) { return line[0] == from && line[1] == to; });
  };
  const size_t clone = item(4, 1), home = item(0, 1);
  CHECK(data["items"][clone][4] == 2);
  CHECK(joined(clone, item(0, 3)));
  CHECK_FALSE(joined(home, item(0, 3)));
  CHECK(joined(item(1, 2), item(0, 2)));  // over the cut tensor
  const std::string dot = view::to_dot(plan);
  CHECK(dot.find("c2_1 [label=\"" + plan.nodes[1].op_type + "\\nclone of " + plan.nodes[1].name) != std::string::npos);
  CHECK(dot.find("  c2_1 -> n3;") != std::string::npos);
}

TEST_CASE("estimated times and the rows of what if are in the page where there are any") {
  Plan plan = made_plan(6, 2, 2);
  REQUIRE(view::to_html(plan).ok());
  CHECK_FALSE(data_of(*view::to_html(plan)).contains("time"));
  plan.estimate = PlanEstimate{100, 20, 3, 90, {{60, 10, 1, 5, 200.0}, {40, 10, 2, 5, {}}}};
  plan.nodes[1].answers[0].microseconds = 12.5;
  plan.nodes[1].answers[0].cost_source = "profile";
  const WhatIfReport report{3, 64, 123.0, true, {{"KIND1:0", "Conv", "DTYPE", 2, plan.nodes[1].name, "wanted f16", 1, 0, 23.0, "scaled"}}};
  const Json data = data_of(*view::to_html(plan, {}, &report));
  CHECK(data["time"]["total"] == 123);
  CHECK(data["time"]["devices"][0] == Json::array({75, 1, 200}));
  CHECK(data["nodes"][1]["a"][0][3] == 12.5);
  CHECK(data["texts"][data["nodes"][1]["a"][0][4].get<size_t>()] == "profile");
  CHECK(data["whatIf"]["cases"][0]["saved_microseconds"] == 100);
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
    CHECK(overlay["results"][node.name]["bgColor"] == view::tint(view::looks_of(plan)[node.device].colour, 0.55));
  }
}

TEST_CASE("up to 49 devices differ in colour or pattern, up to seven in both, and always in their letter") {
  std::set<std::string> both, letters;
  std::set<std::string_view> colours, patterns;
  const std::vector<view::Look> looks = view::looks_of(made_plan(100, 64, 1)), seven = view::looks_of(made_plan(20, 7, 1)), many = view::looks_of(made_plan(60, 49, 1));
  for (const view::Look& look : seven) colours.insert(look.colour), patterns.insert(look.pattern);
  for (const view::Look& look : many) both.insert(cat(look.colour, look.pattern));
  for (const view::Look& look : looks) letters.insert(look.letter);
  CHECK(colours.size() == 7);
  CHECK(patterns.size() == 7);
  CHECK(both.size() == 49);
  CHECK(letters.size() == 64);
  CHECK(looks[25].letter == "Z");
  CHECK(looks[26].letter == "AA");
}

TEST_CASE("a device keeps its colour and pattern from plan to plan, whatever stands beside it") {
  const Plan three = made_plan(12, 3, 2);
  const std::vector<view::Look> looks = view::looks_of(three);
  Plan turned = three;
  std::reverse(turned.devices.begin(), turned.devices.end());
  const std::vector<view::Look> other = view::looks_of(turned);
  for (size_t d = 0; d < 3; ++d) CHECK((other[2 - d].colour == looks[d].colour && other[2 - d].pattern == looks[d].pattern));
  std::set<std::string_view> alone;
  for (size_t d = 0; d < 3; ++d) {
    Plan one = three;
    one.devices = {three.devices[d]};
    alone.insert(view::looks_of(one)[0].colour);
    if (alone.size() == d + 1) CHECK(view::looks_of(one)[0].colour == looks[d].colour);  // no two of them want the same
  }
  CHECK(alone.size() > 1);
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
  const Plan with_body = made_plan_with_body();
  const std::string of_body = cat(R"({"traceEvents":[{"name":"x","cat":"SubgraphExecute","ts":0,"dur":1,"tid":0,"args":{"index":3}}]})");
  CHECK(view::read_trace(f.file("b.json", of_body), with_body).ok());
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
