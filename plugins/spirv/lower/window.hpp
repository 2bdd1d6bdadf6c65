// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: windows that slide over one to three axes, for pools and products of codes.
#pragma once

#include <algorithm>

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// A window along one spatial axis.
struct Axis {
  int64_t in, out, kernel, stride, dilation, begin, end;
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  /// No window reaches outside of the input.
  bool inside() const { return begin <= 0 && (out - 1) * stride - begin + span() <= in; }
};

/// By the attributes that convolutions and pools share; input 0 is [image][channel][these axes], as is the output.
inline std::vector<Axis> window_of(const sdk::Node& node, const std::vector<int64_t>& kernel) {
  const Dims x = node.input(0).shape(), y = (node.output(0) ? node.output(0) : node.output(1)).shape();
  const size_t n = kernel.size();
  const auto list = [&](const char* name, size_t size, int64_t otherwise) {
    Dims all = node.integers(name);
    return all.empty() ? Dims(size, otherwise) : all;
  };
  const Dims strides = list("strides", n, 1), dilations = list("dilations", n, 1), pads = list("pads", 2 * n, 0);
  const std::string_view how = node.string("auto_pad", "NOTSET");
  std::vector<Axis> out;
  for (size_t k = 0; k < n; ++k) {
    Axis a{x[k + 2], y[k + 2], kernel[k], strides[k], dilations[k], 0, 0};
    if (how == "NOTSET" || how.empty()) a.begin = pads[k], a.end = pads[n + k];
    if (how == "SAME_UPPER" || how == "SAME_LOWER") {
      const int64_t all = std::max<int64_t>(0, ((a.in + a.stride - 1) / a.stride - 1) * a.stride + a.span() - a.in);
      a.begin = how == "SAME_LOWER" ? all - all / 2 : all / 2, a.end = all - a.begin;
    }
    out.push_back(a);
  }
  return out;
}

/// What is wrong with the lists of numbers that windows over `axes` axes are given by; empty = nothing.
inline std::string wrong_window(const sdk::Node& node, size_t axes) {
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"}) {
    const Dims list = node.integers(name);
    const size_t wanted = name == std::string_view("pads") ? 2 * axes : axes;
    if (list.empty()) continue;
    if (list.size() != wanted) return std::string(name) + " has " + std::to_string(list.size()) + " numbers, wanted " + std::to_string(wanted);
    if (wanted == axes)
      for (const int64_t n : list)
        if (n < 1) return std::string(name) + " has " + std::to_string(n) + ", wanted numbers above 0";
  }
  return "";
}

inline int64_t product(const std::vector<Axis>& axes, int64_t Axis::* of) {
  int64_t n = 1;
  for (const Axis& a : axes) n *= a.*of;
  return n;
}

/// Statements that name where the window of output element `o` starts, per axis.
inline void write_starts(Shader& s, const std::vector<Axis>& axes) {
  int64_t behind = product(axes, &Axis::out);
  for (size_t k = 0; k < axes.size(); ++k) {
    behind /= axes[k].out;
    s.line("int s" + std::to_string(k) + "=o/" + std::to_string(behind) + "%" + std::to_string(axes[k].out) + "*" + std::to_string(axes[k].stride) + "-" + literal(axes[k].begin) + ";");
  }
}

/// What write_window() does where a window reaches outside of the input: leave `each` out, or read the border, with `inside` false.
enum class Outside { Left, Border };

/// The window's loops around `each`, which reads the position in the plane as `at`.
inline void write_window(Shader& s, const std::vector<Axis>& axes, const std::string& each, Outside outside = Outside::Left) {
  std::string at, ends, inside = "true";
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& a = axes[k];
    const std::string n = std::to_string(k), i = "i" + n, is_in = "uint(" + i + ")<" + std::to_string(a.in) + "u";
    s.line("for(int k" + n + "=0;k" + n + "<" + std::to_string(a.kernel) + ";++k" + n + "){int " + i + "=s" + n + "+k" + n + "*" + std::to_string(a.dilation) + ";");
    if (!a.inside() && outside == Outside::Left) s.line("if(uint(" + i + ")>=" + std::to_string(a.in) + "u)continue;");
    if (!a.inside() && outside == Outside::Border) {
      s.line("bool in" + n + "=" + is_in + ";" + i + "=clamp(" + i + ",0," + std::to_string(a.in - 1) + ");");
      inside += "&&in" + n;
    }
    at = at.empty() ? i : "(" + at + ")*" + std::to_string(a.in) + "+" + i;
    ends += "}";
  }
  s.line((outside == Outside::Border ? "bool inside=" + inside + ";" : "") + "int at=" + at + ";" + each + ends);
}

}  // namespace spirv_plugin
