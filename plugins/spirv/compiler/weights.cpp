// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include <algorithm>
#include <array>

#include "lowering.hpp"
#include "optima/plugin/checksum.hpp"

namespace spirv_plugin {
namespace {

/// Never nothing: a buffer without a byte cannot be bound.
uint64_t room_of(std::string_view bytes) { return (std::max<uint64_t>(1, bytes.size()) + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Floats::Floats(const sdk::Constant& constant) {
  if (constant.dtype() == OPTIMA_F32) {
    lying_.emplace(constant.as<float>());
    data_ = lying_->data(), size_ = lying_->size();
    return;
  }
  const std::vector<double> all = reals_of(constant);
  converted_.assign(all.begin(), all.end());
  data_ = converted_.data(), size_ = converted_.size();
}

uint64_t Weights::add(Bytes piece) {
  const uint64_t sum = sdk::checksum_of(piece.view()).value();
  const auto [first, last] = known_.equal_range(sum);
  const auto same = std::find_if(first, last, [&](const auto& known) { return pieces_[known.second].bytes.view() == piece.view(); });
  if (same != last) return pieces_[same->second].offset;
  const uint64_t offset = size_;
  size_ += room_of(piece.view());
  known_.emplace(sum, pieces_.size());
  pieces_.push_back({offset, std::move(piece)});
  return offset;
}

uint64_t Weights::write(sdk::Sink::Stream file) const {
  constexpr std::array<char, kAlignment> kZeros{};
  sdk::Checksum sum;
  const auto put = [&](std::string_view bytes) {
    sum.add(bytes.data(), bytes.size());
    file.write(bytes.data(), bytes.size());
  };
  for (const Piece& p : pieces_) {
    const std::string_view bytes = p.bytes.view();
    put(bytes);
    put({kZeros.data(), room_of(bytes) - bytes.size()});
  }
  file.close();
  return sum.value();
}

}  // namespace spirv_plugin
