// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/observe/floats.hpp"

namespace optima {
namespace {

constexpr uint64_t kRows = 8;  // positions taken at once: each element of the product is then read and written once for all of them

/// gram[i][j] += sum over rows of x[i] * x[j], for j >= i.
void add_rows(const std::vector<double>& rows, uint64_t channels, std::vector<double>& gram) {
  for (uint64_t i = 0; i < channels; ++i) {
    double* to = gram.data() + i * channels;
    const double* x = rows.data();
    double a[kRows];
    for (uint64_t r = 0; r < kRows; ++r) a[r] = x[r * channels + i];
    for (uint64_t j = i; j < channels; ++j) {
      double sum = 0;
      for (uint64_t r = 0; r < kRows; ++r) sum += a[r] * x[r * channels + j];
      to[j] += sum;
    }
  }
}

}  // namespace

void add_gram(std::span<const float> values, const ChannelView& view, std::vector<double>& gram) {
  std::vector<double> rows(kRows * view.channels);
  for (uint64_t position = 0, positions = view.outer * view.inner; position < positions; position += kRows) {
    const uint64_t count = std::min(kRows, positions - position);
    if (count < kRows) std::fill(rows.begin(), rows.end(), 0.0);
    for (uint64_t r = 0; r < count; ++r) {
      const uint64_t outer = (position + r) / view.inner, inner = (position + r) % view.inner;
      const float* from = values.data() + outer * view.channels * view.inner + inner;
      for (uint64_t c = 0; c < view.channels; ++c) rows[r * view.channels + c] = from[c * view.inner];
    }
    add_rows(rows, view.channels, gram);
  }
  for (uint64_t i = 0; i < view.channels; ++i)
    for (uint64_t j = i + 1; j < view.channels; ++j) gram[j * view.channels + i] = gram[i * view.channels + j];
}

}  // namespace optima
