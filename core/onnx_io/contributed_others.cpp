// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: recipes of com.microsoft that are neither codes nor transformers nor images: what ONNX has in newer opsets under the same name,
// small sums, Fourier transforms, the inverse of a matrix; and old operators of ONNX's own domain that ONNX Runtime kept (Affine, Scale,
// ParametricSoftplus, ScaledTanh, DynamicSlice). Sources: docs/ContribOperators.md of ONNX Runtime, and its onnxruntime/core/graph/contrib_ops.
#include <cmath>
#include <numbers>

#include "core/onnx_io/contributed_text.hpp"

namespace optima::onnx_io::recipes {

Text trilu(Contributed&) { return "(X, k) => (Y) { Y = Trilu <upper: int = @upper> (X, k) }"; }
Text gather_nd(Contributed&) { return "(X, at) => (Y) { Y = GatherND(X, at) }"; }
Text torch_embedding(Contributed&) { return "(weight, at, padding, scale) => (Y) { Y = Gather(weight, at) }"; }
Text sample_op(Contributed&) { return "(X) => (Y) { Y = Identity(X) }"; }
Text unique(Contributed&) { return "(X) => (Y, at, counts) { Y, first, at, counts = Unique <sorted = 0> (X) }"; }
Text grid_sample(Contributed& n) {
  const Text mode = n.text("mode", "bilinear");
  return cat("(X, grid) => (Y) { Y = GridSample <mode = \"", mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode,
             "\", padding_mode: string = @padding_mode, align_corners: int = @align_corners> (X, grid) }");
}
/// The axis is a tensor of one number.
Text expand_dims(Contributed&) {
  return cat("(X, axis) => (Y) { wide = Cast <to = ", kI64, "> (axis) ", int_list("flat", {-1}), "at = Reshape(wide, flat) Y = Unsqueeze(X, at) }");
}
/// The pads may be a matrix of one row, the value a vector of one element.
Text pad(Contributed& n) {
  Text steps = cat(int_list("flat", {-1}), "pads = Reshape(P, flat) ");
  if (n.has(2)) steps += cat("v = Reshape(value, ", n.constant("scalar", kI64, {0}, ""), ") ");
  return cat("(X, P, value) => (Y) { ", steps, "Y = Pad <mode: string = @mode> (X, pads", n.has(2) ? ", v) }" : ") }");
}
Text range(Contributed& n) {
  (void)n.constant("scalar", kI64, {0}, "");
  return cat("(start, limit, delta) => (Y) { from = Reshape(start, scalar) to = Reshape(limit, scalar) ", n.has(2) ? Text("by = Reshape(delta, scalar) ") : scalar("by", 1, "start"),
             "Y = Range(from, to, by) }");
}

/// -- Sums and products.
Text bias_add(Contributed&) { return "(X, bias, skip) => (Y) { s = Add(X, bias) Y = Add(s, skip) }"; }
Text gated_add(Contributed&) { return "(X, Y, gate) => (Z) { p = Mul(Y, gate) Z = Add(X, p) }"; }
/// The left half of the sum by Gelu of the right one.
Text bias_split_gelu(Contributed&) {
  return "(X, bias) => (Y) { s = Add(X, bias) left, right = Split <axis = -1, num_outputs = 2> (s) g = Gelu(right) Y = Mul(left, g) }";
}
/// In inference nothing is dropped.
Text bias_dropout(Contributed& n) {
  if (n.has_output(1)) return "";
  return n.has(2) ? "(X, bias, residual, ratio, training) => (Y, mask) { s = Add(X, bias) Y = Add(s, residual) }" : "(X, bias, residual, ratio, training) => (Y, mask) { Y = Add(X, bias) }";
}
Text bias_softmax(Contributed& n) {
  const int64_t axis = n.integer("axis", 1), rank = n.rank(0);
  if (axis == -1 || (rank > 0 && axis == rank - 1)) return "(X, bias) => (Y) { s = Add(X, bias) Y = Softmax <axis = -1> (s) }";
  return cat("(X, bias) => (Y) { s = Add(X, bias) f = Flatten <axis = ", axis, "> (s) p = Softmax <axis = -1> (f) d = Shape(s) Y = Reshape(p, d) }");
}
Text scaled_silu(Contributed& n) {
  return cat("(X, scale) => (Y) { ", n.has(1) ? Text("alpha = Identity(scale) ") : scalar("alpha", n.real("alpha", 1), "X"), "z = Mul(X, alpha) s = Sigmoid(z) Y = Mul(z, s) }");
}
Text affine(Contributed& n) {
  return cat("(X) => (Y) { ", scalar("alpha", n.real("alpha", 1), "X"), scalar("beta", n.real("beta", 0), "X"), "s = Mul(X, alpha) Y = Add(s, beta) }");
}
Text scale(Contributed& n) { return cat("(X) => (Y) { ", scalar("scale", n.real("scale", 1), "X"), "Y = Mul(X, scale) }"); }
Text parametric_softplus(Contributed& n) {
  return cat("(X) => (Y) { ", scalar("alpha", n.real("alpha", 1), "X"), scalar("beta", n.real("beta", 1), "X"), "s = Mul(X, beta) p = Softplus(s) Y = Mul(p, alpha) }");
}
Text scaled_tanh(Contributed& n) {
  return cat("(X) => (Y) { ", scalar("alpha", n.real("alpha", 1), "X"), scalar("beta", n.real("beta", 1), "X"), "s = Mul(X, beta) t = Tanh(s) Y = Mul(t, alpha) }");
}
Text thresholded_relu(Contributed&) { return "(X) => (Y) { Y = ThresholdedRelu <alpha: float = @alpha> (X) }"; }
Text dynamic_slice(Contributed&) { return "(X, from, to, axes) => (Y) { Y = Slice(X, from, to, axes) }"; }

/// Distances of the rows of A [M, K] and B [N, K], from their products.
Text cdist(Contributed& n) {
  const Text metric = n.text("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") return n.refuse(cat("attribute metric is ", quote(metric), ", wanted euclidean or sqeuclidean"));
  return cat("(A, B) => (C) { ", int_list("last", {1}), "aa = ReduceSumSquare(A, last) bb = ReduceSumSquare <keepdims = 0> (B, last) p = Gemm <alpha = -2.0, transB = 1> (A, B, bb) "
             "d = Add(p, aa) ", scalar("zero", 0, "A"), metric == "euclidean" ? "s = Max(d, zero) C = Sqrt(s) }" : "C = Max(d, zero) }");
}

namespace {

/// Samples of a transform that is a product by a table of sines.
constexpr int64_t kMostSamples = 4096;

/// Real and imaginary parts of the n / 2 + 1 lower frequencies, side by side: [n, n + 2]. The other way: [n + 2, n].
std::vector<float> waves(int64_t n, bool back) {
  const int64_t half = n / 2 + 1;
  std::vector<float> out(static_cast<size_t>(n * 2 * half));
  for (int64_t t = 0; t < n; ++t)
    for (int64_t f = 0; f < half; ++f) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(t * f % n) / static_cast<double>(n);
      // Every frequency but the first and the last stands for two.
      const double weight = !back ? 1 : (f == 0 || 2 * f == n ? 1.0 : 2.0) / static_cast<double>(n);
      const auto at = static_cast<size_t>(back ? 2 * f * n + t : t * 2 * half + 2 * f), step = static_cast<size_t>(back ? n : 1);
      out[at] = static_cast<float>(weight * std::cos(angle)), out[at + step] = static_cast<float>(-weight * std::sin(angle));
    }
  return out;
}
/// The shape [0 (as it is), ..., last...] of a Reshape.
Text reshaped(const Text& out, const Text& in, int kept, const Dims& last) {
  Dims shape(static_cast<size_t>(kept), 0);
  shape.insert(shape.end(), last.begin(), last.end());
  return cat(int_list(out + "_shape", shape), out, " = Reshape(", in, ", ", out, "_shape) ");
}
bool plain_transform(const Contributed& n) { return n.integer("signal_ndim", 1) == 1 && n.integer("normalized", 0) == 0 && n.integer("onesided", 1) == 1; }
Text wave_table(Contributed& n, int64_t samples, bool back) {
  const std::vector<float> table = waves(samples, back);
  const Dims dims = back ? Dims{samples + 2, samples} : Dims{samples, samples + 2};
  return n.constant("waves", kF32, dims, std::string(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(float)));
}

}  // namespace

