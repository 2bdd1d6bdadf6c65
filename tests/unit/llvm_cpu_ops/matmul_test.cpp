// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

TEST_CASE("matrix products with a constant right side") {
  Bench bench;
  Net net;
  for (const auto& [a, k, n] : std::vector<std::tuple<Dims, int64_t, int64_t>>{
           {{1}, 70, 100}, {{2}, 33, 50}, {{5}, 17, 64}, {{49}, 64, 48}, {{2, 13}, 40, 130}, {{2, 3, 9}, 21, 7}, {{100}, 96, 96}}) {
    Dims in = a, out = a;
    in.push_back(k), out.push_back(n);
    net.output(net.node("MatMul", 13, {net.input(in), net.weights({k, n})}, out));
  }
  matches_reference(bench, net);
}

TEST_CASE("matrix products of computed operands, batched and broadcast") {
  Bench bench;
  Net net;
  net.output(net.node("MatMul", 13, {net.input({2, 3, 20, 16}), net.input({2, 3, 16, 25})}, {2, 3, 20, 25}));
  net.output(net.node("MatMul", 13, {net.input({2, 3, 20, 16}), net.input({3, 16, 25})}, {2, 3, 20, 25}));
  net.output(net.node("MatMul", 13, {net.input({20, 16}), net.input({3, 16, 25})}, {3, 20, 25}));
  net.output(net.node("MatMul", 13, {net.input({2, 1, 2, 1, 5, 8}), net.input({1, 3, 1, 2, 8, 6})}, {2, 3, 2, 2, 5, 6}));
  net.output(net.node("MatMul", 13, {net.input({16}), net.input({16, 25})}, {25}));
  net.output(net.node("MatMul", 13, {net.input({4, 16}), net.input({16})}, {4}));
  net.output(net.node("MatMul", 13, {net.input({2, 16}), net.input({16, 64})}, {2, 64}));
  net.output(net.node("MatMul", 13, {net.input({4, 2, 16}), net.weights({4, 16, 20})}, {4, 2, 20}));
  matches_reference(bench, net);
}

TEST_CASE("Einsums of two operands are products in which operands lie as they are, right sides constant or not; of one they are permutations") {
  Bench bench;
  Net net;
  const auto einsum = [&](const std::string& equation, const Dims& a, const Dims& b, const Dims& y) {
    net.output(net.node("Einsum", 12, {net.input(a), net.input(b)}, y, {Net::text("equation", equation)}));
    net.output(net.node("Einsum", 12, {net.input(a), net.weights(b)}, y, {Net::text("equation", equation)}));
  };
  einsum("bhlk,bhmk->bhlm", {2, 3, 20, 33}, {2, 3, 37, 33}, {2, 3, 20, 37});
  einsum("bqhd, bkhd -> bhqk", {2, 20, 3, 16}, {2, 33, 3, 16}, {2, 3, 20, 33});
  einsum("bhqk,bkhd->bqhd", {2, 3, 20, 33}, {2, 33, 3, 16}, {2, 20, 3, 16});
  einsum("bqhd,hdo->bqo", {2, 9, 3, 16}, {3, 16, 40}, {2, 9, 40});    // summed over two letters
  einsum("bqd,dhk->bqhk", {2, 9, 40}, {40, 3, 16}, {2, 9, 3, 16});    // a column and a batch of one side
  einsum("ibnd,jbnd->ijbn", {9, 2, 3, 8}, {10, 2, 3, 8}, {9, 10, 2, 3});  // the last letter is of both
  einsum("abc,cb->ba", {2, 3, 4}, {4, 3}, {3, 2});                    // of the left side alone
  einsum("...ij,...jk", {2, 3, 4, 5}, {1, 3, 5, 6}, {2, 3, 4, 6});
  einsum("i,j->ij", {7}, {19}, {7, 19});
  einsum("ibh,hnd->ibnd", {20, 1, 33}, {33, 3, 16}, {20, 1, 3, 16});  // XLNet's: rows and columns of two letters each
  einsum("ibh,hnd->ibnd", {5, 4, 33}, {33, 3, 16}, {5, 4, 3, 16});
  einsum("ibnd,hnd->ibh", {5, 4, 3, 16}, {33, 3, 16}, {5, 4, 33});
  einsum("ibh,hnd->indb", {5, 4, 33}, {33, 3, 16}, {5, 3, 16, 4});  // of which only some lie as one in the result
  einsum("aib,bcd->iacd", {3, 5, 8}, {8, 1, 7}, {5, 3, 1, 7});
  for (const auto& [equation, x, y] : std::vector<std::tuple<std::string, Dims, Dims>>{{"ijbn->bnij", {4, 5, 2, 3}, {2, 3, 4, 5}}, {"ab", {3, 4}, {3, 4}}, {"ba", {3, 4}, {4, 3}}, {"a...->...a", {3, 1, 5}, {1, 5, 3}}})
    net.output(net.node("Einsum", 12, {net.input(x)}, y, {Net::text("equation", equation)}));
  einsum("ij,ij->", {4, 5}, {4, 5}, {});
  einsum("ii,ij->j", {5, 5}, {5, 6}, {6});
  matches_reference(bench, net);
}

