// SPDX-License-Identifier: Apache-2.0
// Convolutions, forth and back.
#include "chain.hpp"

namespace bmcompiler_plugin::top {
namespace of_conv {

std::vector<int64_t> spatial(const sdk::Value& weight) {
  const std::vector<int64_t> dims = weight.shape();
  return {dims.begin() + 2, dims.end()};
}

std::string refuses_window(const sdk::Node& node) {
  if (std::string why = wants_floats(node); !why.empty()) return why;
  if (!node.input(1).is_constant()) return "weight is computed, wanted a constant";
  if (node.input(2) && !node.input(2).is_constant()) return "bias is computed, wanted a constant";
  for (const int64_t pad : node.integers("pads"))
    if (pad < 0) return "pad of " + std::to_string(pad) + ", wanted 0 or more";
  if (const int32_t rank = node.input(0).rank(); rank < 3 || rank > 5) return "input has rank " + std::to_string(rank) + ", wanted 3 to 5";
  return {};
}

std::string refuses_conv(const sdk::Node& node, const Chip& chip) {
  if (std::string why = refuses_window(node); !why.empty()) return why;
  if (chip.name == "bm1684" && node.input(0).rank() == 5 && node.integers("dilations", {1}).at(0) != 1) return "bm1684 spreads no window over depth: its compiler ends";
  return {};
}

void write_conv(Lowering& to, const sdk::Node& node) {
  const Window w = window_of(node, spatial(node.input(1)));
  to.emit(node, "Conv", {to.read(node.input(0)), to.read(node.input(1)), to.read(node.input(2))},
          fused()
              .i64s("kernel_shape", w.kernel)
              .i64s("strides", w.strides)
              .i64s("pads", w.pads)
              .i64s("dilations", w.dilations)
              .i64("group", node.integer("group", 1))
              .flag("dynweight_reorderd", false)
              .i64("weight_is_coeff", 1));
}

std::string refuses_transpose(const sdk::Node& node, const Chip& chip) {
  if (std::string why = refuses_window(node); !why.empty()) return why;
  if (chip.name == "bm1684") {
    for (const int64_t d : node.integers("dilations"))
      if (d != 1) return "bm1684 computes windows that are spread wrongly (1 to 1.5 of the numbers' size)";
    if (node.input(1).dim(0) == 1 && node.input(1).dim(1) == 1) return "bm1684 computes one channel from one wrongly (0.5 to 1.1 of the numbers' size)";
  }
  if (node.input(0).rank() > 4) return "input has rank 5, wanted 3 or 4";
  return {};
}

/// Of the input's channels by the output's in a group, as the tools want it: the output's by the input's, group after group.
std::vector<float> turned(const std::vector<float>& w, int64_t groups, int64_t in, int64_t out, int64_t window) {
  std::vector<float> t(w.size());
  const int64_t each = in / groups;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t i = 0; i < each; ++i)
      for (int64_t o = 0; o < out; ++o)
        for (int64_t k = 0; k < window; ++k)
          t[static_cast<size_t>(((g * out + o) * each + i) * window + k)] = w[static_cast<size_t>(((g * each + i) * out + o) * window + k)];
  return t;
}

/// What the begins of the pads leave of output_shape goes to the ends, as negative output padding never does.
struct Edges {
  std::vector<int64_t> pads, more;
};
Edges edges_of(const sdk::Node& node, const Window& w) {
  const size_t rank = w.kernel.size();
  Edges e{node.integers("pads", std::vector<int64_t>(2 * rank, 0)), node.integers("output_padding", std::vector<int64_t>(rank, 0))};
  const std::string_view automatic = node.string("auto_pad", "NOTSET");
  if (!node.has("output_shape") && automatic == "NOTSET") return e;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t in = node.input(0).dim(static_cast<uint32_t>(k + 2)), out = node.output(0).dim(static_cast<uint32_t>(k + 2));
    const int64_t total = w.strides[k] * (in - 1) + e.more[k] + (w.kernel[k] - 1) * w.dilations[k] + 1 - out;
    if (total < 0) e.more[k] -= total;
    const int64_t pads = total < 0 ? 0 : total;
    e.pads[k] = automatic == "SAME_UPPER" ? pads / 2 : pads - pads / 2;
    e.pads[rank + k] = pads - e.pads[k];
  }
  return e;
}

