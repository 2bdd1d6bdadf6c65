// SPDX-License-Identifier: Apache-2.0
// Shapes inferred without running against the shapes that running makes: every ONNX node test.
#include <doctest/doctest.h>

#include <cstdio>

#include "core/onnx_io/onnx_io.hpp"
#include "reference/ops/table.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/conformance/shape_judge.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// Operators by what was said of them.
void print_counts(const std::map<std::string, ShapeCount>& counts) {
  std::string rule, data;
  int inferred = 0, wanted = 0, decided = 0;
  for (const auto& [op, c] : counts) {
    (c.data_decides ? data : rule) += " " + op;
    inferred += c.inferred, wanted += c.wanted, decided += c.data_decides;
  }
  std::printf("%d answers, %d asked for elements, %d left to the data\n  by rule:%s\n  data decides:%s\n", inferred, wanted, decided, rule.c_str(), data.c_str());
}

bool evaluated(const optima_graph& graph) {
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n)
    if (!reference::find_row(graph.image, *optima_get_node(graph.image, n))) return false;
  return true;
}

}  // namespace

TEST_CASE("inferred shapes are those that the evaluators make in every ONNX node test, and none is made up where elements are hidden") {
  const std::string folder = OPTIMA_NODE_TESTS;
  REQUIRE_MESSAGE(std::filesystem::exists(folder + "/stamp"), "node tests are not generated: run scripts/generate_node_tests.py");
  std::map<std::string, ShapeCount> counts;
  int judged = 0;
  for (const auto& path : case_folders(folder)) {
    const NodeCase c = read_case(path);
    if (!c.not_tensors.empty()) continue;
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!model) continue;
    const PackedGraph packed = pack(*model);
    if (!evaluated(packed.raw)) continue;
    for (const DataSet& set : c.sets) {
      std::vector<reference::Tensor> values;
      try {
        values = all_values(packed.raw, set.inputs);
      } catch (const Error&) {
        continue;  // what the reference refuses is its own test's
      }
      const std::string why = judge_shapes(packed.raw, values, counts);
      CHECK_MESSAGE(why.empty(), c.name << ": " << why);
      ++judged;
    }
  }
  std::printf("%d data sets judged: ", judged);
  print_counts(counts);
  CHECK(judged > 1000);
  for (const char* op : {"NonZero", "Unique", "NonMaxSuppression", "If", "Loop", "Scan"}) CHECK_MESSAGE(counts[op].inferred == 0, op);
}
