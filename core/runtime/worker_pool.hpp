// SPDX-License-Identifier: Apache-2.0
// core/runtime: threads that run asynchronous requests. Knows no requests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace optima {

/// Threads start with the first job and are joined by the destructor, after all jobs given. Any thread may submit.
class WorkerPool {
 public:
  /// 0 threads = one per hardware thread, at most 8.
  explicit WorkerPool(uint32_t threads);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();
  /// False when no thread could be started or memory is out; the job is then not kept. What a job throws goes to the log.
  bool submit(std::function<void()> job);

 private:
  void work();
  const uint32_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  uint32_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace optima
