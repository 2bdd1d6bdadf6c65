// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: convolutions over one or two axes whose invocations share nothing: each keeps a few features of neighbouring pixels of a row in
// registers.
#pragma once

#include "conv_operands.hpp"

namespace spirv_plugin {
namespace of_conv {

/// Writes the kernel behind the bindings and put().
class ConvPatches {
 public:
  ConvPatches(const ConvOperands& of, Shader& s) : of_(of), c_(of.conv()), t_(of.patch()), s_(s) {}

  void write() {
    write_position();
    write_sums();
    write_stores();
  }
  std::array<uint32_t, 3> groups() const {
    const Grid g = grid(c_.out_height * of_.row_tiles(), s_.local()[0]);
    return {g.groups[0], static_cast<uint32_t>(c_.groups * of_.tiles()), static_cast<uint32_t>(c_.batch)};
  }

 private:
  void write_position() {
    const std::string row_tiles = text(of_.row_tiles()), tiles = text(of_.tiles());
    s_.line("int at=int(gl_GlobalInvocationID.x);if(at>=" + text(c_.out_height * of_.row_tiles()) + ")return;");
    s_.line("int oy=at/" + row_tiles + ",ox=(at%" + row_tiles + ")*" + text(t_.pixels) + ",ix=ox*" + text(c_.stride_w) + "-" + text(c_.pad_w) + ";");
    s_.line("int tile=int(gl_WorkGroupID.y),image=int(gl_WorkGroupID.z),feature=tile/" + tiles + "*" + text(c_.group_features()) + "+tile%" + tiles + "*" + text(t_.features) + ";");
    if (const std::string zero = of_.zero_point(s_); !zero.empty()) s_.line(zero);
  }

  /// Every tile has all of its features, or all of its pixels: nothing of it is beyond the end.
  bool whole_features() const { return c_.group_features() % t_.features == 0; }
  bool whole_pixels() const { return c_.out_width % t_.pixels == 0; }

  std::string feature(int64_t f) const {
    if (f == 0) return "feature";
    const std::string at = "feature+" + text(f);
    return whole_features() ? at : "min(" + at + "," + text(c_.features - 1) + ")";
  }

  /// A packed weight by its place.
  std::string weight(const std::string& place, int64_t f) const {
    const std::string at = "(tile*" + text(of_.places()) + "+" + place + ")*";
    return of_.by_four() ? s_.load(of_.w(), at + text(t_.features / 4) + "+" + text(f / 4)) + "." + "xyzw"[f % 4] : s_.load(of_.w(), at + text(t_.features) + "+" + text(f));
  }

  void write_sums() {
    const std::string type = of_.type();
    for (int64_t f = 0; f < t_.features; ++f) {
      s_.line(type + " i" + text(f) + "=" + of_.begin(s_, feature(f), of_.has_weight_sums() ? weight(text(of_.depth() * of_.taps()), f) : "") + ";");
      for (int64_t p = 0; p < t_.pixels; ++p) s_.line(type + " " + acc(f, p) + "=i" + text(f) + ";");
    }
    s_.line("for(int k=0;k<" + text(of_.depth()) + ";++k)for(int ky=0;ky<" + text(c_.kernel_h) + ";++ky){");
    s_.line("int iy=oy*" + text(c_.stride_h) + "-" + text(c_.pad_h) + "+ky*" + text(c_.dilation_h) + ";");
    const bool rows_inside = c_.pad_h == 0 && (c_.out_height - 1) * c_.stride_h + (c_.kernel_h - 1) * c_.dilation_h < c_.height;
    if (!rows_inside) s_.line("bool in_row=uint(iy)<" + text(c_.height) + "u;iy=clamp(iy,0," + text(c_.height - 1) + ");");
    for (int64_t j = 0; j < (of_.by_words() ? 4 : 1); ++j)
      s_.line("int base" + text(j) + "=((image*" + text(c_.channels) + "+tile/" + text(of_.tiles()) + "*" + text(c_.group_channels()) + "+" +
              (of_.by_words() ? place_in("k", j, c_.group_channels()) : "k") + ")*" + text(c_.height) + "+iy)*" + text(c_.width) + ";");
    write_columns(rows_inside);
    for (int64_t kx = 0; kx < c_.kernel_w; ++kx) write_tap(kx);
    s_.line("}");
  }

