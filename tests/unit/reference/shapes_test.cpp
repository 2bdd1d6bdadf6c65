// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "reference/ops/table.hpp"
#include "reference/shapes.hpp"
#include "tests/unit/reference/node.hpp"

using namespace optima::test;
namespace image = optima::image;
namespace reference = optima::reference;
using optima::Error;

namespace {

/// Known type and shape, unknown elements.
Tensor bare(int32_t dtype, Ints dims) {
  Tensor t;
  t.dtype = dtype, t.dims = std::move(dims);
  return t;
}
Tensor floats_of(Ints dims) { return bare(OPTIMA_F32, std::move(dims)); }
Tensor ints_of(Ints dims) { return bare(OPTIMA_I64, std::move(dims)); }

reference::Inference infer(const OneNode& node, const std::vector<Tensor>& inputs) {
  const image::Bytes bytes = node.build(inputs);
  const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
  return reference::infer_shapes(graph, *optima_get_node(bytes.image(), 0), inputs);
}
Ints dims(const OneNode& node, const std::vector<Tensor>& inputs) { return infer(node, inputs).outputs.at(0).dims; }

std::string contradiction(const OneNode& node, const std::vector<Tensor>& inputs) {
  try {
    infer(node, inputs);
    return {};
  } catch (const Error& e) {
    CHECK(e.node == 7);
    return e.text;
  }
}

}  // namespace

TEST_CASE("shapes are inferred without elements, and rounded as the evaluators round them") {
  CHECK(dims(OneNode("Add", 14), {floats_of({2, 1, 79}), floats_of({5, 1})}) == Ints{2, 5, 79});
  CHECK(dims(OneNode("Conv", 11).list("strides", {2, 2}).list("pads", {1, 1, 1, 1}), {floats_of({1, 3, 321, 48}), floats_of({8, 3, 3, 3})}) == Ints{1, 8, 161, 24});
  CHECK(dims(OneNode("MaxPool", 12).list("kernel_shape", {2}).list("strides", {2}).integer("ceil_mode", 1), {floats_of({1, 3, 7})}) == Ints{1, 3, 4});
  CHECK(dims(OneNode("Resize", 19), {floats_of({1, 10}), {}, f32({2}, {1, 0.7f})}) == Ints{1, 7});  // 0.7f is less than 0.7, the product in floats is not less than 7
  CHECK(dims(OneNode("Reshape", 14), {floats_of({2, 3, 4}), i64({3}, {0, -1, 2})}) == Ints{2, 6, 2});
  CHECK(dims(OneNode("Slice", 13), {floats_of({10}), i64({1}, {9}), i64({1}, {INT64_MIN}), i64({1}, {0}), i64({1}, {-3})}) == Ints{4});
  const reference::Inference lstm = infer(OneNode("LSTM", 14, 3).text("direction", "bidirectional"), {floats_of({7, 2, 5}), floats_of({2, 12, 5}), floats_of({2, 12, 3})});
  CHECK(lstm.outputs[0].dims == Ints{7, 2, 2, 3});
  CHECK(lstm.outputs[2].dims == Ints{2, 2, 3});
}

TEST_CASE("biases and states of a recurrent layer that are not of its batch and width contradict it") {
  const auto why = [](const Ints& bias, const Ints& h, const Ints& cell) {
    return contradiction(OneNode("LSTM", 14, 3), {floats_of({7, 2, 5}), floats_of({1, 12, 5}), floats_of({1, 12, 3}), floats_of(bias), {}, floats_of(h), floats_of(cell)});
  };
  CHECK(why({1, 24}, {1, 2, 3}, {1, 2, 3}) == "");
  CHECK(why({1, 12}, {1, 2, 3}, {1, 2, 3}).find("input 3 has shape [1, 12], must be [1, 24]") != std::string::npos);
  CHECK(why({1, 24}, {1, 9, 3}, {1, 2, 3}).find("input 5 has shape [1, 9, 3], must be [1, 2, 3]") != std::string::npos);
  CHECK(why({1, 24}, {1, 2, 3}, {2, 1, 3}).find("input 6 has shape [2, 1, 3], must be [1, 2, 3]") != std::string::npos);
}

