// SPDX-License-Identifier: Apache-2.0
#include "core/cost/work.hpp"

#include <doctest/doctest.h>

#include "core/graph/assumed_size.hpp"
#include "tests/support/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::vector<image::Dim> dims(std::vector<int64_t> sizes) {
  std::vector<image::Dim> out;
  for (int64_t size : sizes) out.push_back({size, ""});
  return out;
}

struct OneNode : GraphBuilder {
  image::Node node_;
  OneNode(const std::string& op, std::vector<std::vector<int64_t>> inputs, std::vector<int64_t> output) {
    node_.op_type = op;
    for (auto& shape : inputs) node_.inputs.push_back(value("in", 0, dims(shape)));
    node_.outputs = {value("out", 0, dims(output))};
  }
  OneNode& attr(const std::string& name, int64_t i, std::vector<int64_t> ints = {}) {
    image::Attr a;
    a.name = name, a.i = i, a.ints = std::move(ints);
    node_.attrs.push_back(std::move(a));
    return *this;
  }
  Work work() const { return work_of(graph, node_); }
};

uint32_t typed(GraphBuilder& b, const std::string& name, int32_t dtype, std::vector<int64_t> sizes) {
  const uint32_t v = b.value(name, 0, dims(std::move(sizes)));
  b.graph.main().values[v].dtype = dtype;
  return v;
}

}  // namespace

TEST_CASE("convolutions count a multiplication and an addition per weight and output pixel") {
  const Work conv = OneNode("Conv", {{1, 3, 224, 224}, {64, 3, 7, 7}, {64}}, {1, 64, 112, 112}).work();
  CHECK(conv.flops == 2.0 * 64 * 112 * 112 * 3 * 7 * 7);
  CHECK(conv.bytes == 4.0 * (3 * 224 * 224 + 64 * 3 * 49 + 64 + 64 * 112 * 112));
  CHECK(conv.exact);
  CHECK(OneNode("Conv", {{1, 32, 8, 8}, {32, 1, 3, 3}}, {1, 32, 8, 8}).work().flops == 2.0 * 32 * 64 * 9);  // depthwise
  CHECK(OneNode("ConvTranspose", {{1, 8, 4, 4}, {8, 5, 2, 2}}, {1, 5, 8, 8}).work().flops == 2.0 * 8 * 16 * 5 * 4);
}

TEST_CASE("products of matrices count their inner dimension") {
  CHECK(OneNode("MatMul", {{2, 5, 7}, {7, 3}}, {2, 5, 3}).work().flops == 2.0 * 2 * 5 * 3 * 7);
  CHECK(OneNode("Gemm", {{5, 7}, {7, 3}, {3}}, {5, 3}).work().flops == 2.0 * 5 * 3 * 7);
  CHECK(OneNode("Gemm", {{7, 5}, {7, 3}}, {5, 3}).attr("transA", 1).work().flops == 2.0 * 5 * 3 * 7);
  CHECK(OneNode("LSTM", {{10, 2, 4}, {1, 12, 4}, {1, 12, 3}}, {10, 1, 2, 3}).work().flops == 2.0 * (48 + 36) * 20);
}

TEST_CASE("views move nothing, moves compute nothing, everything else has its class or its largest tensor") {
  CHECK(OneNode("Reshape", {{4, 4}, {2}}, {16}).work() == Work{});
  CHECK(OneNode("Transpose", {{4, 4}}, {4, 4}).work() == Work{0, 128, true});
  CHECK(OneNode("Slice", {{100}, {1}, {1}}, {2}).work() == Work{0, 16, true});
  CHECK(OneNode("MaxPool", {{1, 1, 4, 4}}, {1, 1, 2, 2}).attr("kernel_shape", 0, {2, 2}).work().flops == 16);
  CHECK(OneNode("Softmax", {{3, 4}}, {3, 4}).work().flops == 120);
  CHECK(OneNode("Add", {{3, 4}, {4}}, {3, 4}).work().flops == 12);
  OneNode foreign("Conv", {{8}, {2}}, {8});
  foreign.node_.domain = "com.example";
  CHECK(foreign.work().flops == 8);
}

