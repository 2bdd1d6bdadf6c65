// SPDX-License-Identifier: Apache-2.0
// Which pointwise nodes are computed in the kernel of the node before them, and who reads codes.
#include <algorithm>

#include "lowering.hpp"

namespace spirv_plugin {
namespace {

class Grouping {
 public:
  Grouping(const sdk::Graph& graph, uint32_t buffers) : graph_(graph), buffers_(buffers), owner_(graph.size(), false) {
    for (uint32_t k = 0; k < graph.size(); ++k) {
      for (uint32_t i = 0; i < graph[k].input_count(); ++i)
        if (graph[k].input(i)) users_[graph[k].input(i).index()].insert(k);
      if (graph[k].op() == "DequantizeLinear") decoders_[graph[k].output(0).index()] = k;
    }
    for (uint32_t k = 0; k < graph.output_count(); ++k) outputs_.insert(graph.output(k).index());
    for (uint32_t k = 0; k < graph.size(); ++k) read_codes(k);
  }

  std::vector<Group> run() {
    std::vector<Group> out;
    for (const bool decodes : {false, true})  // last what decodes: who reads it may do that itself
      for (uint32_t k = 0; k < graph_.size(); ++k)
        if (!owner_[k] && is_decoder(graph_[k]) == decodes) out.push_back(grown(k));
    for (Group& g : out) g.by_readers = is_by_readers(g);
    std::stable_sort(out.begin(), out.end(), [](const Group& a, const Group& b) { return a.last < b.last; });
    return out;
  }

 private:
  /// Where node `k` sums products of codes: it reads what is in front of its decoders, and those that nobody else reads are no nodes any more.
  void read_codes(uint32_t k) {
    const sdk::Node node = graph_[k];
    const Row* row = row_of(node);
    if (!row || !row->sums_codes) return;
    Group g{node};
    for (uint32_t i = 0; i < g.decoders.size(); ++i)
      if (const auto at = node.input(i) ? decoders_.find(node.input(i).index()) : decoders_.end(); at != decoders_.end()) g.decoders[i] = graph_[at->second];
    if (!g.decoders[0] || !g.decoders[1] || !row->sums_codes(g)) return;
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t value = node.input(i).index();
      users_[value].erase(k), users_[g.decoders[i]->input(0).index()].insert(k);
      if (users_[value].empty() && !outputs_.count(value)) owner_[decoders_[value]] = true, users_[g.decoders[i]->input(0).index()].erase(decoders_[value]);
    }
    coded_.emplace(k, g.decoders);
  }

  /// A DequantizeLinear whose scale and zero point are literals.
  static bool is_decoder(const sdk::Node& node) {
    if (node.op() != "DequantizeLinear" || node.input(0).is_constant()) return false;
    const Row* row = row_of(node);
    return row && row->expression && !scalar_literal(node.input(1)).empty() && (!node.input(2) || !scalar_literal(node.input(2)).empty());
  }

  /// Everybody who reads its floats computes them by expression, as well from its codes.
  bool is_by_readers(const Group& group) const {
    const uint32_t value = group.root.output(0).index();
    const auto users = users_.find(value);
    if (!is_decoder(group.root) || !group.tail.empty() || outputs_.count(value) || users == users_.end()) return false;
    return std::all_of(users->second.begin(), users->second.end(), [&](uint32_t u) { const Row* row = row_of(graph_[u]); return row && row->expression; });
  }

  /// The first node after the group that could be added: pointwise, of the same dims, reading what the group makes.
  std::optional<uint32_t> next(const std::set<uint32_t>& inside, const std::vector<int64_t>& dims, const std::set<uint32_t>& passed) const {
    std::optional<uint32_t> best;
    for (const uint32_t member : inside)
      if (const auto users = users_.find(graph_[member].output(0).index()); users != users_.end())
        for (const uint32_t user : users->second)
          if (!owner_[user] && !inside.count(user) && !passed.count(user) && (!best || user < *best) && is_pointwise(graph_[user], dims)) best = user;
    return best;
  }

  static bool is_pointwise(const sdk::Node& node, const std::vector<int64_t>& dims) {
    const Row* row = row_of(node);
    return row && row->expression && node.output_count() == 1 && node.output(0).shape() == dims;
  }

  /// The group's tail as a group of its own.
  static Group behind(const Group& group) {
    Group out{group.tail[0]};
    out.tail.assign(group.tail.begin() + 1, group.tail.end());
    return out;
  }

  /// The BatchNormalization of constants that alone reads a root of constant weights.
  std::optional<uint32_t> scaling_behind(const sdk::Node& root) const {
    const uint32_t value = root.output(0).index();
    const auto users = users_.find(value);
    if (!root.input(1).is_constant() || (root.input(2) && !root.input(2).is_constant()) || outputs_.count(value) || users == users_.end() || users->second.size() != 1) return std::nullopt;
    const sdk::Node node = graph_[*users->second.begin()];
    if (node.op() != "BatchNormalization" || !verdict_of(node).yes() || node.input(0).index() != value) return std::nullopt;
    for (uint32_t k = 1; k < 5; ++k)
      if (!node.input(k).is_constant()) return std::nullopt;
    for (uint32_t k = 1; k < node.output_count(); ++k)
      if (node.output(k)) return std::nullopt;
    return *users->second.begin();
  }

