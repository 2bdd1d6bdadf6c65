// SPDX-License-Identifier: Apache-2.0
// Products of codes: sums of whole numbers, exact in 32 bits, and codes made of them again.
#include "conv_kernel.hpp"

namespace spirv_plugin {
namespace of_integer {

constexpr uint32_t kLocal = 64;

Work work_of(int64_t macs, int64_t elements) { return {2 * static_cast<uint64_t>(macs), 4 * static_cast<uint64_t>(elements)}; }

double scalar(const sdk::Value& v) { return reals_of(v.constant())[0]; }

/// Weights, less their zero points, as words of four along their depth: [word][place][column] of what lies at `at(column, depth, place)`, then the sum of
/// each column. Empty where a weight is no signed code of 8 bits.
struct Words {
  std::vector<int32_t> all{};
  int64_t words = 0;  ///< numbers ahead of the sums
};
Words words_of(const std::vector<int32_t>& weights, int64_t columns, int64_t depth, int64_t places, const std::function<int64_t(int64_t, int64_t, int64_t)>& at) {
  if (!fit_words(weights)) return {};
  const int64_t words = (depth + 3) / 4 * places * columns;
  Words out{std::vector<int32_t>(static_cast<size_t>(words + columns)), words};
  for (int64_t c = 0; c < columns; ++c) {
    uint32_t sum = 0;
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t p = 0; p < places; ++p) {
        const int32_t w = weights[static_cast<size_t>(at(c, d, p))];
        int32_t& word = out.all[static_cast<size_t>((d / 4 * places + p) * columns + c)];
        word = static_cast<int32_t>(static_cast<uint32_t>(word) | (static_cast<uint32_t>(w) & 255u) << (d % 4 * 8));
        sum += static_cast<uint32_t>(w);
      }
    out.all[static_cast<size_t>(out.words + c)] = static_cast<int32_t>(sum);
  }
  return out;
}

/// Inputs of a matrix product by number; `none` where the operator has no such.
struct MatmulInputs {
  static constexpr uint32_t none = 15;
  uint32_t a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
};
MatmulInputs inputs_of(const sdk::Node& node) {
  constexpr uint32_t no = MatmulInputs::none;
  return node.op() == "MatMulInteger" ? MatmulInputs{0, 1, 2, 3, no, no, no, no} : MatmulInputs{0, 3, 2, 5, 1, 4, 6, 7};
}

/// Bindings of codes and of words.
struct Sides {
  int codes, words;
};

/// Adds the products of a row with a column to `v`, and takes zero point `az` off.
void write_matmul_words(Shader& s, int32_t dtype, const Sides& of, int64_t depth, int64_t columns, int64_t words) {
  std::array<std::string, 4> codes;
  for (size_t j = 0; j < 4; ++j) codes[j] = s.load(of.codes, "aa+" + place_in("k", static_cast<int64_t>(j), depth));
  s.line("for(int k=0;k<" + text((depth + 3) / 4) + ";++k)v+=dot_(" + word_of(dtype, codes) + "," + s.load(of.words, "k*" + text(columns) + "+col") + ");");
  s.line("v+=(" + text(half_of(dtype)) + "-az)*" + s.load(of.words, text(words) + "+col") + ";");
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
  const std::vector<int32_t> own = folds ? centred(node.input(in.b), b_zero, 1) : std::vector<int32_t>{};
  const Words words = folds && b.size() == 2 && has_dot(to) ? words_of(own, n, k, 1, [n](int64_t c, int64_t d, int64_t) { return d * n + c; }) : Words{};
  const bool dots = words.words > 0;
  const int left = s.in(to.read(node.input(in.a)));
  const std::string name(node.input(in.b).name());
  const int right = s.in(dots    ? to.weight(name + "/words", {static_cast<int64_t>(words.all.size())}, words.all)
                         : folds ? to.weight(name + "/centred", b, own)
                                 : to.read(node.input(in.b)));
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
  s.line("int az=" + az + ",v=0;");
  if (dots) write_matmul_words(s, node.input(in.a).dtype(), {left, right}, k, n, words.words);
  else s.line("for(int k=0;k<" + text(k) + ";++k)v+=(" + s.load(left, "aa+k") + "-az)*(" + s.load(right, "ba+k*" + text(n)) + "-" + bz + ");");
  if (to_codes) {
    const std::string factor = factors >= 0 ? s.load(factors, "col") : literal(scalar(node.input(in.a_scale)) * scalar(scales) / scalar(node.input(in.y_scale)));
    s.line("v=" + code_of(node.output(0).dtype(), "float(v)*" + factor, scalar_literal(node.input(in.y_zero))) + ";");
  }
  s.line(s.store(out, "o", "v"));
  to.step(group, ways_of(s, dots, g.groups), work_of(y.elements() * k, node.input(in.a).elements() + node.input(in.b).elements() + y.elements()));
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

/// Per feature of a QLinearConv what is added to the sum.
std::vector<int64_t> bias_of(const sdk::Node& node, int64_t features) {
  return node.input(8) ? integers_of(node.input(8).constant()) : std::vector<int64_t>(static_cast<size_t>(features), 0);
}
/// And by what the sum is multiplied.
std::vector<double> factors_of(const sdk::Node& node, int64_t features) {
  const std::vector<double> scale = reals_of(node.input(4).constant());
  std::vector<double> out;
  for (size_t c = 0; c < static_cast<size_t>(features); ++c) out.push_back(scalar(node.input(1)) * scale[scale.size() == 1 ? 0 : c] / scalar(node.input(6)));
  return out;
}
/// Both in one tensor, floats by their bits.
std::vector<int32_t> bias_and_factors(const sdk::Node& node, int64_t features) {
  std::vector<int32_t> out;
  for (const int64_t b : bias_of(node, features)) out.push_back(static_cast<int32_t>(b));
  for (const double f : factors_of(node, features)) out.push_back(bits_of(f));
  return out;
}

/// The convolution for the tile of registers that floats have. Nothing where that does not hold it: three axes, what is too large, and sums beyond 32 bits,
/// which wrap around.
std::optional<of_conv::OfCodes> for_tiles(const Lowering& to, const sdk::Node& node) {
  const ConvInputs in = conv_inputs(node);
  const sdk::Value w = node.input(in.w), zero = node.input(in.x_zero);
  if (node.input(0).rank() > 4 || w.elements() == 0 || !of_conv::too_large(node).empty()) return std::nullopt;
  const Channels channels = of_conv::channels_of(w.shape());
  const bool is_known = !zero || zero.is_constant();
  CodeSums sums{SumType::Floats, node.input(0), is_known ? std::optional(zero ? integers_of(zero.constant())[0] : 0) : std::nullopt, channels, centred(w, node.input(in.w_zero), channels.behind), {},
                std::vector<int64_t>(static_cast<size_t>(channels.count), 0), true};
  if (in.to_codes) sums.begin = bias_of(node, channels.count), sums.factor = factors_of(node, channels.count);
  std::optional<CodeSums> typed_sums = typed(std::move(sums), of_conv::wants_words(to, w));
  if (!typed_sums) return std::nullopt;
  return of_conv::OfCodes{w, std::move(*typed_sums), is_known ? sdk::Value{} : zero, in.to_codes ? scalar_literal(node.input(7)) : ""};
}

/// Of a convolution: type of its codes, channels of the input and of a group, features of the output and of a group, features of an invocation, numbers
/// ahead of the sums.
struct ConvCodes {
  int32_t dtype;
  int64_t channels, depth, all_features, features, tile, words;
};

/// The number of a tap of the window, by its loops.
std::string tap_of(const std::vector<Axis>& axes) {
  std::string out = "k0";
  for (size_t k = 1; k < axes.size(); ++k) out = "(" + out + ")*" + text(axes[k].kernel) + "+k" + std::to_string(k);
  return out;
}

/// Adds the window's products to `v0`, `v1`, ...: weights lie [feature][channel][tap].
void write_conv_codes(Shader& s, const ConvCodes& c, const std::vector<Axis>& axes, const Sides& of) {
  const int64_t ins = product(axes, &Axis::in), taps = product(axes, &Axis::kernel), each = c.depth * taps;
  s.line("for(int c=0;c<" + text(c.depth) + ";++c){int plane=(image*" + text(c.channels) + "+m/" + text(c.features) + "*" + text(c.depth) + "+c)*" + text(ins) + ",wa=m*" + text(each) + "+c*" + text(taps) + ";");
  std::string sums;
  for (int64_t t = 0; t < c.tile; ++t) sums += "v" + text(t) + "+=x*" + s.load(of.words, "wa+tap+" + text(t * each)) + ";";
  write_window(s, axes, "int x=" + s.load(of.codes, "plane+at") + "-xz,tap=" + tap_of(axes) + ";" + sums);
  s.line("}");
}

/// The same by words of four channels. Pads count as zero points, so that the sum of the weights is the same for every window.
void write_conv_words(Shader& s, const ConvCodes& c, const std::vector<Axis>& axes, const Sides& of) {
  const int64_t ins = product(axes, &Axis::in), taps = product(axes, &Axis::kernel);
  const std::string half = text(half_of(c.dtype));
  s.line("int ground=image*" + text(c.channels) + "+m/" + text(c.features) + "*" + text(c.depth) + ",pad=((xz-" + half + ")&255)*16843009;");
  s.line("for(int c=0;c<" + text((c.depth + 3) / 4) + ";++c){");
  std::array<std::string, 4> codes;
  for (size_t j = 0; j < 4; ++j) codes[j] = s.load(of.codes, "(ground+" + place_in("c", static_cast<int64_t>(j), c.depth) + ")*" + text(ins) + "+at");
  std::string sums;
  for (int64_t t = 0; t < c.tile; ++t) sums += "v" + text(t) + "+=dot_(x," + s.load(of.words, "wa+" + text(t)) + ");";
  write_window(s, axes, "int x=inside?" + word_of(c.dtype, codes) + ":pad,wa=(c*" + text(taps) + "+" + tap_of(axes) + ")*" + text(c.all_features) + "+m;" + sums, Outside::Border);
  s.line("}");
  for (int64_t t = 0; t < c.tile; ++t) s.line("v" + text(t) + "+=(" + half + "-xz)*" + s.load(of.words, text(c.words) + "+m+" + text(t)) + ";");
}

/// A few channels of one place for each invocation. Pads are zero points, which add nothing.
void lower_places(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const ConvInputs in = conv_inputs(node);
  const Dims x = node.input(0).shape(), w = node.input(in.w).shape();
  const std::vector<Axis> axes = window_of(node, Dims(w.begin() + 2, w.end()));
  const int64_t taps = product(axes, &Axis::kernel), outs = product(axes, &Axis::out);
  const int64_t features = w[0] / node.integer("group", 1), tile = features % 4 == 0 ? 4 : 1, each = w[1] * taps;
  Shader s(kLocal);
  const std::vector<int32_t> own = centred(node.input(in.w), node.input(in.w_zero), each);
  const Words words = w[1] >= 4 && has_dot(to) ? words_of(own, w[0], w[1], taps, [=](int64_t c, int64_t d, int64_t p) { return c * each + d * taps + p; }) : Words{};
  const bool dots = words.words > 0;
  const std::string name(node.input(in.w).name());
  const int from = s.in(to.read(node.input(0)));
  const int weights = s.in(dots ? to.weight(name + "/words", {static_cast<int64_t>(words.all.size())}, words.all) : to.weight(name + "/centred", w, own));
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
  if (dots) write_conv_words(s, {node.input(0).dtype(), x[1], w[1], w[0], features, tile, words.words}, axes, {from, weights});
  else write_conv_codes(s, {node.input(0).dtype(), x[1], w[1], w[0], features, tile, 0}, axes, {from, weights});
  s.line("int first=(image*" + text(w[0]) + "+m)*" + text(outs) + "+o;");
  for (int64_t t = 0; t < tile; ++t) {
    std::string v = "v" + text(t);
    if (in.to_codes)
      v = code_of(node.output(0).dtype(), "float(" + v + "+" + s.load(by, "m+" + text(t)) + ")*intBitsToFloat(" + s.load(by, "m+" + text(w[0] + t)) + ")", scalar_literal(node.input(7)));
    s.line(s.store(out, "first+" + text(t * outs), v));
  }
  to.step(group, ways_of(s, dots, g.groups), work_of(y.elements() * each, node.input(0).elements() + node.input(in.w).elements() + y.elements()));
}

void lower_conv(Lowering& to, const Group& group) {
  if (const std::optional<of_conv::OfCodes> of = for_tiles(to, group.root)) of_conv::lower_convolution({to, group, *of});
  else lower_places(to, group);
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
  if (node.input(8) && !node.input(8).is_constant()) return "bias that is computed";
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
