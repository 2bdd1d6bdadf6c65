// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see arena.hpp.
#include "plugins/llvm_cpu/compiler/arena.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kAlign = 64;

struct Region {
  uint64_t size;
  size_t freed;  // step after which it is free
};

/// Free regions by offset, neighbours merged.
class FreeList {
 public:
  uint64_t take(uint64_t size) {
    auto best = regions_.end();
    for (auto r = regions_.begin(); r != regions_.end(); ++r) {
      if (r->second.size < size) continue;
      if (best == regions_.end() || r->second.size < best->second.size ||
          (r->second.size == best->second.size && r->second.freed > best->second.freed))
        best = r;
    }
    if (best == regions_.end()) return grow(size);
    const auto [offset, region] = *best;
    regions_.erase(best);
    if (region.size > size) regions_[offset + size] = {region.size - size, region.freed};
    return offset;
  }

  void release(uint64_t offset, uint64_t size, size_t step) {
    auto at = regions_.emplace(offset, Region{size, step}).first;
    if (const auto next = std::next(at); next != regions_.end() && at->first + at->second.size == next->first) {
      at->second.size += next->second.size;
      regions_.erase(next);
    }
    if (at == regions_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second.size != at->first) return;
    before->second = {before->second.size + at->second.size, step};
    regions_.erase(at);
  }

  uint64_t end() const { return end_; }

 private:
  uint64_t grow(uint64_t size) {
    uint64_t offset = end_;
    if (!regions_.empty() && std::prev(regions_.end())->first + std::prev(regions_.end())->second.size == end_) {
      offset = std::prev(regions_.end())->first;  // the free end counts
      regions_.erase(std::prev(regions_.end()));
    }
    end_ = offset + size;
    return offset;
  }
  std::map<uint64_t, Region> regions_;
  uint64_t end_ = 0;
};

}  // namespace

uint64_t place(std::vector<Lifetime>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].first < buffers[b].first; });
  FreeList free;
  std::multimap<size_t, size_t> live;  // last step -> buffer
  for (const size_t i : order) {
    Lifetime& b = buffers[i];
    while (!live.empty() && live.begin()->first < b.first) {
      const Lifetime& gone = buffers[live.begin()->second];
      free.release(gone.offset, (gone.bytes + kAlign - 1) / kAlign * kAlign, gone.last);
      live.erase(live.begin());
    }
    b.offset = free.take((std::max<uint64_t>(b.bytes, 1) + kAlign - 1) / kAlign * kAlign);
    b.bytes = std::max<uint64_t>(b.bytes, 1);
    live.emplace(b.last, i);
  }
  return free.end();
}

}  // namespace optima::llvm_cpu
