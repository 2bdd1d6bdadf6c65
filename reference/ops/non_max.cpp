// SPDX-License-Identifier: Apache-2.0
// reference/ops: NonMaxSuppression: of each class the boxes of the best scores that do not lie on one another. Of floats in floats, as ONNX Runtime has it: whether
// an overlap is just above the threshold hangs on where its quotient is rounded.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "reference/ops/ops.hpp"

namespace optima::reference::ops {
namespace {

/// The elements of a tensor as floats or doubles; floats where they lie.
template <class W>
class Numbers {
 public:
  explicit Numbers(const Tensor& t) {
    if constexpr (std::is_same_v<W, float>) data_ = static_cast<const float*>(t.data);
    else copy_ = load<double>(t), data_ = copy_.data();
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  const W* data() const { return data_; }

 private:
  std::vector<double> copy_;
  const W* data_ = nullptr;
};

/// Boxes by their corners, each number in a row of its own. An area that is not above 0 is NaN: such a box lies on none.
template <class W>
struct Boxes {
  enum { Y1, X1, Y2, X2, Area };
  static constexpr size_t kBlock = 16;  // boxes that are compared at a time; the rows are filled up to one
  static constexpr W kNone = std::numeric_limits<W>::quiet_NaN();
  std::array<std::vector<W>, 5> rows;
  size_t count = 0;

  void clear() {
    count = 0;
    for (auto& row : rows) row.clear();
  }
  void add(const std::array<W, 5>& box) {
    if (count % kBlock == 0)
      for (auto& row : rows) row.resize(count + kBlock, kNone);
    for (size_t k = 0; k < rows.size(); ++k) rows[k][count] = box[k];
    ++count;
  }

  /// Of any that shares more than `limit` of the area of both with `box`.
  bool has_overlap(const std::array<W, 5>& box, W limit) const {
    for (size_t from = 0; from < count; from += kBlock)
      if (block_overlaps(from, box, limit)) return true;
    return false;
  }

 private:
  bool block_overlaps(size_t from, const std::array<W, 5>& box, W limit) const {
    const W *y1 = rows[Y1].data() + from, *x1 = rows[X1].data() + from, *y2 = rows[Y2].data() + from, *x2 = rows[X2].data() + from, *area = rows[Area].data() + from;
    int32_t found = 0;
    for (size_t k = 0; k < kBlock; ++k) {  // without a branch, so that vectors do it
      const W height = std::min(y2[k], box[Y2]) - std::max(y1[k], box[Y1]), width = std::min(x2[k], box[X2]) - std::max(x1[k], box[X1]);
      const W both = height * width, all = area[k] + box[Area] - both;
      found |= int32_t(height > 0) & int32_t(both > 0) & int32_t(all > 0) & int32_t(both / all > limit);
    }
    return found != 0;
  }
};

template <class W>
std::array<W, 5> box_of(const W* p, bool by_center) {
  std::array<W, 5> box{std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3]), 0};
  if (by_center) box = {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2, 0};
  const W area = (box[2] - box[0]) * (box[3] - box[1]);
  box[4] = area > 0 ? area : Boxes<W>::kNone;
  return box;
}

/// A box and its score; the better ones first. NaN counts as larger than every number; of equal scores the first box goes first.
template <class W>
struct Candidate {
  W score = 0;
  int64_t box = 0;
  bool operator<(const Candidate& other) const {
    if (score > other.score) return true;
    if (score < other.score) return false;
    const bool none = score != score, other_none = other.score != other.score;
    return none != other_none ? none : box < other.box;
  }
};

/// The same as one number, which compares without branches: the bits of the score, made to grow as it falls, before those of the box.
template <>
struct Candidate<float> {
  Candidate() = default;
  Candidate(float score, int64_t of) : box(static_cast<uint32_t>(of)) {
    uint32_t bits = 0;
    score += 0.0f;  // no negative zero
    std::memcpy(&bits, &score, sizeof bits);
    worse = score != score ? 0 : bits >> 31 ? bits : ~(bits | uint32_t{1} << 31);
  }
  uint32_t box = 0, worse = 0;
  bool operator<(const Candidate& other) const { return key() < other.key(); }

