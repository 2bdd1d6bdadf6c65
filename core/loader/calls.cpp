// SPDX-License-Identifier: Apache-2.0
#include "core/loader/calls.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/support/threads.hpp"

namespace optima::seam {

namespace {

constexpr uint32_t kMostNested = 4;  // of those inside, the innermost is told
constexpr size_t kSignalStack = 64 << 10;

// A text that its owner writes while others read: whole words, so that a reader gets letters of the old or of the new text.
template <size_t N>
class SharedText {
 public:
  void set(std::string_view text) {
    char padded[N] = {};
    std::memcpy(padded, text.data(), std::min(text.size(), N - 1));
    for (size_t k = 0; k < std::size(words_); ++k) {
      uint64_t word;
      std::memcpy(&word, padded + k * sizeof word, sizeof word);
      words_[k].store(word, std::memory_order_relaxed);
    }
  }
  void get(char (&text)[N]) const {
    for (size_t k = 0; k < std::size(words_); ++k) {
      const uint64_t word = words_[k].load(std::memory_order_relaxed);
      std::memcpy(text + k * sizeof word, &word, sizeof word);
    }
    text[N - 1] = 0;
  }

 private:
  std::atomic<uint64_t> words_[N / sizeof(uint64_t)] = {};
};

struct Level {
  SharedText<sizeof RunningCall::plugin> plugin;
  SharedText<sizeof RunningCall::call> call;
  std::atomic<uint32_t> subgraph = OPTIMA_NONE;
};

}  // namespace

// Never freed, for a handler may be reading it; who is done with it leaves it to the next thread or piece of work.
struct CallRecord {
  CallRecord* next = nullptr;
  std::atomic<bool> taken = true;
  std::atomic<uint32_t> depth = 0;
  std::atomic<uint64_t> turn = 0;  // another one with each call's begin and end
  Level levels[kMostNested];
  void* signal_stack = nullptr;
};

namespace {

constinit std::atomic<CallRecord*> newest = nullptr;
constinit std::atomic<void (*)()> when_left_inside = nullptr;

CallRecord* free_record() {
  for (CallRecord* r = newest; r; r = r->next)
    if (bool expected = false; r->taken.compare_exchange_strong(expected, true)) return r;
  auto* made = new CallRecord;
  made->next = newest.load();
  while (!newest.compare_exchange_weak(made->next, made)) {}
  return made;
}

// A thread that has a signal stack keeps it, whoever gave it.
bool give_signal_stack(CallRecord& record) {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return false;
  if (!record.signal_stack) {
    void* memory = ::mmap(nullptr, kSignalStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    record.signal_stack = memory;
  }
  stack_t ours{};
  ours.ss_sp = record.signal_stack;
  ours.ss_size = kSignalStack;
  return ::sigaltstack(&ours, nullptr) == 0;
}

class ThreadsRecord {
 public:
  ThreadsRecord() : record_(free_record()), has_stack_(give_signal_stack(*record_)) {
    mark_own_thread();
    mine = record_;
  }
  ~ThreadsRecord() {
    if (record_->depth > 0)
      if (void (*tell)() = when_left_inside) tell();
    if (has_stack_) {
      stack_t none{};
      none.ss_flags = SS_DISABLE;
      ::sigaltstack(&none, nullptr);
    }
    is_over = true;
    mine = nullptr;
    record_->depth = 0;
    record_->taken = false;
  }

  static CallRecord* of_this_thread() {
    if (!mine && !is_over) static thread_local ThreadsRecord made;
    return mine;
  }
  inline static constinit thread_local CallRecord* mine = nullptr;

 private:
  inline static constinit thread_local bool is_over = false;  // calls of destructors that run after ours go untold
  CallRecord* const record_;
  const bool has_stack_;
};

// False when the record's thread is in no call.
bool read(const CallRecord& record, RunningCall& call) {
  const uint32_t depth = record.depth.load(std::memory_order_acquire);
  if (depth == 0) return false;
  const Level& level = record.levels[std::min(depth, kMostNested) - 1];
  level.plugin.get(call.plugin);
  level.call.get(call.call);
  call.subgraph = level.subgraph.load(std::memory_order_relaxed);
  return true;
}

}  // namespace

void WorkInPlugin::begin(std::string_view plugin, std::string_view call) {
  if (!calls_are_recorded.load(std::memory_order_relaxed)) return;
  end();
  record_ = free_record();
  Level& level = record_->levels[0];
  level.plugin.set(plugin);
  level.call.set(call);
  level.subgraph.store(ForSubgraph::current, std::memory_order_relaxed);
  record_->turn.fetch_add(1, std::memory_order_relaxed);
  record_->depth.store(1, std::memory_order_release);
}

void WorkInPlugin::end() {
  if (!record_) return;
  record_->depth.store(0, std::memory_order_release);
  record_->turn.fetch_add(1, std::memory_order_relaxed);
  record_->taken = false;
  record_ = nullptr;
}

CallRecord* InCall::enter(std::string_view plugin, std::string_view call) {
  CallRecord* record = ThreadsRecord::of_this_thread();
  if (!record) return nullptr;
  const uint32_t depth = record->depth.load(std::memory_order_relaxed);
  if (depth < kMostNested) {
    Level& level = record->levels[depth];
    level.plugin.set(plugin);
    level.call.set(call);
    level.subgraph.store(ForSubgraph::current, std::memory_order_relaxed);
  }
  record->turn.fetch_add(1, std::memory_order_relaxed);
  record->depth.store(depth + 1, std::memory_order_release);
  return record;
}

void InCall::leave(CallRecord& record) {
  record.depth.store(record.depth.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  record.turn.fetch_add(1, std::memory_order_relaxed);
}

void record_calls(void (*left_inside)()) {
  when_left_inside = left_inside;
  calls_are_recorded = true;
  (void)ThreadsRecord::of_this_thread();
}

bool call_of_this_thread(RunningCall& call) {
  const CallRecord* record = ThreadsRecord::mine;
  return record && read(*record, call);
}

bool some_call(RunningCall& call) {
  for (const CallRecord* r = newest; r; r = r->next)
    if (read(*r, call)) return true;
  return false;
}

bool plugins_were_called() {
  for (const CallRecord* r = newest; r; r = r->next)
    if (r->turn > 0) return true;
  return false;
}

bool call_of_the_only_plugin(RunningCall& call) {
  bool found = false;
  for (const CallRecord* r = newest; r; r = r->next) {
    RunningCall other;
    if (!read(*r, other)) continue;
    if (found && std::strcmp(call.plugin, other.plugin) != 0) return false;
    call = other;
    found = true;
  }
  return found;
}

bool SeenCall::is_running() const { return record->turn == turn; }

std::vector<SeenCall> running_calls() {
  std::vector<SeenCall> out;
  for (const CallRecord* r = newest; r; r = r->next) {
    SeenCall seen{r, r->turn, {}};
    if (read(*r, seen.call) && seen.is_running()) out.push_back(seen);
  }
  return out;
}

}  // namespace optima::seam
