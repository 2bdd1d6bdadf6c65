// SPDX-License-Identifier: Apache-2.0
// Every ONNX node test whose operators the reference has, imported by onnx_io and run by the reference.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/onnx_io/onnx_io.hpp"
#include "reference/ops/table.hpp"
#include "tests/conformance/node_case.hpp"

using namespace optima;
using namespace optima::test;

namespace {

enum class Outcome { Passed, Skipped, Failed };
struct Result1 {
  Outcome outcome;
  std::string why;
};

/// "name reason" per line; '#' begins a comment.
std::map<std::string, std::string> exceptions() {
  std::ifstream in(OPTIMA_SOURCE_DIR "/tests/conformance/reference_exceptions.txt");
  REQUIRE(in);
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    REQUIRE_MESSAGE(space != std::string::npos, line);
    out[line.substr(0, space)] = line.substr(space + 1);
  }
  return out;
}

std::string missing_operator(const optima_graph& graph) {
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n) {
    const optima_node* node = optima_get_node(graph.image, n);
    if (!reference::find_row(graph.image, *node)) return reference::why_not(graph, *node);
  }
  return {};
}

Result1 run_case(const NodeCase& c, std::set<std::string>& operators) {
  if (!c.not_tensors.empty()) return {Outcome::Skipped, c.not_tensors};
  onnx_io::ImportOptions options;
  options.hash = false;
  const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
  if (!model) return {Outcome::Skipped, "not imported: " + std::string(model.status().message())};
  const PackedGraph packed = pack(*model);
  if (const std::string why = missing_operator(packed.raw); !why.empty()) return {Outcome::Skipped, why};
  for (uint32_t n = 0; n < packed.raw.image->nodes.count; ++n)
    operators.emplace(sdk::view(optima_string(packed.raw.image, &optima_get_node(packed.raw.image, n)->op_type)));
  try {
    for (const DataSet& set : c.sets) {
      const std::vector<reference::Tensor> out = reference::run(packed.raw, set.inputs);
      if (out.size() != set.outputs.size()) return {Outcome::Failed, "gave " + std::to_string(out.size()) + " outputs"};
      for (size_t k = 0; k < out.size(); ++k)
        if (const std::string d = difference(out[k], set.outputs[k], c); !d.empty()) return {Outcome::Failed, "output " + std::to_string(k) + ": " + d};
    }
  } catch (const Error& e) {
    return {Outcome::Failed, e.text};
  }
  return {Outcome::Passed, ""};
}

/// Skips of one kind are counted together: what differs is the case's own detail.
std::string reason_kind(const std::string& why) {
  if (why.rfind("not imported", 0) == 0) return "not imported: " + why.substr(why.rfind(": ") == std::string::npos ? 0 : why.rfind(": ") + 2);
  return why;
}

}  // namespace

TEST_CASE("the reference agrees with the ONNX node tests of every operator it has") {
  const std::string folder = OPTIMA_NODE_TESTS;
  REQUIRE_MESSAGE(std::filesystem::exists(folder + "/stamp"), "node tests are not generated: run scripts/generate_node_tests.py");
  const std::map<std::string, std::string> known = exceptions();
  std::set<std::string> operators, used;
  std::map<std::string, int> skipped;
  int passed = 0, excepted = 0, all = 0;
  const char* only = std::getenv("OPTIMA_NODE_TEST");
  for (const auto& path : case_folders(folder)) {
    if (only && path.filename().string().find(only) == std::string::npos) continue;
    const NodeCase c = read_case(path);
    const Result1 r = run_case(c, operators);
    ++all;
    const auto listed = known.find(c.name);
    if (listed != known.end()) {
      used.insert(c.name);
      CHECK_MESSAGE(r.outcome == Outcome::Failed, c.name << " is listed as an exception and " << std::string(r.outcome == Outcome::Passed ? "passes" : "is skipped"));
      ++excepted;
      continue;
    }
    if (r.outcome == Outcome::Passed) ++passed;
    if (r.outcome == Outcome::Skipped) {
      ++skipped[reason_kind(r.why)];
      if (only) std::printf("%s: %s\n", c.name.c_str(), r.why.c_str());
    }
    CHECK_MESSAGE(r.outcome != Outcome::Failed, c.name << ": " << r.why);
  }
  if (!only)
    for (const auto& [name, why] : known) CHECK_MESSAGE(used.count(name), "exception " << name << " is no node test");
  int skips = 0;
  for (const auto& [why, n] : skipped) skips += n;
  std::printf("%d node tests: %d passed, %d skipped, %d listed exceptions\n", all, passed, skips, excepted);
  for (const auto& [why, n] : skipped) std::printf("  skipped %4d: %s\n", n, why.c_str());
  std::printf("%zu operators covered:", operators.size());
  for (const std::string& op : operators) std::printf(" %s", op.c_str());
  std::printf("\n");
  CHECK(passed > 0);
}
