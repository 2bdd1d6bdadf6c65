// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see team.hpp.
#include "plugins/llvm_cpu/runtime/team.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace optima::llvm_cpu {
namespace {

void relax() {
#if defined(__x86_64__)
  asm volatile("pause");
#else
  asm volatile("yield");
#endif
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

void Counter::bump() {
  ++value_;
  if (sleepers_.load()) syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

void Counter::wait(uint32_t target, int spins) {
  for (;;) {
    const uint32_t now = value();
    if (static_cast<int32_t>(now - target) >= 0) return;
    if (spins-- > 0) {
      relax();
      continue;
    }
    ++sleepers_;
    if (value_.load() == now) syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
    --sleepers_;
  }
}

Team::~Team() {
  stop_ = true;
  begun_.bump();
  for (std::thread& t : helpers_) t.join();
}

void Team::add(Work work, int parts) { steps_.emplace_back(std::move(work), std::clamp(parts, 1, kMostParts)); }

void Team::start() {
  for (int t = 1; t < threads_; ++t)
    helpers_.emplace_back([this, t] {
      for (uint32_t inference = 0;;) {
        begun_.wait(inference + 1, kSpinIdle);
        if (stop_) return;
        walk(t, inference = begun_.value());  // skips inferences that were finished without this thread
      }
    });
}

void Team::walk(int thread, uint32_t inference) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const uint64_t start = thread == 0 && observer_ ? now_ns() : 0;
    for (int q = 0; q < step.parts; ++q) {
      const int part = (thread * step.parts / threads_ + q) % step.parts;
      std::atomic<uint32_t>& claim = step.claims[static_cast<size_t>(part)];
      uint32_t before = inference - 1;  // a straggler of an older inference finds nothing to claim and runs through
      if (claim.load(std::memory_order_relaxed) == before && claim.compare_exchange_strong(before, inference)) {
        step.work(part, thread);
        step.done.bump();
      }
    }
    step.done.wait(inference * static_cast<uint32_t>(step.parts), kSpinStep);
    if (thread == 0 && observer_) observer_(i, start, now_ns() - start);
  }
}

void Team::run() {
  begun_.bump();
  walk(0, begun_.value());
}

}  // namespace optima::llvm_cpu
