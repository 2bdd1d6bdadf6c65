// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/worker_pool.hpp"

#include <algorithm>
#include <system_error>

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
      } catch (const std::system_error&) {
        if (threads_.empty()) return false;
      }
    }
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

}  // namespace optima