  /// Columns of the input that a row of the tile reads, loaded once each: x<n>, by offset from the first pixel's own. What is outside is loaded from the
  /// border and left out by a choice of values: a branch would cost more than the load.
  void write_columns(bool rows_inside) {
    std::set<int64_t> offsets;
    for (int64_t p = 0; p < t_.pixels; ++p)
      for (int64_t k = 0; k < c_.kernel_w; ++k) offsets.insert(p * c_.stride_w + k * c_.dilation_w);
    const bool inside = c_.pad_w == 0 && (c_.out_width - 1) * c_.stride_w + (c_.kernel_w - 1) * c_.dilation_w < c_.width && c_.out_width % t_.pixels == 0;
    for (const int64_t o : offsets) {
      const std::string name = "x" + text(o), column = "ix+" + text(o), at = inside ? column : "clamp(" + column + ",0," + text(c_.width - 1) + ")";
      s_.line(of_.type() + " " + name + "=" + of_.loaded(s_, [&](int64_t j) { return "base" + text(j) + "+" + at; }) + ";");
      std::string ok = inside ? "" : "uint(" + column + ")<" + text(c_.width) + "u";
      if (!rows_inside) ok += ok.empty() ? "in_row" : "&&in_row";
      if (!ok.empty()) s_.line("bool k" + text(o) + "=" + ok + ";" + name + "=k" + text(o) + "?" + name + ":" + of_.outside() + ";");
    }
  }

  void write_tap(int64_t kx) {
    const std::string tap = "((k*" + text(c_.kernel_h) + "+ky)*" + text(c_.kernel_w) + "+" + text(kx) + ")", all = text(of_.places());
    for (int64_t f = 0; f < t_.features; ++f) {
      const std::string four = "q" + text(kx) + "_" + text(f / 4), weight = "w" + text(kx) + "_" + text(f);
      if (of_.by_four() && f % 4 == 0)
        s_.line((of_.in_floats() ? "vec4 " : "ivec4 ") + four + "=" + s_.load(of_.w(), "(tile*" + all + "+" + tap + ")*" + text(t_.features / 4) + "+" + text(f / 4)) + ";");
      const std::string at = of_.is_packed() ? "(tile*" + all + "+" + tap + ")*" + text(t_.features) + "+" + text(f) : feature(f) + "*" + all + "+" + tap;
      s_.line(of_.type() + " " + weight + "=" + (of_.by_four() ? four + "." + "xyzw"[f % 4] : s_.load(of_.w(), at)) + ";");
      for (int64_t p = 0; p < t_.pixels; ++p) {
        const std::string x = "x" + text(p * c_.stride_w + kx * c_.dilation_w);
        s_.line(acc(f, p) + "+=" + (of_.by_words() ? "dot_(" + weight + "," + x + ")" : weight + "*" + x) + ";");
      }
    }
  }

  void write_stores() {
    const int64_t plane = c_.out_height * c_.out_width;
    s_.line("int first=((image*" + text(c_.features) + "+feature)*" + text(c_.out_height) + "+oy)*" + text(c_.out_width) + "+ox;");
    if (!whole_pixels()) s_.line("int left=" + text(c_.out_width) + "-ox;");
    if (!whole_features()) s_.line("int features=" + text(c_.group_features()) + "-tile%" + text(of_.tiles()) + "*" + text(t_.features) + ";");
    for (int64_t f = 0; f < t_.features; ++f) {
      if (!whole_features()) s_.line("if(features>" + text(f) + "){");
      if (const std::string named = of_.named(s_, text(f), feature(f)); !named.empty()) s_.line(named);
      for (int64_t p = 0; p < t_.pixels; ++p)
        s_.line((p == 0 || whole_pixels() ? "" : "if(left>" + text(p) + ")") + "put(first+" + text(f * plane + p) + "," + of_.end(text(f), acc(f, p)) + ");");
      if (!whole_features()) s_.line("}");
    }
  }

  const ConvOperands& of_;
  const Conv& c_;
  const Patch& t_;
  Shader& s_;
};

}  // namespace of_conv
}  // namespace spirv_plugin
