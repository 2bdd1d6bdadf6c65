// SPDX-License-Identifier: Apache-2.0
// Plans as files: edited and followed, compared, drawn, asked what if.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

void good(const Ran& r) {
  CAPTURE(r.out);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
}

std::string digits_plan(const TempFolder& f) {
  good(host({"plan", digits_model(), "--alloc", digits_allocation(), "-o", f / "plan.json"}));
  return f / "plan.json";
}

std::string start_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string out(64, '\0');
  in.read(out.data(), 64);
  out.resize(static_cast<size_t>(in.gcount()));
  return out;
}

}  // namespace

TEST_CASE("a plan edited by hand compiles, and diff says what moved") {
  const TempFolder f;
  const std::string plan = digits_plan(f);
  good(host({"compile", digits_model(), "--plan", plan, "-o", f / "same"}));
  good(host({"diff", plan, f / "same/digits"}));
  Result<Json> json = read_json(plan);
  REQUIRE(json.ok());
  for (Json& node : (*json)["nodes"])
    if (node["name"] == "/Softmax") node["device"] = "X64:0";
  const std::string edited = f.file("edited.json", to_text(*json));
  good(host({"compile", digits_model(), "--plan", edited, "-o", f / "out"}));
  good(host({"compare", digits_model(), f / "out/digits", "--image", digit_picture(4)}));
  const Ran r = host({"diff", plan, f / "out/digits"});
  CHECK(r.code == 6);
  CHECK(r.out.find("1 of 16 nodes moved; subgraphs 4 -> 3") != std::string::npos);
  CHECK(r.out.find("'/Softmax'  Softmax  REF:0 -> X64:0") != std::string::npos);
  CHECK(r.err == "optima-host: error: the plans differ: 1 nodes moved, 0 renumbered, 0 in one of them only\n");
  const Result<Json> document = parse_json(host({"diff", plan, f / "out/digits", "--json"}).out, "stdout");
  REQUIRE(document.ok());
  CHECK((*document)["moved"] == 1);
}

TEST_CASE("--plan goes alone, and a plan of another model is refused") {
  const TempFolder f;
  const std::string plan = digits_plan(f);
  const Ran both = host({"plan", digits_model(), "--plan", plan, "--device", "REF:0"});
  CHECK(both.code == 2);
  CHECK(both.err == "optima-host: error: --plan says where every node goes, found --device with it\n");
  const Ran other = host({"plan", f.file("tiny.onnxtxt", kTiny), "--plan", plan});
  CHECK(other.code == 3);
  CHECK(other.err.find("is a plan of another model: found hash ") != std::string::npos);
}

TEST_CASE("a placement becomes a short allocation that means the same") {
  const TempFolder f;
  const std::string plan = digits_plan(f);
  good(host({"alloc", digits_model(), "--from", plan, "-o", f / "short.json"}));
  const Result<Json> shortened = read_json(f / "short.json");
  REQUIRE(shortened.ok());
  CHECK((*shortened)["*"] == "llvm_cpu/X64:0");
  CHECK((*shortened)["/widen/*"] == "reference/REF:0");
  CHECK(shortened->size() == 3);
  good(host({"plan", digits_model(), "--alloc", f / "short.json", "-o", f / "again.json"}));
  good(host({"diff", plan, f / "again.json"}));
  CHECK(host({"alloc", digits_model()}).code == 2);
}

TEST_CASE("view writes what the suffix says") {
  const TempFolder f;
  const std::string plan = digits_plan(f);
  good(host({"view", plan, "-o", f / "p.html"}));
  CHECK(start_of(f / "p.html").starts_with("<!DOCTYPE html>"));
  good(host({"view", plan, "-o", f / "p.dot"}));
  CHECK(start_of(f / "p.dot").starts_with("digraph \"digits\""));
  good(host({"view", plan, "-o", f / "p.json"}));
  const Result<Json> overlay = read_json(f / "p.json");
  REQUIRE(overlay.ok());
  CHECK((*overlay)["results"]["/Softmax"]["value"] == "REF:0");
  CHECK(host({"view", plan}).code == 2);
  CHECK(host({"view", plan, "-o", f / "p.gif"}).err == "optima-host: error: -o: found suffix '.gif', wanted .html, .dot, .svg, .png or .json\n");
  CHECK(host({"view", f / "nothing", "-o", f / "p.html"}).code == 3);
  if (std::system("command -v dot >/dev/null") != 0) {
    MESSAGE("SKIP: Graphviz is not here, so no SVG is drawn");
    return;
  }
  good(host({"view", plan, "-o", f / "p.svg"}));
  CHECK(start_of(f / "p.svg").starts_with("<?xml"));
}

TEST_CASE("view shows the timeline of a traced run") {
  const TempFolder f;
  good(host({"compile", digits_model(), "--alloc", digits_allocation(), "-o", f / "out"}));
  good(host({"run", f / "out/digits", "--image", digit_picture(1), "--trace", f / "trace.json"}));
  good(host({"view", f / "out/digits", "-o", f / "p.html", "--trace", f / "trace.json"}));
  std::ifstream in(f / "p.html");
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  CHECK(page.find("SubgraphExecute") != std::string::npos);
  CHECK(host({"view", f / "out/digits", "-o", f / "p.dot", "--trace", f / "trace.json"}).code == 2);
}

TEST_CASE("explain --what-if ranks what a device refuses") {
  const TempFolder f;
  good(host({"plan", f.file("tiny.onnxtxt", kTiny), "--device", "null/NULL:0,REF:0", "-o", f / "plan.json"}));
  const Ran r = host({"explain", f / "plan.json", "--what-if", "--json"});
  good(r);
  const Result<Json> json = parse_json(r.out, "stdout");
  REQUIRE(json.ok());
  CHECK((*json)["cases"].size() >= 1);
  CHECK((*json)["cases"][0]["device"] == "NULL:0");
  CHECK(host({"explain", f / "plan.json", "node", "--what-if"}).code == 2);
}
