// SPDX-License-Identifier: Apache-2.0
#include "core/session/error_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace optima::detail {

void ErrorSums::add(std::span<const float> got_values, std::span<const float> wanted_values) {
  for (size_t i = 0; i < got_values.size(); ++i) {
    const double x = got_values[i], y = wanted_values[i];
    dot += x * y, got += x * x, wanted += y * y, noise += (x - y) * (x - y);
  }
}

ErrorFigures ErrorSums::figures() const {
  ErrorFigures out;
  const double norms = std::sqrt(got) * std::sqrt(wanted);
  out.snr_db = noise > 0 ? 10 * std::log10(wanted / noise) : std::numeric_limits<double>::infinity();
  out.cosine = norms > 0 ? std::clamp(dot / norms, -1.0, 1.0) : got == wanted ? 1 : 0;
  return out;
}

}  // namespace optima::detail
