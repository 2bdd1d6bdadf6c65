// SPDX-License-Identifier: Apache-2.0
// core/quantize: statistics of values, also of those that smoothing made of others. Private to the room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/observe/observations.hpp"

namespace optima::detail {

class Seen {
 public:
  explicit Seen(const Observations& observations) : observations_(observations) {}

  /// From here on value `to` (which may be `from`) is `from` with each channel divided. Requires channel statistics of `from`.
  void divide(const std::string& from, const std::string& to, const std::vector<float>& by);

  /// Null when nobody looked at it, or when it was divided.
  const ValueStatistics* find(const std::string& value) const;
  /// Of a value that was divided: the range by its channels' largest magnitudes.
  std::optional<std::pair<double, double>> divided_range(const std::string& value) const;
  /// By channel; empty when not known, or known of another number of channels.
  std::vector<double> means(const std::string& value, int64_t channels) const;
  std::vector<float> largest(const std::string& value, int64_t channels) const;
  /// Mean of x xT over everything seen, channels x channels; empty when not known.
  std::vector<double> gram(const std::string& value, int64_t channels) const;

 private:
  struct Divided {
    std::string from;
    std::vector<float> by;
  };
  const ValueStatistics* source(const std::string& value, const std::vector<float>*& by) const;

  const Observations& observations_;
  std::map<std::string, Divided> divided_;
};

}  // namespace optima::detail
