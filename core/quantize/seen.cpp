// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/seen.hpp"

#include <algorithm>

namespace optima::detail {

void Seen::divide(const std::string& from, const std::string& to, const std::vector<float>& by) { divided_[to] = {from, by}; }

const ValueStatistics* Seen::source(const std::string& value, const std::vector<float>*& by) const {
  const auto it = divided_.find(value);
  by = it == divided_.end() ? nullptr : &it->second.by;
  return observations_.find(it == divided_.end() ? value : it->second.from);
}

const ValueStatistics* Seen::find(const std::string& value) const { return divided_.contains(value) ? nullptr : observations_.find(value); }

std::optional<std::pair<double, double>> Seen::divided_range(const std::string& value) const {
  const auto it = divided_.find(value);
  if (it == divided_.end()) return std::nullopt;
  const std::vector<float> by_channel = largest(value, static_cast<int64_t>(it->second.by.size()));
  if (by_channel.empty()) return std::nullopt;
  const double most = *std::max_element(by_channel.begin(), by_channel.end());
  const std::vector<float>* by = nullptr;
  return std::pair{source(value, by)->histogram.min() < 0 ? -most : 0.0, most};
}

std::vector<double> Seen::means(const std::string& value, int64_t channels) const {
  const std::vector<float>* by = nullptr;
  const ValueStatistics* seen = source(value, by);
  if (!seen || seen->per_channel == 0 || seen->channel_sum.size() != static_cast<size_t>(channels)) return {};
  std::vector<double> out(seen->channel_sum.size());
  for (size_t c = 0; c < out.size(); ++c) out[c] = seen->channel_mean(c) / (by ? static_cast<double>((*by)[c]) : 1.0);
  return out;
}

std::vector<float> Seen::largest(const std::string& value, int64_t channels) const {
  const std::vector<float>* by = nullptr;
  const ValueStatistics* seen = source(value, by);
  if (!seen || seen->per_channel == 0 || seen->channel_max.size() != static_cast<size_t>(channels)) return {};
  std::vector<float> out = seen->channel_max;
  for (size_t c = 0; by && c < out.size(); ++c) out[c] /= (*by)[c];
  return out;
}

std::vector<double> Seen::gram(const std::string& value, int64_t channels) const {
  const std::vector<float>* by = nullptr;
  const ValueStatistics* seen = source(value, by);
  const auto n = static_cast<size_t>(channels);
  if (!seen || seen->per_channel == 0 || seen->gram.size() != n * n) return {};
  std::vector<double> out = seen->gram;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) out[i * n + j] /= static_cast<double>(seen->per_channel) * (by ? static_cast<double>((*by)[i]) * static_cast<double>((*by)[j]) : 1.0);
  return out;
}

}  // namespace optima::detail
