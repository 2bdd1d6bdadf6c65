// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/allocation/allocation.hpp"
#include "core/allocation/names.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using detail::NamedNode;
using detail::NodeNames;

template <class W>
using Entries = std::vector<std::pair<std::string, W>>;

bool is_glob(std::string_view key) { return key.find_first_of("*?") != std::string_view::npos; }

// The entries of an allocation sorted by how they match, views into it. W: Wish or PrecisionWish.
template <class W>
class Rules {
 public:
  /// `place` is for messages.
  Status add(const Entries<W>& entries, const std::string& place, const NodeNames& names) {
    for (const auto& [key, wish] : entries) {
      if (names.find(key)) exact_.emplace(key, &wish);
      else if (key == "*") everything_ = &wish;
      else if (key.starts_with("op:")) ops_.push_back({key, &wish});
      else if (is_glob(key)) globs_.push_back({key, &wish});
      else return invalid_input(cat(place, ": ", names.absence(key)));
    }
    std::stable_sort(globs_.begin(), globs_.end(), [](const Rule& a, const Rule& b) { return a.key.size() > b.key.size(); });
    for (Rule& rule : ops_) by_op_.emplace(rule.key.substr(3), &rule);
    return {};
  }

  // What decides for the node, with its rank; empty when nothing does. Equally long globs must agree.
  Result<W> decide(const NamedNode& node) {
    if (const auto it = exact_.find(node.name); it != exact_.end()) return ranked(it->second, Wish::kNodeRank);
    const Rule* first = nullptr;
    for (Rule& rule : globs_) {
      if (first && rule.key.size() < first->key.size()) break;
      if (!glob_match(rule.key, node.name)) continue;
      rule.used = true;
      if (!first) first = &rule;
      else if (!rule.wish->same_as(*first->wish))
        return invalid_input(cat("globs ", quote(first->key), " and ", quote(rule.key), " are equally long and disagree on node ", quote(node.name),
                                 ": ", first->wish->text(), " and ", rule.wish->text()));
    }
    if (first) return ranked(first->wish, Wish::kGlobRank + static_cast<uint32_t>(first->key.size()));
    if (const auto it = by_op_.find(node.op_type); it != by_op_.end()) return ranked(it->second->wish, Wish::kOpRank);
    return everything_ ? ranked(everything_, Wish::kEveryRank) : W();
  }

  // Whether anything bears the op type counts, not whether the rule came to decide.
  void saw(const NamedNode& node) {
    if (const auto it = by_op_.find(node.op_type); it != by_op_.end()) it->second->used = true;
  }

  // Globs and op types that decided nothing because nothing is there, or all that was there is folded away. Globs that longer
  // ones hid were not tried in decide(), so they are tried here. `operators`: known besides the model's; null = an op type must be here.
  Status check_useless(const std::string& place, const NodeNames& names, const std::span<const std::string>* operators, Resolved& out) const {
    for (const Rule& rule : globs_) {
      if (rule.used) continue;
      bool live = false, folded = false;
      for (const NamedNode& node : names.nodes())
        if (glob_match(rule.key, node.name)) (node.id == OPTIMA_NONE ? folded : live) = true;
      if (!live && folded) out.folded.push_back(cat(quote(rule.key), " (all that it matches)"));
      if (!live && !folded) return invalid_input(cat(place, ": glob ", quote(rule.key), " matches no node", names.nearest_glob(rule.key)));
    }
    for (const Rule& rule : ops_) {
      if (rule.used) continue;
      const std::string absent = cat("no node of the model is of the type in ", quote(rule.key));
      if (!operators) return invalid_input(cat(place, ": ", absent, names.nearest_op(rule.key, {})));
      const bool known = operators->empty() || std::find(operators->begin(), operators->end(), rule.key.substr(3)) != operators->end();
      if (!known) return invalid_input(cat(place, ": ", quote(rule.key), " names no known operator", names.nearest_op(rule.key, *operators)));
      out.notes.push_back(absent);
    }
    return {};
  }

