// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: convolutions over one or two axes whose invocations share nothing: each keeps a few features of neighbouring pixels of a row in
// registers.
#pragma once

<<<<<<< HEAD
#include <algorithm>

#include "elements.hpp"
#include "sums.hpp"
#include "window.hpp"
=======
#include "conv_operands.hpp"
>>>>>>> main

namespace spirv_plugin {
namespace of_conv {

<<<<<<< HEAD
/// A convolution as two axes: one of one axis has height 1.
struct Conv {
  int64_t batch, channels, height, width;       ///< of the input
  int64_t features, out_height, out_width;      ///< of the output
  int64_t groups, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
  int64_t group_channels() const { return channels / groups; }
  int64_t group_features() const { return features / groups; }
};

inline Conv conv_of(const sdk::Node& node, const sdk::Value& weights) {
  const Dims x = node.input(0).shape(), w = weights.shape(), y = node.output(0).shape();
  const std::vector<Axis> axes = window_of(node, {w.begin() + 2, w.end()});
  const Axis one{1, 1, 1, 1, 1, 0, 0}, &across = axes.back(), &down = axes.size() == 2 ? axes[0] : one;
  Conv c{x[0],          x[1],        down.in,     across.in,     y[1],          down.out,      across.out, node.integer("group", 1), down.kernel, across.kernel,
         down.stride,   across.stride, down.dilation, across.dilation, down.begin, across.begin};
  const bool is_product = c.kernel_h * c.kernel_w == 1 && c.stride_h * c.stride_w == 1 && c.out_height == c.height && c.out_width == c.width;
  if (is_product) c.width *= c.height, c.out_width *= c.out_height, c.height = c.out_height = 1;  // rows have no ends
  return c;
}

inline std::string acc(int64_t f, int64_t p) { return "a" + text(f) + "_" + text(p); }

/// Features and pixels of one invocation.
struct Tile {
  int64_t features, pixels;
};
/// Pixels of a tile divide a row with little left over; wide tiles load each weight for more of them.
inline int64_t pixels_for(int64_t width, int64_t most) {
  int64_t best = 1, waste = INT64_MAX;
  for (int64_t p = std::min(most, width); p >= std::min<int64_t>(4, width); --p) {
    const int64_t left = (width + p - 1) / p * p - width;
    if (left < waste) best = p, waste = left;
  }
  return best;
}

/// Tiles twice as tall take drivers twice as long to compile: they are for work that repays it.
constexpr int64_t kHeavy = 40'000'000;  // multiplications

inline Tile tile_for(const Conv& c) {
  const int64_t f = c.group_features();
  const bool is_heavy = c.features * c.out_height * c.out_width * c.group_channels() * c.kernel_h * c.kernel_w >= kHeavy;
  return {is_heavy && f >= 16 ? 16 : f >= 8 ? 8 : f >= 4 ? 4 : f >= 2 ? 2 : 1, pixels_for(std::max<int64_t>(1, c.out_width), 8)};
}

/// The largest workgroup of which little is left without work.
inline uint32_t local_for(int64_t invocations) {
  constexpr int64_t kMost = 64, kLeast = 8;
  for (int64_t local = kMost; local > kLeast; local /= 2)
    if (const int64_t all = (invocations + local - 1) / local * local; 10 * (all - invocations) <= all) return static_cast<uint32_t>(local);
  return kLeast;
}

/// Weights by tile of features: [tile][place][feature of the tile], of `depth` places, zeros behind the last feature of a group. `at(feature, place)`.
template <class T, class At>
std::vector<T> packed(const Conv& c, const Tile& t, int64_t depth, const At& at) {
  const int64_t tiles = (c.group_features() + t.features - 1) / t.features;
  std::vector<T> out(static_cast<size_t>(c.groups * tiles * depth * t.features));
  for (int64_t g = 0; g < c.groups; ++g)
    for (int64_t f = 0; f < c.group_features(); ++f) {
      T* to = &out[static_cast<size_t>((g * tiles + f / t.features) * depth * t.features + f % t.features)];
      for (int64_t k = 0; k < depth; ++k) to[k * t.features] = at(g * c.group_features() + f, k);
    }
  return out;
}

/// Channels whose products one invocation adds up: loops are bounded (kMostIterations).
inline int64_t most_channels(const Conv& c) {
  constexpr int64_t kMost = 50000;
  return std::max<int64_t>(1, kMost / (1 + c.kernel_h));
}

/// Why the tiles do not hold a convolution over one or two axes; empty: they do.
inline std::string too_large(const sdk::Node& node) {
  constexpr int64_t kMost = 65535;
  const sdk::Value x = node.input(0), y = node.output(0);
  if (x.dim(0) > kMost || y.dim(1) > kMost) return "batch or channels above " + std::to_string(kMost);
  const int64_t pixels = y.rank() == 4 ? y.dim(2) * y.dim(3) : y.dim(2);
  return pixels > 64 * kMost ? "output of " + std::to_string(pixels) + " pixels, wanted at most " + std::to_string(64 * kMost) : "";
}

/// A root that is a convolution of codes by itself.
struct OfCodes {
  sdk::Value weights;
  CodeSums sums;        ///< has_bias; factor is that of codes of the output, empty where the sums are the output
  sdk::Value zero;      ///< of the input, where it is computed
  std::string out_zero;  ///< of the output, a literal
  bool to_codes() const { return !sums.factor.empty(); }
};

/// Of constant codes, [feature][channel][row][column].
inline Channels channels_of(const Dims& w) { return {w[0], elements_of(w) / w[0], elements_of(w) / w[0], 1, elements_of(w) / w[0]}; }

/// Words of four channels are worth it.
inline bool wants_words(const Lowering& to, const sdk::Value& weights) {
  constexpr int64_t kWord = 4;
  return has_dot(to) && weights.dim(1) >= kWord;
}

/// What is added to a feature: the bias, as it is or through the scaling behind it.
inline std::optional<Tensor> bias_of(Lowering& to, const Group& group, const Scaling& scaling, int64_t features) {
  const sdk::Value bias = group.root.input(2);
  if (!group.scaling) return bias ? std::optional<Tensor>(to.read(bias)) : std::nullopt;
  const std::vector<double> given = bias ? reals_of(bias.constant()) : std::vector<double>(scaling.factor.size(), 0);
  std::vector<float> sums;
  for (size_t f = 0; f < given.size(); ++f) sums.push_back(static_cast<float>(given[f] * scaling.factor[f] + scaling.summand[f]));
  return to.weight(std::string(group.scaling->name()) + "/summand", {features}, sums);
}

/// A convolution's kernel, in the order in which it is written.
class ConvKernel {
=======
/// Writes the kernel behind the bindings and put().
class ConvPatches {
>>>>>>> main
 public:
  ConvPatches(const ConvOperands& of, Shader& s) : of_(of), c_(of.conv()), t_(of.patch()), s_(s) {}

