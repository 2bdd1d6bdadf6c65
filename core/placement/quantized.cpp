// SPDX-License-Identifier: Apache-2.0
#include "core/placement/quantized.hpp"

#include <algorithm>

#include "core/plan/operators.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses) : main_(graph.main()), uses_(uses), taken_(main_.nodes.size(), 0), is_output_(main_.values.size(), 0) {
    for (uint32_t v : main_.outputs) is_output_[v] = 1;
  }

  std::vector<QuantizedUnit> run() {
    std::vector<QuantizedUnit> out;
    for (uint32_t n = 0; n < main_.nodes.size(); ++n) {
      if (taken_[n] || has_body(n) || is_dequantize(main_, main_.nodes[n])) continue;
      QuantizedUnit unit = around(n);
      if (unit.nodes.size() < 2) continue;
      for (uint32_t m : unit.nodes) taken_[m] = 1;
      out.push_back(std::move(unit));
    }
    return out;
  }

 private:
  bool has_body(uint32_t n) const {
    bool any = false;
    for_each_body(main_.nodes[n], [&](uint32_t) { any = true; });
    return any;
  }

  QuantizedUnit around(uint32_t op) const {
    QuantizedUnit unit{op, {op}};
    for (uint32_t v : main_.nodes[op].inputs)
      if (v != OPTIMA_NONE && uses_.producer[v] != Uses::kNone && is_dequantize(main_, main_.nodes[uses_.producer[v]])) unit.nodes.push_back(uses_.producer[v]);
    if (!is_quantize(main_, main_.nodes[op])) add_way_out(unit);
    std::sort(unit.nodes.begin(), unit.nodes.end());
    unit.nodes.erase(std::unique(unit.nodes.begin(), unit.nodes.end()), unit.nodes.end());
    return unit;
  }

  // The QuantizeLinear nodes behind the operator, and the chain of single readers that leads there.
  void add_way_out(QuantizedUnit& unit) const {
    const bool reads_quantized = unit.nodes.size() > 1;
    std::vector<uint32_t> way;
    for (uint32_t at = unit.op; at != Uses::kNone; at = reads_quantized ? only_reader(at) : Uses::kNone) {
      if (at != unit.op) way.push_back(at);
      if (add_quantizers(at, way)) return unit.nodes.insert(unit.nodes.end(), way.begin(), way.end()), void();
    }
  }

  bool add_quantizers(uint32_t n, std::vector<uint32_t>& out) const {
    const size_t before = out.size();
    for (uint32_t v : main_.nodes[n].outputs) {
      if (v == OPTIMA_NONE) continue;
      for (uint32_t r : uses_.consumers[v])
        if (!taken_[r] && is_quantize(main_, main_.nodes[r]) && main_.nodes[r].inputs[0] == v) out.push_back(r);
    }
    return out.size() > before;
  }

  // The one node that reads the one output, if it reads nothing else but constants.
  uint32_t only_reader(uint32_t n) const {
    uint32_t value = OPTIMA_NONE;
    for (uint32_t v : main_.nodes[n].outputs) {
      if (v == OPTIMA_NONE) continue;
      if (value != OPTIMA_NONE) return Uses::kNone;
      value = v;
    }
    if (value == OPTIMA_NONE || is_output_[value] || uses_.consumers[value].size() != 1) return Uses::kNone;
    const uint32_t reader = uses_.consumers[value][0];
    if (taken_[reader] || has_body(reader) || is_dequantize(main_, main_.nodes[reader])) return Uses::kNone;
    for (uint32_t v : main_.nodes[reader].inputs)
      if (v != OPTIMA_NONE && v != value && main_.values[v].constant == OPTIMA_NONE) return Uses::kNone;
    return reader;
  }

  const image::Graph& main_;
  const Uses& uses_;
  std::vector<uint8_t> taken_;  // by node: in a unit; a DequantizeLinear may be in several
  std::vector<uint8_t> is_output_;
};

}  // namespace

std::vector<QuantizedUnit> find_quantized_units(const Graph& graph, const Uses& uses) { return Finder(graph, uses).run(); }

// A shared DequantizeLinear is at home in the first unit, or, when somebody wants it somewhere, in the first that may go there.
void QuantizedUnits::choose_homes(const std::vector<const Wish*>& wish, const std::vector<uint64_t>& limit) {
  home_.assign(graph_.main().nodes.size(), OPTIMA_NONE);
  for (const bool by_wish : {true, false})
    for (uint32_t k = 0; k < units_.size(); ++k)
      for (uint32_t n : units_[k].nodes) {
        if (!whole_[k] || home_[n] != OPTIMA_NONE) continue;
        if (!by_wish || n == units_[k].op || (wish[n] && (limit[n] & limit[units_[k].op]))) home_[n] = k;
      }
}

