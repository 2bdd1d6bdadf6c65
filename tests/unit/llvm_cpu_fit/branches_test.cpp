// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: sizes and branches that data decides; outputs that no kernel makes.
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

using namespace llvm_cpu_test;
using optima::reference::Tensor;

namespace {

Tensor floats(const Dims& dims, const std::vector<double>& v) { return optima::reference::store<double>(OPTIMA_F32, dims, v); }
Tensor ints(const Dims& dims, const std::vector<int64_t>& v) { return optima::reference::make_ints(dims, v); }
Tensor counting(const Dims& dims, double from) {
  std::vector<double> v(static_cast<size_t>(count(dims)));
  for (size_t k = 0; k < v.size(); ++k) v[k] = from + static_cast<double>(k) * 0.25;
  return floats(dims, v);
}

/// Compiles once and judges each set of inputs on one context, twice over.
void right_with(Net& net, const std::vector<Tensors>& inputs, const Judge& judge = {}) {
  Bench bench;
  on_threads(bench, net, {2}, [&](OpenSession& session, const Compiled& c) {
    for (int round = 0; round < 2; ++round)
      for (size_t k = 0; k < inputs.size(); ++k) {
        CAPTURE(k);
        run_and_judge(session, c, inputs[k], judge);
      }
  });
}

}  // namespace

