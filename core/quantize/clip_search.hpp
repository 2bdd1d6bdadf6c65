// SPDX-License-Identifier: Apache-2.0
// core/quantize: where a histogram is best cut off. Private to the room.
#pragma once

#include <vector>

#include "core/observe/histogram.hpp"
#include "core/quantize/encodings.hpp"

namespace optima::detail {

/// Ends of a range, low <= 0 <= high.
struct Ends {
  double low = 0, high = 0;
};

/// The bins in use with their masses at their centres, as sums from the front, so that a sum over neighbours is two look-ups.
class BinSums {
 public:
  explicit BinSums(const Histogram& histogram);
  /// Sum over all values of (decoded - value)^2 with codes of this step: what rounding and cutting off cost together. 256 codes: about 1 us.
  double error(double step, int64_t zero_point, CodeLimits codes) const;

 private:
  struct Sums {
    double mass = 0, first = 0, second = 0;  // of 1, x and x^2; x in bins
  };
  std::vector<Sums> sums_;  // [i] = of the bins before i
  double first_ = 0;        // number of bin 0
  double width_ = 0;
};

/// The ends with the least squared error, none beyond the histogram's. `tied`: the larger end alone counts, 127 steps, codes -128..127; otherwise both are
/// searched, and zero is moved onto a code. At most 0.5 ms.
Ends least_error(const Histogram& histogram, bool tied);
/// What is left when (100 - percentile) % of the values are cut off: at the one end that there is, or half of them at each.
Ends percentile_ends(const Histogram& histogram, double percentile);
/// Least Kullback-Leibler divergence between the values and what 128 (256 where never negative) levels leave of them, after S. Migacz, "8-bit inference
/// with TensorRT" (GTC 2017), on magnitudes; ends are cut off at that magnitude on both sides.
Ends least_divergence(const Histogram& histogram);

}  // namespace optima::detail