  void write() {
<<<<<<< HEAD
    if (!codes_ && depth() > most_channels(c_) && group_.root.output(0).elements() > 0) return write_parts();
    until_ = depth();
    bind_operands(group_.root);
    const Lowering::Tail tail = to_.tail(s_, group_);
    const Tensor y = to_.made(group_.end().output(0));
    if (y.elements() == 0) return;
    write_kernel(y, s_.out(y), tail);
  }

 private:
  /// Sums over more channels than one invocation goes through, step by step in a tensor of their own.
  void write_parts() {
    const bool has_tail = !group_.tail.empty();
    const Tensor sums = to_.scratch(group_.root, Element::F32, group_.root.output(0).shape());
    const auto plain = [](const std::string& v, const std::string&) { return v; };
    for (until_ = 0; until_ < depth();) {
      s_ = Shader(s_.local()[0]);
      from_ = until_, until_ = std::min(depth(), from_ + most_channels(c_));
      bind_operands(group_.root);
      sums_ = s_.out(sums);
      if (until_ < depth() || has_tail) write_kernel(sums, sums_, plain);
      else write_kernel(to_.made(group_.end().output(0)), -1, plain);
    }
    if (!has_tail) return;
    Elements e{to_, group_};
    const int from = e.s.in(sums);
    e.finish([&] { return e.s.load(from, "o"); });
  }

