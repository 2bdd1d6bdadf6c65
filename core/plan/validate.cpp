// SPDX-License-Identifier: Apache-2.0
#include "core/plan/validate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/flow/node.hpp"
#include "core/plan/operators.hpp"
#include "core/plan/validate_limits.hpp"
#include "core/plan/validate_question.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

using image::Node;

class Validator {
 public:
  Validator(const Plan& plan, const Graph& graph, const PlanTerms& terms)
      : plan_(plan), graph_(graph), main_(graph.contents.graphs[0]), terms_(terms) {}

  Status run() {
    OPTIMA_RETURN_IF_ERROR(nodes());
    OPTIMA_RETURN_IF_ERROR(subgraphs());
    find_reads();
    OPTIMA_RETURN_IF_ERROR(order());
    OPTIMA_RETURN_IF_ERROR(states());
    OPTIMA_RETURN_IF_ERROR(units());
    OPTIMA_RETURN_IF_ERROR(devices());
    OPTIMA_RETURN_IF_ERROR(boundaries());
    OPTIMA_RETURN_IF_ERROR(cuts());
    OPTIMA_RETURN_IF_ERROR(validate_limits(plan_, graph_, terms_));
    OPTIMA_RETURN_IF_ERROR(tensors());
    OPTIMA_RETURN_IF_ERROR(counts());
    OPTIMA_RETURN_IF_ERROR(validate_question(plan_));
    return bodies();
  }

 private:
  template <class... T>
  static Status bad(const T&... parts) {
    return internal_error(cat("plan is not valid: ", parts...));
  }

  // ---- who is where

