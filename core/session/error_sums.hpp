// SPDX-License-Identifier: Apache-2.0
// core/session: SNR and cosine of a value over many samples. Private to the room.
#pragma once

#include <span>

#include "core/report/layers.hpp"

namespace optima::detail {

struct ErrorSums {
  double dot = 0, got = 0, wanted = 0, noise = 0;

  /// Requires as many of both.
  void add(std::span<const float> got_values, std::span<const float> wanted_values);
  ErrorFigures figures() const;
};

}  // namespace optima::detail