TEST_CASE("a quantized unit moves codes, multiplies bytes, and its QuantizeLinear and DequantizeLinear are part of it") {
  GraphBuilder b;
  const uint32_t x = typed(b, "x", OPTIMA_U8, {1, 8, 4, 4}), w = typed(b, "w", OPTIMA_I8, {16, 8, 1, 1});
  const uint32_t xf = typed(b, "xf", OPTIMA_F32, {1, 8, 4, 4}), wf = typed(b, "wf", OPTIMA_F32, {16, 8, 1, 1});
  const uint32_t y = typed(b, "y", OPTIMA_F32, {1, 16, 4, 4}), q = typed(b, "q", OPTIMA_U8, {1, 16, 4, 4}), out = typed(b, "out", OPTIMA_F32, {1, 16, 4, 4});
  const auto node = [&](const std::string& op, std::vector<uint32_t> in, uint32_t to) {
    image::Node n;
    n.op_type = op, n.inputs = std::move(in), n.outputs = {to};
    b.graph.main().nodes.push_back(n);
  };
  node("DequantizeLinear", {x}, xf), node("DequantizeLinear", {w}, wf), node("Conv", {xf, wf}, y), node("QuantizeLinear", {y}, q), node("DequantizeLinear", {q}, out);
  b.graph.main().inputs = {x}, b.graph.main().outputs = {out};
  const std::vector<Work> works = works_of(b.graph);
  CHECK(works[0] == Work{});
  CHECK(works[1] == Work{});
  CHECK(works[2] == Work{2.0 * 16 * 16 * 8, 128 + 128 + 256, true, Arithmetic::Int8});
  CHECK(works[3] == Work{});
  CHECK(works[4].bytes == 256 + 4 * 256);  // makes the graph's output
}

TEST_CASE("products of 16-bit floats are told from those of f32") {
  GraphBuilder b;
  image::Node n;
  n.op_type = "MatMul";
  n.inputs = {typed(b, "a", OPTIMA_BF16, {2, 4}), typed(b, "b", OPTIMA_BF16, {4, 3})}, n.outputs = {typed(b, "c", OPTIMA_BF16, {2, 3})};
  CHECK(work_of(b.graph, n) == Work{48, 2 * (8 + 12 + 6), true, Arithmetic::Half});
}

TEST_CASE("a rate of int8 that is not known is four times that of f32, one of 16-bit floats the same") {
  const Rates rates{10, 0, 0, 0}, given{10, 30, 100, 0};
  CHECK(roofline_us({4e4, 0, true, Arithmetic::Float}, rates) == 4);
  CHECK(roofline_us({4e4, 0, true, Arithmetic::Half}, rates) == 4);
  CHECK(roofline_us({4e4, 0, true, Arithmetic::Int8}, rates) == 1);
  CHECK(roofline_us({6e4, 0, true, Arithmetic::Half}, given) == 2);
  CHECK(roofline_us({2e5, 0, true, Arithmetic::Int8}, given) == 2);
}

TEST_CASE("a size that is not known counts as 1 where it is a batch, else as 64, and is said") {
  CHECK(OneNode("Relu", {{-1, 8}}, {-1, 8}).work() == Work{8, 64, false});
  CHECK(OneNode("Relu", {{-1, 8, -1}}, {-1, 8, -1}).work() == Work{8 * 64, 2 * 4 * 8 * 64, false});
  CHECK(OneNode("Relu", {{-1}}, {-1}).work() == Work{64, 2 * 4 * 64, false});
  GraphBuilder b;
  CHECK(assumed_bytes(b.graph.main().values[b.value("a", 0, dims({2, 3}))]) == 24);
  CHECK(assumed_bytes(b.graph.main().values[b.value("b", 0, dims({-1, 3, -1}))]) == 4 * 3 * 64);
  CHECK(assumed_bytes(b.graph.main().values[b.value("c", 0, dims({0, 3}))]) == 0);
  CHECK(assumed_bytes(b.graph.main().values[b.value("d", 0, dims({-1, 0}))]) == 1);
  CHECK(static_bytes(b.graph.main().values[b.value("e", 0, dims({-1, 3}))]) == 0);
  CHECK(OneNode("Conv", {{-1, 3, -1, -1}, {16, 3, 3, 3}}, {-1, 16, -1, -1}).work().flops == 2.0 * 16 * 64 * 64 * 27);
}

TEST_CASE("the roofline is the slower of computing and moving") {
  CHECK(roofline_us({2e6, 1e3, true}, 1, 1) == 2000);
  CHECK(roofline_us({2e3, 4e6, true}, 1, 2) == 2000);
  CHECK(roofline_us({2e3, 4e6, true}, 1, 0) == 2);
}
