// SPDX-License-Identifier: Apache-2.0
// core/support: how many dims a tensor has at most.
#pragma once

namespace optima {

/// The highest rank that is read, carried and asked for. An int, so that ranks of the seam (-1 = not known) and sizes both compare to it.
constexpr int kMostDims = 64;

}  // namespace optima
