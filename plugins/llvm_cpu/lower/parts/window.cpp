// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see window.hpp.
#include "plugins/llvm_cpu/lower/parts/window.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;  // of any attribute: products of two stay far from overflow

Three three(const Dims& dims, int64_t fill) {
  Three out{fill, fill, fill};
  for (size_t i = 0; i < dims.size() && i < 3; ++i) out[3 - dims.size() + i] = dims[i];
  return out;
}

/// Does a pool's only window reach over the end? By less than a stride that is one output, as in the reference; means over pads have to know by how much.
bool reaches_over(const NodeView& node, int64_t room, int64_t stride) {
  return room < 0 && room > -stride && node.op().ends_with("Pool") && !node.integer("count_include_pad", 0);
}

Dims spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

}  // namespace

Dims list_of(const NodeView& node, const char* name, size_t n, int64_t otherwise) {
  Dims out = node.integers(name);
  if (out.empty()) out.assign(n, otherwise);
  return out;
}

Refusal check_list(const char* name, const Dims& list, size_t n, int64_t least) {
  const bool fits = list.size() == n && std::all_of(list.begin(), list.end(), [&](int64_t x) { return x >= least && x <= kMost; });
  return fits ? Refusal() : Refusal{OPTIMA_REASON_ATTRIBUTE, name, to_text(list), std::to_string(n) + " numbers of at least " + std::to_string(least)};
}

std::optional<AutoPad> auto_pad(const NodeView& node) {
  using enum AutoPad;
  constexpr Named<AutoPad> kAll[] = {{"NOTSET", Explicit}, {"", Explicit}, {"VALID", Valid}, {"SAME_UPPER", SameUpper}, {"SAME_LOWER", SameLower}};
  return find_named(kAll, node.text("auto_pad", "NOTSET"));
}

Refusal Window::check_attributes(const NodeView& node) {
  const size_t n = node.in_dims(0).size() - 2;
  for (const char* name : {"kernel_shape", "strides", "dilations"})
    if (const Refusal r = check_list(name, list_of(node, name, n, 1), n, 1)) return r;
  if (const Refusal r = check_list("pads", list_of(node, "pads", 2 * n, 0), 2 * n, 0)) return r;
  if (!auto_pad(node)) return {OPTIMA_REASON_ATTRIBUTE, "auto_pad", std::string(node.text("auto_pad", "")), "NOTSET, VALID, SAME_UPPER or SAME_LOWER"};
  if (node.out_dims(0).size() != n + 2)
    return {OPTIMA_REASON_RANK, "rank of output 0", std::to_string(node.out_dims(0).size()), std::to_string(n + 2)};
  return {};
}

Refusal Window::check(const NodeView& node, const Dims& kernel, int64_t out_channels) {
  if (const Refusal r = check_attributes(node)) return r;
  const Dims in = node.in_dims(0), out = node.out_dims(0);
  const size_t n = in.size() - 2;
  if (count(in) == 0) return {OPTIMA_REASON_SIZE_LIMIT, "input 0", to_text(in), "not empty"};
  if (kernel.size() != n || std::any_of(kernel.begin(), kernel.end(), [](int64_t k) { return k < 1 || k > kMost; }))
    return {OPTIMA_REASON_ATTRIBUTE, "kernel", to_text(kernel), std::to_string(n) + " numbers of at least 1"};
  const Dims stride = list_of(node, "strides", n, 1), dilation = list_of(node, "dilations", n, 1), pads = list_of(node, "pads", 2 * n, 0);
  const AutoPad mode = *auto_pad(node);
  const bool same = mode == AutoPad::SameUpper || mode == AutoPad::SameLower, explicit_pads = mode == AutoPad::Explicit;
  bool fits = out[0] == in[0] && out[1] == out_channels;
  for (size_t i = 0; i < n && fits; ++i) {
    const int64_t room = in[i + 2] + (explicit_pads ? pads[i] + pads[i + n] : 0) - (kernel[i] - 1) * dilation[i] - 1;
    if (!same && room < 0 && !reaches_over(node, room, stride[i])) return {OPTIMA_REASON_OTHER, "input 0", to_text(in), "as large as the window"};
    const int64_t least = same ? (in[i + 2] + stride[i] - 1) / stride[i] : room / stride[i] + 1;  // 1 where it reaches over: division rounds towards zero
    const bool one_more = !same && room >= 0 && node.integer("ceil_mode", 0) && room % stride[i] != 0;
    fits = out[i + 2] == least || (one_more && out[i + 2] == least + 1);
  }
  return fits ? Refusal() : Refusal{OPTIMA_REASON_OTHER, "output 0", to_text(out), "what the window makes of " + to_text(in)};
}

Window Window::of(const NodeView& node, const Dims& kernel) {
  const Dims in = node.in_dims(0), out = node.out_dims(0);
  const size_t n = in.size() - 2;
  Window w;
  w.batch = in[0], w.channels = in[1], w.out_channels = out[1];
  w.in = three(spatial(in), 1), w.out = three(spatial(out), 1), w.kernel = three(kernel, 1);
  w.stride = three(list_of(node, "strides", n, 1), 1);
  w.dilation = three(list_of(node, "dilations", n, 1), 1);
  const Dims pads = list_of(node, "pads", 2 * n, 0);
  w.begin = three(Dims(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n)), 0);
  w.end = three(Dims(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end()), 0);
  const AutoPad mode = *auto_pad(node);
  for (size_t i = 3 - n; i < 3 && mode != AutoPad::Explicit; ++i) {
    const int64_t reach = (w.out[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
    const int64_t total = mode == AutoPad::Valid ? 0 : std::max<int64_t>(0, reach - w.in[i]);
    w.begin[i] = mode == AutoPad::SameLower ? total - total / 2 : total / 2;
    w.end[i] = total - w.begin[i];
  }
  return w;
}

Window Window::with_long_rows() const {
  Window w = *this;
  const auto trivial = [&](size_t i) { return w.in[i] == 1 && w.out[i] == 1 && w.kernel[i] == 1 && w.begin[i] == 0 && w.end[i] == 0; };
  for (int turns = 0; turns < 2 && trivial(2); ++turns)
    for (Three* t : {&w.in, &w.out, &w.kernel, &w.stride, &w.dilation, &w.begin, &w.end}) std::rotate(t->begin(), t->begin() + 2, t->end());
  return w;
}

}  // namespace optima::llvm_cpu
