// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: the step of a convolution over one or two axes, and its ways.
#pragma once

#include "conv_product.hpp"
#include "conv_tile.hpp"
#include "elements.hpp"

namespace spirv_plugin {
namespace of_conv {

/// Sums over more channels than one invocation goes through, step by step in a tensor of their own.
inline void lower_deep_convolution(ConvOperands& of) {
  const Group& group = of.group();
  const Tensor sums = of.to().scratch(group.root, Element::F32, group.root.output(0).shape());
  for (int64_t from = 0; from < of.depth();) {
    const int64_t until = std::min(of.depth(), from + most_channels(of.conv()));
    Shader s = of.bind_part(sums, from, until);
    ConvPatches part(of, s);
    part.write();
    of.finish(ways_of(s, false, part.groups()));
    from = until;
  }
  if (group.tail.empty()) return;
  Elements e{of.to(), group};
  const int all = e.s.in(sums);
  e.finish([&] { return e.s.load(all, "o"); });
}

/// Through shared memory where the target has tiles for it, and by invocations that share nothing. An output without elements has no step.
inline void lower_convolution(ConvOperands of) {
  if (of.is_too_deep()) return lower_deep_convolution(of);
  const std::optional<Shader> begun = of.bind();
  if (!begun) return;
  std::vector<Way> ways;
  if (const std::optional<Tile> t = ConvProduct::tile_for(of)) {
    ways.push_back({*begun, {}});
    ConvProduct way(of, *t, ways.back().shader);
    way.write();
    ways.back().groups = way.groups();
  }
  Shader s = *begun;
  ConvPatches plain(of, s);
  plain.write();
  for (Way& way : ways_of(s, of.by_words(), plain.groups())) ways.push_back(std::move(way));
  of.finish(std::move(ways));
}

}  // namespace of_conv
}  // namespace spirv_plugin
