// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see conv_parts.hpp.
#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"

#include <algorithm>
#include <cmath>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/lower/parts/computed.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {

Groups merge_groups(int64_t groups, int64_t channels, int64_t out_channels, int64_t vector_width) {
  const int64_t ic = channels / groups, oc = out_channels / groups;
  int64_t merged = groups;
  for (int64_t m = 1; m < groups; ++m)
    if (groups % m == 0 && m * ic % vector_width == 0 && m * oc % vector_width == 0) {
      merged = m;
      break;
    }
  return {groups / merged, merged, merged * ic, merged * oc};
}

namespace {

/// v * scale + shift, per channel.
struct Factors {
  std::vector<double> scale, shift;

  void then(const Factors& f) {
    for (size_t i = 0; i < scale.size(); ++i) scale[i] *= f.scale[i], shift[i] = shift[i] * f.scale[i] + f.shift[i];
  }
};

Factors factors_of(const NodeView& n, size_t channels) {
  Factors out{std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  if (n.op() != "BatchNormalization") {
    const Affine a = *affine_of(n, n.input(n.graph.is_constant(n.input(0)) ? 1 : 0));
    for (size_t i = 0; i < channels; ++i) (a.multiplies ? out.scale : out.shift)[i] = static_cast<double>(a.numbers[a.numbers.size() == 1 ? 0 : i]);
    return out;
  }
  const auto at = [&](uint32_t k) { return *n.graph.floats(n.input(k)); };
  const std::vector<float> gamma = at(1), beta = at(2), mean = at(3), variance = at(4);
  const double epsilon = static_cast<double>(n.real("epsilon", 1e-5f));
  for (size_t i = 0; i < channels; ++i) {
    out.scale[i] = static_cast<double>(gamma[i]) / std::sqrt(static_cast<double>(variance[i]) + epsilon);
    out.shift[i] = static_cast<double>(beta[i]) - static_cast<double>(mean[i]) * out.scale[i];
  }
  return out;
}

Factors factors_of(const std::vector<NodeView>& nodes, std::vector<double> shift) {
  Factors out{std::vector<double>(shift.size(), 1), std::move(shift)};
  for (const NodeView& n : nodes) out.then(factors_of(n, out.scale.size()));
  return out;
}

}  // namespace

Folded fold(const NodeView& conv, const FusedTail& tail, int64_t out_channels) {
  const size_t n = static_cast<size_t>(out_channels);
  std::vector<double> bias(n, 0);
  Folded out;
  if (conv.has_input(2) && !conv.graph.is_known(conv.input(2))) {
    out.computed_bias = conv.input(2);
    return out;
  }
  if (conv.has_input(2)) {
    const auto b = conv.graph.floats(conv.input(2));
    for (size_t i = 0; i < n; ++i) bias[i] = static_cast<double>((*b)[i]);
  }
  const Factors before = factors_of(tail.normalisations, std::move(bias));
  if (!tail.normalisations.empty()) out.scale.assign(before.scale.begin(), before.scale.end());
  if (conv.has_input(2) || !tail.normalisations.empty() || !tail.after.empty()) out.bias.assign(before.shift.begin(), before.shift.end());
  if (tail.after.empty()) return out;
  const Factors after = factors_of(tail.after, std::vector<double>(n, 0));
  for (const auto* array : {&after.scale, &after.shift}) out.bias.insert(out.bias.end(), array->begin(), array->end());
  out.arrays = 3;
  return out;
}

k::Tail literals(const FusedTail& tail, const Folded& folded, const Groups& g, int64_t vector_width) {
  k::Tail out = tail.literals(!folded.bias.empty() || folded.computed_bias != OPTIMA_NONE);
  if (folded.arrays > 1) out.apart = g.count * divide_up(g.oc, vector_width) * vector_width;
  return out;
}

Operand bias_of(const Folded& folded, const Groups& g, LowerContext& ctx) {
  const Pack pack = bias_pack(g, ctx.target().vector_width, folded.arrays);
  if (folded.computed_bias != OPTIMA_NONE) return packed_in_run(ctx, folded.computed_bias, pack);
  return folded.bias.empty() ? LowerContext::null() : ctx.bytes(to_bytes(folded.bias), pack);
}

Operand weights_of(uint32_t value, const Pack& pack, const Folded& folded, const GraphView& graph, LowerContext& ctx) {
  if (!graph.is_known(value)) return packed_in_run(ctx, value, pack);
  if (folded.scale.empty()) return ctx.packed(value, pack);
  const Operand scale = ctx.bytes(to_bytes(folded.scale));
  return ctx.packed(value, pack, &scale);
}

std::string to_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

Pack bias_pack(const Groups& g, int64_t vector_width, int64_t arrays) {
  Pack p;
  p.kind = Pack::Channels, p.vector_width = vector_width, p.groups = g.count * arrays, p.oc = g.oc;
  p.group_stride = g.oc, p.oc_stride = 1;
  return p;
}

Pack dense_pack(const Window& w, const Groups& g, int64_t vector_width, int64_t oc_blocks, int64_t in_block) {
  Pack p;
  p.kind = Pack::Dense, p.vector_width = vector_width, p.oc_blocks = oc_blocks, p.in_block = in_block;
  p.groups = g.count, p.diagonal = g.diagonal, p.oc = g.oc, p.ic = g.ic;
  p.kd = w.kernel[0], p.kh = w.kernel[1], p.kw = w.kernel[2];
  p.kw_stride = 1, p.kh_stride = p.kw, p.kd_stride = p.kh * p.kw, p.ic_stride = w.taps(), p.oc_stride = g.ic / g.diagonal * w.taps();
  p.group_stride = g.oc * p.oc_stride, p.diagonal_stride = g.oc / g.diagonal * p.oc_stride;
  return p;
}

std::string describe(const Window& w) {
  const auto size = [](const Three& t) {
    return (t[0] != 1 ? std::to_string(t[0]) + "x" : std::string()) + std::to_string(t[1]) + "x" + std::to_string(t[2]);
  };
  const int64_t stride = std::max({w.stride[0], w.stride[1], w.stride[2]});
  return std::to_string(w.channels) + "->" + std::to_string(w.out_channels) + " " + size(w.kernel) +
         (stride > 1 ? " s" + std::to_string(stride) : "") + " @" + size(w.out);
}

Refusal check_groups(const NodeView& n, bool transposed) {
  const int64_t group = n.integer("group", 1);
  const Dims weights = n.in_dims(1), in = n.in_dims(0), out = n.out_dims(0);
  if (group < 1 || group > 1 << 24) return {OPTIMA_REASON_ATTRIBUTE, "group", std::to_string(group), "within [1, 2^24]"};
  const int64_t channels = transposed ? weights[0] : weights[1] * group, out_channels = transposed ? weights[1] * group : weights[0];
  if (channels != in[1]) return {OPTIMA_REASON_OTHER, "input 0 dim 1", std::to_string(in[1]), std::to_string(channels) + ", as the weights say"};
  if (out.size() < 2 || out_channels != out[1]) return {OPTIMA_REASON_OTHER, "output 0", to_text(out), std::to_string(out_channels) + " channels, as the weights say"};
  if (channels % group || out_channels % group)
    return {OPTIMA_REASON_ATTRIBUTE, "group", std::to_string(group), "a divisor of " + std::to_string(channels) + " and " + std::to_string(out_channels)};
  if (n.has_input(2) && n.in_dims(2) != Dims{out_channels}) return {OPTIMA_REASON_OTHER, "input 2", to_text(n.in_dims(2)), "one number per output channel"};
  for (uint32_t k = 0; k < 2; ++k)
    if (count(n.in_dims(k)) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input " + std::to_string(k), to_text(n.in_dims(k)), "not empty"};
  return {};
}

}  // namespace optima::llvm_cpu