  /// The step of the channels from from_ to until_; `out`: the binding of `y`, -1 = it is not bound.
  void write_kernel(const Tensor& y, int out, const Lowering::Tail& tail) {
    const sdk::Node& node = group_.root;
    if (out < 0) out = s_.out(y);
    s_.top(std::string("void put(const int o,const ") + type_of(element_of(node.output(0).dtype())) + " v){" + s_.store(out, "o", tail("v", "o")) + "}");
    write_position();
    write_sums();
    write_stores();
    const auto macs = static_cast<uint64_t>(y.elements() * c_.group_channels() * taps() / depth() * (until_ - from_));
    const uint64_t bytes = 4 * static_cast<uint64_t>(node.input(0).elements() + weights_.elements() + y.elements());
    const Grid g = grid(c_.out_height * row_tiles(), s_.local()[0]);
    to_.step(group_, ways_of(s_, by_words(), {g.groups[0], static_cast<uint32_t>(c_.groups * tiles()), static_cast<uint32_t>(c_.batch)}), {2 * macs, bytes});
  }

  ConvKernel(Lowering& to, const Group& group, const sdk::Value& weights)
      : to_(to), group_(group), weights_(weights), c_(conv_of(group.root, weights)), t_(tile_for(c_)), s_(local_for(c_.out_height * row_tiles())) {}

  int64_t tiles() const { return (c_.group_features() + t_.features - 1) / t_.features; }  // of a group
  int64_t taps() const { return c_.kernel_h * c_.kernel_w; }
  int64_t row_tiles() const { return (c_.out_width + t_.pixels - 1) / t_.pixels; }

  bool by_words() const { return codes_ && codes_->by_words(); }
  bool in_floats() const { return !codes_ || codes_->type == SumType::Floats; }
  std::string type() const { return in_floats() ? "float" : "int"; }
  /// Channels of a group that the sums walk over, four at once where they are words.
  int64_t depth() const { return by_words() ? (c_.group_channels() + 3) / 4 : c_.group_channels(); }
  /// Sums that no tensor of SumEnds goes with find those of their words' weights behind the last of them: a buffer less.
  bool has_weight_sums() const { return by_words() && own_ && !own_->to_codes(); }
  /// Of a tile of packed weights.
  int64_t places() const { return depth() * taps() + has_weight_sums(); }

  void bind_operands(const sdk::Node& node) {
    if (codes_) return bind_codes(node);
    const auto features = static_cast<size_t>(c_.features);
    const Scaling scaling = group_.scaling ? scaling_of(*group_.scaling) : Scaling{std::vector<double>(features, 1), std::vector<double>(features, 0)};
    x_ = s_.in(to_.read(node.input(0)));
    const std::shared_ptr<const Floats> weights = to_.known(node.input(1));
    is_packed_ = weights != nullptr, by_four_ = is_packed_ && t_.features % 4 == 0;
    if (!right_)
      right_ = is_packed_ ? to_.weight(std::string(node.input(1).name()) + "/packed", packed_dims(),
                                       [c = c_, t = t_, all = c_.group_channels() * taps(), weights, factor = scaling.factor] {
                                         return packed<float>(c, t, all, [&](int64_t f, int64_t k) {
                                           return static_cast<float>((*weights)[static_cast<size_t>(f * all + k)] * factor[static_cast<size_t>(f)]);
                                         });
                                       })
                          : to_.read(node.input(1));
    w_ = s_.in(*right_, by_four_ ? 4 : 1);
    if (from_ > 0) return;
    if (const std::optional<Tensor> summand = bias_of(to_, group_, scaling, c_.features)) bias_ = s_.in(*summand);
  }

  void bind_codes(const sdk::Node& node) {
    x_ = s_.in(to_.read(codes_->left));
    is_packed_ = true, by_four_ = t_.features % 4 == 0;
    w_ = s_.in(packed_codes(std::string(weights_.name())), by_four_ ? 4 : 1);
    if (!codes_->zero) zero_ = s_.in(to_.read(own_->zero));
    if (own_ && !own_->to_codes()) return;
    const std::shared_ptr<const Floats> bias = node.input(2) && !codes_->has_bias ? to_.known(node.input(2)) : nullptr;
    ends_ = SumEnds(to_, s_, std::string(node.output(0).name()), *codes_, bias.get());
  }

  Dims packed_dims() const { return {c_.groups * tiles(), places(), t_.features}; }

