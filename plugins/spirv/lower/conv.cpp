// SPDX-License-Identifier: Apache-2.0
// Convolutions over one or two axes, by conv_kernel.hpp and winograd.hpp.
#include "winograd.hpp"

namespace spirv_plugin {
namespace of_conv {

bool sums_codes(const Group& group) {
  const Dims w = group.root.input(1).shape();
  const sdk::Node& left = *group.decoders[0];
  return is_known(group, 2) && elements_of(w) > 0 && has_one_scale(left) && !left.input(0).is_constant() && has_scales_along(*group.decoders[1], 0) &&
         sums_of(group, channels_of(w), false);
}

void lower_conv(Lowering& to, const Group& group) {
  if (const int64_t m = winograd_size(to, group)) WinogradSteps(to, group, m).write();
  else lower_convolution({to, group});
}

constexpr Row row(sdk::Op o) {
  Row r;
  o.ranks[0] = {3, 4};  // over three axes: conv3d.cpp
  r.op = o, r.lower = lower_conv, r.refuse = too_large, r.takes_tail = true, r.takes_scaling = true, r.sums_codes = sums_codes;
  return r;
}
constexpr Row kRows[] = {row(op("Conv", 1, 22, {kFloats}, {kFloats}))};

}  // namespace of_conv

Family conv_family() { return of_conv::kRows; }

}  // namespace spirv_plugin