TEST_CASE("gemm with transposes, factors and every shape of C") {
  Bench bench;
  Net net;
  const auto gemm = [&](Dims a, Dims b, uint32_t c, bool ta, bool tb, float alpha, float beta, bool constant) {
    const int64_t m = a[ta ? 1 : 0], n = b[tb ? 0 : 1];
    std::vector<uint32_t> in{net.input(a), constant ? net.weights(b) : net.input(b)};
    if (c != OPTIMA_NONE) in.push_back(c);
    net.output(net.node("Gemm", 13, in, {m, n}, {Net::integer("transA", ta), Net::integer("transB", tb), Net::real("alpha", alpha), Net::real("beta", beta)}));
  };
  gemm({9, 20}, {20, 33}, net.weights({33}), false, false, 1, 1, true);
  gemm({20, 9}, {33, 20}, net.weights({9, 1}), true, true, 0.5f, 2, true);
  gemm({9, 20}, {33, 20}, net.input({9, 33}), false, true, 1, 1, false);
  gemm({1, 200}, {33, 200}, net.weights({1, 33}), false, true, 1, 1, true);
  gemm({9, 20}, {20, 33}, net.weights({}), false, false, 1, 3, true);
  gemm({9, 20}, {20, 33}, OPTIMA_NONE, false, false, 2, 1, false);
  matches_reference(bench, net);
}

TEST_CASE("activations and additions after a product are part of it") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({12, 40}), residual = net.input({12, 50});
  net.output(net.same("Relu", 14, net.node("MatMul", 13, {x, net.weights({40, 50})}, {12, 50})));
  net.output(net.add(net.node("MatMul", 13, {x, net.weights({40, 50})}, {12, 50}), residual));
  uint32_t v = net.node("Gemm", 13, {x, net.weights({40, 50}), net.weights({12, 50})}, {12, 50});
  net.output(net.same("Tanh", 13, net.add(v, residual)));
  v = net.node("Gemm", 13, {x, net.weights({40, 50}), net.weights({50})}, {12, 50});
  net.output(net.add(net.same("Sigmoid", 13, v), residual));
  v = net.node("MatMul", 13, {x, net.weights({40, 50})}, {12, 50});
  v = net.node("Add", 14, {net.weights({50}), v}, {12, 50});
  net.output(net.add(net.same("Gelu", 20, v), residual));
  v = net.node("Gemm", 13, {x, net.weights({40, 50}), net.weights({50})}, {12, 50});
  v = net.node("Add", 14, {v, net.input({1, 50})}, {12, 50});
  net.output(net.same("Gelu", 20, v, {Net::text("approximate", "tanh")}));
  matches_reference(bench, net);
}
