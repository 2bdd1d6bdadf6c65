// SPDX-License-Identifier: Apache-2.0
#include "core/view/layers.hpp"

#include <algorithm>
#include <unordered_map>

namespace optima::view {
namespace {

constexpr int kSweeps = 6;
constexpr double kSway = 260;  // pixels from the middle that cost nothing; beyond, chains are pulled back, so that long ones do not drift away
constexpr double kPull = 0.3;

class LayerMaker {
 public:
  LayerMaker(const LayoutProblem& problem, const std::vector<uint32_t>& items, const std::vector<uint32_t>& edges)
      : problem_(problem), items_(items), edges_(edges), in_(items.size()), out_(items.size()), layer_(items.size(), 0) {
    for (uint32_t i = 0; i < items.size(); ++i) local_[items[i]] = i;
    for (uint32_t e : edges) {
      out_[local_.at(problem.edges[e].from)].push_back(local_.at(problem.edges[e].to));
      in_[local_.at(problem.edges[e].to)].push_back(local_.at(problem.edges[e].from));
    }
  }

  Layers run() {
    longest_paths();
    pull_down();
    const std::vector<uint32_t> row = split_wide_layers();
    for (uint32_t i = 0; i < items_.size(); ++i) add_slot(row[i], items_[i], problem_.items[items_[i]].width, problem_.items[items_[i]].height);
    for (uint32_t e : edges_) add_route(e, row);
    for (int sweep = 0; sweep < kSweeps; ++sweep) order(sweep % 2 == 0);
    return std::move(out_layers_);
  }

 private:
  void longest_paths() {
    for (uint32_t i = 0; i < items_.size(); ++i)
      for (uint32_t from : in_[i]) layer_[i] = std::max(layer_[i], layer_[from] + 1);
  }

  // Down as far as its readers let it, unless that lengthens more edges than it shortens.
  void pull_down() {
    for (uint32_t i = static_cast<uint32_t>(items_.size()); i-- > 0;) {
      if (out_[i].empty() || out_[i].size() < in_[i].size()) continue;
      uint32_t least = UINT32_MAX;
      for (uint32_t to : out_[i]) least = std::min(least, layer_[to]);
      layer_[i] = std::max(layer_[i], least - 1);
    }
  }

  // By local item: its layer once layers of more than kMostInLayer items are several.
  std::vector<uint32_t> split_wide_layers() const {
    std::vector<uint32_t> count, first, seen;
    for (uint32_t layer : layer_) {
      if (layer >= count.size()) count.resize(layer + 1, 0);
      ++count[layer];
    }
    uint32_t rows = 0;
    for (uint32_t n : count) {
      first.push_back(rows);
      rows += static_cast<uint32_t>((n + kMostInLayer - 1) / kMostInLayer);
    }
    seen.assign(count.size(), 0);
    std::vector<uint32_t> row(items_.size());
    for (uint32_t i = 0; i < items_.size(); ++i) row[i] = first[layer_[i]] + seen[layer_[i]]++ / static_cast<uint32_t>(kMostInLayer);
    return row;
  }

  uint32_t add_slot(uint32_t row, uint32_t item, double width, double height) {
    if (row >= out_layers_.layers.size()) out_layers_.layers.resize(row + 1);
    const auto slot = static_cast<uint32_t>(out_layers_.slots.size());
    out_layers_.layers[row].push_back(slot);
    out_layers_.slots.push_back({item, width, height, 0, {}, {}});
    return slot;
  }
  void join(uint32_t above, uint32_t below) {
    out_layers_.slots[above].below.push_back(below);
    out_layers_.slots[below].above.push_back(above);
  }

  void add_route(uint32_t edge, const std::vector<uint32_t>& row) {
    const uint32_t from = local_.at(problem_.edges[edge].from), to = local_.at(problem_.edges[edge].to);
    if (row[to] - row[from] > kLongestRoute) return;
    Layers::Route route{edge, {}};
    uint32_t last = from;  // an item's slot has the item's local number
    for (uint32_t r = row[from] + 1; r < row[to]; ++r) {
      route.slots.push_back(add_slot(r, Slot::kBend, 0, 0));
      join(last, route.slots.back());
      last = route.slots.back();
    }
    join(last, to);
    if (!route.slots.empty()) out_layers_.routes.push_back(std::move(route));
  }

