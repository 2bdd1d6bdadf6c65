// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/kernels: an activation that found nothing to be fused with.
#include "plugins/llvm_cpu/kernels/activation.hpp"

namespace k {

constexpr idx kChunk = 4096;  // elements per unit

}  // namespace k

/// args: in, out, n floats each; units = ceil(n / 4096).
TEMPLATE(k_activate, int64_t act, float lo, float hi, int64_t n) {
  using namespace k;
  const float* in = (const float*)args[0];
  float* out = (float*)args[1];
  const idx end = imin(n, u1 * kChunk);
  idx i = u0 * kChunk;
  ROLL for (; i + VL <= end; i += VL) st(out + i, activate(ld(in + i), act, lo, hi));
  ROLL for (; i < end; i++) out[i] = activate(splat(in[i]), act, lo, hi)[0];
}