Result<uint64_t> QuantizedUnits::limit_of(uint32_t unit, const std::vector<const Wish*>& wish, const std::vector<uint64_t>& limit,
                                          const Wish*& speaker) const {
  uint64_t common = ~uint64_t{0};
  uint32_t first = OPTIMA_NONE;
  for (uint32_t n : units_[unit].nodes)
    if (home_[n] == unit && wish[n] && (!speaker || wish[n]->rank > speaker->rank)) speaker = wish[first = n];
  for (uint32_t n : units_[unit].nodes) {
    if (home_[n] != unit || (speaker && (!wish[n] || wish[n]->rank < speaker->rank))) continue;
    common &= limit[n];
    if (common || !limit[n] || !speaker || !speaker->hard || !wish[n]->hard) continue;
    const std::vector<image::Node>& nodes = graph_.main().nodes;
    return placement_error(cat("the quantized unit of ", quote(nodes[units_[unit].op].name), " moves as one, but ", quote(nodes[first].name),
                               " is pinned to ", speaker->text(), " by ", speaker->source, " and ", quote(nodes[n].name), " to ", wish[n]->text(),
                               " by ", wish[n]->source, "; pin one of them"));
  }
  return common;
}

Result<bool> QuantizedUnits::settle(const std::vector<const Wish*>& wish, const std::vector<uint64_t>& limit, const Capability& capability,
                                    const std::vector<uint8_t>& grouped, std::vector<uint64_t>& allow) {
  grouped_ = grouped;
  rule_.resize(units_.size());
  choose_homes(wish, limit);
  bool any_cut = false;
  for (uint32_t k = 0; k < units_.size(); ++k) {
    if (!whole_[k]) continue;
    const Wish* speaker = nullptr;
    OPTIMA_ASSIGN(const uint64_t wanted, limit_of(k, wish, limit, speaker));
    rule_[k] = {wanted, candidates_.listed(speaker), 0};
    uint64_t yes = ~uint64_t{0};
    for (uint32_t n : units_[k].nodes)
      if (holds(k, n)) yes &= capability.yes[n];
    const uint64_t common = rule_[k].leaves(yes);
    if (common == 0) {
      cut(k, why_nowhere(k, wanted, capability));
      any_cut = true;
      continue;
    }
    for (uint32_t n : units_[k].nodes)
      if (home_[n] == k) allow[n] = common;
  }
  return any_cut;
}

std::vector<QuantizedRule> QuantizedUnits::rules() const {
  std::vector<QuantizedRule> out;
  for (uint32_t k = 0; k < units_.size(); ++k) {
    if (!whole_[k]) continue;
    QuantizedRule& unit = out.emplace_back(QuantizedRule{units_[k].op, rule_[k], {}, {}});
    for (uint32_t n : units_[k].nodes) {
      if (holds(k, n)) unit.nodes.push_back(n);
      if (home_[n] == k) unit.home.push_back(n);
    }
  }
  return out;
}

void QuantizedUnits::cut_all_with(const std::vector<uint8_t>& marked, const std::string& why) {
  for (uint32_t k = 0; k < units_.size(); ++k)
    if (whole_[k] && std::any_of(units_[k].nodes.begin(), units_[k].nodes.end(), [&](uint32_t n) { return holds(k, n) && marked[n]; })) cut(k, why);
}

// Of each device that the unit was wanted on, the node that it refuses.
std::string QuantizedUnits::why_nowhere(uint32_t unit, uint64_t limit, const Capability& capability) const {
  std::vector<std::string> why;
  for (uint32_t d = 0; d < candidates_.devices.size(); ++d) {
    if (!(limit & bit(d))) continue;
    for (uint32_t n : units_[unit].nodes)
      if (holds(unit, n) && !(capability.yes[n] & bit(d))) {
        const image::Node& node = graph_.main().nodes[n];
        why.push_back(cat(candidates_.devices[d].name, " refuses ", quote(node.name), " (", node.op_type, "): ", capability.answers[n][d].text));
        break;
      }
  }
  return why.empty() ? "its wishes leave no device" : join(why, "; ");
}

void QuantizedUnits::cut(uint32_t unit, std::string why) {
  whole_[unit] = 0;
  cut_why_.push_back(cat(quote(graph_.main().nodes[units_[unit].op].name), ": ", why));
}

std::string QuantizedUnits::cut_note() const {
  constexpr size_t kMostShown = 3;
  if (cut_why_.empty()) return "";
  const std::vector<std::string> shown(cut_why_.begin(), cut_why_.begin() + static_cast<std::ptrdiff_t>(std::min(cut_why_.size(), kMostShown)));
  return cat(cut_why_.size(), " of ", units_.size(), cut_why_.size() == 1 ? " quantized units does" : " quantized units do", " not move as one: ", join(shown, "; "),
             cut_why_.size() > kMostShown ? "; ..." : "");
}

}  // namespace optima::detail
