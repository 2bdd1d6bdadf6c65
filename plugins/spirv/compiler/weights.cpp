// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "lowering.hpp"
#include "optima/plugin/checksum.hpp"
#include "plan/helpers.hpp"

namespace spirv_plugin {
namespace {

/// Never nothing: a buffer without a byte cannot be bound.
uint64_t room_of(uint64_t bytes) { return (std::max<uint64_t>(1, bytes) + kAlignment - 1) / kAlignment * kAlignment; }

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

size_t Weights::add(uint64_t bytes, Maker make) {
  most_ += room_of(bytes);
  pieces_.push_back({std::move(make)});
  return pieces_.size() - 1;
}

/// Of those who make pieces and the one who waits for them.
struct Weights::Turn {
  std::mutex mutex;  // of is_ready
  std::condition_variable more;
};

void Weights::make(Piece& piece, Turn& turn) {
  try {
    piece.bytes = piece.make();
    piece.sum = sdk::checksum_of(piece.bytes->view()).value();
  } catch (...) {
    piece.error = std::current_exception();
  }
  const std::lock_guard lock(turn.mutex);
  piece.is_ready = true;
  turn.more.notify_one();
}

Weights::Piece& Weights::ready(size_t piece, Turn& turn) {
  std::unique_lock lock(turn.mutex);
  turn.more.wait(lock, [&] { return pieces_[piece].is_ready; });
  if (pieces_[piece].error) std::rethrow_exception(pieces_[piece].error);
  return pieces_[piece];
}

bool Weights::is_new(size_t piece, uint64_t block) {
  Piece& p = pieces_[piece];
  const auto [first, last] = known_.equal_range(p.sum);
  const auto same = std::find_if(first, last, [&](const auto& known) { return pieces_[known.second].make().view() == p.bytes->view(); });  // those are written and gone
  if (same != last) {
    p.offset = pieces_[same->second].offset;
    return false;
  }
  p.offset = in_block(size_, room_of(p.bytes->view().size()), block);
  size_ = p.offset + room_of(p.bytes->view().size());
  known_.emplace(p.sum, piece);
  return true;
}

uint64_t Weights::write(sdk::Sink::Stream file, unsigned threads, uint64_t block) {
  constexpr std::array<char, kAlignment> kZeros{};
  sdk::Checksum sum;
  const auto put = [&](std::string_view bytes) {
    sum.add(bytes.data(), bytes.size());
    file.write(bytes.data(), bytes.size());
  };
  const auto zeros = [&](uint64_t count) {
    for (; count > 0; count -= std::min<uint64_t>(count, kZeros.size())) put({kZeros.data(), std::min<uint64_t>(count, kZeros.size())});
  };
  Turn turn;
  std::atomic<size_t> next{0};
  const Helpers helpers(std::min<size_t>(std::max(1u, threads), pieces_.size()), [&](const std::atomic<bool>& stop) {
    for (size_t k; !stop && (k = next++) < pieces_.size();) make(pieces_[k], turn);
  });
  for (size_t k = 0; k < pieces_.size(); ++k) {
    const std::string_view bytes = ready(k, turn).bytes->view();
    const uint64_t before = size_;
    if (is_new(k, block)) {
      zeros(pieces_[k].offset - before);
      put(bytes);
      zeros(room_of(bytes.size()) - bytes.size());
    }
    pieces_[k].bytes.reset();  // the next ones lie where it did
  }
  file.close();
  return sum.value();
}

}  // namespace spirv_plugin
