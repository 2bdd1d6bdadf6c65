// SPDX-License-Identifier: Apache-2.0
// Graphs that lie about shapes or ask for what no kernel does are refused with a sentence, before anything is built.
#include "plugins/llvm_cpu/compiler/buffers.hpp"
#include "plugins/llvm_cpu/compiler/lowering.hpp"
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

/// No kernel computes it, and that is why; whether the reference runs it is a matter of the graph around it.
void has_no_kernel(Net& net, const std::string& text) {
  net.output(static_cast<uint32_t>(net.graph().values.size() - 1));
  const auto model = net.model();
  const optima::llvm_cpu::Refusal r = optima::llvm_cpu::judge({{&model->raw}, optima_get_node(model->raw.image, model->raw.image->nodes.count - 1)});
  CHECK(r.what + " is " + r.found + ", must be " + r.wanted == text);
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
  has_no_kernel(net, "mode is area, must be nearest, linear or cubic");
}

TEST_CASE("of several rows of an operator that whose types a node has says what is wrong with it") {
  Net net;
  net.node("Resize", 19, {net.input({1, 1, 4, 4}, OPTIMA_U8), OPTIMA_NONE, OPTIMA_NONE, net.integers({1, 1, 8, 8})}, {1, 1, 8, 8}, {Net::text("mode", "linear")}, OPTIMA_U8);
  has_no_kernel(net, "mode is linear, must be nearest, of codes");
}

TEST_CASE("operands that the operator wants and the node lacks, and those too many, are refused") {
  Net none, many, absent;
  none.node("Add", 14, {none.input({2})}, {2});
  has_no_kernel(none, "input 1 is absent, must be given");
  many.node("Relu", 14, {many.input({2}), many.input({2})}, {2});
  has_no_kernel(many, "number of inputs is 2, must be at most 1");
  absent.node("MatMul", 13, {OPTIMA_NONE, absent.input({2, 2})}, {2, 2});
  refused(absent, "input 0 is absent, must be given");
}

TEST_CASE("operands of mixed types are refused") {
  Net net;
  net.node("Gather", 13, {net.input({6}, OPTIMA_F64), net.integers({0, 1})}, {2});
  has_no_kernel(net, "output 0 is f32, must be f64 as input 0");
}

TEST_CASE("what the type of an operator does not bear is refused: rank 2 of R, scalar indices, no kernel") {
  Net rnn, gather, pool;
  rnn.node("RNN", 22, {rnn.input({2, 1, 3}), rnn.weights({1, 4, 3}), rnn.weights({4, 4})}, {2, 1, 1, 4});
  refused(rnn, "rank of input 2 is 2, must be 3");
  gather.node("GatherND", 13, {gather.input({6}), gather.constant<int64_t>({}, {1}, OPTIMA_I64)}, {});
  refused(gather, "rank of input 1 is 0, must be 1 or more");
  pool.node("LpPool", 18, {pool.input({1, 2, 4, 4})}, {1, 2, 4, 4});
  refused(pool, "kernel is [], must be 2 numbers of at least 1");
}

TEST_CASE("a scalar scale with a zero point per channel is refused") {
  Net net;
  net.node("QuantizeLinear", 21, {net.input({2, 3}), net.constant<float>({}, {0.1f}, OPTIMA_F32), net.constant<int8_t>({3}, {0, 1, 2}, OPTIMA_I8)}, {2, 3}, {}, OPTIMA_I8);
  has_no_kernel(net, "input 2 is [3], must be as many elements as input 1");
}

TEST_CASE("batches that do not broadcast, and results that are not what the window makes, are refused") {
  Net batch, window;
  batch.node("MatMul", 13, {batch.input({2, 4, 5}), batch.input({3, 5, 6})}, {3, 4, 6});
  refused(batch, "input 1 is [3,5,6], must be broadcastable with [2,4,5]");
  window.node("MaxPool", 12, {window.input({1, 2, 8, 8})}, {1, 4, 4, 4}, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2})});
  refused(window, "output 0 is [1,4,4,4], must be what the window makes of [1,2,8,8]");
}

TEST_CASE("values lie as their types and ranks allow: whatever a lowering asks for, passages have elements of their sizes") {
  using optima::llvm_cpu::Layout;
  Net net;
  const auto lying = [&](const Dims& dims, int32_t dtype) {
    const uint32_t v = net.input(dims, dtype);
    const auto model = net.model();
    std::string out;
    for (const auto& [layout, name] : {std::pair{Layout::Plain, "plain "}, {Layout::Blocked, "blocked "}, {Layout::Last, "last "}, {Layout::Narrow, "narrow "}})
      if (optima::llvm_cpu::may_lie({&model->raw}, v, layout)) out += name;
    return out;
  };
  CHECK(lying({1, 32, 4, 4}, OPTIMA_F32) == "plain blocked last ");
  CHECK(lying({1, 32, 4, 4}, OPTIMA_F16) == "plain blocked last narrow ");
  for (const int32_t codes : {OPTIMA_U8, OPTIMA_I8, OPTIMA_U16, OPTIMA_I16, OPTIMA_BOOL, OPTIMA_I32}) CHECK(lying({1, 32, 4, 4}, codes) == "plain last ");
  for (const int32_t other : {OPTIMA_I64, OPTIMA_F64, OPTIMA_I4}) CHECK(lying({1, 32, 4, 4}, other) == "plain ");
  CHECK(lying({32, 4}, OPTIMA_F32) == "plain ");
  CHECK(lying({1, 2, 3, 4, 5, 6}, OPTIMA_F32) == "plain ");
  CHECK(lying({4, 4}, OPTIMA_BF16) == "plain narrow ");
}
