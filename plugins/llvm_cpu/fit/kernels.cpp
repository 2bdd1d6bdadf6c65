// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see kernels.hpp.
#include "plugins/llvm_cpu/fit/kernels.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/general.hpp"

namespace optima::llvm_cpu {
namespace {

/// The tile that suits most of them, of several the largest.
const KernelSpec& most_useful(const std::vector<KernelSpec>& tiles) {
  const auto use = [&](const KernelSpec& tile) {
    const auto suited = std::count_if(tiles.begin(), tiles.end(), [&](const KernelSpec& other) { return suits(tile, other); });
    return std::pair(suited, tile.literals[tile.words->hints[0]]);
  };
  return *std::max_element(tiles.begin(), tiles.end(), [&](const KernelSpec& a, const KernelSpec& b) { return use(a) < use(b); });
}

}  // namespace

bool Kernels::has(const KernelSpec& spec) const {
  const auto at = by_entry_.find(spec.entry);
  return at != by_entry_.end() && std::any_of(at->second.begin(), at->second.end(), [&](size_t k) { return matches(all_[k], spec); });
}

/// Once.
void Kernels::add(KernelSpec kernel) {
  std::vector<size_t>& alike = by_entry_[kernel.entry];
  if (std::any_of(alike.begin(), alike.end(), [&](size_t k) { return all_[k] == kernel; })) return;
  alike.push_back(all_.size());
  all_.push_back(std::move(kernel));
}

void Kernels::see(const Leg& leg) {
  each_site(leg.draft, [&](const Site& site, const KernelSpec& spec) {
    sites_.add(site, spec);
    if (spec.words && !spec.words->hints.empty()) seen_.push_back(spec);
  });
}

/// f(site, spec) for what a plan with the kernels that there are wants.
template <class F>
void Kernels::plan_again(const Leg& leg, F&& f) {
  if (!leg.stretch) return;
  PlannerOptions options;
  options.winograd = winograd_;
  options.by_reference = [](const NodeView&) { return false; };
  if (!all_.empty()) options.is_bad = [this](const KernelSpec& spec) { return !has(spec); };
  each_site(plan_graph({&leg.stretch->graph()}, target_, options), f);
}

void Kernels::collect(const Legs& legs, bool is_open) {
  for (const auto& leg : legs)
    plan_again(*leg, [&](const Site& site, const KernelSpec& spec) {
      const bool open = is_open && sites_.has(site);
      if (open && sites_.has_rows_of_one_vector(site, spec)) add(general(spec, all_but_rows(spec))), add(general(spec, sizes(spec)));
      else if (!has(spec)) add(general(spec, open ? sites_.slots(site, spec) : std::vector<uint32_t>()));  // hints are slots always: the plan of a run knows less of them
    });
}

bool Kernels::complete(const Legs& legs) {
  const size_t before = all_.size();
  for (const auto& leg : legs) {
    bool all = true;
    each_site(leg->draft, [&](const Site&, const KernelSpec& spec) { all = all && (is_built_in(spec) || has(spec)); });
    if (all) continue;
    plan_again(*leg, [&](const Site&, const KernelSpec& spec) {
      if (!is_built_in(spec) && !has(spec)) add(general(spec, sizes(spec)));
    });
  }
  return all_.size() > before;
}

void Kernels::add_tiles() {
  std::vector<KernelSpec> more;
  for (KernelSpec& kernel : all_) {
    std::vector<KernelSpec> tiles = tiles_of(kernel);
    if (tiles.empty()) continue;
    kernel = tiles[0];
    std::erase_if(tiles, [&](const KernelSpec& tile) { return suits(kernel, tile); });
    if (!tiles.empty()) more.push_back(most_useful(tiles));
  }
  for (KernelSpec& kernel : more) add(std::move(kernel));
}

/// This kernel with the tiles that samples want of it, likely samples first, without those that another one does as well and its own badly.
std::vector<KernelSpec> Kernels::tiles_of(const KernelSpec& kernel) const {
  std::vector<KernelSpec> all;
  for (const KernelSpec& spec : seen_) {
    if (!matches(kernel, spec)) continue;
    KernelSpec tile = kernel;
    for (const uint32_t hint : spec.words->hints) tile.literals[hint] = spec.literals[hint];
    if (std::find(all.begin(), all.end(), tile) == all.end()) all.push_back(tile);
  }
  const std::vector<KernelSpec> every = all;
  std::erase_if(all, [&](const KernelSpec& tile) {
    return std::any_of(every.begin(), every.end(), [&](const KernelSpec& other) { return suits(other, tile) && !suits(tile, other); });
  });
  return all;
}

}  // namespace optima::llvm_cpu