TEST_CASE("a shape that hangs on elements nobody has names the input, and what only running tells is said to be so") {
  const auto wants = [](const OneNode& node, const std::vector<Tensor>& inputs) {
    const reference::Inference i = infer(node, inputs);
    CHECK(i.outputs.empty());
    CHECK(!i.data_decides);
    return i.wants;
  };
  CHECK(wants(OneNode("Reshape", 14), {floats_of({2, 3}), ints_of({2})}) == 1);
  CHECK(wants(OneNode("Slice", 13), {floats_of({9}), i64({1}, {0}), ints_of({1})}) == 2);
  CHECK(wants(OneNode("Range", 11), {i64({}, {0}), ints_of({}), i64({}, {1})}) == 1);
  CHECK(wants(OneNode("Resize", 19), {floats_of({1, 2}), {}, {}, ints_of({2})}) == 3);
  CHECK(wants(OneNode("Compress", 11), {floats_of({9}), bare(OPTIMA_BOOL, {9})}) == 1);
  CHECK(dims(OneNode("Reshape", 14), {floats_of({1}), ints_of({0})}) == Ints{});  // no elements are known elements
  for (const char* op : {"NonZero", "Unique"}) {
    const reference::Inference i = infer(OneNode(op, 13), {floats_of({4})});
    CHECK(i.data_decides);
    CHECK(i.outputs.empty());
  }
  CHECK(infer(OneNode("Conjure", 1), {floats_of({4})}).data_decides);
  CHECK(infer(OneNode("Relu", 14).domain("elsewhere"), {floats_of({4})}).data_decides);
}

TEST_CASE("every operator that is evaluated has a rule, but those whose data decides") {
  const std::set<std::string_view> by_data{"If", "Loop", "NonMaxSuppression", "NonZero", "Scan", "Unique"};
  for (const reference::Row& row : reference::table()) {
    const image::Bytes bytes = OneNode(std::string(row.sig.name), row.sig.last).build({});
    const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
    const bool ruled = reference::rule_of(graph, *optima_get_node(bytes.image(), 0)) != nullptr;
    CHECK_MESSAGE(ruled == !by_data.count(row.sig.name), std::string(row.sig.name));
  }
}

TEST_CASE("shapes that contradict each other are one sentence with the node") {
  CHECK(contradiction(OneNode("Add", 14), {floats_of({4, 79}), floats_of({4, 78})}) == "node 'n': shapes [4, 79] and [4, 78] do not broadcast");
  CHECK(contradiction(OneNode("MatMul", 13), {floats_of({4, 3}), floats_of({4, 3})}) == "node 'n': shapes [4, 3] and [4, 3] do not multiply");
  CHECK(contradiction(OneNode("Concat", 13).integer("axis", 0), {floats_of({2, 3}), floats_of({2, 4})}) ==
        "node 'n': input 1 has shape [2, 4], which does not join [2, 3]");
  CHECK(contradiction(OneNode("Reshape", 14), {floats_of({2, 3}), i64({2}, {4, -1})}) == "node 'n': shape [2, 3] does not fit into [4, -1]");
  CHECK(contradiction(OneNode("AffineGrid", 20), {floats_of({1, 2, 3}), i64({16}, Ints(16, 9))}) ==
        "node 'n': size is [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], must have 4 or 5 numbers");
  CHECK(contradiction(OneNode("AffineGrid", 20), {floats_of({1, 2, 3}), i64({40}, Ints(40, 9))}) ==
        "node 'n': size is [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, ... (40 in all)], must have 4 or 5 numbers");
  CHECK(contradiction(OneNode("Squeeze", 13), {floats_of({2, 3}), i64({1}, {1})}) == "node 'n': dim 1 is 3, must be 1 to be squeezed");
  CHECK(contradiction(OneNode("MaxPool", 12).list("kernel_shape", {5}), {floats_of({1, 1, 3})}) ==
        "node 'n': a window of 5 does not fit into 3 padded elements");
  CHECK(contradiction(OneNode("Conv", 11), {floats_of({1, 4, 9}), floats_of({8, 3, 3})}) == "node 'n': group is 1, which does not divide [1, 4, 9] and weights [8, 3, 3]");
  CHECK(contradiction(OneNode("TopK", 11, 2), {floats_of({3}), i64({1}, {4})}) == "node 'n': k is 4, must be within 3");
  CHECK(contradiction(OneNode("Add", 14), {floats_of({4}), {}}) == "node 'n': input 1 is missing");
}
