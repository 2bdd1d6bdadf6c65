// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: the packed constants of plans that are made where they run. What comes from weights is packed once for all plans.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/compiler/planner.hpp"
#include "plugins/llvm_cpu/fit/stretch.hpp"
#include "plugins/llvm_cpu/runtime/memory.hpp"

namespace optima::llvm_cpu {

class Constants {
 public:
  /// `weights`: blobs below this number are the graph's own, there as long as this.
  Constants(uint32_t weights, int threads) : weights_(weights), threads_(threads) {}

  /// Pointers by the plan's numbers of constants, each with kSlack bytes behind it; and who keeps them.
  struct Packed {
    std::vector<char*> at;
    std::vector<std::shared_ptr<Memory>> kept;
    std::map<uint32_t, std::vector<char>> again;  ///< of constants that were packed again
  };
  /// Any thread.
  Packed pack(const Draft& draft, const Stretch& stretch);
  /// One of the plan's own constants, whose elements are others now.
  void pack_again(const Draft& draft, const Stretch& stretch, uint32_t number, Packed& packed) const;

 private:
  struct Place {
    std::shared_ptr<Memory> memory;
    char* at = nullptr;
  };
  struct Source {
    const char* data;
    uint64_t size;
    std::string key;  ///< empty: of this plan alone
  };
  Source source(const Draft& draft, const Stretch& stretch, const Plan::Constant& c) const;

  uint32_t weights_;
  int threads_;
  std::mutex mutex_;
  std::map<std::string, Place> known_;
  uint64_t kept_ = 0;  ///< bytes of computed constants among them
};

}  // namespace optima::llvm_cpu
