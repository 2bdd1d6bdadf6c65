// SPDX-License-Identifier: Apache-2.0
#include "core/view/layout.hpp"

#include <algorithm>
#include <cmath>

#include "core/view/layers.hpp"

namespace optima::view {
namespace {

constexpr double kRowGap = 26;      // between layers
constexpr double kPieceGap = 22;    // between pieces of one column
constexpr double kColumnGap = 56;   // between columns
constexpr double kShape = 1.1;      // wanted width : height when rows are packed; spread out they are somewhat wider
constexpr double kLeastHeight = 640;
constexpr size_t kLeastRows = 3;    // a column does not end on a shorter beginning of a cluster

// Consecutive layers of one cluster that stand in one column.
struct Run {
  uint32_t cluster = 0, column = 0;
  size_t from = 0, to = 0;  // layers
  double width = 0, height = 0;
};

class LayOut {
 public:
  explicit LayOut(const LayoutProblem& problem) : problem_(problem) {}

  Layout run() {
    make_clusters();
    runs_ = cut(best_height());
    for (Run& run : runs_) run.width = place(clusters_[run.cluster], run.from, run.to) + 2 * kPadding;
    out_.centre.resize(problem_.items.size());
    out_.bends.resize(problem_.edges.size());
    put_runs();
    collect_bends();
    return std::move(out_);
  }

 private:
  void make_clusters() {
    std::vector<std::vector<uint32_t>> items(problem_.clusters), edges(problem_.clusters);
    for (uint32_t i = 0; i < problem_.items.size(); ++i) items[problem_.items[i].cluster].push_back(i);
    for (uint32_t e = 0; e < problem_.edges.size(); ++e) {
      const uint32_t cluster = problem_.items[problem_.edges[e].from].cluster;
      if (cluster == problem_.items[problem_.edges[e].to].cluster) edges[cluster].push_back(e);
    }
    for (uint32_t c = 0; c < problem_.clusters; ++c) {
      clusters_.push_back(make_layers(problem_, items[c], edges[c]));
      auto& sizes = row_sizes_.emplace_back();
      for (const auto& layer : clusters_.back().layers) {
        Point size;
        for (uint32_t s : layer) {
          size.x += clusters_.back().slots[s].width + (size.x > 0 ? kSlotGap : 0);
          size.y = std::max(size.y, clusters_.back().slots[s].height);
        }
        sizes.push_back(size);
      }
    }
  }

  // Cuts clusters into runs so that no column is higher than `most`, if its rows allow that.
  std::vector<Run> cut(double most) const {
    std::vector<Run> out;
    double used = 0;
    uint32_t column = 0;
    for (uint32_t c = 0; c < problem_.clusters; ++c) {
      const auto& rows = row_sizes_[c];
      for (size_t r = 0; r < rows.size();) {
        const size_t least = std::min(rows.size(), r + kLeastRows);
        double height = kTitleHeight + kPadding - kRowGap;
        size_t to = r;
        while (to < rows.size() && (to < least || used + height + kRowGap + rows[to].y <= most)) height += kRowGap + rows[to++].y;
        if (used > 0 && used + height > most) {
          ++column, used = 0;
          continue;
        }
        out.push_back({c, column, r, to, 0, height});
        used += height + kPieceGap;
        r = to;
        if (r < rows.size()) ++column, used = 0;
      }
    }
    return out;
  }

  // The height of columns that brings the whole nearest to the wanted shape, by the rows' widths when packed.
  double best_height() const {
    double best = kLeastHeight, best_distance = HUGE_VAL;
    for (double height = kLeastHeight; height < 1e7; height *= 1.15) {
      double total = 0, column = 0, tallest = 0, used = 0;
      uint32_t current = 0;
      for (const Run& run : cut(height)) {
        if (run.column != current) total += column + kColumnGap, column = 0, used = 0, current = run.column;
        for (size_t r = run.from; r < run.to; ++r) column = std::max(column, row_sizes_[run.cluster][r].x + 2 * kPadding);
        used += run.height + kPieceGap;
        tallest = std::max(tallest, used);
      }
      const double distance = std::abs(std::log((total + column) / std::max(tallest, 1.0) / kShape));
      if (distance < best_distance) best = height, best_distance = distance;
      if (current == 0) break;  // all in one column
    }
    return best;
  }

  void put_runs() {
    double left = 0;
    for (size_t i = 0; i < runs_.size();) {
      size_t end = i;
      double width = 0, top = 0;
      while (end < runs_.size() && runs_[end].column == runs_[i].column) width = std::max(width, runs_[end++].width);
      for (; i < end; ++i) {
        put(runs_[i], left + (width - runs_[i].width) / 2, top);
        top += runs_[i].height + kPieceGap;
      }
      out_.height = std::max(out_.height, top - kPieceGap);
      out_.width = left + width;
      left += width + kColumnGap;
    }
  }

  void put(const Run& run, double left, double top) {
    out_.pieces.push_back({run.cluster, run.from == 0, left, top, run.width, run.height});
    Layers& layers = clusters_[run.cluster];
    double y = top + kTitleHeight;
    if (y_.size() < clusters_.size()) y_.resize(clusters_.size());
    y_[run.cluster].resize(layers.slots.size(), 0);
    for (size_t r = run.from; r < run.to; ++r) {
      const double height = row_sizes_[run.cluster][r].y;
      for (uint32_t s : layers.layers[r]) {
        layers.slots[s].x += left + kPadding;
        y_[run.cluster][s] = y + height / 2;
        if (layers.slots[s].item != Slot::kBend) out_.centre[layers.slots[s].item] = {layers.slots[s].x, y + height / 2};
      }
      y += height + kRowGap;
    }
  }

  // An edge that goes on in another column has no bends: its way is not downwards.
  void collect_bends() {
    for (uint32_t c = 0; c < clusters_.size(); ++c)
      for (const Layers::Route& route : clusters_[c].routes) {
        std::vector<Point> way;
        double last = out_.centre[problem_.edges[route.edge].from].y;
        bool falls = true;
        for (uint32_t s : route.slots) {
          way.push_back({clusters_[c].slots[s].x, y_[c][s]});
          falls &= way.back().y > last;
          last = way.back().y;
        }
        if (falls && out_.centre[problem_.edges[route.edge].to].y > last) out_.bends[route.edge] = std::move(way);
      }
  }

  const LayoutProblem& problem_;
  std::vector<Layers> clusters_;
  std::vector<std::vector<Point>> row_sizes_;  // by cluster, layer
  std::vector<std::vector<double>> y_;         // by cluster, slot
  std::vector<Run> runs_;
  Layout out_;
};

}  // namespace

Layout lay_out(const LayoutProblem& problem) { return LayOut(problem).run(); }

}  // namespace optima::view
