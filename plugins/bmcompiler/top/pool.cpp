// SPDX-License-Identifier: Apache-2.0
// Pools of windows and of the whole.
#include <algorithm>

#include "chain.hpp"

namespace bmcompiler_plugin::top {
namespace of_pool {

std::vector<int64_t> kernel_of(const sdk::Node& node) {
  if (node.op().substr(0, 6) != "Global") return node.integers("kernel_shape");
  const std::vector<int64_t> dims = node.input(0).shape();
  return {dims.begin() + 2, dims.end()};
}

/// Counting pads, the last window of ceil_mode ends with the pads, and the form has no such window.
bool counts_beyond(const sdk::Node& node) {
  if (node.integer("count_include_pad", 0) == 0 && node.op() != "LpPool") return false;
  const Window w = window_of(node, kernel_of(node));
  const std::vector<int64_t> pads = node.integers("pads", std::vector<int64_t>(w.pads.size(), 0));
  if (node.string("auto_pad", "NOTSET") != "NOTSET") return false;
  for (size_t k = w.kernel.size(); k < w.pads.size(); ++k)
    if (w.pads[k] > pads[k]) return true;
  return false;
}

/// Found with tpu_mlir 1.30.2 by pools drawn at random.
std::string refuses_on_bm1684(const sdk::Node& node, const Window& w) {
  if (w.kernel.size() == 3) return "bm1684 computes pools of three dims wrongly (0.23 to 0.5 of the numbers' size)";
  bool one = true, whole = true, even = true;
  for (size_t k = 0; k < w.kernel.size(); ++k) {
    const uint32_t dim = static_cast<uint32_t>(k + 2);
    const int64_t begin = w.pads[k], end = w.pads[w.kernel.size() + k];
    one &= node.output(0).dim(dim) == 1;
    whole &= node.input(0).dim(dim) == w.kernel[k] && begin == 0 && end == 0;
    even &= begin == end;
  }
  if (one && !whole) return "bm1684 computes a single window of a part wrongly, as if it were the whole (0.35 to 3.5 of the numbers' size)";
  if (!even && (node.op() == "LpPool" || node.integer("count_include_pad", 0) != 0)) return "bm1684 counts uneven pads wrongly (0.2 to 0.53 of the numbers' size)";
  return {};
}

std::string refuses_pool(const sdk::Node& node, const Chip& chip) {
  if (node.output(1)) return "indices are wanted, these chips give the largest numbers alone";
  if (std::string why = wants_floats(node); !why.empty()) return why;
  if (const int32_t rank = node.input(0).rank(); rank < 3 || rank > 5) return "input has rank " + std::to_string(rank) + ", wanted 3 to 5";
  for (const int64_t d : node.integers("dilations"))
    if (d != 1) return "windows have a dilation of " + std::to_string(d) + ", wanted 1";
  const Window w = window_of(node, kernel_of(node));
  for (size_t k = 0; k < w.kernel.size(); ++k)
    if (std::max(w.pads[k], w.pads[w.kernel.size() + k]) >= w.kernel[k])
      return "a window lies in the pads: kernel " + std::to_string(w.kernel[k]) + ", pads " + std::to_string(w.pads[k]) + " and " + std::to_string(w.pads[w.kernel.size() + k]);
  if (chip.name == "bm1684")
    if (std::string why = refuses_on_bm1684(node, w); !why.empty()) return why;
  const bool averages = node.op() == "AveragePool" || node.op() == "LpPool", pads = std::any_of(w.pads.begin(), w.pads.end(), [](int64_t p) { return p > 0; });
  if (averages && pads && w.kernel.size() == 3) return "averages of three axes with pads come out wrong (0.3 to 14 of the numbers' size), wanted no pads";
  if (chip.name == "cv183x" && node.op() == "AveragePool" && pads && node.integer("count_include_pad", 0) == 0) return "pads are not counted, and cv183x averages with pads that count alone";
  if (node.op() == "AveragePool" && counts_beyond(node)) return "ceil_mode adds a window beyond pads that are counted, wanted one or the other";
  if (node.op().ends_with("LpPool") && node.integer("p", 2) != 1 && node.integer("p", 2) != 2) return "p is " + std::to_string(node.integer("p", 2)) + ", wanted 1 or 2";
  return {};
}

Attributes attributes_of(const Window& w, bool counts_pads) {
  return fused()
      .i64s("kernel_shape", w.kernel)
      .i64s("strides", w.strides)
      .i64s("pads", w.pads)
      .flag("ceil_mode", false)
      .flag("is_adaptive", false)
      .flag("keepdims", true)
      .i64("pad_value", 0)
      .flag("count_include_pad", counts_pads)
      .text("round_mode", kHalfAway)
      .text("first_round_mode", kHalfAway);
}

/// A pool of lines is one of planes of height 1.
Value pooled(Chain& c, const sdk::Node& node, Value x, std::string_view op, bool counts_pads, bool last) {
  Window w = window_of(node, kernel_of(node));
  std::vector<int64_t> in = dims_of(node.input(0)), out = dims_of(node.output(0));
  if (in.size() != 3) {
    if (last) c.last();
    return c.op(op, {x}, attributes_of(w, counts_pads));
  }
  for (std::vector<int64_t>* d : {&w.kernel, &w.strides, &w.dilations}) d->insert(d->begin(), 1);
  w.pads = {0, w.pads[0], 0, w.pads[1]};
  in.insert(in.begin() + 2, 1);
  std::vector<int64_t> wide = out;
  wide.insert(wide.begin() + 2, 1);
  const Value line = c.reshape(x, in), plane = c.shape(wide).op(op, {line}, attributes_of(w, counts_pads));
  if (last) c.last();
  return c.reshape(plane, out);
}

void write_max(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  pooled(c, node, to.read(node.input(0)), "MaxPool", false, true);
}
void write_average(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  pooled(c, node, to.read(node.input(0)), "AvgPool", node.integer("count_include_pad", 0) != 0, true);
}
/// Windows' averages with pads counted, times the numbers in a window.
void write_lp(Lowering& to, const sdk::Node& node) {
  const bool square = node.integer("p", 2) == 2;
  Chain c(to, node);
  const Value x = to.read(node.input(0));
  c.shape(dims_of(node.input(0)));
  const Value powers = square ? c.mul(x, x) : c.op("Abs", {x});
  c.shape(dims_of(node.output(0)));
  const double size = static_cast<double>(window_of(node, kernel_of(node)).size());
  const Value mean = pooled(c, node, powers, "AvgPool", true, false);
  if (!square) {
    c.last().mul(mean, size);
    return;
  }
  const Value sum = c.mul(mean, size);
  c.last().op("Sqrt", {sum});
}

constexpr Row kRows[] = {{"AveragePool", refuses_pool, write_average},
                         {"GlobalAveragePool", refuses_pool, write_average},
                         {"GlobalLpPool", refuses_pool, write_lp},
                         {"GlobalMaxPool", refuses_pool, write_max},
                         {"LpPool", refuses_pool, write_lp},
                         {"MaxPool", refuses_pool, write_max}};

}  // namespace of_pool

sdk::Span<const Row> pools() { return of_pool::kRows; }

}  // namespace bmcompiler_plugin::top