  // Sorts every layer by the mean position of what each slot is joined to in the layer before (downwards: above it).
  void order(bool downwards) {
    auto& layers = out_layers_.layers;
    std::vector<double> at(out_layers_.slots.size(), 0), wanted(out_layers_.slots.size(), 0);
    for (size_t k = 0; k < layers.size(); ++k) {
      auto& layer = layers[downwards ? k : layers.size() - 1 - k];
      for (size_t i = 0; i < layer.size(); ++i) {
        const Slot& slot = out_layers_.slots[layer[i]];
        const auto& joined = downwards ? slot.above : slot.below;
        double sum = 0;
        for (uint32_t j : joined) sum += at[j];
        const double own = layer.size() > 1 ? static_cast<double>(i) / static_cast<double>(layer.size() - 1) : 0.5;
        wanted[layer[i]] = joined.empty() ? own : sum / static_cast<double>(joined.size());
      }
      const auto loose = [&](uint32_t s) { return (downwards ? out_layers_.slots[s].above : out_layers_.slots[s].below).empty(); };
      std::stable_sort(layer.begin(), layer.end(),  // of equals, what is joined goes to the middle between two that are not
                       [&](uint32_t a, uint32_t b) { return wanted[a] != wanted[b] ? wanted[a] < wanted[b] : loose(a) < loose(b); });
      for (size_t i = 0; i < layer.size(); ++i)
        at[layer[i]] = layer.size() > 1 ? static_cast<double>(i) / static_cast<double>(layer.size() - 1) : 0.5;
    }
  }

  const LayoutProblem& problem_;
  const std::vector<uint32_t>&items_, &edges_;
  std::unordered_map<uint32_t, uint32_t> local_;  // item -> its number here; looked up only
  std::vector<std::vector<uint32_t>> in_, out_;
  std::vector<uint32_t> layer_;
  Layers out_layers_;
};

// The places nearest to `wanted` (least squares, by weight) that keep the order and the distances: distances taken away, that
// is the nearest ascending sequence, found by pooling neighbours that are in the wrong order.
void spread(Layers& layers, const std::vector<uint32_t>& layer, const std::vector<double>& wanted) {
  struct Pool {
    double sum, weight;
    size_t count;
  };
  std::vector<double> offset(layer.size(), 0);
  std::vector<Pool> pools;
  for (size_t i = 0; i < layer.size(); ++i) {
    const Slot& slot = layers.slots[layer[i]];
    if (i > 0) offset[i] = offset[i - 1] + (layers.slots[layer[i - 1]].width + slot.width) / 2 + kSlotGap;
    const double weight = slot.item == Slot::kBend ? 4 : 1;  // straight edges matter more than centred items
    pools.push_back({(wanted[i] - offset[i]) * weight, weight, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].sum / pools[pools.size() - 2].weight > pools.back().sum / pools.back().weight) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight, pools.back().count + last.count};
    }
  }
  size_t i = 0;
  for (const Pool& pool : pools)
    for (size_t k = 0; k < pool.count; ++k, ++i) layers.slots[layer[i]].x = offset[i] + pool.sum / pool.weight;
}

void align(Layers& layers, size_t from, size_t to, bool downwards) {
  for (size_t k = from; k < to; ++k) {
    const size_t r = downwards ? k : to - 1 - (k - from);
    const auto& layer = layers.layers[r];
    const bool has_joined = downwards ? r > from : r + 1 < to;
    std::vector<double> wanted;
    for (uint32_t s : layer) {
      const Slot& slot = layers.slots[s];
      const auto& joined = downwards ? slot.above : slot.below;
      double sum = 0;
      for (uint32_t j : joined) sum += layers.slots[j].x;
      const double mean = !has_joined || joined.empty() ? slot.x : sum / static_cast<double>(joined.size());
      wanted.push_back(mean - kPull * (mean - std::clamp(mean, -kSway, kSway)));
    }
    spread(layers, layer, wanted);
  }
}

}  // namespace

Layers make_layers(const LayoutProblem& problem, const std::vector<uint32_t>& items, const std::vector<uint32_t>& edges) {
  return LayerMaker(problem, items, edges).run();
}

double place(Layers& layers, size_t from, size_t to) {
  for (size_t r = from; r < to; ++r) spread(layers, layers.layers[r], std::vector<double>(layers.layers[r].size(), 0));  // the middle is 0
  for (int sweep = 0; sweep < kSweeps; ++sweep) align(layers, from, to, sweep % 2 == 0);
  double least = 0, most = 0;
  bool any = false;
  const auto each = [&](auto&& f) {
    for (size_t r = from; r < to; ++r)
      for (uint32_t s : layers.layers[r]) f(layers.slots[s]);
  };
  each([&](const Slot& s) {
    least = any ? std::min(least, s.x - s.width / 2) : s.x - s.width / 2;
    most = any ? std::max(most, s.x + s.width / 2) : s.x + s.width / 2;
    any = true;
  });
  each([&](Slot& s) { s.x -= least; });
  return most - least;
}

}  // namespace optima::view
