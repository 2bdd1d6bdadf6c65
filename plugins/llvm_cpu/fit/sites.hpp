// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: what the steps of plans at sample sizes have in common, and what differs. Compiler half only.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/llvm_cpu/compiler/by_reference.hpp"
#include "plugins/llvm_cpu/compiler/planner.hpp"

namespace optima::llvm_cpu {

/// A step of a plan, by what it is for.
struct Site {
  std::vector<uint32_t> node_ids;
  std::string entry;
  size_t repetition;
  bool operator<(const Site& o) const { return std::tie(node_ids, entry, repetition) < std::tie(o.node_ids, o.entry, o.repetition); }
};

/// f(site, spec) for the steps of a draft that kernels compute.
template <class F>
void each_site(const Draft& draft, F&& f) {
  std::map<std::pair<std::vector<uint32_t>, std::string>, size_t> seen;
  for (const Plan::Step& step : draft.plan.steps) {
    const KernelSpec& spec = draft.specs[step.kernel];
    if (spec.entry == kReferenceEntry) continue;
    f(Site{step.node_ids, spec.entry, seen[{step.node_ids, spec.entry}]++}, spec);
  }
}

class Sites {
 public:
  explicit Sites(const Target& target) : target_(target) {}
  void add(const Site& site, const KernelSpec& spec);
  bool has(const Site& site) const { return all_.count(site) != 0; }
  /// Ids of nodes that have steps here.
  template <class F>
  void each_node(F&& f) const {
    for (const auto& [site, seen] : all_)
      for (const uint32_t id : site.node_ids) f(id);
  }
  /// Words that become slots: those that may be and that differ among the specs of the site, or of any site with this kernel: what is fixed here by the
  /// sizes that were tried is open there. Of products alone: whether K and N are open is a matter of the site.
  std::vector<uint32_t> slots(const Site& site, const KernelSpec& spec) const;
  /// A chain whose rows are one vector at all sizes, as in blocked images: to see in the run where a row ends takes longer than the row. So it has
  /// a kernel that knows, besides the one for rows of any length.
  bool has_rows_of_one_vector(const Site& site, const KernelSpec& spec) const;

 private:
  struct Seen {
    KernelSpec first;
    std::vector<bool> differs;                      // by word, from the first
    std::map<std::string, bool> rows_of_one_vector;  // by expression
  };
  const Target& target_;
  std::map<Site, Seen> all_;
};

/// Slots of a chain that knows how long its rows are.
std::vector<uint32_t> all_but_rows(const KernelSpec& spec);

}  // namespace optima::llvm_cpu
