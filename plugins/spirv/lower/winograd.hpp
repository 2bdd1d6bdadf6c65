// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: convolutions of 3 x 3 by Winograd's minimal filtering, F(m x m, 3 x 3): the input by tiles of m + 2 in transformed form, a product
// for each of the (m + 2)^2 positions of a tile, and the tiles of the output out of those. Method: Lavin and Gray, "Fast algorithms for convolutional
// neural networks", arXiv:1509.09308.
#pragma once

#include "conv_kernel.hpp"

namespace spirv_plugin {
namespace of_conv {

/// F(m x m, 3 x 3) of an image's planes, over one axis: what becomes of m + 2 elements (`input`), of 3 weights (`weights`), and of m + 2 products (`output`).
struct Winograd {
  int64_t m;
  std::vector<std::vector<double>> input, weights, output;
  int64_t side() const { return m + 2; }
  int64_t positions() const { return side() * side(); }
};

inline const Winograd& winograd_of(int64_t m) {
  // Points 0, 1, -1, infinity; and 0, 1, -1, 2, -2, infinity. Rows that differ in the sign of their odd columns alone stand one behind the other.
  static const Winograd two{2,
                            {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                            {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                            {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  static const Winograd four{4,
                             {{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
                             {{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6}, {1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}},
                             {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return m == 2 ? two : four;
}

/// The tiles of all images, and the products at their positions as a convolution: a group for each position, whose pixels are the tiles.
struct Tiling {
  int64_t m, down, across, count;  ///< tiles along both axes of an image, and of all images
  Conv product;
};
inline Tiling tiling_of(const Conv& c, int64_t m) {
  const int64_t down = (c.out_height + m - 1) / m, across = (c.out_width + m - 1) / m, count = c.batch * down * across, positions = (m + 2) * (m + 2);
  return {m, down, across, count, {1, positions * c.channels, 1, count, positions * c.features, 1, count, positions, 1, 1, 1, 1, 1, 1, 0, 0}};
}

namespace winograd {

inline uint64_t bytes_of(int64_t elements) { return 4 * static_cast<uint64_t>(elements); }

/// The share of a kernel's invocations, and of their sums, that have something to do.
inline double filled(const Lowering& to, const Conv& c) {
  const auto share = [](int64_t n, int64_t by) { return static_cast<double>(n) / static_cast<double>((n + by - 1) / by * by); };
  const int64_t columns = c.batch * c.out_height * c.out_width;
  if (const std::optional<Tile> t = shared_tiles::shared_tile(to.limits(), c.group_features(), columns, c.group_channels() * c.kernel_h * c.kernel_w, false))
    return share(columns, t->all_columns()) * share(c.group_features(), t->all_rows());
  const Patch p = patch_for(to.limits(), c);
  const int64_t row_tiles = (c.out_width + p.pixels - 1) / p.pixels, invocations = c.out_height * row_tiles;
  return share(c.out_width, p.pixels) * share(invocations, local_for(invocations)) * share(c.group_features(), p.features);
}

/// Microseconds of a step, roughly.
inline double time_of(const Limits& limits, double flops, uint64_t bytes) {
  return limits.launch_us + std::max(flops / limits.gflops, static_cast<double>(bytes) / limits.gbytes) / 1e3;
}
inline double time_of(const Lowering& to, const Conv& c, uint64_t bytes) {
  const double macs = static_cast<double>(c.batch * c.features * c.out_height * c.out_width) * static_cast<double>(c.group_channels() * c.kernel_h * c.kernel_w);
  return time_of(to.limits(), 2 * macs / filled(to, c), bytes);
}

/// Of the three steps, and of the one that sums as the model has it.
inline double time_of(const Lowering& to, const Conv& c, const Tiling& t) {
  const int64_t x = c.batch * c.channels * c.height * c.width, y = c.batch * c.features * c.out_height * c.out_width;
  const int64_t in = t.product.channels * t.count, out = t.product.features * t.count, weights = t.product.features * c.channels;
  return time_of(to.limits(), 0, bytes_of(x + in)) + time_of(to, t.product, bytes_of(in + weights + out)) + time_of(to.limits(), 0, bytes_of(out + y));
}
inline double direct_time(const Lowering& to, const Conv& c) {
  return time_of(to, c, bytes_of(c.batch * (c.channels * c.height * c.width + c.features * c.out_height * c.out_width) + c.features * c.channels * 9));
}

/// Every tensor is within a buffer's reach, dispatches are within their limits, and a tile is within what registers are said to hold.
inline bool fits(const Limits& limits, const Conv& c, const Tiling& t) {
  if (limits.register_tile && limits.register_tile.sums() < (t.m + 2) * (t.m + 2)) return false;
  constexpr int64_t kMostTiles = 64 * 65535, kMostElements = int64_t{1} << 31;
  const int64_t most = std::max({t.product.channels * t.count, t.product.features * t.count, t.product.features * c.channels});
  return t.count <= kMostTiles && most < kMostElements && bytes_of(most) <= limits.buffer_range;
}

}  // namespace winograd

/// 2 or 4 where a convolution is worth transforming for the target, by an estimate; 0: it is summed as it is.
inline int64_t winograd_size(const Lowering& to, const Group& group) {
  constexpr int64_t kFewest = 16;  // channels: below, transforms outweigh products
  constexpr double kWorth = 0.9;   // of the time without
  const sdk::Node& node = group.root;
  if (!to.allows_winograd() || group.sums_codes() || node.input(0).rank() != 4 || !to.known(node.input(1)) || group.end().output(0).elements() == 0) return 0;
  const Conv c = conv_of(node, node.input(1));
  const bool is_of_kind = c.kernel_h == 3 && c.kernel_w == 3 && c.stride_h == 1 && c.stride_w == 1 && c.dilation_h == 1 && c.dilation_w == 1 && c.groups == 1;
  if (!is_of_kind || c.channels < kFewest || c.features < kFewest) return 0;
  double best = kWorth * winograd::direct_time(to, c);
  int64_t size = 0;
  for (const int64_t m : {2, 4})
    if (const Tiling t = tiling_of(c, m); winograd::fits(to.limits(), c, t))
      if (const double time = winograd::time_of(to, c, t); time < best) best = time, size = m;
  return size;
}

/// A convolution's three steps.
class WinogradSteps {
 public:
  WinogradSteps(Lowering& to, const Group& group, int64_t m)
      : to_(to), group_(group), c_(conv_of(group.root, group.root.input(1))), w_(winograd_of(m)), t_(tiling_of(c_, m)) {}

  void write() {
    const auto scratch = [&](int64_t channels) { return to_.scratch(group_.root, Element::F32, {w_.positions(), channels, t_.count}); };
    const Tensor in = scratch(c_.channels), out = scratch(c_.features);
    const Scaling scaling = scaling_for(group_, c_.features);
    transform_input(in);
    lower_convolution({to_, group_, {t_.product, in, out, std::string(group_.root.input(1).name()) + "/winograd" + text(w_.m), transformed(scaling)}});
    transform_output(out, scaling);
  }

 private:
  static constexpr uint32_t kLocal = 64;

  /// Weights times a feature's factor, transformed: by position, by tile of features as packed() has them.
  std::function<std::vector<float>(const Patch&)> transformed(const Scaling& scaling) const {
    return [&w = w_, weights = to_.known(group_.root.input(1)), factor = scaling.factor, features = static_cast<size_t>(c_.features), channels = static_cast<size_t>(c_.channels)](const Patch& patch) {
      const auto side = static_cast<size_t>(w.side()), tile = static_cast<size_t>(patch.features), tiles = (features + tile - 1) / tile;
      std::vector<float> out(side * side * tiles * tile * channels);
      std::vector<double> given(9 * channels), half(side * 3 * channels), one(channels);
      const auto add = [channels](double* to, double by, const double* from) {
        for (size_t c = 0; c < channels && by != 0; ++c) to[c] += by * from[c];
      };
      for (size_t f = 0; f < features; ++f) {
        for (size_t c = 0; c < channels; ++c)
          for (size_t k = 0; k < 9; ++k) given[k * channels + c] = (*weights)[(f * channels + c) * 9 + k] * factor[f];
        std::fill(half.begin(), half.end(), 0);
        for (size_t i = 0; i < side; ++i)
          for (size_t k = 0; k < 9; ++k) add(&half[(i * 3 + k % 3) * channels], w.weights[i][k / 3], &given[k * channels]);
        for (size_t i = 0; i < side * side; ++i) {
          std::fill(one.begin(), one.end(), 0);
          for (size_t k = 0; k < 3; ++k) add(one.data(), w.weights[i % side][k], &half[(i / side * 3 + k) * channels]);
          float* to = &out[(i * tiles + f / tile) * channels * tile + f % tile];
          for (size_t c = 0; c < channels; ++c) to[c * tile] = static_cast<float>(one[c]);
        }
      }
      return out;
    };
  }

  /// Statements that name the elements of a row of the transform of elements `from`(0), `from`(1), ...: `to`(0), ...
  template <class From, class To>
  static std::string transform(const std::vector<std::vector<double>>& by, const From& from, const To& to) {
    const auto sum = [&](size_t row, size_t first, size_t step) {
      std::string out;
      for (size_t k = first; k < by[row].size(); k += step) {
        const double f = by[row][k];
        if (f == 0) continue;
        out += (f < 0 ? "-" : out.empty() ? "" : "+") + (std::abs(f) == 1 ? "" : literal(std::abs(f)) + "*") + from(k);
      }
      return out.empty() ? std::string("0.0") : out;
    };
    const auto mirrors = [&](size_t row) {
      for (size_t k = 0; k < by[row].size(); ++k)
        if (by[row][k] != by[row + 1][k] * (k % 2 ? -1 : 1)) return false;
      return true;
    };
    std::string out;
    for (size_t row = 0; row < by.size(); ++row) {
      if (row + 1 == by.size() || !mirrors(row)) {
        out += "float " + to(row) + "=" + sum(row, 0, 1) + ";";
        continue;
      }
      const std::string even = to(row) + "e", odd = to(row) + "o";  // columns
      out += "float " + even + "=" + sum(row, 0, 2) + "," + odd + "=" + sum(row, 1, 2) + "," + to(row) + "=" + even + "+" + odd + "," + to(row + 1) + "=" + even + "-" + odd + ";";
      ++row;
    }
    return out;
  }
  /// The same of a square, over both axes: of `from` i_j to `to` i_j.
  static std::string transform_square(const std::vector<std::vector<double>>& by, const std::string& from, const std::string& to) {
    const auto name = [](const std::string& of, size_t i, size_t j) { return of + std::to_string(i) + "_" + std::to_string(j); };
    std::string out;
    for (size_t j = 0; j < by[0].size(); ++j) out += transform(by, [&](size_t i) { return name(from, i, j); }, [&](size_t i) { return name("h", i, j); });
    for (size_t i = 0; i < by.size(); ++i) out += transform(by, [&](size_t j) { return name("h", i, j); }, [&](size_t j) { return name(to, i, j); });
    return out;
  }

  /// The head of a kernel with an invocation for each tile of each of `channels` planes: the plane `c`, and the first row and column of the tile's output.
  std::string begin(const Grid& g, int64_t channels) const {
    const std::string all = text(t_.count), each = text(t_.down * t_.across), across = text(t_.across), m = text(w_.m);
    const std::string place = "int t=id%" + all + ",c=id/" + all + ",n=t/" + each + ",oy=t%" + each + "/" + across + "*" + m + ",ox=t%" + across + "*" + m + ";";
    return "int id=" + g.id + ";if(id>=" + text(channels * t_.count) + ")return;" + place;
  }

  /// Elements outside of the image are zero: loaded from the border, and left out by a choice of values.
  void transform_input(const Tensor& in) {
    Shader s(kLocal);
    const int x = s.in(to_.read(group_.root.input(0))), out = s.out(in);
    const Grid g = grid(c_.channels * t_.count, kLocal);
    s.line(begin(g, c_.channels) + "int base=(n*" + text(c_.channels) + "+c)*" + text(c_.height * c_.width) + ",iy=oy-" + text(c_.pad_h) + ",ix=ox-" + text(c_.pad_w) + ";");
    for (int64_t i = 0; i < w_.side(); ++i) {
      const std::string n = text(i);
      s.line("int y" + n + "=base+clamp(iy+" + n + ",0," + text(c_.height - 1) + ")*" + text(c_.width) + ",x" + n + "=clamp(ix+" + n + ",0," + text(c_.width - 1) + ");");
      s.line("bool p" + n + "=uint(iy+" + n + ")<" + text(c_.height) + "u,q" + n + "=uint(ix+" + n + ")<" + text(c_.width) + "u;");
    }
    for (int64_t i = 0; i < w_.side(); ++i)
      for (int64_t j = 0; j < w_.side(); ++j) {
        const std::string name = "d" + text(i) + "_" + text(j);
        s.line("float " + name + "=" + s.load(x, "y" + text(i) + "+x" + text(j)) + ";" + name + "=p" + text(i) + "&&q" + text(j) + "?" + name + ":0.0;");
      }
    s.line(transform_square(w_.input, "d", "v"));
    for (int64_t k = 0; k < w_.positions(); ++k) s.line(s.store(out, "id+" + text(k * c_.channels * t_.count), "v" + text(k / w_.side()) + "_" + text(k % w_.side())));
    to_.step(group_, std::move(s), g.groups, {static_cast<uint64_t>(in.elements()) * 4, winograd::bytes_of(group_.root.input(0).elements() + in.elements())});
  }

  void transform_output(const Tensor& products, const Scaling& scaling) {
    Shader s(kLocal);
    const int from = s.in(products);
    const std::optional<Tensor> summand = bias_of(to_, group_, scaling, c_.features);
    const int bias = summand ? s.in(*summand) : -1;
    const Lowering::Tail tail = to_.tail(s, group_);
    const Tensor y = to_.made(group_.end().output(0));
    const int out = s.out(y);
    s.top("void put(const int o,const float v){" + s.store(out, "o", tail("v", "o")) + "}");
    const Grid g = grid(c_.features * t_.count, kLocal);
    s.line(begin(g, c_.features) + "float b=" + (bias >= 0 ? s.load(bias, "c") : "0.0") + ";int first=((n*" + text(c_.features) + "+c)*" + text(c_.out_height) + "+oy)*" + text(c_.out_width) + "+ox;");
    for (int64_t k = 0; k < w_.positions(); ++k) s.line("float v" + text(k / w_.side()) + "_" + text(k % w_.side()) + "=" + s.load(from, "id+" + text(k * c_.features * t_.count)) + ";");
    s.line(transform_square(w_.output, "v", "r"));
    for (int64_t i = 0; i < w_.m; ++i)
      for (int64_t j = 0; j < w_.m; ++j) s.line(where(i, j) + "put(first+" + text(i * c_.out_width + j) + ",r" + text(i) + "_" + text(j) + "+b);");
    to_.step(group_, std::move(s), g.groups, {static_cast<uint64_t>(products.elements()) * 4, winograd::bytes_of(products.elements() + y.elements())});
  }
  /// The condition that an element of a tile is inside of the output.
  std::string where(int64_t i, int64_t j) const {
    std::string in;
    if (i > 0 && c_.out_height % w_.m != 0) in = "oy+" + text(i) + "<" + text(c_.out_height);
    if (j > 0 && c_.out_width % w_.m != 0) in += (in.empty() ? "" : "&&") + ("ox+" + text(j) + "<" + text(c_.out_width));
    return in.empty() ? "" : "if(" + in + ")";
  }

  Lowering& to_;
  const Group& group_;
  Conv c_;
  const Winograd& w_;
  Tiling t_;
};

}  // namespace of_conv
}  // namespace spirv_plugin
