// SPDX-License-Identifier: Apache-2.0
// Normalisations: by given statistics, by those of a line, or by those of neighbouring channels.
#include <cmath>

#include "elements.hpp"
#include "lines.hpp"

namespace spirv_plugin {
namespace of_norm {

Work work_of(int64_t elements, uint64_t flops) { return {static_cast<uint64_t>(elements) * flops, static_cast<uint64_t>(elements) * 8}; }

/// Elements of one channel of one image: [image][channel][these].
int64_t plane_of(const Dims& dims) {
  int64_t n = 1;
  for (size_t k = 2; k < dims.size(); ++k) n *= dims[k];
  return n;
}
int64_t channels_of(const Dims& dims) { return dims.size() > 1 ? dims[1] : 1; }

/// Factors of all channels, then summands, from scale, shift, mean and variance that are constants.
std::vector<float> folded_statistics(const sdk::Node& node) {
  const Scaling scaling = scaling_of(node);
  std::vector<float> out(scaling.factor.begin(), scaling.factor.end());
  out.insert(out.end(), scaling.summand.begin(), scaling.summand.end());
  return out;
}

/// The same where they are computed: in two steps, since each may bind four buffers only.
Tensor computed_statistics(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const int64_t channels = node.input(1).elements();
  const Tensor packed = to.scratch(node, Element::F32, {2, channels});
  const Grid g = grid(channels, kLocal);
  const std::string guard = "int c=" + g.id + ";if(c>=" + text(channels) + ")return;";
  Shader factors(kLocal);
  const int scale = factors.in(to.read(node.input(1))), variance = factors.in(to.read(node.input(4))), made = factors.out(packed);
  factors.line(guard + factors.store(made, "c", factors.load(scale, "c") + "/sqrt(" + factors.load(variance, "c") + "+" + literal(node.real("epsilon", 1e-5)) + ")"));
  to.step(group, std::move(factors), g.groups, work_of(channels, 3));
  Shader summands(kLocal);
  const int shift = summands.in(to.read(node.input(2))), mean = summands.in(to.read(node.input(3))), both = summands.out(packed);
  summands.line(guard + summands.store(both, "c+" + text(channels), summands.load(shift, "c") + "-" + summands.load(mean, "c") + "*" + summands.load(both, "c")));
  to.step(group, std::move(summands), g.groups, work_of(channels, 2));
  return packed;
}

void lower_batch(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  bool constant = true;
  for (uint32_t k = 1; k < 5; ++k) constant = constant && node.input(k).is_constant();
  const int64_t channels = node.input(1).elements(), n = node.output(0).elements();
  Elements e{to, group};
  const int x = e.in(node.input(0));
  const Tensor given = n == 0 ? to.read(node.input(1)) : constant ? to.weight(std::string(node.input(1).name()) + "/folded", {2, channels}, folded_statistics(node)) : computed_statistics(to, group);
  const int statistics = e.s.in(given);
  e.finish(
      [&] {
        e.s.line("int c=o/" + text(plane_of(node.output(0).shape())) + "%" + text(channels) + ";");
        return e.s.load(x, "o") + "*" + e.s.load(statistics, "c") + "+" + e.s.load(statistics, "c+" + text(channels));
      },
      work_of(n, 2));
}

std::string not_inference(const sdk::Node& node) {
  if (node.since_version() < 9 && node.integer("spatial", 1) == 0) return "spatial is 0, and statistics are taken by channel only";
  if (node.integer("training_mode", 0) != 0) return "training_mode is set";
  for (uint32_t k = 1; k < node.output_count(); ++k)
    if (node.output(k)) return "output " + text(k) + " is wanted, which training makes";
  return "";
}

/// How lines are normalised: (x - mean) * factor, then a scale and a shift by element.
struct Norm {
  Lines lines;
  bool centred = true;             ///< the mean is taken off
  std::string factor;              ///< of `f`, the mean of the squares
  std::string scale_at{}, bias_at{};  ///< indices by row, k and o; empty = there is none
  uint32_t scale = 1, bias = 2;    ///< inputs
};

/// The mean `m`, where it is wanted, and the factor `f`.
std::vector<Fold> statistics(const Norm& norm) {
  const std::string n = literal(static_cast<double>(norm.lines.length()));
  const Fold mean{"m", "float", "0.0", "x", "a+b", "", "m/=" + n + ";"};
  const Fold factor{"f", "float", "0.0", norm.centred ? "(x-m)*(x-m)" : "x*x", "a+b", "", "f/=" + n + ";f=" + norm.factor + ";"};
  return norm.centred ? std::vector<Fold>{mean, factor} : std::vector<Fold>{factor};
}

void lower_norm(Lowering& to, const Group& group, const Norm& norm) {
  const sdk::Node& node = group.root;
  LineProgram of{norm.lines, to.read(node.input(0)), {}, statistics(norm), false, norm.centred ? "(x-m)*f" : "x*f"};
  const auto operand = [&](uint32_t input, const std::string& at) {
    of.operands.push_back(to.read(node.input(input)));
    return along::operand(of.operands.size() - 1) + "(" + at + ")";
  };
  if (!norm.scale_at.empty()) of.value += "*" + operand(norm.scale, norm.scale_at);
  if (!norm.bias_at.empty()) of.added = operand(norm.bias, norm.bias_at);
  lower_along(to, group, of, work_of(node.output(0).elements(), 8));
}

std::string inverse_deviation(const sdk::Node& node) { return "1.0/sqrt(f+" + literal(node.real("epsilon", 1e-5)) + ")"; }

/// Outputs 1 and 2 of LayerNormalization: a value per line each.
void lower_line_statistics(Lowering& to, const Group& group, const Norm& norm) {
  const sdk::Node& node = group.root;
  LineProgram of{norm.lines, to.read(node.input(0)), {}, statistics(norm)};
  for (uint32_t k = 1; k < 3; ++k)
    if (node.output(k)) of.values.push_back({k == 1 ? "m" : "f", to.made(node.output(k))});
  if (node.input(0).elements() != 0) lower_along(to, group, of, work_of(node.input(0).elements(), 4));
}

/// LayerNormalization and RMSNormalization: a line is all dims from the axis on; scale and shift are broadcast to the input.
void lower_layer(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape();
  int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  std::vector<bool> runs(dims.size(), false);
  std::fill(runs.begin() + axis, runs.end(), true);
  Norm norm{lines_along(dims, runs), node.op() == "LayerNormalization", inverse_deviation(node)};
  const Dims line(dims.begin() + axis, dims.end());
  const auto index = [&](const sdk::Value& v) {
    const Dims own = v.shape();
    return own.size() <= line.size() ? broadcast_index("k", line, own) : broadcast_index("o", dims, own);
  };
  norm.scale_at = index(node.input(1));
  if (node.input(2)) norm.bias_at = index(node.input(2));
  lower_norm(to, group, norm);
  if (node.output(1) || node.output(2)) lower_line_statistics(to, group, norm);
}

/// A line is a channel of an image.
void lower_instance(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape();
  const std::string channel = "row%" + text(dims[1]);
  lower_norm(to, group, {lines_along({dims[0] * dims[1], plane_of(dims)}, 1), true, inverse_deviation(node), channel, channel});
}

/// A line is a group of channels of an image; before version 21 scale and shift are of groups, later of channels.
void lower_group(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape();
  const int64_t groups = node.integer("num_groups", 1), channels = dims[1] / groups, plane = plane_of(dims);
  const std::string own = "row%" + text(groups), channel = "(" + own + ")*" + text(channels) + "+k/" + text(plane), at = node.since_version() < 21 ? own : channel;
  lower_norm(to, group, {lines_along({dims[0] * groups, channels * plane}, 1), true, inverse_deviation(node), at, at});
}

std::string no_groups(const sdk::Node& node) {
  const int64_t groups = node.integer("num_groups", 0), channels = channels_of(node.input(0).shape());
  return groups < 1 || channels % groups != 0 ? text(channels) + " channels in " + text(groups) + " groups" : "";
}

void lower_mean_variance(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape();
  std::vector<bool> runs(dims.size(), false);
  for (const int64_t axis : node.integers("axes", {0, 2, 3})) runs[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] = true;
  lower_norm(to, group, {lines_along(dims, runs), true, "1.0/(sqrt(f)+1.0e-9)"});
}

std::string few_axes(const sdk::Node& node) {
  const int64_t rank = node.input(0).rank();
  for (const int64_t axis : node.integers("axes", {0, 2, 3}))
    if (axis >= rank || axis < -rank) return "axis " + text(axis) + " of " + text(rank) + " dims";
  return "";
}

/// Lines whose norm is 1 afterwards; a line of zeros stays one.
void lower_lp(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool squares = node.integer("p", 2) == 2;
  const Fold norm{"t", "float", "0.0", squares ? "x*x" : "abs(x)", "a+b", "", squares ? "t=sqrt(t);" : ""};
  lower_along(to, group, {lines_along(node.input(0).shape(), node.integer("axis", -1)), to.read(node.input(0)), {}, {norm}, false, "(t==0.0?0.0:x/t)"}, work_of(node.output(0).elements(), 4));
}

/// Each element by the squares of its neighbours in other channels.
void lower_lrn(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims dims = node.input(0).shape();
  const int64_t channels = channels_of(dims), plane = plane_of(dims), size = node.integer("size", 1), before = (size - 1) / 2, behind = size - 1 - before;
  Elements e{to, group};
  const int x = e.in(node.input(0));
  e.finish(
      [&] {
        e.s.line("int c=o/" + text(plane) + "%" + text(channels) + ";float t=0.0;");
        e.s.line("for(int k=max(0,c-" + text(before) + ");k<=min(" + text(channels - 1) + ",c+" + text(behind) + ");++k){float v=" + e.s.load(x, "o+(k-c)*" + text(plane)) + ";t+=v*v;}");
        const std::string base = literal(node.real("bias", 1)) + "+" + literal(node.real("alpha", 1e-4) / static_cast<double>(size)) + "*t";
        return e.s.load(x, "o") + "*pow_(" + base + "," + literal(-node.real("beta", 0.75)) + ")";
      },
      work_of(node.output(0).elements(), 8 + 2 * static_cast<uint64_t>(size)));
}

constexpr Row row(std::string_view name, int32_t first, int32_t last, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&) = nullptr, uint32_t buffers = 0) {
  Row r;
  r.op = op(name, first, last, {kFloats}, {kFloats});
  r.lower = lower, r.refuse = refuse, r.takes_tail = true, r.buffers = buffers;
  return r;
}
constexpr Row kRows[] = {
    row("BatchNormalization", 7, 15, lower_batch, not_inference, 3), row("LayerNormalization", 17, 17, lower_layer), row("RMSNormalization", 23, 23, lower_layer),
    row("InstanceNormalization", 6, 22, lower_instance), row("GroupNormalization", 18, 21, lower_group, no_groups), row("LpNormalization", 1, 22, lower_lp),
    row("MeanVarianceNormalization", 9, 13, lower_mean_variance, few_axes), row("LRN", 1, 13, lower_lrn),
};

}  // namespace of_norm

Family norm_family() { return of_norm::kRows; }

}  // namespace spirv_plugin
