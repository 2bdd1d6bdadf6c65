// SPDX-License-Identifier: Apache-2.0
// Operators that a plugin brings, in the hands of the real host: what they compute, when they are folded, and with --dim and --shape.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::string kOpsets = R"(<ir_version: 10, opset_import: ["" : 21, "test.own" : 1]> )";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The host with the plugin of own_operators/ alone.
Ran own_host(std::vector<std::string> words) {
  words.insert(words.begin(), {host_program(), "--plugins", OPTIMA_BINARY_DIR "/test_plugins/own"});
  return run(words);
}

struct Models {
  TempFolder f;
  std::string file(const std::string& name, const std::string& graph) const { return f.file(name + ".onnxtxt", kOpsets + graph); }
  /// x[2,3] -> the nodes -> y[2,3], planned for the plugin's device; the operators that are left.
  std::vector<std::string> planned(const std::string& nodes, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"plan", file("m", nodes), "--device", "OWN:0", "-o", f / "plan.json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran r = own_host(words);
    INFO(r.out << r.err);
    REQUIRE(r.code == 0);
    const Result<Json> plan = parse_json(get(f / "plan.json"), "plan.json");
    REQUIRE(plan.ok());
    std::vector<std::string> out;
    for (const Json& node : (*plan)["nodes"]) out.push_back(node["op"]);
    return out;
  }
};

/// What `compare` of a model of one such node with itself says.
Ran compared(const std::string& node) {
  const Models m;
  const std::string path = m.file("m", "g (float[2,3] x) => (float[2,3] y) { " + node + " }");
  return own_host({"compare", path, path});
}

}  // namespace

TEST_CASE("function bodies and evaluators compute what the same model of plain operators computes") {
  const Models m;
  const std::string own = m.file("own", R"(g (float[2,3] x) => (float[2,3] a, float[2,3] b, float[2,3] c, float[2,3] d, float[2,3] e, float[2,3] f) {
    a = test.own.Twice (x)  b = test.own.Twice <by = -3.0> (x)  c = test.own.Cube (x)  d = test.own.Both <by = 0.5> (x)
    least = Constant <value_float = 0.25> ()  e, f = test.own.Ends (x, least) })");
  const std::string plain = m.file("plain", R"(g (float[2,3] x) => (float[2,3] a, float[2,3] b, float[2,3] c, float[2,3] d, float[2,3] e, float[2,3] f) {
    two = Constant <value_float = 2.0> ()  three = Constant <value_float = -3.0> ()  half = Constant <value_float = 0.5> ()
    a = Mul (x, two)  b = Mul (x, three)  s = Mul (x, x)  c = Mul (s, x)  d = Mul (c, half)
    least = Constant <value_float = 0.25> ()  e = Neg (x)  f = Clip (x, least) })");
  const Ran r = own_host({"compare", plain, own, "--input", "x=random:7"});
  INFO(r.out << r.err);
  CHECK(r.code == 0);
  const Ran shaped = own_host({"compare", plain, own, "--shape", "x=2,3"});
  INFO(shaped.out << shaped.err);
  CHECK(shaped.code == 0);
}

TEST_CASE("an absent optional input and an output that nobody reads are absent in the function body") {
  const Models m;
  const std::string own = m.file("own", "g (float[2,3] x) => (float[2,3] y) { \"\", y = test.own.Ends (x) }");
  const std::string plain = m.file("plain", "g (float[2,3] x) => (float[2,3] y) { y = Identity (x) }");
  const Ran r = own_host({"compare", plain, own});
  INFO(r.out << r.err);
  CHECK(r.code == 0);
}

TEST_CASE("own operators compute inside bodies, too") {
  const Models m;
  const std::string own = m.file("own", R"(g (bool c, float[2,3] x) => (float[2,3] y) {
    y = If (c) <then_branch = t () => (float[2,3] a) { a = test.own.Cube (x) }, else_branch = e () => (float[2,3] b) { b = test.own.Twice (x) }> })");
  const std::string plain = m.file("plain", R"(g (bool c, float[2,3] x) => (float[2,3] y) {
    two = Constant <value_float = 2.0> ()
    y = If (c) <then_branch = t () => (float[2,3] a) { s = Mul (x, x)  a = Mul (s, x) }, else_branch = e () => (float[2,3] b) { b = Mul (x, two) }> })");
  for (const char* seed : {"c=random:1", "c=random:2", "c=random:3", "c=random:4"}) {
    const Ran r = own_host({"compare", plain, own, "--input", seed, "--input", "x=random:5"});
    INFO(r.out << r.err);
    CHECK(r.code == 0);
  }
}

