// SPDX-License-Identifier: Apache-2.0
#include "completions.hpp"

#include "context.hpp"

namespace spirv_plugin {

Completions::~Completions() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Completions::add(RunContext& run) {
  {
    const std::lock_guard lock(mutex_);
    runs_.push_back(&run);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  changed_.notify_one();
}

void Completions::work() {
  for (;;) {
    RunContext* run = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !runs_.empty(); });
      if (runs_.empty()) return;
      run = runs_.front();
      runs_.pop_front();
    }
    if (run->advance()) add(*run);  // of one that has ended nothing is touched any more
  }
}

}  // namespace spirv_plugin
