// SPDX-License-Identifier: Apache-2.0
// Products of codes: sums of whole numbers, exact in 32 bits, and codes made of them again.
#include <bit>

#include "codes.hpp"
#include "window.hpp"

namespace spirv_plugin {
namespace of_integer {

constexpr uint32_t kLocal = 64;

Work work_of(int64_t macs, int64_t elements) { return {2 * static_cast<uint64_t>(macs), 4 * static_cast<uint64_t>(elements)}; }

double scalar(const sdk::Value& v) { return reals_of(v.constant())[0]; }

/// The constant less its zero point, which is one, or one for each `of` that an index divided by `behind` counts.
std::vector<int32_t> centred(const sdk::Value& codes, const sdk::Value& zero, int64_t behind) {
  const std::vector<int64_t> all = integers_of(codes.constant()), off = zero ? integers_of(zero.constant()) : std::vector<int64_t>{0};
  std::vector<int32_t> out(all.size());
  for (size_t i = 0; i < all.size(); ++i) out[i] = static_cast<int32_t>(all[i] - off[i / static_cast<size_t>(behind) % off.size()]);
  return out;
}

/// A factor as the bits of a float, beside whole numbers in one tensor.
int32_t bits_of(double factor) { return std::bit_cast<int32_t>(static_cast<float>(factor)); }

/// Inputs of a matrix product by number; `none` where the operator has no such.
struct MatmulInputs {
  static constexpr uint32_t none = 15;
  uint32_t a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
};
MatmulInputs inputs_of(const sdk::Node& node) {
  constexpr uint32_t no = MatmulInputs::none;
  return node.op() == "MatMulInteger" ? MatmulInputs{0, 1, 2, 3, no, no, no, no} : MatmulInputs{0, 3, 2, 5, 1, 4, 6, 7};
}

void lower_matmul(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const MatmulInputs in = inputs_of(node);
  const bool to_codes = in.y_scale != MatmulInputs::none;
  const sdk::Value a_zero = node.input(in.a_zero), b_zero = node.input(in.b_zero);
  Dims a = node.input(in.a).shape(), b = node.input(in.b).shape(), zero = a_zero ? a_zero.shape() : Dims{};
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  if (zero.size() == 1 && zero[0] != 1) zero.push_back(1);  // one for each row
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  const auto broadcast = [&](const Dims& x) {  // strides of a batch dim of the result
    const Dims own = strides_of(x);
    Dims out(std::max(a.size(), b.size()) - 2, 0);
    for (size_t d = 0; d + 2 < x.size(); ++d) out[out.size() - (x.size() - 2) + d] = x[d] == 1 ? 0 : own[d];
    return out;
  };
  Dims batch(std::max(a.size(), b.size()) - 2, 1);
  for (const Dims* x : {&a, &b})
    for (size_t d = 0; d + 2 < x->size(); ++d)
      if ((*x)[d] != 1) batch[batch.size() - (x->size() - 2) + d] = (*x)[d];
  Shader s(kLocal);
  const bool folds = node.input(in.b).is_constant();
  const int left = s.in(to.read(node.input(in.a)));
  const int right = s.in(folds ? to.weight(std::string(node.input(in.b).name()) + "/centred", b, centred(node.input(in.b), b_zero, 1)) : to.read(node.input(in.b)));
  const bool looks_up = a_zero && scalar_literal(a_zero).empty();
  const int offsets = looks_up ? s.in(to.read(a_zero)) : -1;
  const sdk::Value scales = to_codes ? node.input(in.b_scale) : sdk::Value{};
  int factors = -1;
  if (to_codes && scales.elements() != 1) {
    std::vector<float> all;
    for (const double v : reals_of(scales.constant())) all.push_back(static_cast<float>(scalar(node.input(in.a_scale)) * v / scalar(node.input(in.y_scale))));
    factors = s.in(to.weight(std::string(scales.name()) + "/factors", {n}, all));
  }
  const Tensor y = to.made(node.output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  const Grid g = grid(y.elements(), kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(y.elements()) + ")return;int col=o%" + text(n) + ",row=o/" + text(n) + "%" + text(m) + ",z=o/" + text(m * n) + ";");
  s.line("int aa=row*" + text(k) + "+" + strided_index("z", batch, broadcast(a)) + ",ba=col+" + strided_index("z", batch, broadcast(b)) + ";");
  const std::string az = !a_zero ? "0" : looks_up ? s.load(offsets, broadcast_index("aa", a, zero)) : scalar_literal(a_zero), bz = !b_zero || folds ? "0" : scalar_literal(b_zero);
  s.line("int az=" + az + ",v=0;for(int k=0;k<" + text(k) + ";++k)v+=(" + s.load(left, "aa+k") + "-az)*(" + s.load(right, "ba+k*" + text(n)) + "-" + bz + ");");
  if (to_codes) {
    const std::string factor = factors >= 0 ? s.load(factors, "col") : literal(scalar(node.input(in.a_scale)) * scalar(scales) / scalar(node.input(in.y_scale)));
    s.line("v=" + code_of(node.output(0).dtype(), "float(v)*" + factor, scalar_literal(node.input(in.y_zero))) + ";");
  }
  s.line(s.store(out, "o", "v"));
  to.step(group, std::move(s), g.groups, work_of(y.elements() * k, node.input(in.a).elements() + node.input(in.b).elements() + y.elements()));
}

std::string no_matmul(const sdk::Node& node) {
  const MatmulInputs in = inputs_of(node);
  const sdk::Value a = node.input(in.a), b = node.input(in.b), a_zero = node.input(in.a_zero), b_zero = node.input(in.b_zero);
  if (b_zero && b_zero.elements() != 1 && !(b.is_constant() && b_zero.rank() == 1 && b.rank() >= 2)) return "zero points of the columns of a computed matrix, or of its batches";
  if (a_zero && a_zero.elements() != 1 && (a.rank() < 2 || (a_zero.rank() > 1 && a_zero.dim(static_cast<uint32_t>(a_zero.rank() - 1)) != 1))) return "zero points of single elements";
  if (a_zero && (a_zero.rank() > a.rank() || (a_zero.rank() == 1 && a_zero.elements() != 1 && a_zero.elements() != a.dim(static_cast<uint32_t>(a.rank() - 2)))))
    return "zero points of a of other dims than its rows";
  if (in.y_scale == MatmulInputs::none) return "";
  for (const uint32_t k : {in.a_scale, in.a_zero, in.y_scale, in.y_zero})
    if (node.input(k).elements() != 1) return "input " + text(k) + " has " + text(node.input(k).elements()) + " elements, wanted one";
  const sdk::Value scale = node.input(in.b_scale);
  return scale.elements() != 1 && !(scale.rank() == 1 && b.rank() >= 2 && scale.elements() == b.dim(static_cast<uint32_t>(b.rank() - 1))) ? "scales of b of rank " + text(scale.rank()) : "";
}

/// Inputs of a convolution by number.
struct ConvInputs {
  uint32_t w, x_zero, w_zero;
  bool to_codes;
};
ConvInputs conv_inputs(const sdk::Node& node) { return node.op() == "ConvInteger" ? ConvInputs{1, 2, 3, false} : ConvInputs{3, 2, 5, true}; }

/// Per output channel what is added to the sum, then by what it is multiplied.
std::vector<int32_t> bias_and_factors(const sdk::Node& node, int64_t channels) {
  const std::vector<double> scale = reals_of(node.input(4).constant());
  std::vector<int32_t> out(static_cast<size_t>(2 * channels));
  const std::vector<int64_t> bias = node.input(8) ? integers_of(node.input(8).constant()) : std::vector<int64_t>(static_cast<size_t>(channels), 0);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    out[c] = static_cast<int32_t>(bias[c]);
    out[static_cast<size_t>(channels) + c] = bits_of(scalar(node.input(1)) * scale[scale.size() == 1 ? 0 : c] / scalar(node.input(6)));
  }
  return out;
}

/// A few channels of one place for each invocation. Pads are zero points, which add nothing.
void lower_conv(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const ConvInputs in = conv_inputs(node);
  const Dims x = node.input(0).shape(), w = node.input(in.w).shape();
  const std::vector<Axis> axes = window_of(node, Dims(w.begin() + 2, w.end()));
  const int64_t taps = product(axes, &Axis::kernel), ins = product(axes, &Axis::in), outs = product(axes, &Axis::out);
  const int64_t features = w[0] / node.integer("group", 1), tile = features % 4 == 0 ? 4 : 1, each = w[1] * taps;
  Shader s(kLocal);
  const int from = s.in(to.read(node.input(0))), weights = s.in(to.weight(std::string(node.input(in.w).name()) + "/centred", w, centred(node.input(in.w), node.input(in.w_zero), each)));
  const sdk::Value zero = node.input(in.x_zero);
  const bool looks_up = zero && scalar_literal(zero).empty();
  const std::string off = !zero ? "0" : looks_up ? s.load(s.in(to.read(zero)), "0") : scalar_literal(zero);
  const int by = in.to_codes ? s.in(to.weight(std::string(node.output(0).name()) + "/factors", {2, w[0]}, bias_and_factors(node, w[0]))) : -1;
  const Tensor y = to.made(node.output(0));
  const int64_t n = y.elements() / tile;
  if (n == 0) return;
  const int out = s.out(y);
  const Grid g = grid(n, kLocal);
  s.line("int id=" + g.id + ";if(id>=" + text(n) + ")return;int o=id%" + text(outs) + ",m=id/" + text(outs) + "%" + text(w[0] / tile) + "*" + text(tile) + ";");
  s.line("int image=id/" + text(outs * (w[0] / tile)) + ",xz=" + off + ";");
  write_starts(s, axes);
  for (int64_t t = 0; t < tile; ++t) s.line("int v" + text(t) + "=0;");
  s.line("for(int c=0;c<" + text(w[1]) + ";++c){int plane=(image*" + text(x[1]) + "+m/" + text(features) + "*" + text(w[1]) + "+c)*" + text(ins) + ",wa=m*" + text(each) + "+c*" + text(taps) + ";");
  std::string tap, sums;
  for (size_t k = 0; k < axes.size(); ++k) tap = tap.empty() ? "k0" : "(" + tap + ")*" + text(axes[k].kernel) + "+k" + std::to_string(k);
  for (int64_t t = 0; t < tile; ++t) sums += "v" + text(t) + "+=x*" + s.load(weights, "wa+tap+" + text(t * each)) + ";";
  write_window(s, axes, "int x=" + s.load(from, "plane+at") + "-xz,tap=" + tap + ";" + sums);
  s.line("}int first=(image*" + text(w[0]) + "+m)*" + text(outs) + "+o;");
  for (int64_t t = 0; t < tile; ++t) {
    std::string v = "v" + text(t);
    if (in.to_codes)
      v = code_of(node.output(0).dtype(), "float(" + v + "+" + s.load(by, "m+" + text(t)) + ")*intBitsToFloat(" + s.load(by, "m+" + text(w[0] + t)) + ")", scalar_literal(node.input(7)));
    s.line(s.store(out, "first+" + text(t * outs), v));
  }
  to.step(group, std::move(s), g.groups, work_of(y.elements() * each, node.input(0).elements() + node.input(in.w).elements() + y.elements()));
}

std::string no_conv(const sdk::Node& node) {
  constexpr int64_t kMost = 3;
  const ConvInputs in = conv_inputs(node);
  const int64_t axes = node.input(0).rank() - 2;
  if (axes < 1 || axes > kMost || node.input(in.w).rank() != axes + 2) return std::string(node.op()) + " over " + text(axes) + " axes, wanted one to three";
  const int64_t features = node.input(in.w).dim(0);
  const sdk::Value zero = node.input(in.w_zero);
  if (zero && zero.elements() != 1 && zero.elements() != features) return text(zero.elements()) + " zero points of weights, wanted " + text(features);
  if (node.input(in.x_zero) && node.input(in.x_zero).elements() != 1) return "more than one zero point of the input";
  if (!in.to_codes) return "";
  for (const uint32_t k : {1u, 6u, 7u})
    if (node.input(k).elements() != 1) return "input " + text(k) + " has " + text(node.input(k).elements()) + " elements, wanted one";
  const int64_t scales = node.input(4).elements();
  return scales != 1 && scales != features ? text(scales) + " scales of weights, wanted " + text(features) : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&)) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse;
  return r;
}
constexpr sdk::Types C = sdk::types(OPTIMA_I8, OPTIMA_U8), F = kFloats, I = sdk::types(OPTIMA_I32);
constexpr Row kRows[] = {
    row(op("MatMulInteger", 10, 10, {C}, {I}, 1u << 3), lower_matmul, no_matmul), row(op("QLinearMatMul", 10, 21, {C, F, C, C, F, C, F, C}, {C}, 0b11110110), lower_matmul, no_matmul),
    row(op("ConvInteger", 10, 10, {C}, {I}, 0b1010), lower_conv, no_conv), row(op("QLinearConv", 10, 10, {C, F, C, C, F, C, F, C | I}, {C}, 0b011111110), lower_conv, no_conv),
};

}  // namespace of_integer

Family integer_family() { return of_integer::kRows; }

}  // namespace spirv_plugin
