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

}  // namespace

uint64_t steady_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void Counter::bump() {
  ++value_;
  if (sleepers_.load()) syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

bool Counter::spin(uint32_t target, uint64_t most_ns, Clock clock) const {
  constexpr int kPauses = 8;  // between two looks at the clock: a few hundred nanoseconds at most
  if (reached(target)) return true;
  for (const uint64_t begin = clock(); clock() - begin < most_ns;)
    for (int i = 0; i < kPauses; ++i) {
      relax();
      if (reached(target)) return true;
    }
  return false;
}

bool Counter::wait(uint32_t target, uint64_t spin_ns) {
  if (spin(target, spin_ns)) return false;
  for (;;) {
    const uint32_t now = value();
    if (reached(target)) return true;
    ++sleepers_;
    if (value_.load() == now) syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
    --sleepers_;
  }
}

// Helpers are in the process that started them; in a fork of it their handles may be those of other threads by now.
bool Team::is_forked() const { return !helpers_.empty() && process_ != ::getpid(); }

Team::~Team() {
  if (is_forked()) {
    (void)new std::vector<std::thread>(std::move(helpers_));
    return;
  }
  stop_ = true;
  begun_.bump();
  for (std::thread& t : helpers_) t.join();
}

void Team::List::add(Work work, int parts, int turns) {
  steps_.emplace_back(std::move(work), std::clamp(parts, 1, kMostParts), std::max(1, turns));
  is_shared_ |= steps_.back().parts > 1;
}

void Team::start() {
  const auto help = [this](int t) {
    for (uint32_t seen = 0;;) {
      begun_.wait(seen + 1, kSpinIdle);
      seen = begun_.value();  // skips runs that were finished without this thread
      if (stop_) return;      // looked at after the value: the end may have come since the wait, and nobody bumps again
      ++inside_;
      if (List* list = current_.load()) walk(t, *list, list->runs_.load());
      --inside_;
    }
  };
  process_ = ::getpid();
  helpers_ = start_threads(threads_ - 1, help, spawn_);
  apart_.begin(helpers_, cores_);
  threads_ = static_cast<int>(helpers_.size()) + 1;  // read by helpers after the first begun_ only
}

void Team::observe(std::function<void(size_t, uint64_t, uint64_t)> observer) {
  observer_ = std::move(observer);
  observed_ = static_cast<bool>(observer_);
}

// Runs and turns are numbered from 1 modulo 2^32.
void Team::walk(int thread, List& list, uint32_t run) {
  for (List::Step& step : list.steps_) {
    uint32_t number = (run - 1) * static_cast<uint32_t>(step.turns);
    for (int turn = 0; turn < step.turns; ++turn) {
      take(thread, step, turn, ++number);
      if (step.done.wait(number * static_cast<uint32_t>(step.parts), kSpinStep) && thread == 0) part();  // woken where the system pleased
    }
  }
}

/// The parts of a turn that nobody has taken.
void Team::take(int thread, List::Step& step, int turn, uint32_t number) {
  for (int q = 0; q < step.parts; ++q) {
    const int part = (thread * step.parts / threads_ + q) % step.parts;
    std::atomic<uint32_t>& claim = step.claims[static_cast<size_t>(part)];
    uint32_t before = number - 1;  // a straggler of an older turn finds nothing to claim and runs through
    if (claim.load(std::memory_order_relaxed) != before || !claim.compare_exchange_strong(before, number)) continue;
    step.work(turn * step.parts + part, thread);
    if (observed_.load(std::memory_order_relaxed)) {
      uint64_t now = steady_ns(), latest = step.end_ns.load(std::memory_order_relaxed);
      while (latest < now && !step.end_ns.compare_exchange_weak(latest, now)) {}
    }
    step.done.bump();
  }
}

void Team::tell(List& list, uint64_t begin_ns) {
  for (size_t i = 0; i < list.steps_.size(); ++i) {
    const uint64_t end = std::max(begin_ns, list.steps_[i].end_ns.load());
    observer_(i, begin_ns, end - begin_ns);
    begin_ns = end;
  }
}

// The caller's.
void Team::part() {
  if (!helpers_.empty() && !apart_.holds() && !is_forked()) apart_.leave(helpers_);
}

void Team::run(List& list) {
  const uint64_t begin = observer_ ? steady_ns() : 0;
  const uint32_t number = ++list.runs_;
  if (list.is_shared_) {  // else waking helpers would cost microseconds of two processors for nothing
    part();
    current_ = &list;
    begun_.bump();
  }
  walk(0, list, number);
  if (observer_) tell(list, begin);
}

void Team::forget(const List& list) {
  if (current_.load() == &list) current_ = nullptr;
  if (inside_.load() != 0 && is_forked()) return;  // those that were inside are in the other process
  while (inside_.load() != 0) relax();
}

}  // namespace optima::llvm_cpu
