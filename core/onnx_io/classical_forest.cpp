// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: see classical_forest.hpp.
#include "core/onnx_io/classical_forest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace optima::onnx_io::recipes {
namespace {

/// The trees, those with most levels first, and how they part: those that reach their leaves go when they are an eighth of what walks.
class Order {
 public:
  Order(const Forest& f, const std::vector<int64_t>& heights) : trees_(f.roots.size()) {
    std::iota(trees_.begin(), trees_.end(), size_t{0});
    for (const int64_t root : f.roots) levels_.push_back(std::max<int64_t>(1, heights[static_cast<size_t>(root)]));
    std::stable_sort(trees_.begin(), trees_.end(), [&](size_t a, size_t b) { return levels_[a] > levels_[b]; });
  }

  std::vector<int64_t> roots(const Forest& f) const {
    std::vector<int64_t> out;
    for (const size_t t : trees_) out.push_back(f.roots[t]);
    return out;
  }
  /// Where each tree stands; empty where all stand where they stood.
  std::vector<int32_t> places() const {
    if (std::is_sorted(trees_.begin(), trees_.end())) return {};
    std::vector<int32_t> out(trees_.size());
    for (size_t k = 0; k < trees_.size(); ++k) out[trees_[k]] = static_cast<int32_t>(k);
    return out;
  }
  /// Of `rows` trees that have walked so many levels: how many walk on.
  int64_t rest(int64_t rows, int64_t walked) const {
    const auto left = static_cast<int64_t>(std::count_if(levels_.begin(), levels_.end(), [&](int64_t l) { return l > walked; }));
    return left == 0 || left <= rows - rows / 8 - 1 ? left : rows;
  }

 private:
  std::vector<size_t> trees_;
  std::vector<int64_t> levels_;  // by tree
};

class Walk {
 public:
  Walk(Contributed& n, const Forest& f, const std::vector<int64_t>& heights) : n_(n), f_(f), order_(f, heights) {
    for (const uint8_t mode : f.mode) modes_.insert(mode);
    modes_.erase(kLeaf);
    tracked_ = std::any_of(f.track.begin(), f.track.end(), [](uint8_t t) { return t != 0; });
    for (const auto& m : f.members) widest_ = std::max(widest_, m.size());
  }

  Text text() {
    add_tables();
    auto rows = static_cast<int64_t>(f_.roots.size());
    Text out = cat("xt = Transpose <perm = [1, 0]> (x) ", step("s0_", "", "at0")), done;
    for (int64_t k = 0;;) {
      const Text at = cat("at", k);
      const int64_t rest = order_.rest(rows, ++k);
      if (rest == 0) return out + joined(done.empty() ? at : cat(at, ", ", done));
      Text from = at;
      if (rest < rows) {
        from = at + "w";
        out += cat("n", k, " = Constant <value_ints = [", rest, ", ", rows - rest, "]> () ", from, ", ", at, "d = Split <axis = 0> (", at, ", n", k, ") ");
        done = done.empty() ? at + "d" : cat(at, "d, ", done);
        rows = rest;
      }
      out += step(cat("s", k, "_"), from, cat("at", k));
    }
  }

 private:
  /// leaf, of the pieces of trees in order.
  Text joined(const Text& pieces) {
    const std::vector<int32_t> places = order_.places();
    Text out = cat("all = Concat <axis = 0> (", pieces, ") ");
    if (places.empty()) return out + "leaf = Identity(all) ";
    table(n_, "places", kI32, sizes(places), places);
    return out + "leaf = Gather(all, places) ";
  }

  template <class To, class From>
  static std::vector<To> at(const std::vector<From>& values, const std::vector<int64_t>& which) {
    std::vector<To> out;
    for (const int64_t k : which) out.push_back(static_cast<To>(values[static_cast<size_t>(k)]));
    return out;
  }

  void add_tables() {
    std::vector<int64_t> all(static_cast<size_t>(f_.size()));
    std::iota(all.begin(), all.end(), 0);
    add_tables("", all, {f_.size()});
    const std::vector<int64_t> roots = order_.roots(f_);
    const Dims column{static_cast<int64_t>(roots.size()), 1};  // each row of samples is compared with one tree's
    add_tables("r_", roots, column);
    table(n_, "r_feature", kI32, sizes(roots), at<int32_t>(f_.feature, roots));
    table(n_, "r_yes", kI32, column, at<int32_t>(f_.yes, roots));
    table(n_, "r_no", kI32, column, at<int32_t>(f_.no, roots));
    table(n_, "feature", kI32, sizes(all), at<int32_t>(f_.feature, all));
    std::vector<int32_t> child = at<int32_t>(f_.no, all);  // where it does not hold, then where it does
    const std::vector<int32_t> yes = at<int32_t>(f_.yes, all);
    child.insert(child.end(), yes.begin(), yes.end());
    table(n_, "child", kI32, sizes(child), child);
    table(n_, "no_skip", kI32, {}, std::vector<int32_t>{0});
    table(n_, "nodes", kI32, {}, std::vector<int32_t>{static_cast<int32_t>(f_.size())});
  }
  /// Constants "PREFIXlimit" and so on, of the nodes `which`.
  void add_tables(const Text& prefix, const std::vector<int64_t>& which, const Dims& dims) {
    const auto name = [&](const Text& what) { return prefix + what; };
    reals(n_, f_, name("limit").c_str(), at<double>(f_.limit, which), dims);
    if (tracked_) table(n_, name("track").c_str(), kBool, dims, at<uint8_t>(f_.track, which));
    if (modes_.size() > 1)
      for (const uint8_t mode : modes_) {
        std::vector<uint8_t> is;
        for (const int64_t k : which) is.push_back(f_.mode[static_cast<size_t>(k)] == mode);
        table(n_, name(cat("is", static_cast<int>(mode))).c_str(), kBool, dims, is);
      }
    if (widest_ == 0) return;
    std::vector<double> members(which.size() * widest_, std::numeric_limits<double>::quiet_NaN());
    for (size_t k = 0; k < which.size(); ++k)
      std::copy(f_.members[static_cast<size_t>(which[k])].begin(), f_.members[static_cast<size_t>(which[k])].end(), members.begin() + static_cast<int64_t>(k * widest_));
    Dims wide = dims;
    wide.push_back(static_cast<int64_t>(widest_));
    reals(n_, f_, name("members").c_str(), members, wide);
  }

