// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see group.hpp.
#include "plugins/llvm_cpu/compiler/group.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/judge.hpp"
#include "plugins/llvm_cpu/compiler/tail.hpp"

namespace optima::llvm_cpu {
namespace {

NodeView node_at(const GraphView& graph, uint32_t number) { return {graph, optima_get_node(graph.image(), number)}; }

std::vector<NodeView> nodes_at(const GraphView& graph, const std::vector<uint32_t>& numbers) {
  std::vector<NodeView> out;
  for (const uint32_t n : numbers) out.push_back(node_at(graph, n));
  return out;
}

/// What a tail is offered: nodes, and the value that they continue.
struct Followed {
  std::vector<uint32_t> nodes;
  uint32_t current;
};

/// How many of each the tail of node `first` takes.
std::vector<size_t> taken(const GraphView& graph, uint32_t first, const std::vector<Followed>& all) {
  FusedTail tail = empty_tail(node_at(graph, first));
  std::vector<size_t> out;
  for (const Followed& f : all) out.push_back(tail.take(nodes_at(graph, f.nodes), f.current));
  return out;
}

class Grouper {
 public:
  Grouper(const GraphView& graph, const Target& target, const ByReference& by_reference, PlanMemo* memo)
      : graph_(graph), target_(target), by_reference_(by_reference), memo_(memo), entry_(*optima_get_graph(graph.image(), 0)) {
    for (uint32_t i = 0; i < entry_.nodes.count; ++i) nodes_.push_back({graph, optima_get_node(graph.image(), entry_.nodes.first + i)});
    for (uint32_t i = 0; i < entry_.outputs.count; ++i) readers_[*optima_get_index(graph.image(), entry_.outputs.first + i)].push_back(kOutside);
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (uint32_t k = 0; k < nodes_[i].input_count(); ++k)
        if (nodes_[i].has_input(k)) readers_[nodes_[i].input(k)].push_back(i);
    rows_.resize(nodes_.size());
    taken_.resize(nodes_.size());
  }

