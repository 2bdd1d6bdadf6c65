// SPDX-License-Identifier: Apache-2.0
#include "core/view/layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace optima::view;

namespace {

LayoutProblem random_problem(uint32_t items, uint32_t clusters, uint64_t seed) {
  std::mt19937_64 random(seed);
  LayoutProblem p;
  p.clusters = clusters;
  for (uint32_t i = 0; i < items; ++i) {
    p.items.push_back({i * clusters / items, 60.0 + static_cast<double>(random() % 100), 20.0 + static_cast<double>(random() % 3) * 10});
    for (uint64_t k = random() % 3; k > 0 && i > 0; --k) p.edges.push_back({static_cast<uint32_t>(i - 1 - random() % std::min<uint64_t>(i, 1 + random() % 30)), i});
  }
  return p;
}

struct Box {
  double x0, y0, x1, y1;
  bool overlaps(const Box& o) const { return x0 < o.x1 - 0.01 && o.x0 < x1 - 0.01 && y0 < o.y1 - 0.01 && o.y0 < y1 - 0.01; }
  bool holds(const Box& o) const { return o.x0 >= x0 - 0.01 && o.x1 <= x1 + 0.01 && o.y0 >= y0 - 0.01 && o.y1 <= y1 + 0.01; }
};
Box box_of(const LayoutProblem& p, const Layout& l, uint32_t i) {
  const auto [x, y] = l.centre[i];
  return {x - p.items[i].width / 2, y - p.items[i].height / 2, x + p.items[i].width / 2, y + p.items[i].height / 2};
}
Box box_of(const Piece& piece) { return {piece.x, piece.y, piece.x + piece.width, piece.y + piece.height}; }

// The piece that an item stands in: one of its cluster.
size_t piece_of(const LayoutProblem& p, const Layout& l, uint32_t i) {
  for (size_t k = 0; k < l.pieces.size(); ++k)
    if (l.pieces[k].cluster == p.items[i].cluster && box_of(l.pieces[k]).holds(box_of(p, l, i))) return k;
  FAIL("item outside its cluster");
  return 0;
}

}  // namespace

TEST_CASE("items stand inside pieces of their cluster, nothing overlaps, edges inside a piece run downwards") {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const LayoutProblem p = random_problem(20 + static_cast<uint32_t>(seed) * 20, 1 + static_cast<uint32_t>(seed % 7), seed);
    const Layout l = lay_out(p);
    CAPTURE(seed);
    std::vector<size_t> piece;
    for (uint32_t i = 0; i < p.items.size(); ++i) piece.push_back(piece_of(p, l, i));
    int bad = 0;
    for (uint32_t a = 0; a < p.items.size(); ++a)
      for (uint32_t b = a + 1; b < p.items.size(); ++b) bad += box_of(p, l, a).overlaps(box_of(p, l, b));
    for (size_t a = 0; a < l.pieces.size(); ++a) {
      bad += !Box{0, 0, l.width, l.height}.holds(box_of(l.pieces[a]));
      for (size_t b = a + 1; b < l.pieces.size(); ++b) bad += box_of(l.pieces[a]).overlaps(box_of(l.pieces[b]));
    }
    CHECK(bad == 0);
    for (size_t e = 0; e < p.edges.size(); ++e) {
      const auto [from, to] = p.edges[e];
      if (piece[from] == piece[to]) CHECK(l.centre[from].y < l.centre[to].y);
      double y = l.centre[from].y;
      for (const Point& bend : l.bends[e]) {
        CHECK(bend.y > y);
        y = bend.y;
      }
    }
  }
}

TEST_CASE("a chain of one cluster stands straight until a column is full, and columns follow in run order") {
  LayoutProblem p;
  p.clusters = 1;
  for (uint32_t i = 0; i < 200; ++i) {
    p.items.push_back({0, 100, 40});
    if (i > 0) p.edges.push_back({i - 1, i});
  }
  const Layout l = lay_out(p);
  CHECK(l.pieces.size() > 3);
  for (uint32_t i = 1; i < 200; ++i) {
    const bool new_column = l.centre[i].y < l.centre[i - 1].y;
    if (new_column) CHECK(l.centre[i].x > l.centre[i - 1].x);
    else CHECK(l.centre[i].x == doctest::Approx(l.centre[i - 1].x));
  }
  CHECK(l.width / l.height > 0.6);
  CHECK(l.width / l.height < 2.5);
}

TEST_CASE("a source stands above its reader, and a thousand of them do not make one endless row") {
  LayoutProblem p;
  p.clusters = 1;
  for (uint32_t i = 0; i < 50; ++i) {
    p.items.push_back({0, 100, 40});
    if (i > 0) p.edges.push_back({i - 1, i});
  }
  LayoutProblem late = p;  // a source that only the last of the chain reads
  late.items.insert(late.items.begin(), {0, 100, 40});
  for (auto& [from, to] : late.edges) ++from, ++to;
  late.edges.push_back({0, 50});
  const Layout l = lay_out(late);
  CHECK(l.centre[0].y == doctest::Approx(l.centre[49].y));
  LayoutProblem wide;
  wide.clusters = 1;
  for (uint32_t i = 0; i < 1000; ++i) wide.items.push_back({0, 100, 40});
  CHECK(lay_out(wide).width < 40 * 118);
}

TEST_CASE("nothing to lay out is laid out") {
  const Layout l = lay_out({});
  CHECK(l.pieces.empty());
  CHECK(l.width == 0);
}
