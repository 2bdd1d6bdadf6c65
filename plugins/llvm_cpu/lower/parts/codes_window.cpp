// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see codes_window.hpp.
#include "plugins/llvm_cpu/lower/parts/codes_window.hpp"

#include "plugins/llvm_cpu/lower/parts/conv_parts.hpp"

namespace optima::llvm_cpu {

Operand with_padding(const Operand& in, Window& w, int64_t pixel, const Operand& zero, LowerContext& ctx) {
  const Three none{0, 0, 0};
  Three reach;
  for (size_t i = 0; i < 3; ++i) reach[i] = (w.out[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
  const bool inside = reach[0] <= w.in[0] && reach[1] <= w.in[1] && reach[2] <= w.in[2];
  if (w.begin == none && inside) return in;
  Operand to = ctx.temporary(static_cast<uint64_t>(w.batch * reach[0] * reach[1] * reach[2] * pixel)), out = to;
  to.written = true;
  Op op;
  op.kernel = k::CodesPad{.in = literal(w.in), .out = literal(reach), .begin = literal(w.begin), .pixel = pixel};
  op.args = {in, zero, to};
  op.units = w.batch * reach[0] * reach[1];
  op.work = op.units * reach[2] * pixel / 16;
  op.label = "pad codes " + describe(w);
  ctx.emit(std::move(op));
  w.in = reach;
  return out;
}

CodesWindow dense_window(const Window& w, int64_t pixel, int64_t groups, int64_t out_pixel) {
  const int64_t ic = w.channels / groups, image = w.in_pixels() * pixel;
  const bool joined = groups == 1 && w.dilation[2] == 1;  // a row of taps is one run of bytes
  const int64_t tap = groups == 1 ? pixel : divide_up(ic, 4) * 4, row = w.in[2] * pixel, plane = w.in[1] * row;
  CodesWindow out;
  k::CodesConv& l = out.literals;
  l.G = groups, l.OC = w.out_channels / groups;
  l.quads = (joined ? w.kernel[2] * tap : tap) / 4;
  l.runs = {w.kernel[0], w.kernel[1], joined ? 1 : w.kernel[2]};
  l.run_step = {w.dilation[0] * plane, w.dilation[1] * row, w.dilation[2] * pixel};
  l.N = w.batch, l.out = literal(w.out), l.in_group = groups == 1 ? 0 : ic, l.in_image = w.batch == 1 ? 0 : image;
  l.in_step = {w.stride[0] * plane, w.stride[1] * row, w.stride[2] * pixel};
  const Three one{1, 1, 1};
  if (w.kernel == one && w.stride == one) {  // pixels follow each other over rows and images
    l.out = {1, 1, w.batch * w.out_pixels()}, l.N = 1, l.in_image = 0, l.in_step.d = l.in_step.h = 0;
    l.run_step = {0, 0, 0};
  }
  l.out_pixel = out_pixel;
  Pack& p = out.pack;
  p.in_block = tap, p.tile = 1, p.groups = groups, p.oc = l.OC, p.ic = ic;
  p.kd = w.kernel[0], p.kh = joined ? w.kernel[1] : w.kernel[1] * w.kernel[2], p.kw = joined ? w.kernel[2] : 1;
  p.kw_stride = 1, p.kh_stride = joined ? w.kernel[2] : 1, p.kd_stride = w.kernel[1] * w.kernel[2];
  p.ic_stride = w.taps(), p.oc_stride = ic * w.taps(), p.group_stride = l.OC * p.oc_stride;
  return out;
}

bool is_depthwise(const Window& w, int64_t groups) {
  return groups == w.channels && w.channels == w.out_channels && w.channels > 4 && w.kernel[2] <= 16;
}

k::CodesDepthwise depthwise_window(const Window& w, int64_t pixel, int64_t out_pixel, const Target& t) {
  const int64_t row = w.in[2] * pixel, plane = w.in[1] * row;
  k::CodesDepthwise l{};
  l.dot = t.dot, l.WT = t.registers >= 32 ? 4 : 2;
  l.C = w.channels, l.N = w.batch, l.out = literal(w.out), l.kernel = literal(w.kernel);
  l.in_step = {w.stride[0] * plane, w.stride[1] * row, w.stride[2] * pixel}, l.tap_step = {w.dilation[0] * plane, w.dilation[1] * row, 0};
  l.stride = w.stride[2], l.dilation = w.dilation[2], l.pixel = pixel;
  l.in_image = w.batch == 1 ? 0 : w.in_pixels() * pixel, l.out_pixel = out_pixel;
  return l;
}

/// [block][four rows of taps][kernel width][4][VL] quads; for Pairs, 16 bits each, taps 0 and 2 before 1 and 3.
std::string depthwise_weights(std::string_view weights, char flip, const Window& w, const Target& t) {
  const int64_t vl = t.vector_width, rows = w.kernel[0] * w.kernel[1], taps = w.taps();
  const bool pairs = t.dot == k::Dot::Pairs;
  std::string out;
  const auto add = [&](int64_t channel, int64_t row, int64_t column) {
    const bool is_there = channel < w.channels && row < rows;
    const auto v = static_cast<int8_t>(is_there ? weights[static_cast<size_t>(channel * taps + row * w.kernel[2] + column)] ^ flip : 0);
    out += static_cast<char>(v);
    if (pairs) out += static_cast<char>(v < 0 ? -1 : 0);
  };
  for (int64_t b = 0; b < divide_up(w.channels, vl * 4); ++b)
    for (int64_t r = 0; r < rows; r += 4)
      for (int64_t x = 0; x < w.kernel[2]; ++x)
        for (int64_t odd = 0; odd < (pairs ? 2 : 1); ++odd)
          for (int64_t j = 0; j < 4; ++j)
            for (int64_t i = 0; i < vl; ++i)
              for (int64_t q = odd; q < 4; q += pairs ? 2 : 1) add(channel_of(b, j, i, vl), r + q, x);
  return out;
}

}  // namespace optima::llvm_cpu
