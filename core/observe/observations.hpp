// SPDX-License-Identifier: Apache-2.0
// core/observe: what was seen of a model's values over representative data. Also in the runtime library: knows no graph and no plugin.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/observe/exact_sum.hpp"
#include "core/observe/histogram.hpp"
#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

struct ChannelView;

/// What to gather of a value besides its histogram.
struct Tap {
  std::string value;
  int channel_axis = -1;   ///< the axis along which channel_* are gathered; -1 = none. Negative axes are not counted from the end
  bool gram = false;       ///< XᵀX over channels, for second-order rounding: channels² doubles
};

/// One value. Nothing depends on the order of samples or on how they were divided, but moving_*, which follows the order of samples, and gram,
/// whose doubles are added in the order of adding and merging. Within a tensor sums are of doubles, over tensors they are exact.
struct ValueStatistics {
  Histogram histogram;
  double moving_min = 0, moving_max = 0;    ///< averages over samples of each sample's extremes, weight 0.01 for the new one (first: 1)
  uint64_t samples = 0;
  std::vector<double> channel_sum;          ///< by channel; empty unless asked
  std::vector<float> channel_max;           ///< largest magnitude by channel
  uint64_t per_channel = 0;                 ///< elements behind each channel_sum
  std::vector<double> gram;                 ///< row-major, channels x channels; empty unless asked
  std::string first_bad;                    ///< name of the first sample with NaN or infinity; empty = none

  double channel_mean(size_t channel) const { return per_channel ? channel_sum[channel] / static_cast<double>(per_channel) : 0; }
};

/// By value name. One thread at a time; but different taps may be added to by different threads.
class Observations {
 public:
  explicit Observations(std::vector<Tap> taps = {});

  /// Adds one sample's tensor of the tap. f32, f16, bf16 and f64; InvalidInput for other types, and when the shape lacks the tap's channel
  /// axis or its channels changed.
  Status add(size_t tap, const Tensor& tensor, const std::string& sample);
  /// As if the other's samples had been added after ours. Requires the same taps.
  void merge(const Observations& other);
  /// Says in which order the samples stand: the i-th that was added is the place[i]-th. Only moving_* follows it. Every tap that was not given
  /// exactly that many samples is left as it is.
  void reorder(std::span<const uint64_t> place);

  const std::vector<Tap>& taps() const { return taps_; }
  /// Null when the value was not tapped.
  const ValueStatistics* find(const std::string& value) const;
  uint64_t samples = 0;

 private:
  /// Finite extremes of one sample, if it has any.
  struct SampleRange {
    bool any = false;
    float low = 0, high = 0;
  };
  /// What the figures of one value are made from.
  struct Memory {
    std::vector<SampleRange> extremes;  ///< by sample
    std::vector<ExactSum> sums;         ///< by channel
  };
  Status add_floats(size_t tap, const Tensor& tensor, const std::string& sample);
  void add_channels(size_t tap, std::span<const float> values, const ChannelView& view);
  void average(size_t tap, size_t first);

  std::vector<Tap> taps_;
  std::vector<ValueStatistics> statistics_;
  std::vector<Memory> memories_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace optima
