// SPDX-License-Identifier: Apache-2.0
#include "core/placement/clones.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/plan/operators.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr int kLongestChain = 8;

class Cloner {
 public:
  Cloner(const Graph& graph, const Uses& uses, const Capability& capability, const Choices& choices, const Split& split)
      : main_(graph.main()), uses_(uses), capability_(capability), choices_(choices), split_(split), is_output_(main_.values.size(), 0) {
    for (uint32_t v : main_.outputs) is_output_[v] = 1;
  }

  std::vector<Extra> run(bool cheap) {
    for (const auto& [n, units] : choices_.copies)
      for (uint32_t unit : units)
        if (const uint32_t part = split_.part[unit]; !runs_in(n, part)) add(n, part, "its quantized unit moves as one");
    if (!cheap || split_.devices.size() < 2) return std::move(out_);
    find_arrivals();
    const std::vector<std::pair<uint32_t, uint32_t>> crossing(arrives_.begin(), arrives_.end());
    for (const auto& [v, part] : crossing)
      if (arrives_.count({v, part})) consider(v, part);
    return std::move(out_);
  }

 private:
  uint32_t home(uint32_t n) const { return split_.part[choices_.unit_of[n]]; }
  bool runs_in(uint32_t n, uint32_t part) const {
    if (home(n) == part) return true;
    const auto at = extra_.find(n);
    return at != extra_.end() && std::find(at->second.begin(), at->second.end(), part) != at->second.end();
  }
  void add(uint32_t n, uint32_t part, std::string why) {
    extra_[n].push_back(part);
    out_.push_back({n, part, std::move(why)});
  }

  template <class F>
  void each_running_part(uint32_t n, F&& f) const {
    f(home(n));
    if (const auto at = extra_.find(n); at != extra_.end()) std::for_each(at->second.begin(), at->second.end(), f);
  }

  void find_arrivals() {
    for (uint32_t v = 0; v < main_.values.size(); ++v) {
      const uint32_t maker = uses_.producer[v];
      if (maker == Uses::kNone) continue;
      for (uint32_t reader : uses_.consumers[v])
        each_running_part(reader, [&](uint32_t part) {
          if (!runs_in(maker, part)) arrives_.emplace(v, part);
        });
    }
  }

  bool may_clone(uint32_t n, uint32_t part) const {
    const uint64_t bit = uint64_t{1} << split_.devices[part];
    if (!(choices_.clone_on[n] & bit) || (capability_.avoid[n] & bit)) return false;
    return choices_.units[choices_.unit_of[n]].size() == 1 && is_cheap(main_, main_.nodes[n]);
  }
  bool is_there(uint32_t v, uint32_t part) const {
    return v == OPTIMA_NONE || uses_.producer[v] == Uses::kNone || runs_in(uses_.producer[v], part) || arrives_.count({v, part});
  }

  // Bytes that come over when the part runs node n itself; nothing when it cannot or the size is not known.
  std::optional<uint64_t> price(uint32_t n, uint32_t part, int depth = 0) const {
    if (depth == kLongestChain || !may_clone(n, part)) return std::nullopt;
    uint64_t sum = 0;
    for (uint32_t v : main_.nodes[n].inputs) {
      if (is_there(v, part)) continue;
      const uint64_t bytes = static_bytes(main_.values[v]);
      const std::optional<uint64_t> deeper = price(uses_.producer[v], part, depth + 1);
      if (!deeper && bytes == 0) return std::nullopt;
      sum += pays(deeper, bytes) ? *deeper : bytes;
    }
    return sum;
  }
  static bool pays(const std::optional<uint64_t>& price, uint64_t bytes) { return price && (bytes ? *price < bytes : *price == 0); }

  void consider(uint32_t v, uint32_t part) {
    const uint32_t n = uses_.producer[v];
    const std::optional<uint64_t> cost = price(n, part);
    const uint64_t bytes = static_bytes(main_.values[v]);
    if (!pays(cost, bytes) || !stays_read(v, part)) return;
    const std::string instead = bytes ? human_bytes(bytes) : "a tensor of unknown size";
    clone(n, part, *cost ? cat(human_bytes(*cost), " come over instead of ", instead) : cat(instead, " need not come over"));
  }

  // Whether somebody still reads the value from its home when this part does not.
  bool stays_read(uint32_t v, uint32_t part) const {
    if (is_output_[v]) return true;
    for (auto at = arrives_.lower_bound({v, 0}); at != arrives_.end() && at->first == v; ++at)
      if (at->second != part) return true;
    const uint32_t at_home = home(uses_.producer[v]);
    return std::any_of(uses_.consumers[v].begin(), uses_.consumers[v].end(), [&](uint32_t r) { return runs_in(r, at_home); });
  }

  void clone(uint32_t n, uint32_t part, const std::string& why) {
    std::vector<uint32_t> further;
    for (uint32_t v : main_.nodes[n].inputs) {
      if (is_there(v, part)) continue;
      if (pays(price(uses_.producer[v], part, 1), static_bytes(main_.values[v]))) further.push_back(uses_.producer[v]);
      else arrives_.emplace(v, part);
    }
    add(n, part, why);
    for (uint32_t v : main_.nodes[n].outputs)
      if (v != OPTIMA_NONE) arrives_.erase({v, part});
    for (uint32_t m : further)
      if (!runs_in(m, part)) clone(m, part, why);
  }

  const image::Graph& main_;
  const Uses& uses_;
  const Capability& capability_;
  const Choices& choices_;
  const Split& split_;
  std::vector<uint8_t> is_output_;
  std::set<std::pair<uint32_t, uint32_t>> arrives_;             // value, part: it crosses to there
  std::unordered_map<uint32_t, std::vector<uint32_t>> extra_;  // by node: parts that run it too; looked up only
  std::vector<Extra> out_;
};

}  // namespace

std::vector<Extra> find_clones(const Graph& graph, const Uses& uses, const Capability& capability, const Choices& choices, const Split& split,
                               bool cheap) {
  return Cloner(graph, uses, capability, choices, split).run(cheap);
}

}  // namespace optima::detail