TEST_CASE("a function body that is none, and an evaluator that fails, is one sentence that names plugin, operator and mistake") {
  const std::string at = "optima-host: error: ";
  const std::pair<const char*, const char*> cases[] = {
      {"y = test.own.Garbage (x)", "function body of test.own::Garbage: the text does not parse"},
      {"y = test.own.Further (x)", "function body of test.own::Further: the text goes on behind the function"},
      {"y = test.own.Other (x)", "function body of test.own::Other: the text is of test.own::Twice, wanted test.own::Other"},
      {"y = test.own.Narrow (x, x)", "function body of test.own::Narrow: the function has 1 inputs, the node has 2"},
      {"y, z = test.own.Single (x)", "function body of test.own::Single: the function has 1 outputs, the node has 2"},
      {"y = test.own.Myself (x)", "function body of test.own::Myself: the function holds itself"},
      {"y = test.own.Ping (x)", "it comes back to itself: test.own::Ping > test.own::Pong > test.own::Ping"},
      {"y = test.own.Strange (x)", "function body of test.own::Strange: "},
      {"y = test.own.Loose (x)", "function body of test.own::Loose: "},
      {"y = test.own.Squeezed (x)", "output 0 has shape [], the graph says [2, 3]"},
      {"y = test.own.Liar (x)", "output 0 has shape [2, 4], the graph says [2, 3]"},
      {"y = test.own.Faulty (x)", "plugin 'own_operators': evaluate: the simulator is gone"},
      {"y = test.own.Mute (x)", "plugin 'own_operators': evaluate: it made no output 0"},
      {"y = test.own.Eager (x)", "plugin 'own_operators': evaluate: for output 0 it called alloc twice"},
      {"y = test.own.Negative (x)", "plugin 'own_operators': evaluate: for output 0 it wants an impossible shape"},
  };
  for (const auto& [node, sentence] : cases) {
    const Ran r = compared(node);
    CAPTURE(node);
    CAPTURE(r.err);
    CHECK(r.code == 5);
    CHECK(has(r.err, sentence));
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  }
}

TEST_CASE("an operator with neither body nor evaluator is named by a comparison, as one inside a body of another") {
  const Ran bare = compared("y = test.own.Bare (x)");
  CHECK(bare.code == 4);
  CHECK(has(bare.err, "operator test.own::Bare has no reference evaluator: plugin 'own_operators' gives neither a function body nor an evaluator for it"));
  const Ran inside = compared("y = test.own.OfBare (x)");
  CHECK(inside.code == 4);
  CHECK(has(inside.err, "operator test.own::Bare has no reference evaluator"));
}

TEST_CASE("nodes of constants are folded by function bodies and evaluators; what is stateful, or nobody computes, stays") {
  const Models m;
  const auto left = [&](const std::string& op) {
    return m.planned("g (float[2,3] x) => (float[2,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { c = test.own." + op + " (w)  y = Add (x, c) }");
  };
  CHECK(left("Twice") == std::vector<std::string>{"Add"});
  CHECK(left("Cube") == std::vector<std::string>{"Add"});
  CHECK(left("Both") == std::vector<std::string>{"Add"});
  CHECK(left("Counter") == std::vector<std::string>{"Counter", "Add"});
  CHECK(left("Bare") == std::vector<std::string>{"Bare", "Add"});
  CHECK(left("OfBare") == std::vector<std::string>{"OfBare", "Add"});
  const Ran wrong = own_host({"plan", m.file("w", "g (float[2,3] x) => (float[2,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { c = test.own.Liar (w)  y = Add (x, c) }"),
                              "--device", "OWN:0"});
  CHECK(wrong.code == 5);
  CHECK(has(wrong.err, "output 0 has shape [2, 4], the graph says [2, 3]"));
}

TEST_CASE("--dim and --shape are taken for models with own operators, with the plugin and without it") {
  const Models m;
  const std::string graph = "g (float[n,3] x) => (float[n,3] y, float[n,3] z) { h = Relu (x)  k = test.own.Bare (h)  y = Neg (k)  z = test.own.Bare (y) }";
  for (const auto& more : {std::vector<std::string>{"--dim", "n=4"}, std::vector<std::string>{"--shape", "x=4,3"}}) {
    CHECK(m.planned(graph, more) == std::vector<std::string>{"Relu", "Bare", "Neg", "Bare"});
    const Result<Json> plan = parse_json(get(m.f / "plan.json"), "plan.json");
    REQUIRE(plan.ok());
    CHECK(has(plan->dump(), "[4,3]"));
    const Ran inspected = own_host({"inspect", m.f / "m.onnxtxt", more[0], more[1]});
    INFO(inspected.out << inspected.err);
    CHECK(inspected.code == 0);
    CHECK(has(inspected.out, "f32[4,3]"));
  }
}

TEST_CASE("operators of a plugin whose file was refused name the file and the reason") {
  const Models m;
  const std::string path = m.file("m", "g (float[2,3] x) => (float[2,3] y) { y = test.own.Twice (x) }"), open = m.f / "open";
  std::filesystem::copy(OPTIMA_BINARY_DIR "/test_plugins/own", open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  const Ran r = run({host_program(), "--plugins", open, "compare", path, path});
  CAPTURE(r.err);
  CHECK(r.code != 0);
  CHECK(has(r.err, "no plugin brings domain test.own; '" + open + "/"));
  CHECK(has(r.err, "' brings it and was refused: lies in the folder '" + open + "', which is writable by everybody (chmod o-w it)"));
  CHECK(run({host_program(), "--plugins", open, "--allow-writable-plugins", "compare", path, path}).code == 0);
}
