// SPDX-License-Identifier: Apache-2.0
// Graphs that lie about shapes or ask for what no kernel does are refused with a sentence, before anything is built.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

void refused(Net& net, const std::string& text) {
  static Bench bench;
  net.output(static_cast<uint32_t>(net.graph().values.size() - 1));
  const auto c = compile(bench, net);
  CHECK(c->code == OPTIMA_UNSUPPORTED);
  CHECK(c->status.message == text);
}

}  // namespace

TEST_CASE("operands that do not broadcast to the result are refused") {
  Net net;
  net.node("Add", 14, {net.input({4, 5}), net.input({3})}, {4, 5});
  refused(net, "input 1 is [3], must be broadcastable to [4,5]");
}

TEST_CASE("a transpose by something that is no permutation is refused") {
  Net net;
  net.node("Transpose", 21, {net.input({4, 5})}, {4, 4}, {Net::ints("perm", {0, 0})});
  refused(net, "perm is [0,0], must be a permutation of the axes");
}

TEST_CASE("a matrix product whose shapes do not meet is refused") {
  Net net;
  net.node("MatMul", 13, {net.input({4, 5}), net.input({6, 7})}, {4, 7});
  refused(net, "input 1 is [6,7], must be 5 rows");
}

TEST_CASE("a product with a scalar is refused") {
  Net net;
  net.node("MatMul", 13, {net.input({4, 5}), net.input({})}, {4});
  refused(net, "input 1 is rank 0, must be rank 1 or more");
}

TEST_CASE("a slice that would read outside is refused") {
  Net net;
  net.node("Slice", 13, {net.input({10}), net.integers({5}), net.integers({10})}, {9});
  refused(net, "input 0 is [10], must be large enough for [9]");
}

TEST_CASE("an axis that is not there is refused") {
  Net net;
  net.node("Concat", 13, {net.input({2}), net.input({2})}, {4}, {Net::integer("axis", 7)});
  refused(net, "axis is 7, must be within [-1, 0]");
}

TEST_CASE("a gather whose result is too small is refused") {
  Net net;
  net.node("Gather", 13, {net.input({6, 9}), net.integers({0, 1, 2})}, {2, 9});
  refused(net, "input 1 is [3], must be what the result says");
}

TEST_CASE("a softmax into another shape is refused") {
  Net net;
  net.node("Softmax", 13, {net.input({6, 9})}, {6, 8});
  refused(net, "input 0 is [6,9], must be [6,8]");
}

TEST_CASE("a resize mode that is none is refused by name") {
  Net net;
  net.node("Resize", 19, {net.input({1, 1, 4, 4}), OPTIMA_NONE, OPTIMA_NONE, net.integers({1, 1, 8, 8})}, {1, 1, 8, 8}, {Net::text("mode", "area")});
  refused(net, "mode is area, must be nearest, linear or cubic");
}
