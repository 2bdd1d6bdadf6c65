// SPDX-License-Identifier: Apache-2.0
// python/binding: who waits for requests that were dropped where nobody may wait.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "python/binding/tensor.hpp"

namespace optima::python {

/// Requests that were dropped in a callback: nobody may wait for a run on the thread that runs it, so a thread of their own does.
class Reaper {
 public:
  using Tensors = std::map<uint32_t, nb::object>;
  /// `read`, `written`: what the request's run may still be at.
  void take(std::unique_ptr<rt::InferRequest> request, Tensors read, Tensors written) {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    std::thread([this, r = std::move(request), read = std::move(read), written = std::move(written)]() mutable {
      r.reset();
      {
        const nb::gil_scoped_acquire python;
        read.clear();
        written.clear();
      }
      const std::lock_guard lock(mutex_);
      --left_;
      empty_.notify_all();
    }).detach();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    empty_.wait(lock, [&] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  int left_ = 0;
};
inline Reaper& reaper() {
  static auto* one = new Reaper;
  return *one;
}

}  // namespace optima::python
