// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: the step of a convolution over one or two axes, and its ways.
#pragma once

#include "conv_product.hpp"
#include "conv_tile.hpp"

namespace spirv_plugin {
namespace of_conv {

/// Through shared memory where the target has tiles for it, and by invocations that share nothing. An output without elements has no step.
inline void lower_convolution(ConvOperands of) {
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