  static size_t bound_by(const sdk::Node& node) {
    size_t n = 1;
    for (uint32_t k = 0; k < node.input_count(); ++k) n += bool(node.input(k));
    return n;
  }

  /// Members whose output is used outside of the group.
  size_t seen_outside(const std::set<uint32_t>& inside) const {
    size_t n = 0;
    for (const uint32_t member : inside) {
      const uint32_t value = graph_[member].output(0).index();
      const auto users = users_.find(value);
      const bool all_inside = users != users_.end() && std::all_of(users->second.begin(), users->second.end(), [&](uint32_t u) { return inside.count(u) > 0; });
      n += !all_inside || outputs_.count(value);
    }
    return n;
  }

  Group grown(uint32_t root) {
    constexpr size_t kMostNodes = 32;
    const sdk::Node node = graph_[root];
    Group best{node};
    best.last = root;
    owner_[root] = true;
    const Row* row = row_of(node);
    if (!row || (!row->expression && !row->takes_tail) || node.output_count() != 1) return best;
    const std::vector<int64_t> dims = node.output(0).shape();
    std::set<uint32_t> inside{root}, passed, taken;
    if (const auto coded = coded_.find(root); coded != coded_.end()) best.decoders = coded->second;
    if (const std::optional<uint32_t> scaling = row->takes_scaling ? scaling_behind(node) : std::nullopt) {
      best.scaling = graph_[*scaling], best.last = *scaling;
      owner_[*scaling] = true;
      inside = {*scaling};  // what is behind reads its output alone
    }
    Group trial = best;
    while (inside.size() < kMostNodes) {
      const std::optional<uint32_t> user = next(inside, dims, passed);
      if (!user) break;
      trial.tail.push_back(graph_[*user]), trial.last = *user;
      inside.insert(*user);
      const size_t own = row->expression ? 1 : (row->buffers ? row->buffers : bound_by(node) + ((best.scaling || best.sums_codes()) && !node.input(2)));
      const size_t beside = row->expression ? read_by(trial).size() : read_by(behind(trial)).size() - 1;
      if (own + beside > buffers_) {
        inside.erase(*user), trial.tail.pop_back(), passed.insert(*user);
        trial.last = *std::max_element(inside.begin(), inside.end());
        continue;
      }
      if (seen_outside(inside) == 1) best = trial, taken = inside;
    }
    for (const uint32_t member : taken) owner_[member] = true;
    return best;
  }

  const sdk::Graph& graph_;
  uint32_t buffers_;
  std::vector<bool> owner_;  // by position: it is in a group
  std::map<uint32_t, std::set<uint32_t>> users_;  // positions by value
  std::set<uint32_t> outputs_;
  std::map<uint32_t, uint32_t> decoders_;  // positions of DequantizeLinear by what they make
  std::map<uint32_t, std::array<std::optional<sdk::Node>, 3>> coded_;  // decoders by position of who reads codes
};

}  // namespace

std::set<uint32_t> read_by(const Group& group) {
  std::set<uint32_t> out, own;
  const auto take = [&](const sdk::Node& node) {
    for (uint32_t k = 0; k < node.input_count(); ++k)
      if (const sdk::Value v = node.input(k); v && !own.count(v.index()) && scalar_literal(v).empty()) out.insert(v.index());
    for (uint32_t k = 0; k < node.output_count(); ++k)
      if (node.output(k)) own.insert(node.output(k).index());
  };
  take(group.root);
  for (const sdk::Node& n : group.tail) take(n);
  return out;
}

std::vector<Group> groups_of(const sdk::Graph& graph, uint32_t buffers) { return Grouping(graph, buffers).run(); }

Lowered lower_graph(const sdk::Graph& graph, const Limits& limits, Element floats, bool winograd) {
  Lowered out;
  Lowering to(out.draft, limits, floats, winograd);
  const auto port = [&](const sdk::Value& v, const Tensor& t) { return PortPlan{std::string(v.name()), v.dtype(), v.shape(), t.id}; };
  for (uint32_t k = 0; k < graph.input_count(); ++k) out.inputs.push_back(port(graph.input(k), to.read(graph.input(k))));
  for (uint32_t k = 0; k < graph.size(); ++k)
    if (const sdk::Verdict v = verdict_of(graph[k]); !v.yes()) throw sdk::Error(OPTIMA_UNSUPPORTED, v.text, v.node);
  for (const Group& group : groups_of(graph, limits.storage_buffers)) {
    const Row& row = *row_of(group.root);
    if (group.by_readers) to.decodes(group.root);
    else if (row.lower) row.lower(to, group);
    else to.pointwise(group);
  }
  for (uint32_t k = 0; k < graph.output_count(); ++k) out.outputs.push_back(port(graph.output(k), to.in_arena(graph.output(k))));
  return out;
}

}  // namespace spirv_plugin