/// The same weight in one group: zeros between channels of different groups. Already turned.
std::vector<float> ungrouped(const std::vector<float>& w, int64_t groups, int64_t in, int64_t out, int64_t window) {
  std::vector<float> all(static_cast<size_t>(groups * out * in * window));
  const int64_t each = in / groups;
  for (int64_t o = 0; o < groups * out; ++o)
    for (int64_t i = 0; i < each; ++i)
      for (int64_t k = 0; k < window; ++k)
        all[static_cast<size_t>((o * in + o / out * each + i) * window + k)] = w[static_cast<size_t>((o * each + i) * window + k)];
  return all;
}

void write_transpose(Lowering& to, const sdk::Node& node) {
  const sdk::Value weight = node.input(1);
  Window w = window_of(node, spatial(weight));
  Edges e = edges_of(node, w);
  int64_t groups = node.integer("group", 1), out = weight.dim(1);
  const int64_t in = weight.dim(0);
  std::vector<float> numbers = turned(Lowering::floats(weight), groups, in, out, w.size());
  const bool is_small = to.chip().name == "bm1684";  // its groups, and its bias, come out wrong (0.14 to 1.4 of the numbers' size)
  if (is_small && groups > 1) numbers = ungrouped(numbers, groups, in, out, w.size()), out *= groups, groups = 1;
  std::vector<int64_t> dims = {out, in};
  dims.insert(dims.end(), w.kernel.begin(), w.kernel.end());
  std::vector<int64_t> x = dims_of(node.input(0)), y = dims_of(node.output(0));
  Chain c(to, node);
  Value v = to.read(node.input(0));
  const bool is_line = x.size() == 3;  // the chips' form has two dims: the first is 1
  if (is_line) {
    for (std::vector<int64_t>* d : {&x, &dims}) d->insert(d->begin() + 2, 1);
    for (std::vector<int64_t>* d : {&w.kernel, &w.strides, &w.dilations}) d->insert(d->begin(), 1);
    e.more.insert(e.more.begin(), 0);
    e.pads = {0, e.pads[0], 0, e.pads[1]};
    v = c.reshape(v, x);
    std::vector<int64_t> wide = y;
    wide.insert(wide.begin() + 2, 1);
    c.shape(wide);
  } else if (!is_small || !node.input(2)) {
    c.last();
  }
  const Value filter = to.module().weight(to.inner(node, "weight"), dims, numbers);
  v = c.op("Deconv", {v, filter, is_small ? Value{} : to.read(node.input(2))},
           fused()
               .i64s("kernel_shape", w.kernel)
               .i64s("strides", w.strides)
               .i64s("pads", e.pads)
               .i64s("dilations", w.dilations)
               .i64s("output_padding", e.more)
               .i64("group", groups)
               .flag("dynweight_reorderd", false));
  const bool adds = is_small && node.input(2);
  if (is_line) {
    if (!adds) c.last();
    v = c.reshape(v, y);
  }
  if (!adds) return;
  std::vector<int64_t> channels(y.size(), 1);
  channels[1] = y[1];
  const Value bias = to.module().weight(to.inner(node, "bias"), channels, Lowering::floats(node.input(2)));
  c.last().add(v, bias);
}

constexpr Row kRows[] = {{"Conv", refuses_conv, write_conv}, {"ConvTranspose", refuses_transpose, write_transpose}};

}  // namespace of_conv

sdk::Span<const Row> convolutions() { return of_conv::kRows; }

}  // namespace bmcompiler_plugin::top
