// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: a copy whose neighbours on the one side are far apart on the other, through shared memory: a workgroup reads a tile of 32 x 32 along
// the axis that lies side by side where it comes from, and writes it along the one that does where it goes. Rows of the tile are 33 apart, so that neither
// falls into one bank. Method: Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA" (NVIDIA, 2009).
#pragma once

#include <algorithm>
#include <optional>

#include "compiler/lowering.hpp"

namespace spirv_plugin {

/// Elements of dims, row-major where they go, and by strides where they come from.
class TurnedTile {
 public:
  /// Nothing where shared memory is not worth it for the target, neighbours are neighbours on both sides, or tiles would be mostly empty.
  static std::optional<TurnedTile> of(const Limits& limits, const Dims& dims, const Dims& strides, int64_t offset) {
    constexpr int64_t kLeast = kSide / 2, kMostGroups = 65535;
    const bool fits = limits.product_tile && kSide * kRows <= limits.invocations && kSide <= limits.size[0] && kRows <= limits.size[1] && kSide * kPadded * sizeof(float) <= limits.shared_bytes;
    if (!fits) return std::nullopt;
    TurnedTile t;
    t.offset_ = offset;
    const Dims behind = strides_of(dims);
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] == 1) continue;
      if (!t.axes_.empty() && t.axes_.back().from == strides[k] * dims[k]) t.axes_.back() = {t.axes_.back().size * dims[k], strides[k], behind[k]};  // neighbours stay neighbours
      else t.axes_.push_back({dims[k], strides[k], behind[k]});
    }
    const auto source = std::find_if(t.axes_.begin(), t.axes_.end(), [](const Axis& a) { return a.from == 1; });
    if (source == t.axes_.end() || source + 1 == t.axes_.end()) return std::nullopt;
    t.down_ = *source, t.across_ = t.axes_.back();
    t.axes_.erase(source), t.axes_.pop_back();
    const std::array<uint32_t, 3> groups = t.groups();
    const bool fills = t.down_.size >= kLeast && t.across_.size >= kLeast && t.count() <= kMostGroups && std::max(groups[0], groups[1]) <= kMostGroups;
    return fills ? std::optional<TurnedTile>(std::move(t)) : std::nullopt;
  }

  std::array<uint32_t, 3> groups() const {
    const auto up = [](int64_t n) { return static_cast<uint32_t>((n + kSide - 1) / kSide); };
    return {up(across_.size), up(down_.size), static_cast<uint32_t>(count())};
  }

  /// Writes a kernel that copies from binding `x` to binding `y`; `tail(VALUE, INDEX)`: what becomes of an element.
  void write(Shader& s, int x, int y, const char* type, const Lowering::Tail& tail) const {
    s.regroup(kSide, kRows);
    s.top(std::string("shared ") + type + " tile[" + text(kSide * kPadded) + "];");
    Dims sizes, from, to;
    for (const Axis& a : axes_) sizes.push_back(a.size), from.push_back(a.from), to.push_back(a.to);
    s.line("int z=int(gl_WorkGroupID.z),lx=int(gl_LocalInvocationID.x),ly=int(gl_LocalInvocationID.y),left=int(gl_WorkGroupID.x)*" + text(kSide) + ",first=int(gl_WorkGroupID.y)*" + text(kSide) + ";");
    s.line("int there=" + strided_index("z", sizes, from, offset_) + ",here=" + strided_index("z", sizes, to) + ";");
    for (int64_t k = 0; k < kSide; k += kRows) {
      const std::string row = "(ly+" + text(k) + ")";
      s.line(where("left+" + row, "first+lx") + "tile[" + row + "*" + text(kPadded) + "+lx]=" + s.load(x, "there+(left+" + row + ")*" + literal(across_.from) + "+first+lx") + ";");
    }
    s.line("barrier();");
    for (int64_t k = 0; k < kSide; k += kRows) {
      const std::string row = "(ly+" + text(k) + ")";
      s.line(where("left+lx", "first+" + row) + "{int o=here+(first+" + row + ")*" + text(down_.to) + "+left+lx;" + s.store(y, "o", tail("tile[lx*" + text(kPadded) + "+" + row + "]", "o")) + "}");
    }
  }

 private:
  static constexpr int64_t kSide = 32, kRows = 8, kPadded = kSide + 1;
  struct Axis {
    int64_t size, from, to;  ///< strides where it comes from and where it goes
  };
  int64_t count() const {
    int64_t n = 1;
    for (const Axis& a : axes_) n *= a.size;
    return n;
  }
  /// The condition that an element of the tile is there.
  std::string where(const std::string& across, const std::string& down) const {
    std::string in = across_.size % kSide == 0 ? "" : across + "<" + text(across_.size);
    if (down_.size % kSide != 0) in += (in.empty() ? "" : "&&") + (down + "<" + text(down_.size));
    return in.empty() ? "" : "if(" + in + ")";
  }

  std::vector<Axis> axes_;     ///< the others
  Axis down_{}, across_{};     ///< side by side where they come from; where they go
  int64_t offset_ = 0;
};

}  // namespace spirv_plugin
