// SPDX-License-Identifier: Apache-2.0
// Normalizations.
#include <functional>
#include <limits>
#include <numeric>

#include "chain.hpp"

namespace bmcompiler_plugin::top {
namespace of_norm {

using Dims = std::vector<int64_t>;

int64_t axis_of(const sdk::Node& node, int64_t otherwise) {
  const int64_t axis = node.integer("axis", otherwise);
  return axis < 0 ? axis + node.input(0).rank() : axis;
}

/// Of operators whose operands from the second on are what was learnt.
std::string refuses_learnt(const sdk::Node& node, uint32_t outputs) {
  if (std::string why = wants_floats(node); !why.empty()) return why;
  for (uint32_t k = 1; k < node.input_count(); ++k)
    if (node.input(k) && !node.input(k).is_constant()) return "operand " + std::to_string(k) + " is computed, wanted a constant";
  for (uint32_t k = outputs; k < node.output_count(); ++k)
    if (node.output(k)) return "output " + std::to_string(k) + " is wanted, these chips give the first alone";
  return {};
}

std::string refuses_batch(const sdk::Node& node, const Chip&) {
  if (node.integer("training_mode", 0) != 0) return "training_mode is 1, wanted 0";
  if (node.input(0).rank() < 2) return "input has rank " + std::to_string(node.input(0).rank()) + ", wanted 2 or more";
  return refuses_learnt(node, 1);
}
void write_batch(Lowering& to, const sdk::Node& node) {
  const auto learnt = [&](uint32_t k) { return to.read(node.input(k)); };
  to.emit(node, "BatchNorm", {learnt(0), learnt(3), learnt(4), learnt(1), learnt(2)}, fused().f64("epsilon", node.real("epsilon", 1e-5)));
}

std::string refuses_layer(const sdk::Node& node, const Chip&) { return refuses_learnt(node, 1); }
/// Of the numbers of the axes from `axis` on, as one; a scale of another shape comes after.
void write_layer(Lowering& to, const sdk::Node& node) {
  const Dims dims = dims_of(node.input(0));
  const int64_t axis = axis_of(node, -1);
  Dims flat(dims.begin(), dims.begin() + axis);
  if (flat.empty()) flat.push_back(1);  // bm1684 wants an axis before
  int64_t size = 1;
  for (size_t k = static_cast<size_t>(axis); k < dims.size(); ++k) size *= dims[k];
  flat.push_back(size);
  Chain c(to, node);
  const bool is_flat = flat == dims;
  const bool fits = node.input(1).elements() == size && (!node.input(2) || node.input(2).elements() == size);
  Value x = to.read(node.input(0));
  if (!is_flat) x = c.reshape(x, flat);
  Value scale, bias;
  if (fits) {
    scale = to.module().weight(to.inner(node, "scale"), {size}, Lowering::floats(node.input(1)));
    if (node.input(2)) bias = to.module().weight(to.inner(node, "bias"), {size}, Lowering::floats(node.input(2)));
  }
  if (fits && is_flat) c.last();
  Value y = c.op("LayerNorm", {x, scale, bias},
                 Attributes().i64s("normalized_shape", {}).si32("axis", static_cast<int32_t>(flat.size() - 1)).f64("eps", node.real("epsilon", 1e-5)));
  if (fits && is_flat) return;
  if (fits) {
    c.last().reshape(y, dims);
    return;
  }
  if (!is_flat) y = c.reshape(y, dims);
  c.shape(dims);
  if (!node.input(2)) c.last();
  y = c.mul(y, raised(to, node, node.input(1), dims.size()));
  if (node.input(2)) {
    const Value more = raised(to, node, node.input(2), dims.size());
    c.last().add(y, more);
  }
}

/// One number a channel, of one a group where they are so.
std::vector<float> by_channel(const sdk::Value& v, int64_t channels) {
  const std::vector<float> given = Lowering::floats(v);
  std::vector<float> all;
  for (int64_t k = 0; k < channels; ++k) all.push_back(given[static_cast<size_t>(k) * given.size() / static_cast<size_t>(channels)]);
  return all;
}

std::string refuses_group(const sdk::Node& node, const Chip&) {
  if (node.input(0).rank() < 3) return "input has rank " + std::to_string(node.input(0).rank()) + ", wanted 3 or more";
  return refuses_learnt(node, 1);
}
/// The mean and variance of each group as a layer's, then a scale and bias by channel.
void write_group(Lowering& to, const sdk::Node& node) {
  const Dims dims = dims_of(node.input(0));
  const int64_t channels = dims[1], groups = node.op() == "InstanceNormalization" ? channels : node.integer("num_groups", 1);
  int64_t size = 1;
  for (size_t k = 1; k < dims.size(); ++k) size *= dims[k];
  Dims each(dims.size(), 1);
  each[1] = channels;
  Chain c(to, node);
  const Value lines = c.reshape(to.read(node.input(0)), {dims[0], groups, size / groups});
  Value y = c.op("LayerNorm", {lines, to.module().none(), to.module().none()},
                 Attributes().i64s("normalized_shape", {}).si32("axis", 2).f64("eps", node.real("epsilon", 1e-5)));
  y = c.reshape(y, dims);
  y = c.mul(y, to.module().weight(to.inner(node, "scale"), each, by_channel(node.input(1), channels)));
  const Value bias = to.module().weight(to.inner(node, "bias"), each, by_channel(node.input(2), channels));
  c.last().add(y, bias);
}

std::string floats_only(const sdk::Node& node, const Chip&) { return wants_floats(node); }

void write_softmax(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value x = to.read(node.input(0));
  to.emit(node, "Softmax", {to.chip().name == "cv183x" ? c.least(x, kLeastPower) : x},
          Attributes().si32("axis", static_cast<int32_t>(axis_of(node, -1))).flag("log", node.op() == "LogSoftmax").f64("beta", 1).text("round_mode", kHalfAway));
}

/// x / (bias + alpha mean)^beta, where the mean is of squares of `size` channels with zeros beyond: a pool of columns. The dialect's own
/// operator ends the compiler on bm1684x where there are few channels.
void write_lrn(Lowering& to, const sdk::Node& node) {
  const Dims dims = dims_of(node.input(0));
  const int64_t size = node.integer("size", 1), before = (size - 1) / 2;
  int64_t line = 1;
  for (size_t k = 2; k < dims.size(); ++k) line *= dims[k];
  Chain c(to, node);
  const Value x = to.read(node.input(0)), square = c.mul(x, x);
  const Value columns = c.reshape(square, {dims[0], 1, dims[1], line});
  const Value mean = c.op("AvgPool", {columns},
                          fused()
                              .i64s("kernel_shape", {size, 1})
                              .i64s("strides", {1, 1})
                              .i64s("pads", {before, 0, size - 1 - before, 0})
                              .flag("ceil_mode", false)
                              .flag("is_adaptive", false)
                              .flag("keepdims", true)
                              .i64("pad_value", 0)
                              .flag("count_include_pad", true)
                              .text("round_mode", kHalfAway)
                              .text("first_round_mode", kHalfAway));
  const Value base = c.add(c.mul(c.reshape(mean, dims), node.real("alpha", 1e-4)), node.real("bias", 1));
  const Value power = c.op("Pow", {base}, Attributes().f64("exponent", node.real("beta", 0.75)));
  c.last().div(x, power);
}

/// Axis by axis: bm1684x reduces axes that are not neighbours wrongly (0.04 of a mean of numbers from 0 to 1 over axes 0, 2 and 3).
Value reduced(Chain& c, Value x, std::string_view mode, const Dims& dims, const Dims& axes) {
  Dims small = dims;
  for (const int64_t a : axes) {
    small[static_cast<size_t>(a)] = 1;
    x = c.shape(small).op("Reduce", {x}, Attributes().i64s("axes", {a}).flag("keepdims", true).text("mode", mode).flag("is_scalar", false));
  }
  c.shape(dims);
  return x;
}

void write_lp(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Dims dims = dims_of(node.input(0));
  const Value x = to.read(node.input(0));
  const int64_t axis = axis_of(node, -1);
  Dims small = dims;
  small[static_cast<size_t>(axis)] = 1;
  const bool is_one = dims[static_cast<size_t>(axis)] == 1;  // the tools take a reduction of one number for the number, its sign with it
  constexpr double kLeast = std::numeric_limits<float>::min();  // no length is none: 0 stays 0
  Value divisor;
  if (node.integer("p", 2) == 1 || is_one) {
    const Value length = is_one ? c.op("Abs", {x}) : reduced(c, x, "ReduceL1", dims, {axis});
    divisor = c.shape(small).least(length, kLeast);
  } else {  // not ReduceL2, which is NaN of zeros on bm1684x
    const Value sum = reduced(c, c.mul(x, x), "ReduceSum", dims, {axis});
    divisor = c.shape(small).op("Sqrt", {c.least(sum, kLeast)});
  }
  c.shape(dims).last().div(x, divisor);
}

/// x scale / sqrt(mean of squares + epsilon), the mean over the axes from `axis` on.
void write_rms(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Dims dims = dims_of(node.input(0));
  const int64_t axis = axis_of(node, -1);
  const Dims outer(dims.begin(), dims.begin() + axis), inner(dims.begin() + axis, dims.end());
  const auto count = [](const Dims& d) { return std::accumulate(d.begin(), d.end(), int64_t{1}, std::multiplies<>()); };
  const Dims lines{count(outer), count(inner)};
  const Value x = c.reshape(to.read(node.input(0)), lines);
  const Value mean = reduced(c, c.mul(x, x), "ReduceMean", lines, {1});
  const Value size = c.shape({lines[0], 1}).op("Sqrt", {c.add(mean, node.real("epsilon", 1e-5))});
  const Value y = c.reshape(c.shape(lines).div(x, size), dims);
  const Value scale = raised(to, node, node.input(1), dims.size());
  c.last().mul(y, scale);
}

/// (x - mean) / (sqrt(mean of squares) + 1e-9).
void write_mean_variance(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Dims dims = dims_of(node.input(0));
  Dims axes = node.integers("axes", {0, 2, 3});
  for (int64_t& a : axes)
    if (a < 0) a += node.input(0).rank();
  const Value x = to.read(node.input(0));
  const Value apart = c.sub(x, reduced(c, x, "ReduceMean", dims, axes));
  const Value variance = reduced(c, c.mul(apart, apart), "ReduceMean", dims, axes);
  Dims small = dims;
  for (const int64_t a : axes) small[static_cast<size_t>(a)] = 1;
  c.shape(small);
  const Value deviation = c.add(c.op("Sqrt", {variance}), 1e-9);
  c.shape(dims).last().div(apart, deviation);
}

constexpr Row kRows[] = {
    {"BatchNormalization", refuses_batch, write_batch},   {"GroupNormalization", refuses_group, write_group},
    {"InstanceNormalization", refuses_group, write_group}, {"LRN", floats_only, write_lrn},
    {"LayerNormalization", refuses_layer, write_layer},   {"LogSoftmax", floats_only, write_softmax},
    {"LpNormalization", floats_only, write_lp},           {"MeanVarianceNormalization", floats_only, write_mean_variance},
    {"RMSNormalization", floats_only, write_rms},         {"Softmax", floats_only, write_softmax},
};

}  // namespace of_norm

sdk::Span<const Row> norms() { return of_norm::kRows; }

}  // namespace bmcompiler_plugin::top
