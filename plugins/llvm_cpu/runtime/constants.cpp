// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see constants.hpp.
#include "plugins/llvm_cpu/runtime/constants.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/plan/plan.hpp"
#include "plugins/llvm_cpu/runtime/pack_all.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kAlign = 64;
/// What a plan computes from here on is made of weights, as a rule, and not of sizes: kept for the other plans.
constexpr uint64_t kLarge = 16384;
/// Of such, so that tables of ever new sizes do not gather.
constexpr uint64_t kMostKept = uint64_t{64} << 20;

}  // namespace

Constants::Source Constants::source(const Draft& draft, const Stretch& stretch, const Plan::Constant& c) const {
  if (c.weight.empty()) {
    const char* data = draft.constants.data() + c.offset;
    return {data, c.size, c.size >= kLarge ? "b" + std::string(data, c.size) : std::string()};
  }
  const auto use = std::find_if(draft.weights.begin(), draft.weights.end(), [&](const auto& w) { return w.first == c.weight; });
  const optima_graph& graph = stretch.graph();
  const uint32_t blob = optima_get_constant(graph.image, use->second)->blob;
  const optima_blob& bytes = *optima_get_blob(&graph, blob);
  return {static_cast<const char*>(bytes.data), bytes.size, blob < weights_ ? "w" + std::to_string(blob) : std::string()};
}

Constants::Packed Constants::pack(const Draft& draft, const Stretch& stretch) {
  const std::vector<Plan::Constant>& all = draft.plan.constants;
  Packed out;
  out.at.resize(all.size());
  struct New {
    size_t number;
    std::string key;
    uint64_t offset;
  };
  std::vector<New> fresh;
  std::vector<PackJob> jobs;
  uint64_t shared_bytes = 0, own_bytes = 0;
  const std::lock_guard lock(mutex_);
  for (size_t k = 0; k < all.size(); ++k) {
    const Source from = source(draft, stretch, all[k]);
    const Source scale = all[k].scale == UINT32_MAX ? Source{} : source(draft, stretch, all[all[k].scale]);
    std::string key;
    if (!from.key.empty()) key = from.key + '|' + key_of(all[k].pack) + '|' + std::string(scale.data ? scale.data : "", scale.size);
    if (const auto at = key.empty() ? known_.end() : known_.find(key); at != known_.end()) {
      out.at[k] = at->second.at;
      out.kept.push_back(at->second.memory);
      continue;
    }
    uint64_t& end = key.empty() ? own_bytes : shared_bytes;
    fresh.push_back({k, key, end});
    end += (all[k].packed_bytes + kSlack + kAlign - 1) / kAlign * kAlign;
    jobs.push_back({&all[k].pack, from.data, from.size, floats_at(scale.data, scale.size), nullptr});
  }
  if (fresh.empty()) return out;
  const auto shared = std::make_shared<Memory>(shared_bytes), own = std::make_shared<Memory>(own_bytes);
  for (size_t k = 0; k < fresh.size(); ++k) jobs[k].to = out.at[fresh[k].number] = (fresh[k].key.empty() ? own : shared)->data() + fresh[k].offset;
  pack_all(jobs, threads_, [] { return false; });
  out.kept.push_back(shared), out.kept.push_back(own);
  for (New& n : fresh)
    if (!n.key.empty() && (n.key[0] == 'w' || (kept_ += n.key.size()) < kMostKept)) known_[std::move(n.key)] = {shared, out.at[n.number]};
  return out;
}

void Constants::pack_again(const Draft& draft, const Stretch& stretch, uint32_t number, Packed& packed) const {
  const Plan::Constant& c = draft.plan.constants[number];
  std::vector<char>& memory = packed.again[number];
  if (const uint64_t least = c.packed_bytes + kSlack + kAlign; memory.size() < least) memory.resize(least);
  packed.at[number] = memory.data() + (kAlign - reinterpret_cast<uintptr_t>(memory.data()) % kAlign) % kAlign;
  const Source from = source(draft, stretch, c), scale = c.scale == UINT32_MAX ? Source{} : source(draft, stretch, draft.plan.constants[c.scale]);
  pack_all({{&c.pack, from.data, from.size, floats_at(scale.data, scale.size), packed.at[number]}}, 1, [] { return false; });
}

}  // namespace optima::llvm_cpu