  std::vector<Group> run() {
    for (size_t i = 0; i < nodes_.size(); ++i) rows_[i] = row_of(i);
    drop_unused();
    const bool codes = has_codes(graph_);
    for (size_t i = 0; codes && i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->lower_unit) unit(i);
    drop_served();
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->takes_more) sequence(i);
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->tail != Tails::None) with_tail(i);
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->chains && !absorbable(nodes_[i])) chain(i);
    drop_served();
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->chains) chain(i);
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i]) add({i});
    std::stable_sort(found_.begin(), found_.end(), [](const Members& a, const Members& b) { return a.back() < b.back(); });
    std::vector<Group> out;
    for (const Members& members : found_) {
      const auto unit = units_.find(members.back());
      out.push_back({rows_[unit == units_.end() ? members.front() : unit->second.anchor], {}});
      if (unit == units_.end() && rows_[members.front()]->chains) out.back().nodes = absorbed(members);
      for (const NodeView& n : views(members)) out.back().nodes.push_back(n);
      if (unit != units_.end()) out.back().unit = unit->second.unit;
    }
    if (memo_)
      for (size_t g = 0; g < out.size(); ++g) memo_->groups.push_back({out[g].lowering, numbers(found_[g]), {}});
    return out;
  }

 private:
  using Members = std::vector<size_t>;
  static constexpr size_t kOutside = SIZE_MAX;

  template <class... F>
  auto ask(F... f) {
    return llvm_cpu::ask(memo_, graph_, std::move(f)...);
  }

  uint32_t number(size_t i) const { return entry_.nodes.first + static_cast<uint32_t>(i); }
  std::vector<uint32_t> numbers(const Members& members) const {
    std::vector<uint32_t> out;
    for (const size_t i : members) out.push_back(number(i));
    return out;
  }

  const Lowering* row_of(size_t i) {
    if (by_reference_ && ask([n = number(i), goes = by_reference_](const GraphView& g) { return goes(node_at(g, n)); })) return &reference_row();
    const size_t asked = memo_ ? memo_->questions.size() : 0;
    const Lowering* row = ask([n = number(i)](const GraphView& g) { return taker(node_at(g, n)); },
                              [n = number(i)](const GraphView& g, const Lowering* was) { return is_taker(was, node_at(g, n)); });
    if (memo_ && memo_->questions.size() > asked) memo_->questions.back().node = number(i), memo_->questions.back().row = row;
    if (!row && !by_reference_) throw sdk::Error(OPTIMA_UNSUPPORTED, text(judge(nodes_[i])), nodes_[i].id());
    return row ? row : &reference_row();
  }

  const std::vector<size_t>& readers(uint32_t value) {
    static const std::vector<size_t> none;
    const auto at = readers_.find(value);
    return at == readers_.end() ? none : at->second;
  }

  /// What is known without a run, the planner has as a constant, where it stays inside.
  bool is_constant(const NodeView& n) {
    if (!n.has_output(0) || !graph_.is_known(n.output(0))) return false;
    const std::vector<size_t>& all = readers(n.output(0));
    return std::find(all.begin(), all.end(), kOutside) == all.end();
  }

  void drop_unused() {
    for (size_t i = nodes_.size(); i-- > 0;) {
      bool used = false;
      for (uint32_t k = 0; k < nodes_[i].output_count(); ++k)
        for (const size_t r : nodes_[i].has_output(k) ? readers(nodes_[i].output(k)) : std::vector<size_t>())
          used = used || r == kOutside || !taken_[r];
      taken_[i] = !used || is_constant(nodes_[i]);
    }
  }

  std::vector<NodeView> views(const Members& members) const {
    std::vector<NodeView> out;
    for (const size_t i : members) out.push_back(nodes_[i]);
    return out;
  }

  void add(const Members& members) {
    for (const size_t i : members) taken_[i] = true;
    found_.push_back(members);
  }

  Members distinct_readers(uint32_t value) {
    Members all = readers(value);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// The untaken node that alone reads output 0 of a node.
  std::optional<size_t> next_of(size_t i) {
    const Members all = distinct_readers(nodes_[i].output(0));
    return all.size() == 1 && all[0] != kOutside && !taken_[all[0]] ? std::optional(all[0]) : std::nullopt;
  }

  /// The nodes of a Gelu written out that are all that reads `value`; empty when others are.
  Members gelu(uint32_t value) {
    const Members all = distinct_readers(value);
    if (all.size() != 2 || all[1] == kOutside || taken_[all[0]] || taken_[all[1]]) return {};
    for (const size_t scaled : all) {
      const size_t other = all[scaled == all[0]];
      const auto erf = next_of(scaled), sum = erf && nodes_[*erf].op() == "Erf" ? next_of(*erf) : std::nullopt, product = sum ? next_of(*sum) : std::nullopt;
      if (!product) continue;
      Members found{scaled, *erf, *sum, other, *product};
      if (*product == other) {
        const auto half = next_of(other);
        if (!half) continue;
        found[4] = *half;
      } else if (next_of(other) != product && next_of(*product) != other) {
        continue;
      }
      std::sort(found.begin(), found.end());
      if (ask([nodes = numbers(found), value](const GraphView& g) { return gelu_of(nodes_at(g, nodes)) == value; })) return found;
    }
    return {};
  }

  /// The same of x * clip(x + 3, 0, 6) / 6.
  Members hard_swish(uint32_t value) {
    const Members all = distinct_readers(value);
    if (all.size() != 2 || all[1] == kOutside || taken_[all[0]] || taken_[all[1]]) return {};
    const auto limited = next_of(all[0]), third = limited ? next_of(*limited) : std::nullopt, last = third ? next_of(*third) : std::nullopt;
    if (!last || (*third != all[1] && *last != all[1])) return {};
    const Members found{all[0], *limited, *third, *last};
    return ask([nodes = numbers(found), value](const GraphView& g) { return hard_swish_of(nodes_at(g, nodes)) == value; }) ? found : Members();
  }

  /// Untaken nodes that are the only readers of `value`, in order: two at most, or a whole activation that is written out.
  Members followers(uint32_t value) {
    if (Members whole = gelu(value); !whole.empty()) return whole;
    if (Members whole = hard_swish(value); !whole.empty()) return whole;
    const Members all = distinct_readers(value);
    if (all.size() > 2) return {};
    for (const size_t r : all)
      if (r == kOutside || taken_[r] || rows_[r] == &reference_row()) return {};
    const bool is_fork = all.size() == 2 && readers(nodes_[all[0]].output(0)) != std::vector<size_t>{all[1]};  // no gate, whose first goes to the second only
    return is_fork ? Members() : all;
  }

  /// A unit that may end here.
  struct Ending {
    Unit unit;
    Members members;  ///< the operator and what follows it
  };

  /// One step of a unit's tail, or nothing; what it takes is added to the members.
  std::optional<UnitStep> step(uint32_t current, Members& members) {
    const Members next = followers(current);
    if (next.empty() || !nodes_[next[0]].domain().empty()) return std::nullopt;
    const NodeView& n = nodes_[next[0]];
    UnitStep s;
    if (const auto gate = gate_of(views(next), current)) {
      s.act = *gate;
    } else if (gelu_of(views(next)) == current) {
      s.act = {k::Act::Gelu, 0, 0};
    } else if (next.size() != 1) {
      return std::nullopt;
    } else if (const auto act = activation_of(n); act && n.input(0) == current) {
      s.act = *act;
    } else if ((n.op() == "Add" || n.op() == "Mul") && n.input(0) != n.input(1) && n.out_dims(0) == graph_.dims(current)) {
      s.kind = n.op() == "Add" ? UnitStep::Add : UnitStep::Mul;
      s.other = input_of(graph_, n.input(n.input(0) == current ? 1 : 0));
    } else {
      return std::nullopt;
    }
    members.insert(members.end(), next.begin(), next.end());
    return s;
  }

  /// The only reader of a value, when it is QuantizeLinear or DequantizeLinear, as `is` says, with codes that are known, and not taken.
  std::optional<size_t> sole(uint32_t value, bool (*is)(const NodeView&)) {
    const Members next = followers(value);
    if (next.size() != 1 || !is(nodes_[next[0]]) || nodes_[next[0]].input(0) != value || !codes_of(nodes_[next[0]])) return std::nullopt;
    return next[0];
  }

  /// Behind codes: goes on in floats where only a DequantizeLinear of the same steps reads them.
  bool reopen(Ending& e, uint32_t& current) {
    const auto dq = sole(e.unit.out, is_dequantize);
    const auto codes = dq ? codes_of(nodes_[*dq]) : std::nullopt;
    if (!codes || !codes->same_steps(*e.unit.output)) return false;
    e.members.push_back(*dq);
    e.unit.tail.push_back({UnitStep::Requantize, {}, {}, *e.unit.output});
    e.unit.output.reset();
    current = nodes_[*dq].output(0);
    return true;
  }

  /// Every way in which the unit around an operator may end, the shortest first.
  std::vector<Ending> endings(size_t first) {
    std::vector<Ending> out{{unit_around(nodes_[first]), {first}}};
    Ending e = out[0];
    uint32_t current = nodes_[first].output(0);
    if (e.unit.output && !reopen(e, current)) return out;
    for (;;) {
      if (const auto q = sole(current, is_quantize)) {
        e.members.push_back(*q);
        e.unit.output = codes_of(nodes_[*q]), e.unit.out = nodes_[*q].output(0);
        out.push_back(e);
        if (!reopen(e, current)) return out;
      }
      auto next = step(current, e.members);
      if (!next) return out;
      e.unit.tail.push_back(*next);
      current = e.unit.out = nodes_[e.members.back()].output(0);
      out.push_back(e);
    }
  }

  void unit(size_t first) {
    const NodeView& n = nodes_[first];
    for (uint32_t k = 1; k < n.output_count(); ++k)
      if (n.has_output(k) && !readers(n.output(k)).empty()) return unit_of_many(first);
    std::vector<Ending> ways = endings(first);
    for (auto e = ways.rbegin(); e != ways.rend(); ++e) {
      const bool reads_codes = std::any_of(e->unit.inputs.begin(), e->unit.inputs.end(), [](const UnitInput& in) { return in.codes.has_value(); });
      if ((!reads_codes && !e->unit.output) || !rows_[first]->takes_unit(e->unit, target_)) continue;
      return take_unit(first, *e);
    }
  }

  /// Every result is quantized by its only reader. The group stands where the operator does: readers of one result may come before another
  /// one's QuantizeLinear.
  void unit_of_many(size_t first) {
    const NodeView& n = nodes_[first];
    Ending e{unit_around(n), {}};
    for (uint32_t k = 0; k < n.output_count(); ++k) {
      const auto q = n.has_output(k) ? sole(n.output(k), is_quantize) : std::nullopt;
      if (!q) return;
      e.members.push_back(*q);
      const Codes codes = *codes_of(nodes_[*q]);
      if (k == 0) e.unit.output = codes, e.unit.out = codes.value;
      else e.unit.more_outputs.push_back(codes);
    }
    e.members.push_back(first);
    if (rows_[first]->takes_unit(e.unit, target_)) take_unit(first, e);
  }

  void take_unit(size_t first, Ending& e) {
    if (e.unit.more_outputs.empty()) std::sort(e.members.begin(), e.members.end());
    const auto serve = [&](const UnitInput& in) {
      if (!in.codes || in.codes->value == in.value) return;  // an operator that reads codes by itself
      for (const size_t m : e.members) served_.insert({in.value, m});
    };
    for (const UnitInput& in : e.unit.inputs) serve(in);
    for (const UnitStep& s : e.unit.tail) serve(s.other);
    units_.emplace(e.members.back(), Found{first, std::move(e.unit)});
    add(e.members);
  }

  /// Values that only units read, which read the codes behind them.
  void drop_served() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (taken_[i] || !nodes_[i].has_output(0)) continue;
      const std::vector<size_t>& all = readers(nodes_[i].output(0));
      taken_[i] = !all.empty() && std::all_of(all.begin(), all.end(), [&](size_t r) { return r != kOutside && served_.count({nodes_[i].output(0), r}); });
    }
  }

  void with_tail(size_t first) {
    Members members{first};
    FusedTail tail = empty_tail(nodes_[first]);
    std::vector<Followed> all;
    for (;;) {
      const uint32_t current = nodes_[members.back()].output(0);
      const Members next = followers(current);
      const size_t took = tail.take(views(next), current);
      all.push_back({numbers(next), current});
      if (took == 0 || took != next.size()) break;
      members.insert(members.end(), next.begin(), next.end());
    }
    if (memo_) ask([all, number = numbers({first})[0]](const GraphView& g) { return taken(g, number, all); });
    add(members);
  }

  /// A DequantizeLinear that whatever chain reads it can do by itself: it then reads the codes.
  static bool absorbable(const NodeView& n) {
    if (!is_dequantize(n)) return false;
    const Lowering* row = find_lowering(n);
    const auto codes = row && row->chains ? codes_of(n) : std::nullopt;  // chains load no codes of 4 bits
    return codes && codes->block == 0;
  }

  /// The nodes absorbed by a chain, each once, in graph order.
  std::vector<NodeView> absorbed(const Members& members) {
    std::vector<NodeView> out;
    const auto has = [](const std::vector<NodeView>& all, const NodeView& n) {
      return std::any_of(all.begin(), all.end(), [&](const NodeView& m) { return m.raw == n.raw; });
    };
    for (const size_t i : members)
      for (uint32_t k = 0; k < nodes_[i].input_count(); ++k) {
        const auto maker = absorbs(members, i, k);
        if (maker && !has(out, *maker)) out.push_back(*maker);
      }
    std::sort(out.begin(), out.end(), [](const NodeView& a, const NodeView& b) { return a.raw < b.raw; });
    return out;
  }
  std::optional<NodeView> absorbs(const Members& members, size_t i, uint32_t k) {
    const NodeView& n = nodes_[i];
    if (!rows_[i]->loads(n, k)) return std::nullopt;
    const auto maker = graph_.maker(n.input(k));
    if (!maker || !absorbable(*maker)) return std::nullopt;
    for (const size_t m : members)
      if (nodes_[m].raw == maker->raw) return std::nullopt;
    return broadcasts(graph_.dims(n.input(k)), nodes_[members.back()].out_dims(0)) ? maker : std::nullopt;
  }

  void sequence(size_t first) {
    constexpr size_t kMost = 6;
    Members members{first}, best = members;
    while (members.size() < kMost && nodes_[members.back()].output_count() == 1) {
      const Members next = followers(nodes_[members.back()].output(0));
      if (next.size() != 1) break;
      members.push_back(next[0]);
      const auto takes = [nodes = numbers(members), row = rows_[first], &target = target_](const GraphView& g) { return row->takes_more(nodes_at(g, nodes), target); };
      if (ask(takes)) best = members;
    }
    add(best);
  }

  /// The Gelu to which a node belongs as one of its first two.
  Members gelu_with(size_t first) {
    for (uint32_t k = 0; k < nodes_[first].input_count(); ++k) {
      if (!nodes_[first].has_input(k)) continue;
      const Members whole = gelu(nodes_[first].input(k));
      if (std::find(whole.begin(), whole.end(), first) != whole.end()) return whole;
    }
    return {};
  }

  void chain(size_t first) {
    Members members{first};
    if (const Members whole = gelu_with(first); !whole.empty()) members = whole;
    for (;;) {
      const uint32_t current = nodes_[members.back()].output(0);
      const Members next = followers(current);
      if (next.size() == kGeluNodes) {
        members.insert(members.end(), next.begin(), next.end());
        continue;
      }
      if (next.size() != 1 || !rows_[next[0]]->chains || nodes_[members.back()].output_count() != 1) break;
      if (!ask([current, out = nodes_[next[0]].output(0)](const GraphView& g) { return g.dims(current) == g.dims(out); })) break;
      if (absorbable(nodes_[next[0]]) && !goes_on(next[0])) break;  // its readers take the codes
      members.push_back(next[0]);
    }
    for (const size_t i : members)
      for (uint32_t k = 0; k < nodes_[i].input_count(); ++k)
        if (absorbs(members, i, k)) served_.insert({nodes_[i].input(k), i});
    add(members);
  }
  /// Whether a chain through this node has another node after it.
  bool goes_on(size_t i) {
    const Members next = followers(nodes_[i].output(0));
    return next.size() == 1 && rows_[next[0]]->chains && nodes_[next[0]].input(0) != OPTIMA_NONE && nodes_[i].out_dims(0) == nodes_[next[0]].out_dims(0);
  }

  static std::string text(const Refusal& r) { return r.what + " is " + r.found + ", must be " + r.wanted; }

  struct Found {
    size_t anchor;
    Unit unit;
  };

  GraphView graph_;
  const Target& target_;
  const ByReference& by_reference_;
  PlanMemo* memo_;
  const optima_image_graph& entry_;
  std::vector<NodeView> nodes_;
  std::map<uint32_t, std::vector<size_t>> readers_;
  std::vector<const Lowering*> rows_;
  std::vector<bool> taken_;
  std::vector<Members> found_;
  std::map<size_t, Found> units_;                  // by the last of their members
  std::set<std::pair<uint32_t, size_t>> served_;   // a float value, and a node that reads its codes instead
};

}  // namespace

bool has_codes(const GraphView& graph) {
  const optima_slice& all = optima_get_graph(graph.image(), 0)->nodes;
  bool any = false;
  for (uint32_t n = all.first; n < all.first + all.count && !any; ++n) {
    const NodeView node = node_at(graph, n);
    any = is_quantize(node) || is_dequantize(node) || node.op().starts_with("QLinear");
  }
  return any;
}

std::vector<uint32_t> distinct(std::vector<uint32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<Group> group_nodes(const GraphView& graph, const Target& target, const ByReference& by_reference, PlanMemo* memo) {
  return Grouper(graph, target, by_reference, memo).run();
}

}  // namespace optima::llvm_cpu