  Text comparison(const Text& p, uint8_t mode, const Text& out) const {
    const Text both = cat("(", p, "x, ", p, "limit) ");
    switch (mode) {
      case kLeq: return cat(out, " = LessOrEqual", both);
      case kLt: return cat(out, " = Less", both);
      case kGte: return cat(out, " = GreaterOrEqual", both);
      case kGt: return cat(out, " = Greater", both);
      case kEq: return cat(out, " = Equal", both);
      case kNeq: return cat(p, "same = Equal", both, out, " = Not(", p, "same) ");
      default:
        return cat(p, "last = Constant <value_ints = [-1]> () ", p, "xm = Unsqueeze(", p, "x, ", p, "last) ", p, "hit = Equal(", p, "xm, ", p, "members) ", p,
                   "hits = Cast <to = ", kI32, "> (", p, "hit) ", p, "any = ReduceMax <keepdims = 0> (", p, "hits, ", p, "last) ", out, " = Cast <to = ", kBool, "> (", p, "any) ");
    }
  }

  /// What of a place is known by a table beside the feature and the children.
  std::vector<Text> known() const {
    std::vector<Text> out{"limit"};
    if (tracked_) out.push_back("track");
    if (modes_.size() > 1)
      for (const uint8_t mode : modes_) out.push_back(cat("is", static_cast<int>(mode)));
    if (widest_ > 0) out.push_back("members");
    return out;
  }

  /// One level: `from` is where the trees are, empty at the roots, whose tables are in their order.
  Text step(const Text& p, const Text& from, const Text& to) const {
    Text out;
    for (const Text& what : known()) out += from.empty() ? cat(p, what, " = Identity(r_", what, ") ") : cat(p, what, " = Gather(", what, ", ", from, ") ");
    out += from.empty() ? cat(p, "x = Gather(xt, r_feature) ") : cat(p, "feature = Gather(feature, ", from, ") ", p, "x = GatherElements <axis = 0> (xt, ", p, "feature) ");
    out += holds(p);
    if (from.empty()) return cat(out, to, " = Where(", p, "holds, r_yes, r_no) ");
    return cat(out, p, "skip = Where(", p, "holds, nodes, no_skip) ", p, "next = Add(", from, ", ", p, "skip) ", to, " = Gather(child, ", p, "next) ");
  }

  /// Steps to "PREFIXholds": whether a node sends its sample to its first child.
  Text holds(const Text& p) const {
    Text out, holds;
    for (const uint8_t mode : modes_.empty() ? std::set<uint8_t>{kLeq} : modes_) {
      const Text id = cat(p, "c", static_cast<int>(mode));
      out += comparison(p, mode, id);
      Text one = id;
      if (modes_.size() > 1) {
        one = id + "m";
        out += cat(one, " = And(", id, ", ", p, "is", static_cast<int>(mode), ") ");
      }
      if (!holds.empty()) {
        out += cat(id, "o = Or(", holds, ", ", one, ") ");
        one = id + "o";
      }
      holds = one;
    }
    if (!tracked_) return cat(out, p, "holds = Identity(", holds, ") ");
    return cat(out, p, "nan = IsNaN(", p, "x) ", p, "nt = And(", p, "nan, ", p, "track) ", p, "holds = Or(", holds, ", ", p, "nt) ");
  }

  Contributed& n_;
  const Forest& f_;
  Order order_;
  std::set<uint8_t> modes_;
  bool tracked_ = false;
  size_t widest_ = 0;
};

}  // namespace

Text reals(Contributed& n, const Forest& f, const char* name, const std::vector<double>& values, const Dims& dims) {
  if (f.type == kF64) return table(n, name, kF64, dims, values);
  return floats(n, name, std::vector<float>(values.begin(), values.end()), dims);
}

std::vector<int64_t> heights(const Forest& f) {
  constexpr int64_t kNew = -1, kOpen = -2;
  std::vector<int64_t> height(f.mode.size(), kNew), stack(f.roots);
  while (!stack.empty()) {
    const auto at = static_cast<size_t>(stack.back());
    const int64_t before = height[at], yes = height[static_cast<size_t>(f.yes[at])], no = height[static_cast<size_t>(f.no[at])];
    if (f.mode[at] == kLeaf) height[at] = 0;
    if (height[at] >= 0) {
      stack.pop_back();
    } else if (before == kOpen) {
      if (yes < 0 || no < 0 || std::max(yes, no) == kMostLevels) return {};
      height[at] = 1 + std::max(yes, no);
    } else {
      height[at] = kOpen;
      if (yes == kOpen || no == kOpen) return {};
      stack.insert(stack.end(), {f.yes[at], f.no[at]});
    }
  }
  return height;
}

Text walked(Contributed& n, const Forest& f, const std::vector<int64_t>& heights) { return Walk(n, f, heights).text(); }

}  // namespace optima::onnx_io::recipes