  Status nodes() {
    if (plan_.nodes.size() != main_.nodes.size()) return bad("it has ", plan_.nodes.size(), " nodes, the graph ", main_.nodes.size());
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const PlacedNode& placed = plan_.nodes[n];
      if (placed.node_id != main_.nodes[n].id || placed.name != main_.nodes[n].name || placed.op_type != main_.nodes[n].op_type)
        return bad("entry ", n, " is called ", quote(placed.name), ", the node ", quote(main_.nodes[n].name));
      if (placed.subgraph >= plan_.subgraphs.size())
        return bad("node ", quote(placed.name), " is in subgraph ", placed.subgraph, " of ", plan_.subgraphs.size());
      if (placed.device >= plan_.devices.size()) return bad("node ", quote(placed.name), " is on device ", placed.device, " of ", plan_.devices.size());
    }
    return {};
  }

  Status subgraphs() {
    std::vector<uint32_t> count(main_.nodes.size(), 0);
    runs_.resize(plan_.subgraphs.size()), cloned_.resize(plan_.subgraphs.size());
    for (size_t s = 0; s < plan_.subgraphs.size(); ++s) {
      const Subgraph& subgraph = plan_.subgraphs[s];
      if (subgraph.nodes.empty()) return bad("subgraph ", s, " is empty");
      if (subgraph.device >= plan_.devices.size()) return bad("subgraph ", s, " is on device ", subgraph.device, " of ", plan_.devices.size());
      if (s > 0 && plan_.subgraphs[s - 1].device == subgraph.device && !closes_subgraphs(plan_.devices[subgraph.device], terms_))
        return bad("subgraphs ", s - 1, " and ", s, " are neighbours on one device");
      for (size_t i = 0; i < subgraph.nodes.size(); ++i) {
        const uint32_t n = subgraph.nodes[i];
        if (n >= main_.nodes.size()) return bad("subgraph ", s, " has node ", n, " of ", main_.nodes.size());
        if (i > 0 && subgraph.nodes[i - 1] >= n) return bad("nodes of subgraph ", s, " are not ascending");
        if (plan_.nodes[n].subgraph != s || plan_.nodes[n].device != subgraph.device)
          return bad("node ", quote(main_.nodes[n].name), " and subgraph ", s, " disagree");
        ++count[n];
      }
      OPTIMA_RETURN_IF_ERROR(clones(static_cast<uint32_t>(s)));
      std::set_union(subgraph.nodes.begin(), subgraph.nodes.end(), cloned_[s].begin(), cloned_[s].end(), std::back_inserter(runs_[s]));
    }
    for (size_t n = 0; n < count.size(); ++n)
      if (count[n] != 1) return bad("node ", quote(main_.nodes[n].name), " is in ", count[n], " subgraphs");
    return {};
  }

  // A clone is a node of another subgraph whose device here takes it too, and that somebody here reads.
  Status clones(uint32_t s) {
    for (const Clone& clone : plan_.subgraphs[s].clones) {
      if (clone.node >= main_.nodes.size()) return bad("subgraph ", s, " clones node ", clone.node, " of ", main_.nodes.size());
      const std::string name = quote(main_.nodes[clone.node].name);
      if (plan_.nodes[clone.node].subgraph == s || !cloned_[s].insert(clone.node).second) return bad("subgraph ", s, " runs node ", name, " twice");
      const std::vector<DeviceAnswer>& answers = plan_.nodes[clone.node].answers;
      const uint32_t device = plan_.subgraphs[s].device;
      if (device >= answers.size() || !answers[device].yes) return bad("subgraph ", s, " clones node ", name, ", which its device refused");
    }
    for (size_t i = 1; i < plan_.subgraphs[s].clones.size(); ++i)
      if (plan_.subgraphs[s].clones[i - 1].node >= plan_.subgraphs[s].clones[i].node) return bad("clones of subgraph ", s, " are not ascending");
    return {};
  }

  Status clones_are_read() const {
    for (uint32_t s = 0; s < plan_.subgraphs.size(); ++s)
      for (const Clone& clone : plan_.subgraphs[s].clones) {
        bool read = false;
        for (uint32_t v : main_.nodes[clone.node].outputs)
          if (v != OPTIMA_NONE)
            for (uint32_t n : runs_[s]) read = read || std::count(reads_[n].begin(), reads_[n].end(), v) > 0;
        if (!read) return bad("nobody in subgraph ", s, " reads its clone of ", quote(main_.nodes[clone.node].name));
      }
    return {};
  }

  // ---- what each node reads, captures of its bodies included

  void find_reads() {
    reads_.resize(main_.nodes.size());
    maker_.assign(main_.values.size(), kNobody);
    for (uint32_t n = 0; n < main_.nodes.size(); ++n) {
      const Node& node = main_.nodes[n];
      for (uint32_t v : node.inputs) add_read(n, v);
      for (const image::Attr& attr : node.attrs)
        if (attr.type == OPTIMA_ATTR_GRAPH || attr.type == OPTIMA_ATTR_GRAPHS)
          for (uint32_t body : attr.refs)
            for (const image::Capture& capture : graph_.contents.graphs[body].captures) add_read(n, capture.outer);
      for (uint32_t v : node.outputs)
        if (v != OPTIMA_NONE) maker_[v] = n;
    }
  }
  void add_read(uint32_t node, uint32_t v) {
    if (v != OPTIMA_NONE && main_.values[v].constant == OPTIMA_NONE) reads_[node].push_back(v);
  }

  Status order() const {
    std::set<uint32_t> given(main_.inputs.begin(), main_.inputs.end());
    for (uint32_t to = 0; to < plan_.subgraphs.size(); ++to)
      for (uint32_t n : runs_[to])
        for (uint32_t v : reads_[n]) {
          const std::string& value = main_.values[v].name;
          if (maker_[v] == kNobody) {
            if (!given.count(v)) return bad("node ", quote(main_.nodes[n].name), " reads ", quote(value), ", which nothing produces");
            continue;
          }
          const uint32_t from = made_in(v, to) ? to : home(v);
          if (from > to || (from == to && maker_[v] >= n)) return bad(quote(value), " is read in subgraph ", to, " before subgraph ", from, " produces it");
        }
    return clones_are_read();
  }
  bool made_in(uint32_t v, uint32_t s) const { return plan_.nodes[maker_[v]].subgraph == s || (!cloned_[s].empty() && cloned_[s].count(maker_[v])); }

  // Stateful nodes keep the model's order and run once.
  Status states() const {
    const std::vector<uint32_t> stateful = detail::stateful_nodes(graph_, terms_.plugins);
    for (size_t i = 0; i < stateful.size(); ++i) {
      const PlacedNode& placed = plan_.nodes[stateful[i]];
      for (uint32_t s = 0; s < plan_.subgraphs.size(); ++s)
        if (cloned_[s].count(stateful[i])) return bad("subgraph ", s, " clones the stateful node ", quote(placed.name));
      if (placed.after != (i ? std::optional(stateful[i - 1]) : std::nullopt))
        return bad("node ", quote(placed.name), " does not name the stateful node before it");
      if (i > 0 && plan_.nodes[stateful[i - 1]].subgraph > placed.subgraph)
        return bad("node ", quote(placed.name), " is in subgraph ", placed.subgraph, ", before ", quote(plan_.nodes[stateful[i - 1]].name),
                   ", whose state it follows");
    }
    return {};
  }

  // Quantized units are in one subgraph, and the most specific wish in each is obeyed.
  Status units() {
    std::map<std::string_view, uint32_t> where;
    for (uint32_t n = 0; n < main_.nodes.size(); ++n) {
      const PlacedNode& placed = plan_.nodes[n];
      if (placed.quantized_unit.empty()) continue;
      const auto [at, fresh] = where.emplace(placed.quantized_unit, placed.subgraph);
      if (at->second != placed.subgraph)
        return bad("the quantized unit of ", quote(placed.quantized_unit), " is in subgraphs ", at->second, " and ", placed.subgraph);
      uint32_t& rank = rank_[placed.quantized_unit];
      if (const Wish* wish = wish_of(main_.nodes[n])) rank = std::max(rank, wish->rank);
    }
    return {};
  }
  const Wish* wish_of(const Node& node) const {
    return node.id < terms_.wishes.size() && !terms_.wishes[node.id].devices.empty() ? &terms_.wishes[node.id] : nullptr;
  }

  // ---- answers and wishes

  Status devices() const {
    for (uint32_t n = 0; n < main_.nodes.size(); ++n) {
      const PlacedNode& placed = plan_.nodes[n];
      if (placed.answers.size() != plan_.devices.size())
        return bad("node ", quote(placed.name), " has ", placed.answers.size(), " answers, wanted one for each of ", plan_.devices.size(), " devices");
      if (!placed.answers[placed.device].yes) return bad("node ", quote(placed.name), " is on ", plan_.devices[placed.device].name, ", which refused it");
      if (terms_.require_device && !is(*terms_.require_device, placed.device)) return bad("node ", quote(placed.name), " is not on the required device");
      if (plan_.devices[placed.device].plugin.empty()) {
        OPTIMA_RETURN_IF_ERROR(driven(n));
        continue;
      }
      OPTIMA_RETURN_IF_ERROR(wishes(main_.nodes[n], placed, false));
      if (plan_.devices[placed.device].only_named && !named_)
        return bad("node ", quote(placed.name), " is on ", plan_.devices[placed.device].name, ", which takes only nodes that name it");
    }
    return {};
  }

  bool is(const DeviceName& name, uint32_t device) const {
    const PlanDevice& d = plan_.devices[device];
    return d.target.kind == name.kind && d.target.slot == name.index && (name.plugin.empty() || name.plugin == d.plugin);
  }

  // The wish of the node and those of its bodies' nodes; leaves in named_ whether there was any.
  Status wishes(const Node& node, const PlacedNode& placed, bool inner) const {
    const uint32_t rank = placed.quantized_unit.empty() ? 0 : rank_.at(placed.quantized_unit);  // a wish of its unit speaks for a node without or with less
    if (!inner) named_ = rank > 0;
    if (node.id < terms_.wishes.size() && terms_.wishes[node.id].host)
      return bad("node ", quote(node.name), " is on ", plan_.devices[placed.device].name, ", wanted the host");
    if (const Wish* wish = wish_of(node); wish && wish->rank >= rank) {
      const std::vector<DeviceName>& wanted = wish->devices;
      named_ = true;
      if (std::none_of(wanted.begin(), wanted.end(), [&](const DeviceName& name) { return is(name, placed.device); }))
        return bad("node ", quote(node.name), " is on ", plan_.devices[placed.device].name, ", wanted ", wish->text());
    }
    for (const image::Attr& attr : node.attrs)
      if (attr.type == OPTIMA_ATTR_GRAPH || attr.type == OPTIMA_ATTR_GRAPHS)
        for (uint32_t body : attr.refs)
          for (const Node& one : graph_.contents.graphs[body].nodes) OPTIMA_RETURN_IF_ERROR(wishes(one, placed, true));
    return {};
  }

  // ---- tensors

  Status boundaries() {
    readers_.resize(main_.values.size());  // subgraphs, ascending
    for (uint32_t s = 0; s < plan_.subgraphs.size(); ++s)
      for (uint32_t n : runs_[s])
        for (uint32_t v : reads_[n])
          if (readers_[v].empty() || readers_[v].back() != s) readers_[v].push_back(s);
    const std::set<uint32_t> results(main_.outputs.begin(), main_.outputs.end());
    for (uint32_t s = 0; s < plan_.subgraphs.size(); ++s) {
      const Subgraph& subgraph = plan_.subgraphs[s];
      std::vector<uint32_t> inputs, outputs;
      std::set<uint32_t> seen;
      for (uint32_t n : runs_[s])
        for (uint32_t v : reads_[n])
          if ((maker_[v] == kNobody || !made_in(v, s)) && seen.insert(v).second) inputs.push_back(v);
      for (uint32_t n : subgraph.nodes)
        for (uint32_t v : main_.nodes[n].outputs)
          if (v != OPTIMA_NONE && (crosses(v) || results.count(v))) outputs.push_back(v);
      if (outputs.empty()) return bad("subgraph ", s, " has no output");
      OPTIMA_RETURN_IF_ERROR(same(subgraph.inputs, subgraph.input_names, inputs, cat("inputs of subgraph ", s)));
      OPTIMA_RETURN_IF_ERROR(same(subgraph.outputs, subgraph.output_names, outputs, cat("outputs of subgraph ", s)));
    }
    return {};
  }

  Status same(const std::vector<uint32_t>& found, const std::vector<std::string>& found_names, const std::vector<uint32_t>& wanted,
              const std::string& what) const {
    std::vector<std::string> names;
    for (uint32_t v : wanted) names.push_back(main_.values[v].name);
    if (found != wanted || found_names != names) return bad(what, " are ", join(found_names), ", wanted ", join(names));
    return {};
  }

  Status cuts() const {
    uint64_t bytes = 0;
    size_t next = 0;
    std::vector<uint32_t> by_subgraph;
    for (uint32_t v = 0; v < main_.values.size(); ++v)
      if (crosses(v)) by_subgraph.push_back(v);
    std::stable_sort(by_subgraph.begin(), by_subgraph.end(), [&](uint32_t a, uint32_t b) { return home(a) < home(b); });
    for (uint32_t v : by_subgraph) {
      std::vector<uint32_t> to;
      for (uint32_t r : readers_[v])
        if (!made_in(v, r)) to.push_back(r);
      if (next == plan_.cuts.size()) return bad("cut tensor ", quote(main_.values[v].name), " is not listed");
      const CutTensor& cut = plan_.cuts[next++];
      if (cut.value != v || cut.name != main_.values[v].name || cut.from != home(v) || cut.to != to || cut.bytes != static_bytes(main_.values[v]))
        return bad("cut tensor ", quote(cut.name), " is not what crosses there, wanted ", quote(main_.values[v].name), " of ",
                   static_bytes(main_.values[v]), " bytes");
      bytes += cut.bytes * to.size();
    }
    if (next != plan_.cuts.size()) return bad("cut tensor ", quote(plan_.cuts[next].name), " does not cross");
    if (bytes != plan_.bytes) return bad(bytes, " bytes cross, it says ", plan_.bytes);
    return {};
  }
  uint32_t home(uint32_t v) const { return plan_.nodes[maker_[v]].subgraph; }
  bool crosses(uint32_t v) const {
    return maker_[v] != kNobody && std::any_of(readers_[v].begin(), readers_[v].end(), [&](uint32_t r) { return !made_in(v, r); });
  }

  Status tensors() const {
    std::vector<std::vector<uint32_t>> nodes(main_.values.size());  // by value: readers, ascending
    for (uint32_t n = 0; n < reads_.size(); ++n)
      for (uint32_t v : reads_[n])
        if (nodes[v].empty() || nodes[v].back() != n) nodes[v].push_back(n);
    const std::set<uint32_t> given(main_.inputs.begin(), main_.inputs.end()), results(main_.outputs.begin(), main_.outputs.end());
    size_t next = 0;
    for (uint32_t v = 0; v < main_.values.size(); ++v) {
      const image::Value& value = main_.values[v];
      if (value.constant != OPTIMA_NONE || (maker_[v] == kNobody && !given.count(v))) continue;
      if (next == plan_.tensors.size()) return bad("tensor ", quote(value.name), " is not listed");
      const PlanTensor& t = plan_.tensors[next++];
      if (t.value != v || t.name != value.name || t.type != type_text(value) || t.bytes != static_bytes(value) || t.from.value_or(kNobody) != maker_[v] ||
          t.to != nodes[v] || t.output != (results.count(v) != 0))
        return bad("tensor ", quote(t.name), " is not what is there, wanted ", quote(value.name));
    }
    if (next != plan_.tensors.size()) return bad("tensor ", quote(plan_.tensors[next].name), " is not in the graph");
    return {};
  }

  Status counts() const {
    if (plan_.lower_bound > plan_.subgraphs.size())
      return bad("the proven minimum of ", plan_.lower_bound, " is above its ", plan_.subgraphs.size(), " subgraphs");
    if (plan_.exact != (plan_.lower_bound == plan_.subgraphs.size())) return bad("minimum and 'exact' disagree");
    return {};
  }

  // ---- nodes that the host drives, and the plans of their bodies

  Status driven(uint32_t n) const {
    const Node& node = main_.nodes[n];
    const std::optional<FlowOp> op = flow_op(node);
    if (!op) return bad("the host drives node ", quote(node.name), " (", node.op_type, "), wanted an If, a Loop or a Scan");
    // Packages number their subgraphs in this order.
    const std::vector<std::string> wanted = body_names(*op);
    std::vector<std::string> found;
    for (const BodyPlan& body : plan_.bodies)
      if (body.node == n) found.push_back(body.name);
    if (found != wanted) return bad("node ", quote(node.name), " has plans for its bodies ", join(found), ", wanted ", join(wanted));
    return {};
  }

  Status bodies() const {
    uint32_t next = plan_.first + static_cast<uint32_t>(plan_.subgraphs.size());
    for (const BodyPlan& body : plan_.bodies) {
      if (body.node >= main_.nodes.size() || !plan_.devices[plan_.nodes[body.node].device].plugin.empty())
        return bad("node ", body.node, " has a plan for a body and is not driven by the host");
      if (body.trips < 0) return bad("a body of node ", quote(main_.nodes[body.node].name), " runs ", body.trips, " times");
      if (body.plan.first != next) return bad("subgraphs of ", quote(body.name), " are numbered from ", body.plan.first, ", wanted ", next);
      next += static_cast<uint32_t>(count_subgraphs(body.plan));
      const BodyGraph inside = body_of(graph_, body);
      const PlanTerms terms = terms_for_bodies(graph_, main_.nodes[body.node], terms_);
      const Status status = validate(body.plan, inside.graph, terms);
      if (!status.ok()) return status.within(cat("body ", quote(body.name), " of node ", quote(main_.nodes[body.node].name)));
    }
    return {};
  }

  static constexpr uint32_t kNobody = OPTIMA_NONE;
  const Plan& plan_;
  const Graph& graph_;
  const image::Graph& main_;
  const PlanTerms& terms_;
  std::vector<std::vector<uint32_t>> reads_;    // by node
  std::vector<uint32_t> maker_;                 // by value
  std::vector<std::vector<uint32_t>> readers_;  // by value: subgraphs
  std::vector<std::vector<uint32_t>> runs_;     // by subgraph: its nodes and clones, ascending
  std::vector<std::set<uint32_t>> cloned_;      // by subgraph: its clones
  std::map<std::string_view, uint32_t> rank_;   // by quantized unit: of its most specific wish, 0 = none
  mutable bool named_ = false;
};

}  // namespace

Status validate(const Plan& plan, const Graph& graph, const PlanTerms& terms) {
  OPTIMA_RETURN_IF_ERROR(Validator(plan, graph, terms).run());
  return validate_totals(plan, terms);
}

}  // namespace optima