/// Over the last axis, of n even samples: real [..., n] -> [..., n / 2 + 1, 2], and back.
Text rfft(Contributed& n) {
  const auto dims = n.dims(0);
  if (!plain_transform(n) || !dims || dims->empty()) return "";
  const int64_t samples = dims->back();
  if (samples < 2 || samples % 2 != 0 || samples > kMostSamples) return "";
  return cat("(X) => (Y) { w = CastLike(", wave_table(n, samples, false), ", X) p = MatMul(X, w) ", reshaped("Y", "p", static_cast<int>(dims->size()) - 1, {samples / 2 + 1, 2}), "}");
}
Text irfft(Contributed& n) {
  const auto dims = n.dims(0);
  if (!plain_transform(n) || !dims || dims->size() < 2 || dims->back() != 2) return "";
  const int64_t half = (*dims)[dims->size() - 2], samples = 2 * (half - 1);
  if (samples < 2 || samples > kMostSamples) return "";
  return cat("(X) => (Y) { w = CastLike(", wave_table(n, samples, true), ", X) ", reshaped("pairs", "X", static_cast<int>(dims->size()) - 2, {2 * half}), "Y = MatMul(pairs, w) }");
}

/// Windows of `size` elements along an axis, one every `step`, as a new last axis.
Text unfold_tensor(Contributed& n) {
  const auto dims = n.dims(0);
  const int64_t size = n.integer("size", 0), step = n.integer("step", 1);
  if (!dims || dims->empty() || size < 1 || step < 1) return "";
  const auto rank = static_cast<int64_t>(dims->size());
  const int64_t given = n.integer("dim", -1), dim = given < 0 ? given + rank : given;
  if (dim < 0 || dim >= rank || (*dims)[static_cast<size_t>(dim)] < size) return "";
  Dims index, perm;
  const int64_t count = ((*dims)[static_cast<size_t>(dim)] - size) / step + 1;
  for (int64_t w = 0; w < count; ++w)
    for (int64_t k = 0; k < size; ++k) index.push_back(w * step + k);
  for (int64_t k = 0; k <= rank; ++k)
    if (k != dim + 1) perm.push_back(k);
  perm.push_back(dim + 1);
  const Text at = n.constant("windows", kI64, {count, size}, std::string(reinterpret_cast<const char*>(index.data()), index.size() * sizeof(int64_t)));
  return cat("(X) => (Y) { w = Gather <axis = ", dim, "> (X, ", at, ") ", permuted("Y", "w", perm), "}");
}