 private:
  uint64_t key() const { return uint64_t{worse} << 32 | box; }
};

/// Candidates from the best on. They are sorted piece by piece, for mostly a few of them are looked at.
template <class W>
class Ranking {
 public:
  explicit Ranking(std::vector<Candidate<W>>& all, size_t first) : all_(all), piece_(std::max<size_t>(first, 32)) {}
  /// Null after the last.
  const Candidate<W>* next() {
    if (at_ == sorted_ && !sort_more()) return nullptr;
    return &all_[at_++];
  }

 private:
  bool sort_more() {
    const size_t left = all_.size() - sorted_, more = std::min(left, piece_);
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(sorted_), to = from + static_cast<std::ptrdiff_t>(more);
    if (more < left) std::nth_element(from, to, all_.end());
    std::sort(from, to);
    sorted_ += more;
    piece_ *= 2;
    return more != 0;
  }
  std::vector<Candidate<W>>& all_;
  size_t at_ = 0, sorted_ = 0, piece_;
};

/// The n boxes of a class, or those with scores above the threshold where there is one.
template <class W>
void find_candidates(const W* score, int64_t n, const std::optional<W>& least, std::vector<Candidate<W>>& to) {
  to.resize(static_cast<size_t>(n));
  size_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    to[found] = {score[i], i};
    found += !least || score[i] > *least;
  }
  to.resize(found);
}

template <class W>
std::vector<int64_t> suppress(const Call& c, int64_t most, W limit, bool by_center) {
  const Dims dims = c.in(1).dims;
  const int64_t n = dims[2];
  const Numbers<W> boxes(c.in(0)), scores(c.in(1));
  const std::optional<W> least = c.maybe(4) ? std::optional(static_cast<W>(scalar_real(c.in(4), "score_threshold"))) : std::nullopt;
  std::vector<int64_t> out;
  std::vector<Candidate<W>> candidates;
  Boxes<W> kept;
  for (int64_t batch = 0; batch < dims[0] && most > 0; ++batch)
    for (int64_t cls = 0; cls < dims[1]; ++cls) {
      find_candidates(scores.data() + (batch * dims[1] + cls) * n, n, least, candidates);
      kept.clear();
      Ranking<W> ranking(candidates, static_cast<size_t>(std::min(most, n)));
      while (static_cast<int64_t>(kept.count) < most) {
        const Candidate<W>* best = ranking.next();
        if (!best) break;
        const std::array<W, 5> box = box_of(boxes.data() + (batch * n + static_cast<int64_t>(best->box)) * 4, by_center);
        if (kept.has_overlap(box, limit)) continue;
        kept.add(box);
        out.insert(out.end(), {batch, cls, static_cast<int64_t>(best->box)});
      }
    }
  return out;
}

}  // namespace

void non_max_suppression(Call& c) {
  const Tensor &boxes = c.in(0), &scores = c.in(1);
  if (boxes.dims.size() != 3 || boxes.dims[2] != 4 || scores.dims.size() != 3 || boxes.dims[0] != scores.dims[0] || boxes.dims[1] != scores.dims[2])
    invalid("boxes " + show(boxes.dims) + " and scores " + show(scores.dims) + " do not fit together");
  const int64_t most = c.maybe(2) ? scalar_int(c.in(2), "max_output_boxes_per_class") : 0;
  const double limit = c.maybe(3) ? scalar_real(c.in(3), "iou_threshold") : 0;
  const bool by_center = c.integer("center_point_box", 0) != 0;
  const bool in_floats = boxes.dtype == OPTIMA_F32 && scores.dtype == OPTIMA_F32 && boxes.dims[1] <= UINT32_MAX;
  const std::vector<int64_t> out = in_floats ? suppress(c, most, static_cast<float>(limit), by_center) : suppress(c, most, limit, by_center);
  c.out(0, make_ints({static_cast<int64_t>(out.size() / 3), 3}, out));
}

}  // namespace optima::reference::ops
