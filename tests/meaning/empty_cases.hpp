// SPDX-License-Identifier: Apache-2.0
// tests/meaning: operators where a tensor has no elements. Graphs in ONNX's text; N and K are sizes of inputs, other letters sizes of
// what comes out.
#pragma once

#include <string>
#include <vector>

namespace optima::test {

/// What a run's inputs are made of: sizes, every i64, every bool, and what random floats from -2 to 2 are multiplied by.
struct Fill {
  int64_t n = 0, k = 0, number = 0;
  bool truth = false;
  float scale = 1;
};

struct EmptyCase {
  const char* graph;
  std::vector<Fill> fills = {{0}, {2}};
  /// OpenVINO 2026.4 ends the run with an error of its own.
  bool openvino_stops = false;
  /// OpenVINO 2026.4 gives other values (shapes are compared all the same); why.
  const char* openvino_differs = "";
};

inline std::vector<EmptyCase> empty_cases() {
  std::vector<EmptyCase> all;
  static std::vector<std::string> texts;  // for the c_str() below
  texts.reserve(100);
  const auto add = [&](std::string text, std::vector<Fill> fills = {{0}, {2}}) { all.push_back({texts.emplace_back(std::move(text)).c_str(), std::move(fills)}); };
  for (const char* op : {"Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "Identity", "LeakyRelu", "Mish", "Neg", "Relu", "Round", "Selu", "Sigmoid", "Sign",
                         "Softmax", "Softplus", "Tanh", "LogSoftmax", "Hardmax", "Softmax <axis = 0> ", "LpNormalization <axis = 1> ", "Cast <to = 7> ", "Trilu"})
    add("g (float[N,3] x) => (" + std::string(std::string(op).find("Cast") == 0 ? "int64" : "float") + "[N,3] y) { y = " + op + "(x) }");
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum", "PRelu"})
    add("g (float[N,3] x, float[K,3] w) => (float[M,3] y) { y = " + std::string(op) + "(x, w) }", {{0, 0}, {0, 1}, {2, 2}, {2, 1}});
  for (const char* op : {"Equal", "Less", "GreaterOrEqual"})
    add("g (float[N,3] x, float[K,3] w) => (bool[M,3] y) { y = " + std::string(op) + "(x, w) }", {{0, 0}, {0, 1}, {2, 2}});
  for (const char* op : {"ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    add("g (float[N,3] x) => (float[3] y) <int64[1] a = {0}> { y = " + std::string(op) + " <keepdims = 0> (x, a) }");
    add("g (float[N,3] x) => (float[N,1] y) <int64[1] a = {1}> { y = " + std::string(op) + "(x, a) }");
  }
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceLogSumExp"})
    add("g (float[N,3] x) => (float[N,1] y) <int64[1] a = {1}> { y = " + std::string(op) + "(x, a) }");

  const std::vector<EmptyCase> others = {
      {"g (float[N,3] x) => (float[3] y) <int64[1] a = {0}> { y = ReduceMax <keepdims = 0> (x, a) }", {{0}, {2}}, false, "the least finite number, ONNX says -inf"},
      {"g (float[N,3] x) => (float[3] y) <int64[1] a = {0}> { y = ReduceMin <keepdims = 0> (x, a) }", {{0}, {2}}, false, "the largest finite number, ONNX says inf"},
      {"g (float[N,3] x) => (float[3] y) <int64[1] a = {0}> { y = ReduceMean <keepdims = 0> (x, a) }", {{0}, {2}}, false, "0, where ONNX leaves it open and others give nan"},
      {"g (float[N,3] x) => (int64[N,1] y) { y = ArgMax <axis = 1> (x) }"},
      {"g (float[N,3] x) => (float[3,N] y) { y = Transpose <perm = [1, 0]> (x) }"},
      {"g (float[N,3] x) => (float[N,3] y) { y = Flatten(x) }"},
      {"g (float[N,3] x) => (float[N,3,1] y) <int64[3] s = {0, 3, 1}> { y = Reshape(x, s) }"},
      {"g (float[N,3] x) => (float[M,1,3] y) <int64[3] s = {-1, 1, 3}> { y = Reshape(x, s) }"},
      {"g (float[N,3] x) => (float[1,N,3] y) <int64[1] a = {0}> { y = Unsqueeze(x, a) }"},
      {"g (float[N,1] x) => (float[N] y) <int64[1] a = {1}> { y = Squeeze(x, a) }"},
      {"g (float[N,3] x, float[K,3] w) => (float[M,3] y) { y = Concat <axis = 0> (x, w) }", {{0, 0}, {0, 1}, {2, 0}, {1, 2}}},
      {"g (float[N,3] x, float[N,K] w) => (float[N,M] y) { y = Concat <axis = 1> (x, w) }", {{0, 0}, {0, 1}, {2, 0}, {1, 2}}},
      {"g (float[N,3] x) => (float[N,1] y, float[N,2] z) <int64[2] s = {1, 2}> { y, z = Split <axis = 1> (x, s) }"},
      {"g (float[N,3] x) => (float[M,3] y) <int64[1] a = {0}, int64[1] s = {1}, int64[1] e = {100}> { y = Slice(x, s, e, a) }", {{0}, {1}, {3}}},
      {"g (float[N,3] x, int64[1] e) => (float[M,3] y) <int64[1] a = {0}, int64[1] s = {0}> { y = Slice(x, s, e, a) }", {{2, 0, 0}, {2, 0, 2}, {0, 0, 4}}},
      {"g (float[N,3] x, int64[K] i) => (float[K,3] y) { y = Gather(x, i) }", {{0, 0}, {2, 0}, {2, 1, 1}}},
      {"g (float[N,3] x, int64[K] i) => (float[N,K] y) { y = Gather <axis = 1> (x, i) }", {{0, 0}, {2, 0}, {0, 2, 1}, {2, 1, 1}}},
      {"g (float[N,3] x, int64[K,3] i) => (float[K,3] y) { y = GatherElements(x, i) }", {{0, 0}, {2, 0}, {2, 1, 1}}},
      {"g (float[N,3] x, int64[K,1] i) => (float[K,3] y) { y = GatherND(x, i) }", {{0, 0}, {2, 0}, {2, 1, 1}}},
      {"g (float[N,3] x, int64[K,1] i, float[K,3] u) => (float[N,3] y) { y = ScatterND(x, i, u) }", {{0, 0}, {2, 0}, {2, 1, 1}}},
      {"g (float[N,3] x, int64[K,3] i, float[K,3] u) => (float[N,3] y) { y = ScatterElements(x, i, u) }", {{0, 0}, {2, 0}, {2, 1, 1}}},
      {"g (float[1,3] x, int64[1] s) => (float[M,3] y) <int64[1] t = {3}> { st = Concat <axis = 0> (s, t)  y = Expand(x, st) }", {{0, 0, 0}, {0, 0, 2}}},
      {"g (float[N,3] x) => (float[M,3] y) <int64[2] s = {2, 1}> { y = Tile(x, s) }"},
      {"g (int64[1] s) => (float[M,3] y) <int64[1] t = {3}> { st = Concat <axis = 0> (s, t)  y = ConstantOfShape(st) }", {{0, 0, 0}, {0, 0, 2}}},
      {"g (int64 b) => (int64[M] y) <int64 a = {3}, int64 s = {1}> { y = Range(a, b, s) }", {{0, 0, 0}, {0, 0, 3}, {0, 0, 5}}},
      {"g (int64 b) => (int64[M] y) <int64 a = {3}, int64 s = {-2}> { y = Range(a, b, s) }", {{0, 0, 0}, {0, 0, 3}, {0, 0, 5}}},
      {"g (int64 b, int64 s) => (int64[M] y) <int64 a = {1}> { y = Range(a, b, s) }", {{0, 0, -1}, {0, 0, 1}, {0, 0, 3}}},
      {"g (float[N,3] x) => (float[N,5] y) <int64[4] p = {0, 1, 0, 1}> { y = Pad(x, p) }"},
      {"g (float[N,3] x) => (float[M,3] y) <int64[4] p = {1, 0, 1, 0}> { y = Pad(x, p) }"},
      {"g (float[N,3] x) => (float[N,3] y) <int64 a = {0}> { y = CumSum(x, a) }"},
      {"g (int64[N] i) => (float[N,4] y) <int64 d = {4}, float[2] v = {0, 1}> { y = OneHot(i, d, v) }"},
      {"g (bool[N,1] c, float[N,3] x, float[K,3] w) => (float[M,3] y) { y = Where(c, x, w) }", {{0, 1}, {2, 1, 0, true}}},
      {"g (float[N,3] x, float[3,2] w) => (float[N,2] y) { y = MatMul(x, w) }"},
      {"g (float[2,K] x, float[K,2] w) => (float[2,2] y) { y = MatMul(x, w) }", {{0, 0}, {0, 3}}},
      {"g (float[N,2,3] x, float[N,3,2] w) => (float[N,2,2] y) { y = MatMul(x, w) }"},
      {"g (float[N,3] x) => (float[N,2] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, -1}> { y = Gemm <transB = 1> (x, w, b) }"},
      {"g (float[2,K] x, float[K,2] w) => (float[2,2] y) <float[2] b = {1, -1}> { y = Gemm(x, w, b) }", {{0, 0}, {0, 3}}},
      {"g (float[N,1,4,4] x) => (float[N,2,4,4] y) <float[2,1,1,1] w = {2, 3}> { y = Conv(x, w) }"},
      {"g (float[N,1,2,2] x) => (float[N,1,3,3] y) <float[1,1,2,2] w = {1, 2, 3, 4}> { y = ConvTranspose(x, w) }"},
      {"g (float[N,2,3,3] x) => (float[N,2,2,2] y) { y = MaxPool <kernel_shape = [2, 2]> (x) }", {{0}, {2}}, true},
      {"g (float[N,2,3,3] x) => (float[N,2,2,2] y) { y = AveragePool <kernel_shape = [2, 2]> (x) }", {{0}, {2}}, true},
      {"g (float[N,2,3,3] x) => (float[N,2,1,1] y) { y = GlobalAveragePool(x) }"},
      {"g (float[N,2,3,3] x) => (float[N,2,1,1] y) { y = GlobalMaxPool(x) }"},
      {"g (float[N,2,2] x) => (float[N,2,2] y) <float[2] s = {1, 2}> { y = BatchNormalization(x, s, s, s, s) }"},
      {"g (float[N,2,2] x) => (float[N,2,2] y) <float[2] s = {1, 2}> { y = InstanceNormalization(x, s, s) }"},
      {"g (float[N,3] x) => (float[N,3] y) <float[3] s = {1, 2, 3}> { y = LayerNormalization(x, s, s) }"},
      {"g (float[N,1,2,2] x) => (float[N,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize <mode = \"nearest\"> (x, , s) }"},
      {"g (float[N,4,1,1] x) => (float[N,1,2,2] y) { y = DepthToSpace <blocksize = 2> (x) }"},
      {"g (float[3,N,3] x, float[1,8,3] w, float[1,8,2] r) => (float[3,1,N,2] y) { y = LSTM <hidden_size = 2> (x, w, r) }"},
      {"g (float[3,N,3] x, float[1,6,3] w, float[1,6,2] r) => (float[3,1,N,2] y) { y = GRU <hidden_size = 2> (x, w, r) }"},
      {"g (float[3,N,3] x) => (float[3,1,N,1] y) <float[1,4,3] w = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, float[1,4,1] r = {1, 2, 3, 4}> { y = LSTM <hidden_size = 1> (x, w, r) }"},
      {"g (float[3,N,3] x) => (float[3,1,N,1] y) <float[1,3,3] w = {1, 2, 3, 1, 2, 3, 1, 2, 3}, float[1,3,1] r = {1, 2, 3}> { y = GRU <hidden_size = 1> (x, w, r) }"},
      {"g (float[3,N,3] x) => (float[3,1,N,1] y) <float[1,1,3] w = {1, 2, 3}, float[1,1,1] r = {1}> { y = RNN <hidden_size = 1> (x, w, r) }"},
      {"g (float[N,2,3] x) => (float[N,1,2,1] y) <float[1,3,3] w = {1, 2, 3, 1, 2, 3, 1, 2, 3}, float[1,3,1] r = {1, 2, 3}> { y = GRU <hidden_size = 1> (x, w, r) }"},
      {"g (float[N,3] x) => (uint8[N,3] y) <float s = {0.1}, uint8 z = {3}> { y = QuantizeLinear(x, s, z) }", {{0}, {2, 0, 0, false, 0}}},
      {"g (float[N,3] x) => (float[N,3] y) <float s = {0.1}, uint8 z = {3}> { q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }", {{0}, {2, 0, 0, false, 0}}},
      {"g (float[N,3] x) => (float[N,2] y, int64[N,2] i) <int64[1] k = {2}> { y, i = TopK <axis = 1> (x, k) }"},
      {"g (float[2,3] x, int64[1] k) => (float[2,M] y, int64[2,M] i) { y, i = TopK <axis = 1> (x, k) }", {{0, 0, 0}, {0, 0, 2}}},
      {"g (float[N] x, int64[1] k) => (float[M] y) { l = Shape(x)  least = Min(l, k)  y, i = TopK <axis = 0> (x, least) }", {{0, 0, 5}, {2, 0, 5}, {2, 0, 0}}},
      {"g (float[N,3] x) => (int64[2,M] y) { y = NonZero(x) }", {{0}, {2}, {2, 0, 0, false, 0}}},
      {"g (float[N] x) => (float[M] y, int64[A] i, int64[B] v, int64[C] c) { y, i, v, c = Unique(x) }", {{0}, {3}}},
      {"g (float[N] x, bool[N] c) => (float[M] y) { y = Compress <axis = 0> (x, c) }", {{0}, {2, 0, 0, true}, {2, 0, 0, false}}},
      {"g (float[1,N,4] b, float[1,1,N] s) => (int64[M,3] y) <int64 m = {9}, float i = {0.5}, float t = {0.1}> { y = NonMaxSuppression(b, s, m, i, t) }", {{0}, {3}, {3, 0, 0, false, 0}}},
      {"g (float[1,2,4,4] x, float[N,4] r, int64[N] b) => (float[N,2,2,2] y) { y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, r, b) }"},
      {"g (float[1,2,4,4] x, float[N,5] r) => (float[N,2,2,2] y) { y = MaxRoiPool <pooled_shape = [2, 2]> (x, r) }", {{0}, {2, 0, 0, false, 0}}},
      {"g (float[N,1,3,3] x, float[N,2,2,2] w) => (float[N,1,2,2] y) { y = GridSample(x, w) }"},
      {"g (float[1,1,3,3] x, float[1,N,2,2] w) => (float[1,1,N,2] y) { y = GridSample(x, w) }"},
      {"g (float[N,3] x, float[3,2] w) => (float[N,2] y) { y = Einsum <equation = \"nk,km->nm\"> (x, w) }"},
      {"g (float[2,K] x, float[K,2] w) => (float[2,2] y) { y = Einsum <equation = \"nk,km->nm\"> (x, w) }", {{0, 0}, {0, 3}}},
      {"g (float[N,4,2] x) => (float[N,4,2] y) <float[4] s = {1, 2, 3, 4}> { y = GroupNormalization <num_groups = 2> (x, s, s) }"},
      {"g (float[N,3,2,2] x) => (float[N,3,2,2] y) { y = LRN <size = 3> (x) }"},
      {"g (float[N,1,2,2] x) => (float[N,4,1,1] y) { y = SpaceToDepth <blocksize = 2> (x) }"},
      {"g (float[3,N] x, int64[N] l) => (float[3,N] y) { y = ReverseSequence <time_axis = 0, batch_axis = 1> (x, l) }", {{0, 0, 1}, {2, 0, 2}}},
      {"g (uint8[N,3] x, uint8[3,2] w) => (int32[N,2] y) { y = MatMulInteger(x, w) }", {{0}, {2, 0, 0, false, 0}}},
      {"g (float[N,2,3,3] x) => (float[N,2,2,2] y) { y = LpPool <kernel_shape = [2, 2]> (x) }", {{0}, {2}}, true},
      // rows above a threshold, and what is done with them
      {"g (float[N,4] x, float[N] s) => (float[M,2] y) <float t = {0.5}, int64[1] a = {0}, float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {1, 2}> "
       "{ c = Greater(s, t)  z = NonZero(c)  i = Squeeze(z, a)  r = Gather(x, i)  p = Gemm(r, w, b)  y = Softmax(p) }", {{0}, {4}, {4, 0, 0, false, 0}}},
      // an If as torch writes it round the suppression of boxes: nothing found, nothing kept
      {"g (float[N] x, bool c) => (float[M] y) <int64[1] a = {0}, int64[1] b = {0}, int64[1] e = {100}> { "
       "k = If(c) <then_branch = t () => (int64[0] p) { p = Constant <value = int64[0] {}> () }, else_branch = f () => (int64[P] q) { z = NonZero(x)  q = Squeeze(z, a) }>  "
       "s = Slice(k, b, e, b)  y = Gather(x, s) }", {{0, 0, 0, true}, {3, 0, 0, true}, {3, 0, 0, false}, {3, 0, 0, false, 0}}},
      {"g (bool c, int64[1] n) => (int64[M] y) { y = If(c) <then_branch = t () => (int64[0] p) { p = Constant <value = int64[0] {}> () }, else_branch = f () => (int64[1] q) { q = Neg(n) }> }",
       {{0, 0, 0, true}, {0, 0, 3, false}}},
      {"g (int64 n, float[2] x) => (float[2] y, float[M,2] z) <bool c = {1}> { y, z = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] s, float[2] t) "
       "{ co = Identity(ci)  s = Add(a, a)  t = Neg(a) }> }", {{0, 0, 0}, {0, 0, 2}}},
      {"g (int64 n, float[2] x) => (float[2] y) <bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] s) "
       "{ co = Identity(ci)  s = Add(a, a) }> }", {{0, 0, 0}, {0, 0, 2}}},
      {"g (float[N,3] x, bool c) => (float[N,3] y) { y = If(c) <then_branch = t () => (float[N,3] p) { p = Relu(x) }, else_branch = f () => (float[N,3] q) { q = Neg(x) }> }",
       {{0, 0, 0, true}, {0}, {2}}},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace optima::test
