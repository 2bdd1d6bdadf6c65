// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: threads that share a job with the one that has it.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace spirv_plugin {

/// `count` threads that do `work` from here on. Where this ends, by whatever way, they are told to stop by work's argument and waited for.
class Helpers {
 public:
  Helpers(size_t count, const std::function<void(const std::atomic<bool>&)>& work) {
    try {
      while (threads_.size() < count) threads_.emplace_back(work, std::cref(stop_));
    } catch (...) {
      end();
      throw;
    }
  }
  Helpers(const Helpers&) = delete;
  ~Helpers() { end(); }

 private:
  void end() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace spirv_plugin
