// SPDX-License-Identifier: Apache-2.0
#include "core/cost/work.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("a size that is not known counts as 1 and is said") {
  const Work work = OneNode("Relu", {{-1, 8}}, {-1, 8}).work();
  CHECK(work == Work{8, 64, false});
}

TEST_CASE("the roofline is the slower of computing and moving") {
  CHECK(roofline_us({2e6, 1e3, true}, 1, 1) == 2000);
  CHECK(roofline_us({2e3, 4e6, true}, 1, 2) == 2000);
  CHECK(roofline_us({2e3, 4e6, true}, 1, 0) == 2);
}
