// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/worker_pool.hpp"

#include <algorithm>

#include "core/support/log.hpp"
#include "core/support/threads.hpp"

namespace optima {

WorkerPool::WorkerPool(uint32_t threads) : most_(threads ? threads : std::clamp(std::thread::hardware_concurrency(), 1u, 8u)) {}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

bool WorkerPool::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_ <= jobs_.size() && threads_.size() < most_) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::exception&) {  // no thread, or no memory for one
        if (threads_.empty()) return false;
      }
    }
    try {
      jobs_.push_back(std::move(job));
    } catch (const std::exception&) {
      return false;
    }
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::work() {
  mark_own_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const Status done = guarded([&] { return job(), Status(); });
    if (!done.ok()) log(LogLevel::Error, "runtime", done.message());
    job = nullptr;
    lock.lock();
  }
}

}  // namespace optima
