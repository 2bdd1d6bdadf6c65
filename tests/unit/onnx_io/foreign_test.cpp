// SPDX-License-Identifier: Apache-2.0
// Operators that the ONNX library does not know.
#include <doctest/doctest.h>

#include "core/onnx_io/onnx_io.hpp"

using namespace optima;

namespace {

constexpr const char* kText = R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
  g (float[2,3] x) => (float[a,b] y) { h = Relu(x)  k = com.acme.Widen <by = 2> (h)  y = Neg(k) })";

}  // namespace

TEST_CASE("a foreign operator is a node whose types nobody knows") {
  auto g = onnx_io::load_text(kText, "t");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  const image::Node& node = g->main().nodes[1];
  CHECK(node.domain == "com.acme");
  CHECK(node.since_version == 3);
  CHECK(g->main().values[node.outputs[0]].dtype == OPTIMA_UNDEFINED);
}

TEST_CASE("the caller's answer about a foreign operator spreads to what comes after it") {
  onnx_io::ImportOptions options;
  options.infer_foreign = [](const optima_graph& graph, uint32_t index) -> Result<std::vector<image::Value>> {
    const optima_node* n = optima_get_node(graph.image, index);
    CHECK(optima_str_is(optima_string(graph.image, &n->op_type), "Widen"));
    const optima_value* in = optima_get_value(graph.image, optima_input(graph.image, n, 0));
    CHECK(in->dtype == OPTIMA_F32);
    const int64_t columns = optima_get_dim(graph.image, in->dims.first + 1)->value * optima_find_attr(graph.image, n, "by")->i;
    return std::vector<image::Value>{{"", OPTIMA_F32, std::vector<image::Dim>{{2, ""}, {columns, ""}}, OPTIMA_NONE, OPTIMA_KIND_TENSOR}};
  };
  auto g = onnx_io::load_text(kText, "t", options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(type_text(g->main().values[g->main().nodes[1].outputs[0]]) == "f32[2,6]");
  CHECK(type_text(g->main().values[g->main().outputs[0]]) == "f32[2,6]");
}

TEST_CASE("a caller that refuses a foreign node, or answers for another, ends the import") {
  onnx_io::ImportOptions options;
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> { return invalid_input("by is 2, wanted 4"); };
  CHECK(onnx_io::load_text(kText, "t", options).status().message() == "by is 2, wanted 4");
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> { return std::vector<image::Value>(3); };
  CHECK(onnx_io::load_text(kText, "t", options).status().message() == "node 'widen_1' (Widen): its plugin gives 3 output types, wanted 1");
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> { return std::vector<image::Value>{}; };
  CHECK(onnx_io::load_text(kText, "t", options).status().message() == "");
}
