// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: helpers off the processor that their caller is on.
#pragma once

#include <sched.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace optima::llvm_cpu {

/// Schedulers that pack tasks (those of phones to save energy, those of virtual machines to leave processors to others) wake a helper beside its
/// caller while other processors stand idle, and then each waits for the other's turn. So helpers may run anywhere but there: where the caller is found on
/// another processor than last time, their masks are written anew. The caller itself goes where the system puts it. On machines of more processors than a cpu_set_t
/// has, and where the system tells no processor, nothing is done. Not for several threads at once.
class Apart {
 public:
  /// Helpers that run and are not joined before the last leave(). cores: bit set of the processors that they may run on; 0 = those that they were given. One that the system
  /// does not let them have changes nothing.
  void begin(std::vector<std::thread>& helpers, uint64_t cores);
  /// Whether the caller is where it was; costs some nanoseconds.
  bool holds() const { return sched_getcpu() == off_; }
  /// Helpers off the caller's processor, where as many others are left as there are helpers. Masks that somebody else wrote meanwhile are what helpers may have.
  void leave(std::vector<std::thread>& helpers);

 private:
  cpu_set_t allowed_{}, given_{};
  int off_ = -1;  // the caller's processor; -1 also where helpers are left alone
};

}  // namespace optima::llvm_cpu
