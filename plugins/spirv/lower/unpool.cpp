// SPDX-License-Identifier: Apache-2.0
// What puts elements back where a pool or a window took them from: MaxUnpool and Col2Im.
#include "window.hpp"
#include "winners.hpp"

namespace spirv_plugin {
namespace of_unpool {

/// Places count in the dims that kernel, strides and pads give; a larger output keeps the positions.
Dims plain_dims(const sdk::Node& node) {
  const Dims x = node.input(0).shape(), kernel = node.integers("kernel_shape");
  const size_t n = x.size() - 2;
  const Dims strides = node.integers("strides", Dims(n, 1)), pads = node.integers("pads", Dims(2 * n, 0));
  Dims out{x[0], x[1]};
  for (size_t k = 0; k < n; ++k) out.push_back((x[k + 2] - 1) * strides[k] + kernel[k] - pads[k] - pads[n + k]);
  return out;
}

void lower_max_unpool(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const Dims plain = plain_dims(node), dims = node.output(0).shape(), in_plain = strides_of(plain), own = strides_of(dims);
  const auto place = [&](Shader& s) {
    s.line("int k=" + s.load(s.in(to.read(node.input(1))), "i") + ",p;if(uint(k)>=" + text(elements_of(plain)) + "u)return;");
    for (size_t d = 0; d < dims.size(); ++d) {
      s.line("p=k/" + text(in_plain[d]) + "%" + text(plain[d]) + ";at+=p*" + text(own[d]) + ";");
      if (plain[d] > dims[d]) s.line("if(p>=" + text(dims[d]) + ")return;");
    }
  };
  const bool is_empty = node.output(0).elements() == 0 || node.input(0).elements() == 0;
  Elements e{to, group};
  const int x = e.in(node.input(0)), from = is_empty ? -1 : e.s.in(winners_of(to, group, dims, node.input(1).elements(), place));
  e.finish([&] {
    if (is_empty) return std::string("0.0");
    e.s.line("int k=" + e.s.load(from, "o") + ";");
    return "(k<0?0.0:" + e.s.load(x, "k") + ")";
  });
}

std::string no_max_unpool(const sdk::Node& node) {
  const sdk::Value x = node.input(0), y = node.output(0);
  const int64_t axes = x.rank() - 2, numbers = static_cast<int64_t>(node.integers("kernel_shape").size());
  if (axes < 1 || numbers != axes) return "kernel_shape has " + text(numbers) + " numbers, wanted " + text(axes);
  if (std::string why = wrong_window(node, static_cast<size_t>(axes)); !why.empty()) return why;
  if (node.input(1).shape() != x.shape()) return "indices of other dims than the input";
  if (y.rank() != x.rank()) return "output of rank " + text(y.rank()) + ", wanted " + text(x.rank());
  for (const int64_t d : plain_dims(node))
    if (d < 0) return "pads larger than what they are taken from";
  return "";
}

/// A window along one axis of the picture, and how often it was laid there.
struct Picture {
  int64_t size, kernel, stride, dilation, pad, blocks;
};

std::vector<Picture> pictures_of(const sdk::Node& node) {
  const Dims y = node.output(0).shape(), kernel = integers_of(node.input(2).constant());
  const size_t n = kernel.size();
  const Dims strides = node.integers("strides", Dims(n, 1)), dilations = node.integers("dilations", Dims(n, 1)), pads = node.integers("pads", Dims(2 * n, 0));
  std::vector<Picture> out;
  for (size_t k = 0; k < n; ++k) {
    Picture a{y[k + 2], kernel[k], strides[k], dilations[k], pads[k], 0};
    a.blocks = (a.size + pads[k] + pads[n + k] - (a.kernel - 1) * a.dilation - 1) / a.stride + 1;
    out.push_back(a);
  }
  return out;
}

/// Each element of the picture adds up what lay over it: input [image][channel, tap][block].
void lower_col2im(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const std::vector<Picture> axes = pictures_of(node);
  int64_t size = 1, taps = 1, blocks = 1;
  for (const Picture& a : axes) size *= a.size, taps *= a.kernel, blocks *= a.blocks;
  Elements e{to, group};
  const int x = e.in(node.input(0));
  e.finish(
      [&] {
        e.s.line("int channel=o/" + text(size) + ";float v=0.0;");
        std::string tap, block;
        int64_t behind = size;
        for (size_t k = 0; k < axes.size(); ++k) {
          const Picture& a = axes[k];
          const std::string n = std::to_string(k), i = "k" + n, p = "p" + n;
          behind /= a.size;
          e.s.line("for(int " + i + "=0;" + i + "<" + text(a.kernel) + ";++" + i + "){int " + p + "=o/" + text(behind) + "%" + text(a.size) + "+" + literal(a.pad) + "-" + i + "*" + text(a.dilation) + ";if(" + p +
                   "<0||" + p + "%" + text(a.stride) + "!=0||" + p + ">=" + text(a.blocks * a.stride) + ")continue;");
          tap = tap.empty() ? i : "(" + tap + ")*" + text(a.kernel) + "+" + i;
          block = block.empty() ? p + "/" + text(a.stride) : "(" + block + ")*" + text(a.blocks) + "+" + p + "/" + text(a.stride);
        }
        e.s.line("v+=" + e.s.load(x, "(channel*" + text(taps) + "+" + tap + ")*" + text(blocks) + "+" + block) + ";" + std::string(axes.size(), '}'));
        return std::string("v");
      },
      static_cast<uint64_t>(2 * taps));
}

std::string no_col2im(const sdk::Node& node) {
  const sdk::Value x = node.input(0), y = node.output(0);
  const auto axes = static_cast<int64_t>(integers_of(node.input(2).constant()).size());
  if (x.rank() != 3 || axes < 1 || y.rank() != axes + 2) return "input of rank " + text(x.rank()) + " and a picture of rank " + text(y.rank()) + ", wanted 3 and " + text(axes + 2);
  if (std::string why = wrong_window(node, static_cast<size_t>(axes)); !why.empty()) return why;
  int64_t taps = 1, blocks = 1;
  for (const Picture& a : pictures_of(node)) {
    if (a.kernel < 1 || a.blocks < 1) return "a window that does not fit on the picture";
    taps *= a.kernel, blocks *= a.blocks;
  }
  return x.dim(0) != y.dim(0) || x.dim(1) != y.dim(1) * taps || x.dim(2) != blocks ? "input of other dims than the windows on the picture want" : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&), uint32_t buffers) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = true, r.buffers = buffers;
  return r;
}
constexpr sdk::Types F = kFloats, L = sdk::types(OPTIMA_I64);
constexpr Row kRows[] = {row(op("MaxUnpool", 9, 22, {F, L}, {F}), lower_max_unpool, no_max_unpool, 3),
                         row(op("Col2Im", 18, 18, {F, L}, {F}, 1u << 2), lower_col2im, no_col2im, 2)};

}  // namespace of_unpool

Family unpool_family() { return of_unpool::kRows; }

}  // namespace spirv_plugin
