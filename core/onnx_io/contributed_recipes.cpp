// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what each operator of com.microsoft is in ONNX operators, by ONNX Runtime's operator pages (docs/ContribOperators.md there).
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io {
namespace recipes {

bool one_element(const Contributed& n, int input) {
  const auto d = n.dims(input);
  return d && std::all_of(d->begin(), d->end(), [](int64_t v) { return v == 1; });
}

Dims channels_first(int rank) {
  Dims perm{0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d) perm.push_back(d);
  return perm;
}
Dims channels_last(int rank) {
  Dims perm{0};
  for (int64_t d = 2; d < rank; ++d) perm.push_back(d);
  perm.push_back(1);
  return perm;
}

std::string unpadded(const std::string& bytes, int64_t rows, int64_t per_row, int64_t bits) {
  const int64_t row = (per_row * bits + 7) / 8;
  std::string out(static_cast<size_t>((rows * per_row + 1) / 2), '\0');
  for (int64_t r = 0, at = 0; r < rows; ++r)
    for (int64_t k = 0; k < per_row; ++k, ++at) {
      const int code = static_cast<unsigned char>(bytes[static_cast<size_t>(r * row + k * bits / 8)]) >> (k * bits % 8) & ((1 << bits) - 1);
      out[static_cast<size_t>(at / 2)] = static_cast<char>(out[static_cast<size_t>(at / 2)] | code << (at % 2 * 4));
    }
  return out;
}

namespace {

/// The last two dims exchanged.
Dims last_two(int rank) {
  Dims perm;
  for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

/// QuantizeLinear; where there is no zero point, to the type of the codes that came in.
Text quantized(const Contributed& n, const Text& out, const Text& x, const Text& scale, const Text& zero, int zero_at, int like) {
  const bool names_type = !n.has(zero_at) && n.dtype(like) != kU8;
  return cat(out, " = QuantizeLinear ", names_type ? cat("<output_dtype = ", n.dtype(like), "> (") : "(", x, ", ", scale, ", ", zero, ") ");
}
/// False while the codes' type would have to be named, which QuantizeLinear can since opset 21.
bool can_quantize(const Contributed& n, int zero_at, int like) {
  return n.has(zero_at) || n.dtype(like) == kU8 || (n.dtype(like) != 0 && n.opset() >= 21);
}

Text quantize_linear(Contributed& n) {
  // Per axis from opset 13 on; other than 8 bits from 21 on.
  const int32_t type = n.has(2) ? n.dtype(2) : kU8;
  if (n.opset() < 21 && ((type != kU8 && type != kI8) || n.dtype(0) != kF32 || (n.opset() < 13 && !one_element(n, 1)))) return "";
  return cat("(x, s, z) => (y) { y = QuantizeLinear ", n.opset() < 13 ? "" : "<axis: int = @axis> ", "(x, s, z) }");
}

Text dequantize_linear(Contributed& n) {
  const int32_t type = n.dtype(0);
  if (n.opset() < 21 && ((type != kU8 && type != kI8 && type != kI32) || n.dtype(1) != kF32 || (n.opset() < 13 && !one_element(n, 1)))) return "";
  return cat("(x, s, z) => (y) { y = DequantizeLinear ", n.opset() < 13 ? "" : "<axis: int = @axis> ", "(x, s, z) }");
}

/// Zero points may be left out between operands that may not.
Text missing(Contributed& n, int input) { return n.refuse(cat("no input ", input, ", wanted all but zero points")); }

/// DequantizeLinear twice, an operator, QuantizeLinear.
Text two_codes(Contributed& n, const Text& op) {
  for (const int k : {3, 4, 6})
    if (!n.has(k)) return missing(n, k);
  if (!can_quantize(n, 7, 0)) return "";
  return cat("(A, As, Az, B, Bs, Bz, Cs, Cz) => (C) { a = DequantizeLinear(A, As, Az) b = DequantizeLinear(B, Bs, Bz) c = ", op, "(a, b) ",
             quantized(n, "C", "c", "Cs", "Cz", 7, 0), "}");
}
Text qlinear_add(Contributed& n) { return two_codes(n, "Add"); }
Text qlinear_mul(Contributed& n) { return two_codes(n, "Mul"); }

Text one_code(Contributed& n, const Text& step) {
  if (!n.has(3)) return missing(n, 3);
  if (!can_quantize(n, 4, 0)) return "";
  return cat("(X, Xs, Xz, Ys, Yz) => (Y) { x = DequantizeLinear(X, Xs, Xz) ", step, quantized(n, "Y", "y", "Ys", "Yz", 4, 0), "}");
}
Text qlinear_sigmoid(Contributed& n) { return one_code(n, "y = Sigmoid(x) "); }
Text qlinear_leaky_relu(Contributed& n) { return one_code(n, "y = LeakyRelu <alpha: float = @alpha> (x) "); }
Text qlinear_softmax(Contributed& n) {
  const int64_t axis = n.integer("axis", -1), rank = n.rank(0);
  if (n.integer("opset", 13) >= 13 || axis == -1 || (rank > 0 && axis == rank - 1)) return one_code(n, cat("y = Softmax <axis = ", axis, "> (x) "));
  // Before opset 13 it is over all dims from the axis on.
  return one_code(n, cat("f = Flatten <axis = ", axis, "> (x) p = Softmax <axis = -1> (f) d = Shape(x) y = Reshape(p, d) "));
}
Text qlinear_reduce_mean(Contributed& n) {
  const Dims axes = n.integers("axes");
  const Text mean = "ReduceMean <keepdims: int = @keepdims> ";
  return one_code(n, axes.empty() ? cat("y = ", mean, "(x) ") : cat(int_list("axes", axes), "y = ", mean, "(x, axes) "));
}

/// `step` makes y of x, channels second, of a rank that is known when channels come last.
Text maybe_last(Contributed& n, const Text& op, int rank) {
  if (n.integer("channels_last", 0) == 0) return one_code(n, cat("y = ", op, "(x) "));
  if (rank < 3) return "";
  return one_code(n, cat(permuted("xf", "x", channels_first(rank)), "yf = ", op, "(xf) ", permuted("y", "yf", channels_last(rank))));
}
Text qlinear_average_pool(Contributed& n) {
  const Text op = "AveragePool <auto_pad: string = @auto_pad, ceil_mode: int = @ceil_mode, count_include_pad: int = @count_include_pad, "
                  "kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> ";
  return maybe_last(n, op, static_cast<int>(n.integers("kernel_shape").size()) + 2);
}
Text qlinear_global_average_pool(Contributed& n) { return maybe_last(n, "GlobalAveragePool", n.rank(0)); }

Text qlinear_concat(Contributed& n) {
  const int parts = (n.inputs() - 2) / 3;
  if (parts < 1 || n.inputs() != 2 + 3 * parts) return "";
  Text head = "(Ys, Yz", steps, all;
  for (int k = 0; k < parts; ++k) {
    head += cat(", X", k, ", S", k, ", Z", k);
    steps += cat("x", k, " = DequantizeLinear(X", k, ", S", k, ", Z", k, ") ");
    all += cat(k ? ", x" : "x", k);
  }
  return cat(head, ") => (Y) { ", steps, "y = Concat <axis: int = @axis> (", all, ") Y = QuantizeLinear(y, Ys, Yz) }");
}

Text qlinear_where(Contributed&) {
  return "(c, X, Xs, Xz, Y, Ys, Yz, Zs, Zz) => (Z) { x = DequantizeLinear(X, Xs, Xz) y = DequantizeLinear(Y, Ys, Yz) z = Where(c, x, y) "
         "Z = QuantizeLinear(z, Zs, Zz) }";
}

Text qlinear_conv(Contributed& n) {
  const Text op = "QLinearConv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group, kernel_shape: ints = @kernel_shape, "
                  "pads: ints = @pads, strides: ints = @strides> ";
  const Text head = "(x, xs, xz, w, ws, wz, ys, yz, b) => (y) { ", rest = "xs, xz, w, ws, wz, ys, yz, b) ";
  if (n.integer("channels_last", 0) == 0) return cat(head, "y = ", op, "(x, ", rest, "}");
  const int rank = n.rank(3);
  if (rank < 3) return "";
  return cat(head, permuted("xf", "x", channels_first(rank)), "yf = ", op, "(xf, ", rest, permuted("y", "yf", channels_last(rank)), "}");
}

Text q_gemm(Contributed& n) {
  const bool transposed = n.integer("transB", 0) != 0, biased = n.has(6), scaled = n.real("alpha", 1) != 1;
  const int bias_rank = n.rank(6);
  if (biased && bias_rank < 0) return "";
  const Text axis = one_element(n, 4) ? "" : cat("<axis = ", transposed ? 0 : 1, "> ");
  if (!axis.empty() && n.opset() < 13) return "";
  Text out = cat("(A, As, Az, B, Bs, Bz, C, Ys, Yz) => (Y) { a = DequantizeLinear(A, As, Az) b = DequantizeLinear ", axis, "(B, Bs, Bz) ");
  if (biased) {
    out += "ab = Mul(As, Bs) ";
    if (scaled) out += cat("alpha = Constant <value = float {", number(n.real("alpha", 1)), "}> () cs = Mul(ab, alpha) ");
    out += cat("c = DequantizeLinear ", axis.empty() ? "" : cat("<axis = ", bias_rank - 1, "> "), "(C, ", scaled ? "cs" : "ab", ") ");
  }
  const Text y = n.has(7) ? "y" : "Y";
  out += cat(y, " = Gemm <alpha: float = @alpha, transA: int = @transA, transB: int = @transB> (a, b", biased ? ", c) " : ") ");
  if (n.has(7)) {
    if (!can_quantize(n, 8, 0)) return "";
    out += quantized(n, "Y", "y", "Ys", "Yz", 8, 0);
  }
  return out + "}";
}

/// A product of codes, its scale and a bias, as floats of the type of the scales.
Text scaled_product(const Contributed& n, int bias) {
  return cat("i = MatMulInteger(A, B, Az, Bz) f = Cast <to = ", kF32, "> (i) s = Mul(As, Bs) ", n.has(bias) ? "m = Mul(f, s) Y = Add(m, bias) }" : "Y = Mul(f, s) }");
}
Text matmul_integer_to_float(Contributed& n) {
  if (n.dtype(2) != kF32) return "";
  return "(A, B, As, Bs, Az, Bz, bias) => (Y) { " + scaled_product(n, 6);
}
Text dynamic_quantize_matmul(Contributed& n) {
  return "(X, B, Bs, Bz, bias) => (Y) { A, As, Az = DynamicQuantizeLinear(X) " + scaled_product(n, 4);
}

Text matmul_integer_16(Contributed&) {
  return cat("(A, B) => (Y) { a = Cast <to = ", kI32, "> (A) b = Cast <to = ", kI32, "> (B) Y = MatMul(a, b) }");
}
Text mul_integer(Contributed& n) {
  const auto centred = [&](const char* out, const char* x, const char* zero, int zero_at) {
    const Text widened = cat(n.has(zero_at) ? "w_" : "", out, " = Cast <to = ", kI32, "> (", x, ") ");
    return n.has(zero_at) ? cat(widened, "z_", out, " = Cast <to = ", kI32, "> (", zero, ") ", out, " = Sub(w_", out, ", z_", out, ") ") : widened;
  };
  return cat("(A, Az, B, Bz) => (C) { ", centred("a", "A", "Az", 1), centred("b", "B", "Bz", 3), "C = Mul(a, b) }");
}
Text reduce_sum_integer(Contributed& n) {
  return cat("(X) => (Y) { x = Cast <to = ", kI32, "> (X) ", int_list("axes", n.integers("axes")), "Y = ReduceSum <keepdims: int = @keepdims> (x, axes) }");
}

/// Y = A * W' + bias, where W [N, K] has codes of 2, 4 or 8 bits in blocks along K. The codes stay where they are in the file: only
/// their type and shape is said in ONNX's way; but those of 2 bits, which ONNX has not before opset 25, become 4 bits wide.
Text matmul_n_bits(Contributed& n) {
  const int64_t bits = n.integer("bits", 4), K = n.integer("K", 0), N = n.integer("N", 0), block = n.integer("block_size", 0);
  if ((bits != 2 && bits != 4 && bits != 8) || K < 1 || N < 1 || block < 16 || K > 1 << 28 || N > 1 << 28 || !n.is_constant(1) || n.dtype(1) != kU8) return "";
  if (n.integer("weight_prepacked", 0) != 0) return "";
  const int64_t blocks = (K + block - 1) / block, padded = blocks * block;
  const auto shape = n.dims(1), scales = n.dims(2);
  if (!shape) return "";
  if (*shape != Dims{N, blocks, block * bits / 8})
    return n.refuse(cat("input 1 (B) is ", list(*shape), ", wanted ", list({N, blocks, block * bits / 8}), ": N, blocks of ", block, " of K = ", K, ", bytes of a block"));
  const auto elements = [](const Dims& d) { return std::accumulate(d.begin(), d.end(), int64_t{1}, std::multiplies<>()); };
  if (scales && std::all_of(scales->begin(), scales->end(), [](int64_t d) { return d >= 0; }) && elements(*scales) != N * blocks)
    return n.refuse(cat("input 2 (scales) is ", list(*scales), ", wanted ", N * blocks, " numbers: one for each of ", blocks, " blocks of N = ", N, " columns"));
  const int32_t codes = bits == 8 ? kU8 : kU4;
  Text weights;
  if (bits == 2) {
    const auto given = n.bytes(1);
    if (!given || given->size() != static_cast<size_t>(N * padded / 4)) return "";
    weights = n.constant("codes", codes, {N, padded}, unpadded(*given, N, padded, bits));
  } else {
    weights = n.seen_as("codes", 1, codes, {N, padded});
  }
  Text zero, steps = cat(int_list("grid", {N, blocks}), "scales = Reshape(S, grid) ");
  if (!n.has(3)) {
    zero = n.constant("zeros", codes, {N, blocks}, std::string(static_cast<size_t>(bits == 8 ? N * blocks : (N * blocks + 1) / 2), bits == 8 ? '\x80' : bits == 4 ? '\x88' : '\x22'));
  } else if (n.dtype(3) == kU8) {
    const auto given = n.bytes(3);
    const int64_t wanted = N * ((blocks * bits + 7) / 8);
    if (!given) return "";
    if (given->size() != static_cast<size_t>(wanted))
      return n.refuse(cat("input 3 (zero_points) has ", given->size(), " bytes, wanted ", wanted, ": codes of ", bits, " bits for each of ", blocks, " blocks of N = ", N, " columns, columns in whole bytes"));
    zero = n.constant("zeros", codes, {N, blocks}, bits == 8 ? *given : unpadded(*given, N, blocks, bits));
  }
  const bool by_hand = n.has(4) || zero.empty();
  constexpr int64_t kBytes = 4;  // the least accuracy that is wanted: 1 f32, 2 f16, 3 bf16, 4 int8
  if (!by_hand) {
    if (n.integer("accuracy_level", 0) == kBytes) n.allow_bytes();
    steps += cat("w = DequantizeLinear <axis = 1, block_size = ", block, "> (", weights, ", scales, ", zero, ") ");
  } else {
    // Zero points that are no codes, or rows that choose their block.
    Dims index;
    for (int64_t k = 0; k < padded; ++k) index.push_back(k / block);
    steps += n.has(4) ? Text("index = Identity(g) ") : int_list("index", index);
    steps += cat("raw = Cast <to = ", kF32, "> (", weights, ") like = CastLike(raw, S) ");
    steps += zero.empty() ? Text("zeros_f = Reshape(Z, grid) ") : cat("zeros_i = Cast <to = ", kF32, "> (", zero, ") zeros_f = CastLike(zeros_i, S) ");
    steps += "zero = Gather <axis = 1> (zeros_f, index) scale = Gather <axis = 1> (scales, index) centred = Sub(like, zero) w = Mul(centred, scale) ";
    if (n.has(4) && K != padded) return "";
  }
  const bool cut = padded != K;
  if (cut) steps += cat(int_list("from", {0}), int_list("to", {K}), int_list("axis", {1}), "wk = Slice(w, from, to, axis) ");
  steps += cat("wt = Transpose <perm = [1, 0]> (", cut ? "wk" : "w", ") ", n.has(5) ? "m = MatMul(A, wt) Y = Add(m, bias) }" : "Y = MatMul(A, wt) }");
  return "(A, B, S, Z, g, bias) => (Y) { " + steps;
}

/// Y = A * W', where the elements of W [N, K], one behind the other, are codes of 4 bits of a table of 16 numbers (bitsandbytes' FP4, or NF4 of arXiv
/// 2305.14314, appendix E), times the largest magnitude of their block. The first code of a byte is its high half.
Text matmul_bnb4(Contributed& n) {
  static constexpr std::array<std::array<float, 16>, 2> tables{{
      {0, 0.005208333333f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -0.005208333333f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
      {-1, -0.6961928f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.09105004f, 0, 0.07958030f, 0.16093020f, 0.24611230f, 0.33791524f, 0.44070983f, 0.56261700f, 0.72295684f, 1}}};
  const int64_t K = n.integer("K", 0), N = n.integer("N", 0), block = n.integer("block_size", 0), kind = n.integer("quant_type", 1);
  if (K < 1 || N < 1 || K > 1 << 28 || N > 1 << 28 || block < 16 || (kind != 0 && kind != 1) || n.integer("transB", 1) != 1 || n.dtype(1) != kU8 || n.dtype(2) != kF32) return "";
  const auto codes = n.bytes(1), largest = n.bytes(2);
  const size_t count = static_cast<size_t>(N * K), size = static_cast<size_t>(block);
  if (!codes || !largest || codes->size() != (count + 1) / 2 || largest->size() != (count + size - 1) / size * sizeof(float)) return "";
  std::string weights(count * sizeof(float), '\0');
  for (size_t k = 0; k < count; ++k) {
    float of_block;
    std::memcpy(&of_block, largest->data() + k / size * sizeof of_block, sizeof of_block);
    const float w = of_block * tables[static_cast<size_t>(kind)][static_cast<unsigned char>((*codes)[k / 2]) >> (k % 2 ? 0 : 4) & 15];
    std::memcpy(weights.data() + k * sizeof w, &w, sizeof w);
  }
  const Text w = n.constant("w", kF32, {N, K}, std::move(weights));
  return cat("(A, B, S) => (Y) { wt = Transpose <perm = [1, 0]> (", w, ") Y = MatMul(A, wt) }");
}

/// Bytes of two codes each along the last axis become twice as many bytes of one, the lower half first; of `rank`.
Text halves_of_bytes(const Text& out, const Text& in, int rank) {
  Dims keep(static_cast<size_t>(rank - 1), 0);
  keep.push_back(-1);
  return cat(out, "l = BitwiseAnd(", in, ", fifteen) ", out, "h = BitShift <direction = \"RIGHT\"> (", in, ", four) ", out, "lu = Unsqueeze(", out, "l, last) ", out, "hu = Unsqueeze(", out,
             "h, last) ", out, "b = Concat <axis = -1> (", out, "lu, ", out, "hu) ", int_list(cat(out, "k"), keep), out, " = Reshape(", out, "b, ", out, "k) ");
}

/// Rows of a matrix of blocks: codes, scales and zero points are gathered, then dequantized. As bytes they are centred on the middle where no zero points say otherwise, and those of 4 bits lie two in a byte, as MatMulNBits has them (tied embeddings).
Text gather_block_quantized(Contributed& n) {
  const int rank = n.rank(0), out_rank = n.rank(1) + 1;
  const int64_t axis = n.integer("quantize_axis", 1), bits = n.integer("bits", 4);
  if (rank != 2 || out_rank < 1 || n.integer("gather_axis", 0) != 0 || (axis != 1 && axis != -1)) return "";
  const int32_t type = n.dtype(0);
  const bool bytes = type == kU8, pairs = bytes && bits == 4;
  if (type != kI4 && type != kU4 && !(bytes && (bits == 8 || bits == 4))) return "";
  Text steps = cat(pairs ? "bytes" : "q", " = Gather(data, at) s = Gather(scales, at) ");
  if (pairs) {
    const Text mask = n.constant("mask", kU8, {}, "\x0f"), shift = n.constant("shift", kU8, {}, "\x04");
    steps += cat("fifteen = Identity(", mask, ") four = Identity(", shift, ") ", int_list("last", {-1}), halves_of_bytes("q", "bytes", out_rank));
  }
  if (n.has(3)) steps += cat(pairs ? "zbytes" : "z", " = Gather(zeros, at) ");
  if (n.has(3) && pairs) steps += halves_of_bytes("zs", "zbytes", out_rank) + cat(int_list("from", {0}), "till = Shape <start = -1> (s) z = Slice(zs, from, till, last) ");
  if (!n.has(3) && bytes) {
    const Text middle = n.constant("middle", kU8, {}, pairs ? "\x08" : "\x80");
    steps += cat("grid = Shape(s) z = Expand(", middle, ", grid) ");
  }
  return cat("(data, at, scales, zeros) => (Y) { ", steps, "Y = DequantizeLinear <axis = ", n.rank(1), ", block_size = ", n.integer("block_size", 128), "> (q, s",
             n.has(3) || bytes ? ", z) }" : ") }");
}

/// W [dirs, I, 4H] and R [dirs, H, 4H] lie the other way round than in LSTM; scales per direction, or per direction and row.
Text dynamic_quantize_lstm(Contributed& n) {
  const auto floats = [&](const char* out, const char* x, int x_at, const char* scale, int scale_at, const char* zero) -> Text {
    const auto dims = n.dims(x_at), scales = n.dims(scale_at);
    if (!dims || dims->size() != 3 || !scales || scales->empty() || scales->size() > 2) return "";
    const Text to = cat("= Transpose <perm = [0, 2, 1]> (", out, "t) ");
    if (scales->size() == 1) return cat(out, "t = DequantizeLinear <axis = 0> (", x, ", ", scale, ", ", zero, ") ", out, to);
    if ((*dims)[1] < 1) return "";
    return cat(out, "one = Constant <value_ints = [1]> () ", out, "s = Unsqueeze(", scale, ", ", out, "one) ", out, "z = Unsqueeze(", zero, ", ", out, "one) ", out,
               "t = DequantizeLinear <axis = 1, block_size = ", (*dims)[1], "> (", x, ", ", out, "s, ", out, "z) ", out, to);
  };
  const Text w = floats("w", "W", 1, "Ws", 8, "Wz"), r = floats("r", "R", 2, "Rs", 10, "Rz");
  if (w.empty() || r.empty()) return "";
  return cat("(X, W, R, B, lens, h0, c0, P, Ws, Wz, Rs, Rz) => (Y, Yh, Yc) { ", w, r,
             "Y, Yh, Yc = LSTM <activation_alpha: floats = @activation_alpha, activation_beta: floats = @activation_beta, activations: strings = @activations, "
             "clip: float = @clip, direction: string = @direction, hidden_size: int = @hidden_size, input_forget: int = @input_forget> "
             "(X, w, r, B, lens, h0, c0, P) }");
}

/// -- Operators of floats that ONNX Runtime's optimizer writes.
Text gelu(Contributed&) { return "(X) => (Y) { Y = Gelu(X) }"; }
Text bias_gelu(Contributed&) { return "(A, B) => (C) { s = Add(A, B) C = Gelu(s) }"; }
Text fast_gelu(Contributed& n) {
  const Text op = "Gelu <approximate = \"tanh\"> ";
  return n.has(1) ? cat("(X, B) => (Y) { s = Add(X, B) Y = ", op, "(s) }") : cat("(X, B) => (Y) { Y = ", op, "(X) }");
}
Text quick_gelu(Contributed& n) {
  return cat("(X) => (Y) { ", scalar("alpha", n.real("alpha", 1.702f), "X"), "s = Mul(X, alpha) g = Sigmoid(s) Y = Mul(X, g) }");
}

Text fused_matmul(Contributed& n) {
  Text steps, a = "A", b = "B";
  for (const auto& [flag, batch, name, at] : {std::tuple{"transA", "transBatchA", &a, 0}, std::tuple{"transB", "transBatchB", &b, 1}}) {
    const bool turned = n.integer(flag, 0) != 0, moved = n.integer(batch, 0) != 0;
    const int rank = n.rank(at);
    if (!turned && !moved) continue;
    if (rank < 0 && moved) return "";
    if (rank < 0) {  // as in a body whose values nobody told the shape of
      steps += cat(*name, "t = Einsum <equation = \"...ij->...ji\"> (", *name, ") ");
      *name += "t";
      continue;
    }
    if (rank < 2) continue;
    // The first dim goes behind those of the batch, then the last two are exchanged.
    Dims perm = last_two(rank);
    if (moved) {
      for (int64_t d = 0; d + 2 < rank; ++d) perm[static_cast<size_t>(d)] = d + 1;
      perm[static_cast<size_t>(rank) - 2] = turned ? rank - 1 : 0, perm[static_cast<size_t>(rank) - 1] = turned ? 0 : rank - 1;
    }
    steps += permuted(cat(*name, "t"), *name, perm);
    *name += "t";
  }
  const bool scaled = n.real("alpha", 1) != 1;
  return cat("(A, B) => (Y) { ", steps, scaled ? "m" : "Y", " = MatMul(", a, ", ", b, ") ",
             scaled ? scalar("alpha", n.real("alpha", 1), "m") + "Y = Mul(m, alpha) }" : Text("}"));
}

/// The activation of a fused operator: name and parameters as attributes; empty = not one of those known.
Text activation(const Text& name, double a, double b, bool has_a, bool has_b) {
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softplus" || name == "Softsign") return name;
  if (name == "LeakyRelu") return cat("LeakyRelu <alpha = ", number(has_a ? a : 0.01), "> ");
  if (name == "HardSigmoid") return cat("HardSigmoid <alpha = ", number(has_a ? a : 0.2), ", beta = ", number(has_b ? b : 0.5), "> ");
  return "";
}
Text fused_gemm(Contributed& n) {
  const Text act = activation(n.text("activation", ""), n.real("activation_alpha", 0.01f), n.real("activation_beta", 0.5f), n.real("activation_alpha", -1) != -1,
                              n.real("activation_beta", -1) != -1);
  if (act.empty()) return "";
  return cat("(A, B, C) => (Y) { g = Gemm <alpha: float = @alpha, beta: float = @beta, transA: int = @transA, transB: int = @transB> (A, B, C) Y = ", act, "(g) }");
}
Text fused_conv(Contributed& n) {
  const Text last = activated(n, "s", "Y");
  if (last.empty()) return "";
  return cat("(X, W, B, Z) => (Y) { ", n.has(3) ? "c" : "s",
             " = Conv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group, kernel_shape: ints = @kernel_shape, pads: ints = @pads, "
             "strides: ints = @strides> (X, W, B) ",
             n.has(3) ? "s = Add(c, Z) " : "", last, "}");
}

constexpr std::array kRecipes{
    Recipe{"Affine", 1, 15, affine},
    Recipe{"Attention", 2, 18, attention},
    Recipe{"BiasAdd", 3, 7, bias_add},
    Recipe{"BiasDropout", 2, 7, bias_dropout},
    Recipe{"BiasGelu", 2, 20, bias_gelu},
    Recipe{"BiasSoftmax", 2, 13, bias_softmax},
    Recipe{"BiasSplitGelu", 2, 20, bias_split_gelu},
    Recipe{"BifurcationDetector", 1, 1, bifurcation_detector},
    Recipe{"BranchwiseRMSNorm", 1, 18, branchwise_rms_norm},
    Recipe{"CDist", 2, 18, cdist},
    Recipe{"CausalConvWithState", 2, 18, causal_conv_with_state},
    Recipe{"ConvTransposeWithDynamicPads", 2, 15, conv_transpose_with_dynamic_pads},
    Recipe{"Crop", 1, 15, crop},
    Recipe{"CropAndResize", 4, 20, crop_and_resize},
    Recipe{"DequantizeLinear", 2, 10, dequantize_linear},
    Recipe{"DynamicQuantizeLSTM", 3, 21, dynamic_quantize_lstm},
    Recipe{"DynamicQuantizeMatMul", 3, 11, dynamic_quantize_matmul},
    Recipe{"DynamicSlice", 3, 10, dynamic_slice},
    Recipe{"EmbedLayerNormalization", 1, 17, embed_layer_normalization},
    Recipe{"ExpandDims", 2, 13, expand_dims},
    Recipe{"FastGelu", 1, 20, fast_gelu},
    Recipe{"FusedConv", 2, 15, fused_conv},
    Recipe{"FusedGemm", 2, 11, fused_gemm},
    Recipe{"FusedMatMul", 2, 15, fused_matmul},
    Recipe{"GatedRMSNorm", 3, 18, gated_rms_norm},
    Recipe{"GatedAdd", 3, 7, gated_add},
    Recipe{"GatherBlockQuantized", 3, 21, gather_block_quantized},
    Recipe{"GatherND", 2, 11, gather_nd},
    Recipe{"Gelu", 1, 20, gelu},
    Recipe{"GridSample", 2, 20, grid_sample},
    Recipe{"GroupNorm", 3, 15, group_norm},
    Recipe{"GroupQueryAttention", 1, 18, group_query_attention},
    Recipe{"ImageScaler", 1, 15, image_scaler},
    Recipe{"Inverse", 1, 15, inverse},
    Recipe{"Irfft", 1, 15, irfft},
    Recipe{"LayerNormalization", 2, 1, layer_normalization},
    Recipe{"MRotaryEmbedding", 4, 18, m_rotary_embedding},
    Recipe{"MatMulBnb4", 3, 15, matmul_bnb4},
    Recipe{"MatMulInteger16", 2, 10, matmul_integer_16},
    Recipe{"MatMulIntegerToFloat", 4, 10, matmul_integer_to_float},
    Recipe{"MatMulNBits", 3, 21, matmul_n_bits},
    Recipe{"MoE", 3, 18, moe},
    Recipe{"MulInteger", 3, 10, mul_integer},
    Recipe{"MultiHeadAttention", 1, 18, multi_head_attention},
    Recipe{"NGramRepeatBlock", 2, 18, n_gram_repeat_block},
    Recipe{"NhwcConv", 2, 11, nhwc_conv},
    Recipe{"NhwcFusedConv", 2, 15, nhwc_fused_conv},
    Recipe{"NhwcMaxPool", 1, 15, nhwc_max_pool},
    Recipe{"Pad", 2, 13, pad},
    Recipe{"ParametricSoftplus", 1, 15, parametric_softplus},
    Recipe{"QAttention", 5, 18, q_attention},
    Recipe{"QEmbedLayerNormalization", 1, 17, q_embed_layer_normalization},
    Recipe{"QGemm", 6, 11, q_gemm},
    Recipe{"QLinearAdd", 2, 10, qlinear_add},
    Recipe{"QLinearAveragePool", 2, 11, qlinear_average_pool},
    Recipe{"QLinearConcat", 5, 10, qlinear_concat},
    Recipe{"QLinearConv", 8, 10, qlinear_conv},
    Recipe{"QLinearGlobalAveragePool", 2, 10, qlinear_global_average_pool},
    Recipe{"QLinearLeakyRelu", 2, 10, qlinear_leaky_relu},
    Recipe{"QLinearMul", 2, 10, qlinear_mul},
    Recipe{"QLinearReduceMean", 2, 18, qlinear_reduce_mean},
    Recipe{"QLinearSigmoid", 2, 10, qlinear_sigmoid},
    Recipe{"QLinearSoftmax", 2, 13, qlinear_softmax},
    Recipe{"QLinearWhere", 9, 10, qlinear_where},
    Recipe{"QMoE", 3, 21, q_moe},
    Recipe{"QuantizeLinear", 2, 10, quantize_linear},
    Recipe{"QuickGelu", 1, 15, quick_gelu},
    Recipe{"Range", 2, 15, range},
    Recipe{"ReduceSumInteger", 1, 13, reduce_sum_integer},
    Recipe{"Rfft", 1, 15, rfft},
    Recipe{"RotaryEmbedding", 4, 18, rotary_embedding},
    Recipe{"SampleOp", 1, 7, sample_op},
    Recipe{"Scale", 1, 15, scale},
    Recipe{"ScaledSiLU", 1, 15, scaled_silu},
    Recipe{"ScaledTanh", 1, 15, scaled_tanh},
    Recipe{"SimplifiedLayerNormalization", 2, 12, simplified_layer_normalization},
    Recipe{"SkipGroupNorm", 4, 15, skip_group_norm},
    Recipe{"SkipLayerNormalization", 3, 17, skip_layer_normalization},
    Recipe{"SkipSimplifiedLayerNormalization", 3, 18, skip_simplified_layer_normalization},
    Recipe{"ThresholdedRelu", 1, 10, thresholded_relu},
    Recipe{"TorchEmbedding", 2, 7, torch_embedding},
    Recipe{"TransposeMatMul", 2, 15, fused_matmul},
    Recipe{"Trilu", 1, 14, trilu},
    Recipe{"UnfoldTensor", 1, 13, unfold_tensor},
    Recipe{"Unique", 1, 11, unique},
};

}  // namespace

Text activated(Contributed& n, const Text& in, const Text& out) {
  const std::vector<float> p = n.reals("activation_params");
  const Text name = n.text("activation", "");
  if (name.empty()) return cat(out, " = Identity(", in, ") ");
  if (name == "Clip") return p.size() == 2 ? cat(scalar("low", p[0], in), scalar("high", p[1], in), out, " = Clip(", in, ", low, high) ") : "";
  const Text act = activation(name, p.empty() ? 0 : p[0], p.size() < 2 ? 0 : p[1], !p.empty(), p.size() > 1);
  return act.empty() ? "" : cat(out, " = ", act, "(", in, ") ");
}

}  // namespace recipes

const Recipe* recipe_of(const std::string& op) {
  const auto& all = recipes::kRecipes;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Recipe& r) { return op == r.op; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace optima::onnx_io