  Tensor packed_codes(const std::string& name) {
    const int64_t taps = this->taps(), channels = c_.group_channels();
    if (codes_->type == SumType::Floats)
      return to_.weight(name + "/codes", packed_dims(), [c = c_, t = t_, all = channels * taps, codes = *codes_] {
        return packed<float>(c, t, all, [&](int64_t f, int64_t k) { return static_cast<float>(codes.weights[codes.channels.at(f, k)]); });
      });
    const auto code = [&](int64_t f, int64_t k) { return codes_->weights[codes_->channels.at(f, k)]; };
    if (!by_words()) return to_.weight(name + "/codes", packed_dims(), packed<int32_t>(c_, t_, channels * taps, code));
    return to_.weight(name + "/words", packed_dims(), packed<int32_t>(c_, t_, places(), [&](int64_t f, int64_t k) {
                        if (k == depth() * taps) return static_cast<int32_t>(codes_->over(f, [](int32_t w) { return w; }));
                        return packed_word(k / taps, channels, [&](int64_t channel) { return code(f, channel * taps + k % taps); });
                      }));
  }

=======
    write_position();
    write_sums();
    write_stores();
  }
  std::array<uint32_t, 3> groups() const {
    const Grid g = grid(c_.out_height * of_.row_tiles(), s_.local()[0]);
    return {g.groups[0], static_cast<uint32_t>(c_.groups * of_.tiles()), static_cast<uint32_t>(c_.batch)};
  }

 private:
>>>>>>> main
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

  /// Sums as the step before left them; beyond the end those of others, which are not stored.
  void write_begun() {
    const int64_t plane = c_.out_height * c_.out_width, last = c_.batch * c_.features * plane - 1;
    s_.line("int begun=((image*" + text(c_.features) + "+feature)*" + text(c_.out_height) + "+oy)*" + text(c_.out_width) + "+ox;");
    for (int64_t f = 0; f < t_.features; ++f)
      for (int64_t p = 0; p < t_.pixels; ++p) s_.line(type() + " " + acc(f, p) + "=" + s_.load(sums_, "min(begun+" + text(f * plane + p) + "," + text(last) + ")") + ";");
  }

  void write_sums() {
<<<<<<< HEAD
    if (from_ > 0) write_begun();
    for (int64_t f = 0; f < t_.features && from_ == 0; ++f) {
      s_.line(type() + " i" + text(f) + "=" + begin(f) + ";");
      for (int64_t p = 0; p < t_.pixels; ++p) s_.line(type() + " " + acc(f, p) + "=i" + text(f) + ";");
    }
    s_.line("for(int k=" + text(from_) + ";k<" + text(until_) + ";++k)for(int ky=0;ky<" + text(c_.kernel_h) + ";++ky){");
=======
    const std::string type = of_.type();
    for (int64_t f = 0; f < t_.features; ++f) {
      s_.line(type + " i" + text(f) + "=" + of_.begin(s_, feature(f), of_.has_weight_sums() ? weight(text(of_.depth() * of_.taps()), f) : "") + ";");
      for (int64_t p = 0; p < t_.pixels; ++p) s_.line(type + " " + acc(f, p) + "=i" + text(f) + ";");
    }
    s_.line("for(int k=0;k<" + text(of_.depth()) + ";++k)for(int ky=0;ky<" + text(c_.kernel_h) + ";++ky){");
>>>>>>> main
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

<<<<<<< HEAD
  Lowering& to_;
  const Group& group_;
  sdk::Value weights_;
  Conv c_;
  Tile t_;
  bool is_packed_ = false, by_four_ = false;
  Shader s_;
  std::optional<CodeSums> codes_{};
  const OfCodes* own_ = nullptr;  ///< where the root is a convolution of codes by itself
  std::optional<SumEnds> ends_{};
  int x_ = -1, w_ = -1, bias_ = -1, zero_ = -1, sums_ = -1;
  std::optional<Tensor> right_{};   ///< the weights, of all parts
  int64_t from_ = 0, until_ = 0;    ///< channels of the part
=======
  const ConvOperands& of_;
  const Conv& c_;
  const Patch& t_;
  Shader& s_;
>>>>>>> main
};

}  // namespace of_conv
}  // namespace spirv_plugin
