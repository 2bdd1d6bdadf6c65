// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see pack_all.hpp.
#include "plugins/llvm_cpu/runtime/pack_all.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/runtime/threads.hpp"

namespace optima::llvm_cpu {

std::vector<float> floats_at(const char* bytes, uint64_t size) {
  std::vector<float> out(size / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes, out.size() * sizeof(float));
  return out;
}

void pack_all(const std::vector<PackJob>& jobs, int threads, const std::function<bool()>& cancelled) {
  std::vector<int64_t> first;  // number of each job's first part
  int64_t parts = 0;
  for (const PackJob& job : jobs) {
    first.push_back(parts);
    parts += pack_parts(*job.pack);
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr failed;
  std::once_flag once;
  const auto work = [&](int) {
    for (int64_t p; (p = next++) < parts;) try {
      if (cancelled()) throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
      const auto k = static_cast<size_t>(std::upper_bound(first.begin(), first.end(), p) - first.begin()) - 1;
      const PackJob& job = jobs[k];
      pack_part(*job.pack, p - first[k], job.from, job.size, job.scale.empty() ? nullptr : job.scale.data(), job.to);
    } catch (...) {
      std::call_once(once, [&] { failed = std::current_exception(); });
      next = parts;
    }
  };
  std::vector<std::thread> helpers = start_threads(static_cast<int>(std::min<int64_t>(threads, parts)) - 1, work);
  work(0);
  for (std::thread& t : helpers) t.join();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace optima::llvm_cpu