TEST_CASE("NonZero and Unique in the middle: planning goes on with the sizes found") {
  OpenNet net;
  const uint32_t x = net.input({-1, -1});
  const uint32_t y = net.op("Relu", 14, {net.op("MatMul", 13, {x, net.constant<float>({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, OPTIMA_F32)}, 2)}, 2);
  const uint32_t where = net.op("NonZero", 13, {y}, 2, {}, OPTIMA_I64);
  const uint32_t pairs = net.op("Transpose", 21, {where}, 2, {Net::ints("perm", {1, 0})}, OPTIMA_I64);
  const uint32_t found = net.op("GatherND", 13, {y, pairs}, 1);
  net.output(net.op("Mul", 14, {found, found}, 1));
  net.output(net.op("Unique", 11, {net.op("Floor", 13, {found}, 1)}, 1));
  right_with(net, {{counting({4, 3}, -1)}, {counting({2, 3}, -9)}, {counting({9, 3}, 1)}, {counting({1, 3}, -0.25)}});
}

TEST_CASE("TopK of a k that comes with the inputs, and of one computed from sizes") {
  OpenNet net;
  const uint32_t x = net.input({-1, -1}), k = net.input({1}, OPTIMA_I64);
  const auto top = net.nodes("TopK", 11, {x, k}, {{Dims(2, -1), OPTIMA_F32}, {Dims(2, -1), OPTIMA_I64}});
  net.output(net.op("Sigmoid", 13, {top[0]}, 2));
  net.output(top[1]);
  const uint32_t half = net.op("Div", 14, {net.size(x, 1), net.integers({2})}, 1, {}, OPTIMA_I64);
  const auto upper = net.nodes("TopK", 11, {x, half}, {{Dims(2, -1), OPTIMA_F32}, {Dims(2, -1), OPTIMA_I64}});
  net.output(net.op("ReduceSum", 13, {upper[0], net.integers({1})}, 2));
  right_with(net, {{counting({3, 8}, 0), ints({1}, {2})}, {counting({1, 20}, -3), ints({1}, {20})}, {counting({5, 7}, 0), ints({1}, {1})}});
}

TEST_CASE("NonMaxSuppression, and a gather of the boxes that are left") {
  OpenNet net;
  const uint32_t boxes = net.input({1, -1, 4}), scores = net.input({1, 1, -1});
  const uint32_t left = net.op("NonMaxSuppression", 11, {boxes, scores, net.integers({5}), net.constant<float>({1}, {0.5f}, OPTIMA_F32), net.constant<float>({1}, {0.1f}, OPTIMA_F32)}, 2, {}, OPTIMA_I64);
  const uint32_t index = net.op("Squeeze", 21, {net.op("Slice", 13, {left, net.integers({2}), net.integers({3}), net.integers({1})}, 2, {}, OPTIMA_I64), net.integers({1})}, 1, {}, OPTIMA_I64);
  net.output(net.op("Mul", 14, {net.op("Gather", 13, {boxes, index}, 3, {Net::integer("axis", 1)}), net.weights({4})}, 3));
  std::vector<Tensors> inputs;
  for (const int64_t n : {6, 1, 17, 40}) {
    std::vector<double> b, s;
    for (int64_t k = 0; k < n; ++k) b.insert(b.end(), {double(k % 5), double(k % 3), double(k % 5) + 1, double(k % 3) + 1}), s.push_back(0.01 * double((k * 31) % 97));
    inputs.push_back({floats({1, n, 4}, b), floats({1, 1, n}, s)});
  }
  right_with(net, inputs);
}

TEST_CASE("an If on data, both ways, with captured values and constants and branches of different sizes") {
  OpenNet net;
  const uint32_t x = net.input({-1, -1}), flag = net.input({}, OPTIMA_BOOL);
  const uint32_t w = net.weights({4, 4}), y = net.op("MatMul", 13, {x, w}, 2);
  const uint32_t yes = net.body();
  net.body_output(yes, net.body_op(yes, "Concat", 13, {net.capture(yes, y, 2), net.capture(yes, x, 2)}, 2, {Net::integer("axis", 0)}));
  const uint32_t no = net.body();
  net.body_output(no, net.body_op(no, "MatMul", 13, {net.capture(no, y, 2), net.capture(no, w, 2)}, 2));
  const uint32_t v = net.branch(flag, yes, no, 2);
  net.output(net.op("Neg", 13, {v}, 2));
  net.output(v);
  std::vector<Tensors> inputs;
  for (const int64_t n : {3, 1, 17})
    for (const bool truth : {true, false}) inputs.push_back({counting({n, 4}, -1), optima::reference::scalar_bool(truth)});
  right_with(net, inputs);
}

TEST_CASE("an If on sizes, and one inside another whose branch hands a captured value through") {
  OpenNet net;
  const uint32_t x = net.input({-1, 4}), flag = net.input({}, OPTIMA_BOOL);
  const uint32_t many = net.op("Greater", 13, {net.op("Squeeze", 21, {net.size(x, 0)}, 0, {}, OPTIMA_I64), net.constant<int64_t>({}, {4}, OPTIMA_I64)}, 0, {}, OPTIMA_BOOL);
  const uint32_t r = net.op("Relu", 14, {x}, 2);
  const uint32_t outer_yes = net.body(), outer_no = net.body(), inner_yes = net.body(), inner_no = net.body();
  const uint32_t mine = net.body_op(outer_yes, "Neg", 13, {net.capture(outer_yes, r, 2)}, 2);
  const uint32_t asked = net.capture(outer_yes, flag, 0, OPTIMA_BOOL);
  net.body_output(inner_yes, net.capture(inner_yes, mine, 2));
  net.body_output(inner_no, net.body_op(inner_no, "Abs", 13, {net.capture(inner_no, mine, 2)}, 2));
  net.body_output(outer_yes, net.body_op(outer_yes, "If", 21, {asked}, 2, {OpenNet::graph_attr("then_branch", inner_yes), OpenNet::graph_attr("else_branch", inner_no)}));
  net.body_output(outer_no, net.capture(outer_no, x, 2));
  const uint32_t v = net.branch(many, outer_yes, outer_no, 2);
  net.output(net.op("Add", 14, {v, r}, 2));
  net.output(v);
  std::vector<Tensors> inputs;
  for (const int64_t n : {3, 4, 5, 17})
    for (const bool truth : {true, false}) inputs.push_back({counting({n, 4}, -2), optima::reference::scalar_bool(truth)});
  right_with(net, inputs);
}

TEST_CASE("a branch, and one inside it, where only a run tells how many there are of what the branch itself makes, as detectors choose boxes") {
  OpenNet net;
  const uint32_t x = net.input({-1, 4}), flag = net.input({}, OPTIMA_BOOL);
  const uint32_t yes = net.body(), no = net.body(), deep_yes = net.body(), deep_no = net.body();
  const auto positive = [&](uint32_t body, uint32_t v) {
    const uint32_t made = net.body_op(body, "Tanh", 13, {v}, 2);
    const uint32_t where = net.body_op(body, "NonZero", 13, {net.body_op(body, "Relu", 14, {made}, 2)}, 2, {}, OPTIMA_I64);
    return net.body_op(body, "GatherND", 13, {made, net.body_op(body, "Transpose", 21, {where}, 2, {Net::ints("perm", {1, 0})}, OPTIMA_I64)}, 1);
  };
  net.body_output(yes, positive(yes, net.body_op(yes, "Neg", 13, {net.capture(yes, x, 2)}, 2)));
  const uint32_t whole = net.capture(no, x, 2), twice = net.body_op(no, "Add", 14, {whole, whole}, 2), asked = net.capture(no, flag, 0, OPTIMA_BOOL);
  net.body_output(deep_yes, positive(deep_yes, net.capture(deep_yes, twice, 2)));
  net.body_output(deep_no, positive(deep_no, net.body_op(deep_no, "Abs", 13, {net.capture(deep_no, twice, 2)}, 2)));
  net.body_output(no, net.body_op(no, "If", 21, {asked}, 1, {OpenNet::graph_attr("then_branch", deep_yes), OpenNet::graph_attr("else_branch", deep_no)}));
  const uint32_t many = net.op("Greater", 13, {net.op("Squeeze", 21, {net.size(x, 0)}, 0, {}, OPTIMA_I64), net.constant<int64_t>({}, {4}, OPTIMA_I64)}, 0, {}, OPTIMA_BOOL);
  const uint32_t found = net.branch(many, yes, no, 1);
  net.output(net.op("Mul", 14, {found, found}, 1));
  std::vector<Tensors> inputs;
  for (const int64_t n : {3, 5, 17, 1})
    for (const bool truth : {true, false}) inputs.push_back({counting({n, 4}, -2), optima::reference::scalar_bool(truth)});
  right_with(net, inputs);
}

TEST_CASE("branches of different rank") {
  OpenNet net;
  const uint32_t x = net.input({-1, 4}), flag = net.input({}, OPTIMA_BOOL);
  const uint32_t yes = net.body();
  net.body_output(yes, net.body_op(yes, "ReduceSum", 13, {net.capture(yes, x, 2)}, 0, {Net::integer("keepdims", 0)}));
  const uint32_t no = net.body();
  net.body_output(no, net.body_op(no, "Neg", 13, {net.capture(no, x, 2)}, 2));
  const uint32_t v = net.branch(flag, yes, no, 2), twice = net.op("Add", 14, {v, v}, 2);
  net.unranked(v), net.unranked(twice);
  net.output(twice);
  net.output(v);
  std::vector<Tensors> inputs;
  for (const int64_t n : {3, 1})
    for (const bool truth : {true, false}) inputs.push_back({counting({n, 4}, -1), optima::reference::scalar_bool(truth)});
  right_with(net, inputs);
}

TEST_CASE("outputs that are inputs, constants, one value twice, and what sizes alone decide") {
  OpenNet net;
  const uint32_t x = net.input({-1, -1}), c = net.weights({3});
  const uint32_t y = net.op("Add", 14, {x, c}, 2);
  for (const uint32_t v : {x, y, c, y, net.shape(x), x}) net.output(v);
  right_with(net, {{counting({2, 3}, 0)}, {counting({1, 1}, 0)}, {counting({40, 3}, 0)}, {counting({0, 3}, 0)}});
}

TEST_CASE("branches that are constants, and inputs of graphs handed through") {
  OpenNet net;
  const uint32_t x = net.input({-1}), flag = net.input({}, OPTIMA_BOOL), c = net.weights({3});
  const uint32_t yes = net.body(), no = net.body();
  net.body_output(yes, net.capture(yes, c, 1));
  net.body_output(no, net.capture(no, x, 1));
  const uint32_t v = net.branch(flag, yes, no, 1);
  net.output(v);
  net.output(net.op("Neg", 13, {v}, 1));
  std::vector<Tensors> inputs;
  for (const int64_t n : {5, 1})
    for (const bool truth : {true, false}) inputs.push_back({counting({n}, -1), optima::reference::scalar_bool(truth)});
  right_with(net, inputs);
}

TEST_CASE("an input of open rank") {
  OpenNet net;
  const uint32_t x = net.input({-1});
  const uint32_t y = net.op("Relu", 14, {x}, 1);
  net.unranked(x), net.unranked(y);
  net.output(y);
  net.output(net.op("Reshape", 21, {y, net.integers({-1})}, 1));
  right_with(net, {{counting({2, 3}, -1)}, {counting({}, -1)}, {counting({2, 1, 5}, -1)}, {counting({7}, -1)}});
}

TEST_CASE("a value that two legs read and a value that is asked for, is an output and goes on") {
  OpenNet net;
  const uint32_t x = net.input({-1, 3}), n = net.input({1}, OPTIMA_I64);
  const uint32_t y = net.op("Neg", 13, {x}, 2), target = net.op("Add", 14, {n, net.integers({1})}, 1, {}, OPTIMA_I64);
  const uint32_t made = net.op("ConstantOfShape", 20, {target}, 1);
  net.output(target);
  net.output(net.op("Add", 14, {net.op("ReduceSum", 13, {y}, 0, {Net::integer("keepdims", 0)}), made}, 1));
  net.output(y);
  right_with(net, {{counting({2, 3}, -1), ints({1}, {4})}, {counting({7, 3}, -1), ints({1}, {0})}, {counting({2, 3}, 5), ints({1}, {30})}});
}

TEST_CASE("numbers that are drawn are new in every run, at sizes that were planned before and of nodes that read nothing") {
  OpenNet net;
  const uint32_t x = net.input({-1});
  net.output(net.op("Add", 14, {x, net.op("RandomNormalLike", 22, {x}, 1)}, 1));
  net.output(net.op("RandomUniform", 22, {}, 1, {Net::ints("shape", {3})}));
  Bench bench;
  const auto c = compile(bench, net);
  REQUIRE_MESSAGE(c->code == OPTIMA_OK, c->status.message);
  OpenSession session(bench, *c, 1);
  REQUIRE_MESSAGE(session.code == OPTIMA_OK, session.message);
  const auto drawn = [&] {
    const Came came = session.run({counting({5}, 0)});
    REQUIRE_MESSAGE(came.code == OPTIMA_OK, came.message);
    std::vector<std::vector<double>> out;
    for (const Tensor& t : came.outputs) out.push_back(optima::reference::load<double>(t));
    return out;
  };
  const auto first = drawn(), second = drawn();
  REQUIRE(first[1].size() == 3);
  for (size_t k = 0; k < 2; ++k) CHECK(first[k] != second[k]);
}
