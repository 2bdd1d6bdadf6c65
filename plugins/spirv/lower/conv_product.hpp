// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: convolutions over one or two axes as products through shared memory, a product for each group: rows are its features, columns the
// pixels of all images, and k walks over channels and taps. Columns are made of the input where they are read, and nowhere else. Method: the implicit
// product of Chetlur et al., "cuDNN: efficient primitives for deep learning", arXiv:1410.0759.
#pragma once

#include "conv_operands.hpp"
#include "shared_tile.hpp"

namespace spirv_plugin {
namespace of_conv {

/// Writes the kernel behind the bindings and put().
class ConvProduct {
 public:
  /// The tile for it; nothing where the target has none, or that would have little to do.
  static std::optional<Tile> tile_for(const ConvOperands& of) {
    constexpr int64_t kMostGroups = 65535;
    const Conv& c = of.conv();
    if (of.by_words()) return std::nullopt;
    const std::optional<Tile> t = shared_tiles::shared_tile(of.to().limits(), c.group_features(), columns_of(c), c.group_channels() * of.taps(), of.in_floats() && of.in_halves());
    return t && columns_of(c) <= kMostGroups * t->all_columns() ? t : std::nullopt;
  }

  ConvProduct(const ConvOperands& of, const Tile& t, Shader& s) : of_(of), c_(of.conv()), t_(t), s_(s) {}

  void write() {
    s_.regroup(t_.x, t_.y);
    s_.widen(of_.w(), 1);
    const int64_t depth = c_.group_channels() * of_.taps();
    s_.line("int z=int(gl_WorkGroupID.z),first=int(gl_WorkGroupID.y)*" + text(t_.all_rows()) + ",left=int(gl_WorkGroupID.x)*" + text(t_.all_columns()) + ";");
    s_.line("int ly=int(gl_LocalInvocationID.y),lx=int(gl_LocalInvocationID.x),row=first+ly*" + text(t_.rows) + ",col=left+" + t_.first_column("lx") + ";");
    if (const std::string zero = of_.zero_point(s_); !zero.empty()) s_.line(zero);
    write_begins();
    if (!is_plain()) write_column();
    write_shared_sums(s_, t_, of_.type(), {depth, text(depth), depth % t_.depth == 0}, features(), pixels());
    write_stores();
  }
  std::array<uint32_t, 3> groups() const {
    const auto up = [](int64_t n, int64_t by) { return static_cast<uint32_t>((n + by - 1) / by); };
    return {up(columns_of(c_), t_.all_columns()), up(c_.group_features(), t_.all_rows()), static_cast<uint32_t>(c_.groups)};
  }

 private:
  static int64_t plane_of(const Conv& c) { return c.out_height * c.out_width; }
  static int64_t columns_of(const Conv& c) { return c.batch * plane_of(c); }
  bool whole_rows() const { return c_.group_features() % t_.all_rows() == 0; }
  bool whole_columns() const { return columns_of(c_) % t_.all_columns() == 0; }
  std::string row(const std::string& at) const { return tiles::within(whole_rows(), at, c_.group_features()); }
  std::string column(const std::string& at) const { return tiles::within(whole_columns(), at, columns_of(c_)); }
  /// A row of the tile as a feature of all groups.
  std::string feature(int64_t i) const { return c_.groups == 1 ? row("row+" + text(i)) : "z*" + text(c_.group_features()) + "+" + row("row+" + text(i)); }

  /// No window reaches outside of the input.
  bool is_inside() const {
    const auto reach = [](int64_t out, int64_t stride, int64_t kernel, int64_t dilation) { return (out - 1) * stride + (kernel - 1) * dilation; };
    return c_.pad_h == 0 && c_.pad_w == 0 && reach(c_.out_height, c_.stride_h, c_.kernel_h, c_.dilation_h) < c_.height && reach(c_.out_width, c_.stride_w, c_.kernel_w, c_.dilation_w) < c_.width;
  }
  /// A step along k is a step from channel to channel.
  bool is_plain() const { return of_.taps() == 1 && is_inside(); }

  void write_begins() {
    for (int64_t i = 0; i < t_.rows; ++i) {
      s_.line(of_.type() + " i" + text(i) + "=" + of_.begin(s_, feature(i), "") + ";");
      for (int64_t j = 0; j < t_.cols; ++j) s_.line(of_.type() + " " + tiles::acc(i, j) + "=i" + text(i) + ";");
    }
  }

