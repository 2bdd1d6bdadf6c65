// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "core/graph/assumed_size.hpp"
#include "core/placement/units.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

SplitProblem problem_of(const Graph& graph, const Graph& sized, const Uses& uses, const Candidates& candidates, const Capability& capability, const Choices& choices) {
  SplitProblem p;
  std::vector<std::vector<uint32_t>> behind(choices.stateful.empty() ? 0 : choices.units.size());
  each_ordered_pair(choices, [&](uint32_t before, uint32_t after) { behind[before].push_back(after); });
  p.devices = static_cast<uint32_t>(candidates.devices.size());
  p.first_tensor.push_back(0);
  p.first_reader.push_back(0);
  for (uint32_t u = 0; u < choices.units.size(); ++u) {
    uint64_t allow = ~uint64_t{0}, avoid = 0;
    for (uint32_t n : choices.units[u]) {
      allow &= choices.allow[n];
      avoid |= capability.avoid[n];
      for (uint32_t v : graph.main().nodes[n].outputs) {
        if (v == OPTIMA_NONE) continue;
        const size_t first = p.readers.size();
        each_reading_unit(uses, choices, n, v, [&](uint32_t reader) { p.readers.push_back(reader); });
        if (p.readers.size() == first) continue;
        std::sort(p.readers.begin() + static_cast<std::ptrdiff_t>(first), p.readers.end());
        p.readers.erase(std::unique(p.readers.begin() + static_cast<std::ptrdiff_t>(first), p.readers.end()), p.readers.end());
        p.first_reader.push_back(static_cast<uint32_t>(p.readers.size()));
        p.bytes.push_back(assumed_bytes(sized.main().values[v]));
        p.values.push_back(v);
      }
    }
    if (!behind.empty())
      for (uint32_t next : behind[u]) {
        p.readers.push_back(next);
        p.first_reader.push_back(static_cast<uint32_t>(p.readers.size()));
        p.bytes.push_back(0);
        p.values.push_back(SplitProblem::kOrder);
      }
    p.allow.push_back(allow);
    p.avoid.push_back(avoid & allow);
    p.nodes.push_back(static_cast<uint32_t>(choices.units[u].size()));
    p.first_tensor.push_back(static_cast<uint32_t>(p.bytes.size()));
  }
  return p;
}

// Numbers for rules, each once.
class RuleBook {
 public:
  explicit RuleBook(std::vector<PlaceRule>& rules) : rules_(rules) {}
  uint32_t number(const PlaceRule& rule) {
    const auto [at, fresh] = numbers_.emplace(rule, static_cast<uint32_t>(rules_.size()));
    if (fresh) rules_.push_back(rule);
    return at->second;
  }

 private:
  std::vector<PlaceRule>& rules_;
  std::map<PlaceRule, uint32_t> numbers_;
};

}  // namespace

PlanQuestion question_of(const Graph& graph, const Graph& sized, const Uses& uses, const Candidates& candidates, const Capability& capability,
                         const Choices& choices) {
  PlanQuestion out;
  out.unit_of = choices.unit_of;
  out.copies = choices.copies;
  RuleBook book(out.rules);
  out.rule_of.assign(choices.rule.size(), 0);
  for (const QuantizedRule& unit : choices.quantized_rules) {
    out.together.push_back({choices.unit_of[unit.op], book.number(unit.rule), unit.nodes});
    for (uint32_t n : unit.home) out.rule_of[n] = PlanQuestion::kTogether;
  }
  std::stable_sort(out.together.begin(), out.together.end(), [](const auto& a, const auto& b) { return a.unit < b.unit; });
  for (size_t n = 0; n < choices.rule.size(); ++n)
    if (out.rule_of[n] != PlanQuestion::kTogether) out.rule_of[n] = book.number(choices.rule[n]);
  out.problem = problem_of(graph, sized, uses, candidates, capability, choices);
  return out;
}

std::string node_text(const Graph& graph, const image::Node& node) {
  const auto types = [&](const std::vector<uint32_t>& values) {
    std::vector<std::string> shown;
    for (uint32_t v : values) shown.push_back(v == OPTIMA_NONE ? "-" : type_text(graph.main().values[v]));
    return join(shown, " ");
  };
  return cat(quote(node.name), " (", node.op_type, ", ", types(node.inputs), " -> ", types(node.outputs), ")");
}

}  // namespace optima::detail