 private:
  static W ranked(const W* wish, uint32_t rank) {
    W out = *wish;
    out.rank = rank;
    return out;
  }

  struct Rule {
    std::string_view key;
    const W* wish;
    bool used = false;
  };
  std::unordered_map<std::string_view, const W*> exact_;  // these two are looked up only
  std::unordered_map<std::string_view, Rule*> by_op_;
  std::vector<Rule> globs_, ops_;
  const W* everything_ = nullptr;
};

Status check_once(const Entries<Wish>& pins) {
  std::set<std::string_view> seen;
  for (const auto& [key, wish] : pins)
    if (!seen.insert(key).second) return invalid_input(cat("--pin: ", quote(key), " appears twice"));
  return {};
}

// Exact names that hit a folded node.
void report_folded(const Entries<Wish>& entries, const NodeNames& names, Resolved& out) {
  for (const auto& [key, wish] : entries)
    if (const NamedNode* node = names.find(key); node && node->id == OPTIMA_NONE && !wish.devices.empty())
      out.folded.push_back(cat(quote(key), " (", node->folded_reason, ")"));
}

// A key may say both a device and a precision: told once.
void add_new(const Resolved& from, Resolved& to) {
  for (const auto& [found, told] : {std::pair(&from.folded, &to.folded), std::pair(&from.notes, &to.notes)})
    for (const std::string& text : *found)
      if (std::find(told->begin(), told->end(), text) == told->end()) told->push_back(text);
}

}  // namespace

Result<Resolved> resolve(const Allocation& allocation, const Graph& graph, const Entries<Wish>& pins, std::span<const std::string> operators) {
  const NodeNames names(graph);
  OPTIMA_RETURN_IF_ERROR(check_once(pins));
  Rules<Wish> rules, pin_rules;  // pins are a second allocation, which speaks first
  Rules<PrecisionWish> precision_rules;
  OPTIMA_RETURN_IF_ERROR(rules.add(allocation.entries, quote(allocation.path), names));
  OPTIMA_RETURN_IF_ERROR(pin_rules.add(pins, "--pin", names));
  OPTIMA_RETURN_IF_ERROR(precision_rules.add(allocation.precisions, quote(allocation.path), names));
  Resolved out;
  for (const NamedNode& node : names.nodes()) {
    rules.saw(node);
    pin_rules.saw(node);
    precision_rules.saw(node);
    if (node.id == OPTIMA_NONE) continue;
    if (out.by_node_id.size() <= node.id) out.by_node_id.resize(size_t{node.id} + 1);
    Result<Wish> pin = pin_rules.decide(node), wish = rules.decide(node);
    Result<PrecisionWish> precision = precision_rules.decide(node);
    if (!wish.ok()) return wish.status().within(quote(allocation.path));
    if (!precision.ok()) return precision.status().within(quote(allocation.path));
    out.precision_by_node_id.resize(out.by_node_id.size());
    out.precision_by_node_id[node.id] = std::move(*precision);
    if (!pin.ok()) return pin.status().within("--pin");
    const bool has_pin = !pin->source.empty();
    if (has_pin) pin->rank += Wish::kPinRank;
    out.by_node_id[node.id] = std::move(has_pin ? *pin : *wish);
  }
  for (const Entries<Wish>* entries : {&allocation.entries, &pins}) report_folded(*entries, names, out);
  OPTIMA_RETURN_IF_ERROR(rules.check_useless(quote(allocation.path), names, &operators, out));
  Resolved unsaid;
  OPTIMA_RETURN_IF_ERROR(precision_rules.check_useless(quote(allocation.path), names, &operators, unsaid));
  add_new(unsaid, out);
  OPTIMA_RETURN_IF_ERROR(pin_rules.check_useless("--pin", names, nullptr, out));
  return out;
}

}  // namespace optima
