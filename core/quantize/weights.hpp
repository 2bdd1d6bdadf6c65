// SPDX-License-Identifier: Apache-2.0
// core/quantize: codes of weights. Private to the room.
#pragma once

#include <vector>

#include "core/quantize/encodings.hpp"
#include "core/quantize/product.hpp"
#include "core/quantize/quantize.hpp"

namespace optima::detail {

struct WeightCodes {
  Encoding encoding;
  std::vector<int32_t> codes;  ///< dense, row-major
};

/// Index of each element's scale.
struct ScaleIndex {
  ScaleIndex(const std::vector<int64_t>& dims, int axis, int64_t block);
  int64_t of(int64_t element) const {
    if (axis_size_ == 0) return 0;
    const int64_t at = element / behind_ % axis_size_;
    return block_ == 0 ? at : (element / behind_ / axis_size_ * blocks_ + at / block_) * behind_ + element % behind_;
  }
  int64_t count() const { return count_; }

 private:
  int64_t axis_size_ = 0, behind_ = 1, block_ = 0, blocks_ = 0, count_ = 1;
};

/// Which form the weights take, without scales: given, I4 in blocks of 32 along what is summed (W4, where that is 32 or more), I4 per output
/// channel (A16W4), else I8 per output channel. InvalidInput when the given one does not fit the weights.
Result<Encoding> weight_form(const std::string& name, const Product& product, Precision precision, const Encodings& given);

/// Scales: the largest magnitude is the largest code. An index whose weights are all 0 gets the step of the largest weight there is.
void choose_scales(const Product& product, const std::vector<float>& weights, Encoding& form);
/// Per-channel scales grow where a bias with step `input_scale` x scale would leave 30 bits, so that sums have room.
void make_room_for_bias(const Product& product, const std::vector<float>& bias, float input_scale, Encoding& encoding);
/// The nearest code, half to even, as QuantizeLinear has it.
int32_t nearest_code(float x, float scale, int32_t zero_point, int32_t dtype);
std::vector<int32_t> round_to_nearest(const Product& product, const std::vector<float>& weights, const Encoding& encoding);
std::vector<float> dequantized(const Product& product, const WeightCodes& codes);

/// I32 with the step `input_scale` x the weights' scale; one per output channel. Codes that do not fit are cut off.
WeightCodes code_bias(const Product& product, const std::vector<float>& bias, float input_scale, const Encoding& weights);

}  // namespace optima::detail
