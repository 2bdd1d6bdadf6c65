// SPDX-License-Identifier: Apache-2.0
#include "core/min_cut/min_cut.hpp"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cmath>

namespace optima::detail {
namespace {

using None = boost::no_property;
using FlowGraph = boost::compressed_sparse_row_graph<boost::directedS, None, None, None, uint32_t, uint32_t>;
using Edge = boost::graph_traits<FlowGraph>::edge_descriptor;

struct Pair {  // two edges, one against the other
  uint32_t from, to;
  int64_t forth, back;
};

// Both ends of a path source -> node -> sink can be filled at once; what remains is one edge per node at most.
class Terminals {
 public:
  explicit Terminals(size_t nodes) : from_source_(nodes, 0), to_sink_(nodes, 0) {}
  bool take(uint32_t from, uint32_t to, int64_t capacity) {
    if (from == MinCut::kSource && to == MinCut::kSink) return true;  // in every cut
    if (from == MinCut::kSource) return from_source_[to] += capacity, true;
    if (to == MinCut::kSink) return to_sink_[from] += capacity, true;
    return false;
  }
  void add_to(std::vector<Pair>& pairs) const {
    for (uint32_t n = 2; n < from_source_.size(); ++n) {
      const int64_t over = from_source_[n] - to_sink_[n];
      if (over > 0) pairs.push_back({MinCut::kSource, n, over, 0});
      if (over < 0) pairs.push_back({n, MinCut::kSink, -over, 0});
    }
  }

 private:
  std::vector<int64_t> from_source_, to_sink_;
};

// The edges of all pairs sorted by source, as the graph wants them.
struct Network {
  std::vector<std::pair<uint32_t, uint32_t>> ends;
  std::vector<int64_t> capacity;
  std::vector<Edge> reverse;

  Network(const std::vector<Pair>& pairs, uint32_t nodes) : ends(pairs.size() * 2), capacity(pairs.size() * 2), reverse(pairs.size() * 2) {
    std::vector<uint32_t> next(nodes + 1, 0);
    for (const Pair& p : pairs) ++next[p.from + 1], ++next[p.to + 1];
    for (uint32_t n = 0; n < nodes; ++n) next[n + 1] += next[n];
    for (const Pair& p : pairs) {
      const uint32_t forth = next[p.from]++, back = next[p.to]++;
      ends[forth] = {p.from, p.to}, capacity[forth] = p.forth, reverse[forth] = Edge(p.to, back);
      ends[back] = {p.to, p.from}, capacity[back] = p.back, reverse[back] = Edge(p.from, forth);
    }
  }
};

std::vector<uint8_t> cut(Network&& net, uint32_t nodes) {
  FlowGraph graph(boost::edges_are_sorted, net.ends.begin(), net.ends.end(), nodes, static_cast<uint32_t>(net.ends.size()));
  std::vector<std::pair<uint32_t, uint32_t>>().swap(net.ends);
  const auto edge_number = get(boost::edge_index, graph);
  const auto node_number = get(boost::vertex_index, graph);
  std::vector<int64_t> left(net.capacity.size());
  std::vector<Edge> parent(nodes);
  std::vector<boost::default_color_type> side(nodes);
  std::vector<uint32_t> distance(nodes);
  boost::boykov_kolmogorov_max_flow(graph, boost::make_iterator_property_map(net.capacity.begin(), edge_number),
                                    boost::make_iterator_property_map(left.begin(), edge_number),
                                    boost::make_iterator_property_map(net.reverse.begin(), edge_number),
                                    boost::make_iterator_property_map(parent.begin(), node_number),
                                    boost::make_iterator_property_map(side.begin(), node_number),
                                    boost::make_iterator_property_map(distance.begin(), node_number), node_number, MinCut::kSource, MinCut::kSink);
  std::vector<uint8_t> out(nodes);
  for (uint32_t n = 0; n < nodes; ++n) out[n] = side[n] == boost::black_color;
  return out;
}

}  // namespace

void MinCut::arc(uint32_t from, uint32_t to, double cost) {
  if (cost == 0 || from == to || from == kSink || to == kSource) return;
  if (cost > 0) sum_ += cost;
  arcs_.push_back({from, to, cost});
}

// By node: its place, source and sink first, the others by what they are near to. Cutting walks along arcs, so neighbours share cache lines.
std::vector<uint32_t> MinCut::order() const {
  const uint32_t most = near_.empty() ? 0 : *std::max_element(near_.begin(), near_.end());
  std::vector<uint32_t> next(size_t{most} + 2, 0), out = {kSource, kSink};
  for (uint32_t near : near_) ++next[near + 1];
  next[0] = 2;
  for (size_t i = 0; i <= most; ++i) next[i + 1] += next[i];
  out.reserve(nodes_);
  for (uint32_t near : near_) out.push_back(next[near]++);
  return out;
}

std::vector<uint8_t> MinCut::source_side() const {
  const double grid = std::exp2(56 - std::ilogb(sum_ > 0 ? sum_ : 1.0));  // the sum becomes less than 2^57
  const int64_t never = int64_t{1} << 58;
  const std::vector<uint32_t> place = order();
  Terminals terminals(nodes_);
  std::vector<Pair> pairs;
  std::vector<uint8_t> fixed(nodes_, 0);  // a node has at most one kNever terminal of each kind counted
  for (const Arc& a : arcs_) {
    int64_t capacity = a.cost == kNever ? never : std::llround(a.cost * grid);
    if (a.cost == kNever && (a.from == kSource || a.to == kSink)) {
      uint8_t& seen = fixed[a.from == kSource ? a.to : a.from];
      const uint8_t kind = a.from == kSource ? 1 : 2;
      if (seen & kind) capacity = 0;
      seen |= kind;
    }
    const uint32_t from = place[a.from], to = place[a.to];
    if (terminals.take(from, to, capacity)) continue;
    if (!pairs.empty() && pairs.back().from == to && pairs.back().to == from) pairs.back().back += capacity;
    else pairs.push_back({from, to, capacity, 0});
  }
  terminals.add_to(pairs);
  const std::vector<uint8_t> side = cut(Network(pairs, nodes_), nodes_);
  std::vector<uint8_t> out(nodes_);
  for (uint32_t n = 0; n < nodes_; ++n) out[n] = side[place[n]];
  return out;
}

}  // namespace optima::detail
