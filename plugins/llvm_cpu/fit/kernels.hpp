// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: from plans at sample sizes to the kernels that an artifact brings. Compiler half only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/fit/fitter.hpp"
#include "plugins/llvm_cpu/fit/sites.hpp"

namespace optima::llvm_cpu {

using Legs = std::vector<std::unique_ptr<Leg>>;

/// First see() all likely samples, then collect() them, then complete() with others.
class Kernels {
 public:
  /// `target`: for many sizes; outlives it.
  Kernels(const Target& target, bool winograd) : target_(target), winograd_(winograd), sites_(target) {}

  /// What differs between such plans becomes slots.
  void see(const Leg& leg);
  /// Plans the sample again with the kernels that there are, and adds those that it wants besides: of open sizes with slots where what was seen differs.
  void collect(const Legs& legs, bool is_open);
  /// A general kernel keeps the tile of the sizes it was made for. Where that does badly at others, a second kernel has a tile of these.
  void add_tiles();
  /// Adds what the sample wants besides, with all sizes as slots. True where that was any.
  bool complete(const Legs& legs);

  const Sites& sites() const { return sites_; }
  std::vector<KernelSpec> take() { return std::move(all_); }

 private:
  bool has(const KernelSpec& spec) const;
  void add(KernelSpec kernel);
  template <class F>
  void plan_again(const Leg& leg, F&& f);
  std::vector<KernelSpec> tiles_of(const KernelSpec& kernel) const;

  const Target& target_;
  bool winograd_;
  Sites sites_;
  std::vector<KernelSpec> seen_;  // specs with hints, of likely samples first
  std::vector<KernelSpec> all_;
  std::map<std::string, std::vector<size_t>> by_entry_;
};

}  // namespace optima::llvm_cpu
