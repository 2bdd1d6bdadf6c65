// SPDX-License-Identifier: Apache-2.0
#include "core/observe/observations.hpp"

#include <algorithm>
#include <cmath>

#include "core/observe/floats.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

constexpr double kNewest = 0.01;  // weight of the newest sample's extremes

Result<ChannelView> view_of(const Tensor& tensor, int axis) {
  ChannelView out;
  if (static_cast<size_t>(axis) >= tensor.shape.size())
    return invalid_input(cat("found shape ", shape_text(tensor.shape), ", wanted channels along axis ", axis));
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    uint64_t& part = d < static_cast<size_t>(axis) ? out.outer : d > static_cast<size_t>(axis) ? out.inner : out.channels;
    part *= static_cast<uint64_t>(tensor.shape[d]);
  }
  return out;
}

}  // namespace

Observations::Observations(std::vector<Tap> taps) : taps_(std::move(taps)), statistics_(taps_.size()), memories_(taps_.size()) {
  for (size_t t = 0; t < taps_.size(); ++t) by_name_.emplace(taps_[t].value, t);
}

Status Observations::add(size_t tap, const Tensor& tensor, const std::string& sample) {
  return add_floats(tap, tensor, sample).within(cat("sample ", quote(sample), ": value ", quote(taps_[tap].value)));
}

Status Observations::add_floats(size_t tap, const Tensor& tensor, const std::string& sample) {
  std::vector<float> room, finite;
  OPTIMA_ASSIGN(std::span<const float> values, floats_of(tensor, room));
  ValueStatistics& seen = statistics_[tap];
  if (taps_[tap].channel_axis >= 0) {
    OPTIMA_ASSIGN(const ChannelView view, view_of(tensor, taps_[tap].channel_axis));
    if (!seen.channel_sum.empty() && seen.channel_sum.size() != view.channels)
      return invalid_input(cat("found ", view.channels, " channels along axis ", taps_[tap].channel_axis, ", wanted ", seen.channel_sum.size(),
                               " as in the samples before"));
    add_channels(tap, values, view);
  }
  seen.histogram.add(values);
  Extremes extremes = extremes_of(values);
  if (!values.empty() && !extremes.all_finite()) {
    if (seen.first_bad.empty()) seen.first_bad = sample;
    finite = finite_of(values);
    values = finite;
    extremes = extremes_of(values);
  }
  ++seen.samples;
  memories_[tap].extremes.push_back(values.empty() ? SampleRange{} : SampleRange{true, extremes.low(), extremes.high()});
  average(tap, seen.samples - 1);
  return {};
}

void Observations::add_channels(size_t tap, std::span<const float> values, const ChannelView& view) {
  ValueStatistics& seen = statistics_[tap];
  Memory& memory = memories_[tap];
  seen.channel_sum.resize(view.channels);
  seen.channel_max.resize(view.channels);
  memory.sums.resize(view.channels);
  std::vector<double> sums(view.channels);
  sum_channels(values, view, sums, seen.channel_max);
  for (size_t c = 0; c < sums.size(); ++c) {
    if (std::isfinite(sums[c])) memory.sums[c].add(sums[c]);  // else the histogram counts what is wrong
    seen.channel_sum[c] = memory.sums[c].value();
  }
  seen.per_channel += view.outer * view.inner;
  if (!taps_[tap].gram) return;
  seen.gram.resize(view.channels * view.channels);
  add_gram(values, view, seen.gram);
}

// Goes on from the samples before, so that adding and merging give the same bytes.
void Observations::average(size_t tap, size_t first) {
  ValueStatistics& seen = statistics_[tap];
  const std::vector<SampleRange>& extremes = memories_[tap].extremes;
  bool any = std::any_of(extremes.begin(), extremes.begin() + static_cast<std::ptrdiff_t>(first), [](const SampleRange& r) { return r.any; });
  for (size_t s = first; s < extremes.size(); ++s) {
    if (!extremes[s].any) continue;
    const double weight = any ? kNewest : 1;
    seen.moving_min += weight * (extremes[s].low - seen.moving_min);
    seen.moving_max += weight * (extremes[s].high - seen.moving_max);
    any = true;
  }
}

void Observations::merge(const Observations& other) {
  for (size_t t = 0; t < taps_.size(); ++t) {
    ValueStatistics& seen = statistics_[t];
    const ValueStatistics& more = other.statistics_[t];
    Memory& memory = memories_[t];
    const size_t before = memory.extremes.size();
    seen.histogram.merge(more.histogram);
    seen.samples += more.samples;
    seen.per_channel += more.per_channel;
    if (seen.first_bad.empty()) seen.first_bad = more.first_bad;
    memory.extremes.insert(memory.extremes.end(), other.memories_[t].extremes.begin(), other.memories_[t].extremes.end());
    average(t, before);
    memory.sums.resize(std::max(memory.sums.size(), other.memories_[t].sums.size()));
    seen.channel_sum.resize(memory.sums.size());
    seen.channel_max.resize(memory.sums.size());
    seen.gram.resize(std::max(seen.gram.size(), more.gram.size()));
    for (size_t c = 0; c < other.memories_[t].sums.size(); ++c) {
      memory.sums[c].add(other.memories_[t].sums[c]);
      seen.channel_sum[c] = memory.sums[c].value();
      seen.channel_max[c] = std::max(seen.channel_max[c], more.channel_max[c]);
    }
    for (size_t i = 0; i < more.gram.size(); ++i) seen.gram[i] += more.gram[i];
  }
  samples += other.samples;
}

void Observations::reorder(std::span<const uint64_t> place) {
  for (size_t t = 0; t < taps_.size(); ++t) {
    std::vector<SampleRange>& extremes = memories_[t].extremes;
    if (extremes.size() != place.size()) continue;
    std::vector<SampleRange> in_order(extremes.size());
    for (size_t s = 0; s < place.size(); ++s) in_order.at(place[s]) = extremes[s];
    extremes = std::move(in_order);
    statistics_[t].moving_min = statistics_[t].moving_max = 0;
    average(t, 0);
  }
}

const ValueStatistics* Observations::find(const std::string& value) const {
  const auto at = by_name_.find(value);
  return at == by_name_.end() ? nullptr : &statistics_[at->second];
}

}  // namespace optima
