// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see group.hpp.
#include "plugins/llvm_cpu/compiler/group.hpp"

#include <algorithm>
#include <map>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/tail.hpp"

namespace optima::llvm_cpu {
namespace {

class Grouper {
 public:
  explicit Grouper(const GraphView& graph) : graph_(graph), entry_(*optima_get_graph(graph.image(), 0)) {
    for (uint32_t i = 0; i < entry_.nodes.count; ++i) nodes_.push_back({graph, optima_get_node(graph.image(), entry_.nodes.first + i)});
    for (uint32_t i = 0; i < entry_.outputs.count; ++i) readers_[*optima_get_index(graph.image(), entry_.outputs.first + i)].push_back(kOutside);
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (uint32_t k = 0; k < nodes_[i].input_count(); ++k)
        if (nodes_[i].has_input(k)) readers_[nodes_[i].input(k)].push_back(i);
    rows_.resize(nodes_.size());
    taken_.resize(nodes_.size());
  }

  std::vector<Group> run() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (const Refusal r = judge(nodes_[i])) throw sdk::Error(OPTIMA_UNSUPPORTED, text(r), nodes_[i].id());
      rows_[i] = find_lowering(nodes_[i]);
    }
    drop_unused();
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->tail != Tails::None) with_tail(i);
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i] && rows_[i]->chains) chain(i);
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!taken_[i]) add({i});
    std::stable_sort(found_.begin(), found_.end(), [](const Members& a, const Members& b) { return a.back() < b.back(); });
    std::vector<Group> out;
    for (const Members& members : found_) {
      out.push_back({rows_[members.front()], {}});
      for (const size_t i : members) out.back().nodes.push_back(nodes_[i]);
    }
    return out;
  }

 private:
  using Members = std::vector<size_t>;
  static constexpr size_t kOutside = SIZE_MAX;

  const std::vector<size_t>& readers(uint32_t value) {
    static const std::vector<size_t> none;
    const auto at = readers_.find(value);
    return at == readers_.end() ? none : at->second;
  }

  void drop_unused() {
    for (size_t i = nodes_.size(); i-- > 0;) {
      bool used = false;
      for (uint32_t k = 0; k < nodes_[i].output_count(); ++k)
        for (const size_t r : nodes_[i].has_output(k) ? readers(nodes_[i].output(k)) : std::vector<size_t>())
          used = used || r == kOutside || !taken_[r];
      taken_[i] = !used;
    }
  }

  void add(const Members& members) {
    for (const size_t i : members) taken_[i] = true;
    found_.push_back(members);
  }

  /// Untaken nodes that are the only readers of `value`, in order; two at most.
  Members followers(uint32_t value) {
    Members all = readers(value);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() > 2) return {};
    for (const size_t r : all)
      if (r == kOutside || taken_[r]) return {};
    if (all.size() == 2) {  // a gate: the first one's result goes to the second one only
      if (readers(nodes_[all[0]].output(0)) != std::vector<size_t>{all[1]}) return {};
    } else if (all.size() == 1) {  // a single follower may begin no gate: its own reader is another step
      return all;
    }
    return all;
  }

  void with_tail(size_t first) {
    Members members{first};
    FusedTail tail;
    tail.columns = rows_[first]->tail == Tails::Columns;
    for (;;) {
      const uint32_t current = nodes_[members.back()].output(0);
      const Members next = followers(current);
      std::vector<NodeView> views;
      for (const size_t i : next) views.push_back(nodes_[i]);
      const size_t most = next.size();
      const size_t took = tail.take(views, current);
      if (took == 0 || took != most) break;
      members.insert(members.end(), next.begin(), next.end());
    }
    add(members);
  }

  void chain(size_t first) {
    Members members{first};
    for (;;) {
      const uint32_t current = nodes_[members.back()].output(0);
      const Members next = followers(current);
      if (next.size() != 1 || !rows_[next[0]]->chains || nodes_[members.back()].output_count() != 1) break;
      if (graph_.dims(current) != nodes_[next[0]].out_dims(0)) break;
      members.push_back(next[0]);
    }
    add(members);
  }

  static std::string text(const Refusal& r) { return r.what + " is " + r.found + ", must be " + r.wanted; }

  GraphView graph_;
  const optima_image_graph& entry_;
  std::vector<NodeView> nodes_;
  std::map<uint32_t, std::vector<size_t>> readers_;
  std::vector<const Lowering*> rows_;
  std::vector<bool> taken_;
  std::vector<Members> found_;
};

}  // namespace

std::vector<Group> group_nodes(const GraphView& graph) { return Grouper(graph).run(); }

}  // namespace optima::llvm_cpu
