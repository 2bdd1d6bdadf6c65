// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see arena.hpp.
#include "plugins/llvm_cpu/compiler/arena.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kAlign = 64;

struct Region {
  uint64_t offset, size;
  size_t freed;  // step after which it is free
};

/// Free regions by offset, neighbours merged. Few at a time: a sorted list is faster than a tree.
class FreeList {
 public:
  uint64_t take(uint64_t size) {
    auto best = regions_.end();
    for (auto r = regions_.begin(); r != regions_.end(); ++r) {
      if (r->size < size) continue;
      if (best == regions_.end() || r->size < best->size || (r->size == best->size && r->freed > best->freed)) best = r;
    }
    if (best == regions_.end()) return grow(size);
    const uint64_t offset = best->offset;
    if (best->size > size) best->offset += size, best->size -= size;
    else regions_.erase(best);
    return offset;
  }

  void release(uint64_t offset, uint64_t size, size_t step) {
    const auto behind = [](const Region& r, uint64_t at) { return r.offset < at; };
    auto at = regions_.insert(std::lower_bound(regions_.begin(), regions_.end(), offset, behind), {offset, size, step});
    if (const auto next = std::next(at); next != regions_.end() && at->offset + at->size == next->offset) {
      at->size += next->size;
      regions_.erase(next);
    }
    if (at == regions_.begin()) return;
    const auto before = std::prev(at);
    if (before->offset + before->size != at->offset) return;
    before->size += at->size, before->freed = step;
    regions_.erase(at);
  }

  uint64_t end() const { return end_; }

 private:
  uint64_t grow(uint64_t size) {
    uint64_t offset = end_;
    if (!regions_.empty() && regions_.back().offset + regions_.back().size == end_) {
      offset = regions_.back().offset;  // the free end counts
      regions_.pop_back();
    }
    end_ = offset + size;
    return offset;
  }
  std::vector<Region> regions_;
  uint64_t end_ = 0;
};

}  // namespace

uint64_t place(std::vector<Lifetime>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].first < buffers[b].first; });
  FreeList free;
  std::vector<size_t> live;  // buffers, by their last steps; of equal ones the older first
  for (const size_t i : order) {
    Lifetime& b = buffers[i];
    auto alive = live.begin();
    for (; alive != live.end() && buffers[*alive].last < b.first; ++alive) {
      const Lifetime& gone = buffers[*alive];
      free.release(gone.offset, (gone.bytes + kAlign - 1) / kAlign * kAlign, gone.last);
    }
    live.erase(live.begin(), alive);
    b.offset = free.take((std::max<uint64_t>(b.bytes, 1) + kAlign - 1) / kAlign * kAlign);
    b.bytes = std::max<uint64_t>(b.bytes, 1);
    live.insert(std::upper_bound(live.begin(), live.end(), b.last, [&](size_t last, size_t other) { return last < buffers[other].last; }), i);
  }
  return free.end();
}

}  // namespace optima::llvm_cpu
