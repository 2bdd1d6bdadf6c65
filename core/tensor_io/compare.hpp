// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: how far two tensors are apart. Knows no models.
#pragma once

#include <cstdint>
#include <string>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// An element is within tolerance when |got - wanted| <= atol + rtol * |wanted|.
struct Tolerance {
  double atol = -1;  ///< negative = `share` times the scale (largest finite |wanted|, 1 when that is 0)
  double rtol = 0;
  double share = 1e-4;
};

struct Comparison {
  uint64_t count = 0;           ///< elements
  double cosine = 1;            ///< 1 when both are all zero
  double snr_db = 0;            ///< infinite when equal
  double max_abs = 0, max_rel = 0;  ///< over finite elements; max_rel where wanted is not 0
  double share_within = 1;      ///< of all elements
  uint64_t nan_got = 0, nan_wanted = 0, inf_got = 0, inf_wanted = 0;
  double scale = 0;             ///< largest finite |wanted|
  double atol = 0, rtol = 0;    ///< as applied
  bool within = true;           ///< every element within tolerance; NaN equals NaN, an infinity equals the same one
};

/// InvalidInput when types or shapes differ.
Result<Comparison> compare_tensors(const Tensor& got, const Tensor& wanted, const Tolerance& tolerance = {});

/// "cosine 1.000000  snr 98.2 dB  max-abs 1.2e-06  max-rel 3.4e-05  within 100 %  nan 0/0  inf 0/0".
std::string to_line(const Comparison& comparison);

/// The same figures as cells of a table, and their heads.
std::vector<std::string> comparison_heads();
std::vector<std::string> to_cells(const Comparison& comparison);

}  // namespace optima
