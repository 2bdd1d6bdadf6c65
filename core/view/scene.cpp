// SPDX-License-Identifier: Apache-2.0
#include "core/view/scene.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace optima::view {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;
constexpr double kFrameGap = 48, kFrameShape = 1.5;  // between frames; wanted width : height of all

// One part of the plan: its items and lines, laid out from (0, 0). Items are numbered from `first`.
class PartMaker {
 public:
  PartMaker(const Flat& flat, const Wiring& wiring, const Part& part, uint32_t number, Scene& scene)
      : plan_(flat.plan), wiring_(wiring), part_(part), number_(number), out_(scene), first_item_(static_cast<uint32_t>(scene.items.size())),
        first_line_(scene.lines.size()), made_(part.end_node - part.first_node), tensor_item_(part.end_tensor - part.first_tensor, kNowhere) {}

  // Its size; what it holds stands at (0, 0).
  Point run() {
    problem_.clusters = part_.end_subgraph - part_.first_subgraph + 1;
    add_items();
    for (uint32_t t = part_.first_tensor; t < part_.end_tensor; ++t) join(t);
    for (size_t l = first_line_; l < out_.lines.size(); ++l)
      problem_.edges.push_back({out_.lines[l].from - first_item_, out_.lines[l].to - first_item_});
    Layout layout = lay_out(problem_);
    for (size_t i = 0; i < layout.centre.size(); ++i) out_.items[first_item_ + i].centre = layout.centre[i];
    for (size_t l = 0; l < layout.bends.size(); ++l) out_.lines[first_line_ + l].bends = std::move(layout.bends[l]);
    for (const Piece& piece : layout.pieces)
      out_.boxes.push_back({piece.cluster == 0 ? Scene::Box::kInputs : part_.first_subgraph + piece.cluster - 1, number_, piece});
    return {layout.width, layout.height};
  }

 private:
  uint32_t add(Scene::Kind kind, uint32_t index, uint32_t subgraph) {
    const bool node = kind == Scene::Kind::Node || kind == Scene::Kind::Clone;
    out_.items.push_back({kind, index, subgraph, {}});
    problem_.items.push_back({subgraph == kNowhere ? 0 : subgraph - part_.first_subgraph + 1, kNodeWidth, node ? kNodeHeight : kTensorHeight});
    return static_cast<uint32_t>(out_.items.size() - 1);
  }
  uint32_t& tensor_item(uint32_t t) { return tensor_item_[t - part_.first_tensor]; }

  void add_items() {
    for (uint32_t t = part_.first_tensor; t < part_.end_tensor; ++t) {
      const PlanTensor& tensor = plan_.tensors[t];
      if (!tensor.from) tensor_item(t) = add(Scene::Kind::Input, t, kNowhere);
      else if (wiring_.crosses(t) || tensor.output) made_[*tensor.from - part_.first_node].push_back(t);
    }
    for (uint32_t n = part_.first_node; n < part_.end_node; ++n) {
      for (uint32_t s : wiring_.places(n)) place_[n].emplace(s, add(s == plan_.nodes[n].subgraph ? Scene::Kind::Node : Scene::Kind::Clone, n, s));
      for (uint32_t t : made_[n - part_.first_node])
        tensor_item(t) = add(wiring_.crosses(t) ? Scene::Kind::Cut : Scene::Kind::Output, t, plan_.nodes[n].subgraph);
    }
  }

  void join(uint32_t t) {
    const PlanTensor& tensor = plan_.tensors[t];
    if (tensor.from && tensor_item(t) != kNowhere) line(place_[*tensor.from].at(plan_.nodes[*tensor.from].subgraph), tensor_item(t), t);
    wiring_.each_reader(t, [&](uint32_t made_in, uint32_t reader, uint32_t at) {
      line(made_in == kNowhere ? tensor_item(t) : place_[*tensor.from].at(made_in), place_[reader].at(at), t);
    });
  }
  void line(uint32_t from, uint32_t to, uint32_t tensor) { out_.lines.push_back({from, to, tensor, {}}); }

  const Plan& plan_;
  const Wiring& wiring_;
  const Part& part_;
  const uint32_t number_;
  Scene& out_;
  const uint32_t first_item_;
  const size_t first_line_;
  std::vector<std::vector<uint32_t>> made_;  // by node: tensors that are items of their own
  std::vector<uint32_t> tensor_item_;        // by tensor
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, uint32_t>> place_;  // by node, then subgraph: item; looked up only
  LayoutProblem problem_;
};

class SceneMaker {
 public:
  explicit SceneMaker(const Flat& flat) : flat_(flat), wiring_(flat.plan) {}

  Scene run() {
    for (uint32_t p = 0; p < flat_.parts.size(); ++p) {
      first_.push_back({out_.items.size(), out_.lines.size(), out_.boxes.size()});
      sizes_.push_back(PartMaker(flat_, wiring_, flat_.parts[p], p, out_).run());
    }
    first_.push_back({out_.items.size(), out_.lines.size(), out_.boxes.size()});
    if (flat_.parts.size() == 1) out_.width = sizes_[0].x, out_.height = sizes_[0].y;
    else put_parts();
    return std::move(out_);
  }

 private:
  struct First {
    size_t item, line, box;
  };

  // Frames fill rows from left to right, no wider than the wanted shape needs; the main graph is the first without a frame.
  void put_parts() {
    double area = 0, widest = 0;
    for (size_t p = 0; p < sizes_.size(); ++p) {
      const Point size = size_of(p);
      area += (size.x + kFrameGap) * (size.y + kFrameGap);
      widest = std::max(widest, size.x);
    }
    const double limit = std::max(widest, std::sqrt(area * kFrameShape));
    double x = 0, y = 0, row = 0;
    for (size_t p = 0; p < sizes_.size(); ++p) {
      const Point size = size_of(p);
      if (x > 0 && x + size.x > limit) x = 0, y += row + kFrameGap, row = 0;
      move(p, x, y);
      if (p > 0) out_.frames.push_back({static_cast<uint32_t>(p), x, y, size.x, size.y});
      row = std::max(row, size.y);
      out_.width = std::max(out_.width, x + size.x);
      out_.height = std::max(out_.height, y + size.y);
      x += size.x + kFrameGap;
    }
  }
  Point size_of(size_t p) const {
    return p == 0 ? sizes_[p] : Point{std::max(sizes_[p].x, kLeastFrame) + 2 * kPadding, sizes_[p].y + kTitleHeight + kPadding};
  }

  void move(size_t p, double x, double y) {
    if (p > 0) x += (size_of(p).x - sizes_[p].x) / 2, y += kTitleHeight;
    const auto shift = [&](Point& at) { at.x += x, at.y += y; };
    for (size_t i = first_[p].item; i < first_[p + 1].item; ++i) shift(out_.items[i].centre);
    for (size_t l = first_[p].line; l < first_[p + 1].line; ++l)
      for (Point& bend : out_.lines[l].bends) shift(bend);
    for (size_t b = first_[p].box; b < first_[p + 1].box; ++b) out_.boxes[b].piece.x += x, out_.boxes[b].piece.y += y;
  }

  static constexpr double kLeastFrame = 320;  // room for a title

  const Flat& flat_;
  const Wiring wiring_;
  std::vector<Point> sizes_;   // by part
  std::vector<First> first_;   // by part, one more at the end
  Scene out_;
};

}  // namespace

Scene make_scene(const Flat& flat) { return SceneMaker(flat).run(); }

}  // namespace optima::view