  /// Weights: packed ones by tile of features, which neighbours of a step share; others as the model has them.
  Side features() const {
    const std::string each = text(of_.patch().features), group = "z*" + text(c_.group_features());
    const auto place = [=, this](const std::string& n, const std::string& at) {
      if (!of_.is_packed()) return "int a" + n + "=(" + group + "+" + row("first+" + at) + ")*" + text(of_.places()) + ";";
      return "int r" + n + "=" + row("first+" + at) + ",a" + n + "=(z*" + text(of_.tiles()) + "+r" + n + "/" + each + ")*" + text(of_.places() * of_.patch().features) + "+r" + n + "%" + each + ";";
    };
    const auto element = [=, this](const std::string& n, const std::string& k) { return s_.load(of_.w(), "a" + n + "+" + (of_.is_packed() ? k + "*" + each : k)); };
    return {t_.all_rows(), !of_.is_packed(), place, element};
  }

  /// A pixel's window: where its image's channels begin, `b`, and its first row and column, `y` and `x`.
  Side pixels() const {
    const std::string plane = text(plane_of(c_));
    const auto place = [=, this](const std::string& n, const std::string& at) {
      std::string out = "int c" + n + "=" + column("left+" + at) + ",p" + n + "=c" + n + "%" + plane + ",y" + n + "=p" + n + "/" + text(c_.out_width) + "*" + text(c_.stride_h) + "-" + text(c_.pad_h) +
                        ",x" + n + "=p" + n + "%" + text(c_.out_width) + "*" + text(c_.stride_w) + "-" + text(c_.pad_w) + ",b" + n + "=";
      out += "(c" + n + "/" + plane + "*" + text(c_.channels) + "+z*" + text(c_.group_channels()) + ")*" + text(c_.height * c_.width);
      return out + (is_plain() ? "+y" + n + "*" + text(c_.width) + "+x" + n : "") + ";";
    };
    const auto element = [=, this](const std::string& n, const std::string& k) {
      if (is_plain()) return of_.loaded(s_, [&](int64_t) { return "b" + n + "+" + k + "*" + text(c_.height * c_.width); });
      return "column(b" + n + ",y" + n + ",x" + n + "," + k + (of_.zero_point(s_).empty() ? ")" : ",xz)");
    };
    return {t_.all_columns(), false, place, element};
  }

  /// The function of an element of a column at step `k`. What is outside is loaded from the border and left out by a choice of values.
  void write_column() {
    const std::string taps = text(of_.taps()), width = text(c_.kernel_w), type = of_.type();
    const std::string tap = "int c=k/" + taps + ",t=k%" + taps + ",yy=y+t/" + width + "*" + text(c_.dilation_h) + ",xx=x+t%" + width + "*" + text(c_.dilation_w) + ";";
    const std::string yy = is_inside() ? "yy" : "clamp(yy,0," + text(c_.height - 1) + ")", xx = is_inside() ? "xx" : "clamp(xx,0," + text(c_.width - 1) + ")";
    const std::string value = of_.loaded(s_, [&](int64_t) { return "b+(c*" + text(c_.height) + "+" + yy + ")*" + text(c_.width) + "+" + xx; });
    const std::string kept = is_inside() ? "v" : "uint(yy)<" + text(c_.height) + "u&&uint(xx)<" + text(c_.width) + "u?v:" + of_.outside();
    s_.top(type + " column(const int b,const int y,const int x,const int k" + (of_.zero_point(s_).empty() ? "" : ",const int xz") + "){" + tap + type + " v=" + value + ";return " + kept + ";}");
  }

  void write_stores() {
    const std::string plane = text(plane_of(c_));
    for (int64_t j = 0; j < t_.cols; ++j) {
      const std::string at = column("col+" + text(t_.column(j)));
      s_.line("int o" + text(j) + "=" + at + "/" + plane + "*" + text(c_.features * plane_of(c_)) + "+" + at + "%" + plane + ";");
    }
    for (int64_t i = 0; i < t_.rows; ++i) {
      s_.line((whole_rows() ? "" : "if(row+" + text(i) + "<" + text(c_.group_features()) + ")") + "{int f=" + feature(i) + ",o=f*" + plane + ";" + of_.named(s_, text(i), "f"));
      for (int64_t j = 0; j < t_.cols; ++j)
        s_.line((whole_columns() ? "" : "if(col+" + text(t_.column(j)) + "<" + text(columns_of(c_)) + ")") + "put(o+o" + text(j) + "," + of_.end(text(i), tiles::acc(i, j)) + ");");
      s_.line("}");
    }
  }

  const ConvOperands& of_;
  const Conv& c_;
  Tile t_;
  Shader& s_;
};

}  // namespace of_conv
}  // namespace spirv_plugin