namespace {

/// One step of Gauss and Jordan's elimination of the k-th column of m [..., size, 2 size]: of the rows not yet used, the one with the greatest
/// element is chosen (pick: 1 there, 0 elsewhere), scaled, and taken from the others.
Text eliminate(int64_t k, const Text& from, const Text& to) {
  const auto v = [k](const char* name) { return cat(name, k); };
  return cat(int_list(v("at"), {k}), int_list(v("to"), {k + 1}), v("column"), " = Slice(", from, ", ", v("at"), ", ", v("to"), ", last) ", v("size"), " = Abs(", v("column"), ") ",
             v("open"), " = Where(", k == 0 ? Text("all") : cat("free", k - 1), ", ", v("size"), ", minus) ", v("best"), " = ArgMax <axis = -2> (", v("open"), ") ", v("is"), " = Equal(rows, ",
             v("best"), ") ", v("pick"), " = CastLike(", v("is"), ", ", from, ") ", v("not"), " = Not(", v("is"), ") ", v("free"), " = And(", k == 0 ? Text("all") : cat("free", k - 1), ", ", v("not"),
             ") ", v("picked"), " = Mul(", from, ", ", v("pick"), ") ", v("row"), " = ReduceSum(", v("picked"), ", second) ", v("pivot"), " = Slice(", v("row"), ", ", v("at"), ", ", v("to"),
             ", last) ", v("unit"), " = Div(", v("row"), ", ", v("pivot"), ") ", v("factor"), " = Sub(", v("column"), ", ", v("pick"), ") ", v("less"), " = Mul(", v("factor"), ", ", v("unit"),
             ") ", to, " = Sub(", from, ", ", v("less"), ") ");
}

}  // namespace

/// Of square matrices of a size that is known, up to 16: Gauss and Jordan with the identity beside the matrix; at last each row of the right half
/// goes where its pivot was.
Text inverse(Contributed& n) {
  const auto dims = n.dims(0);
  if (!dims || dims->size() < 2) return "";
  const int64_t size = dims->back();
  if (size < 1 || size > 16 || (*dims)[dims->size() - 2] != size) return "";
  std::vector<float> one(static_cast<size_t>(size * size), 0);
  Dims rows;
  for (int64_t k = 0; k < size; ++k) one[static_cast<size_t>(k * size + k)] = 1, rows.push_back(k);
  (void)n.constant("identity", kF32, {size, size}, std::string(reinterpret_cast<const char*>(one.data()), one.size() * sizeof(float)));
  (void)n.constant("rows", kI64, {size, 1}, std::string(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(int64_t)));
  (void)n.constant("all", kBool, {size, 1}, std::string(static_cast<size_t>(size), '\1'));
  Text out = cat("(X) => (Y) { ", int_list("last", {-1}), int_list("second", {-2}), scalar("minus", -1, "X"),
                 "one = CastLike(identity, X) nought = Sub(X, X) beside = Add(nought, one) m0 = Concat <axis = -1> (X, beside) ");
  for (int64_t k = 0; k < size; ++k) out += eliminate(k, cat("m", k), cat("m", k + 1));
  out += cat(int_list("half", {size}), int_list("end", {2 * size}), "right = Slice(m", size, ", half, end, last) ");
  Text parts;
  for (int64_t k = 0; k < size; ++k) {
    out += cat("mine", k, " = Mul(right, pick", k, ") part", k, " = ReduceSum(mine", k, ", second) ");
    parts += cat(k ? ", part" : "part", k);
  }
  return cat(out, "Y = Concat <axis = -2> (", parts, ") }");
}

Text bifurcation_detector(Contributed& n) { return n.refuse("what a decoder guessed is compared by rules that no ONNX operator has; leave the node to the program that decodes"); }

}  // namespace optima::onnx_io::recipes
