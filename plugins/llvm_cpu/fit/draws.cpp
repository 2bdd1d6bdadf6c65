// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see draws.hpp.
#include "plugins/llvm_cpu/fit/draws.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <numeric>
#include <set>

namespace optima::llvm_cpu {
namespace {

/// Sizes that models are made for, likely ones first; a first dim is a batch and is 1 first.
constexpr std::array<int64_t, 20> kLikely{224, 64, 320, 128, 48, 512, 576, 288, 256, 32, 16, 8, 100, 640, 80, 400, 160, 1536, 4, 1};
/// Where plans are apt to differ: small sizes, around vectors and tiles.
constexpr std::array<int64_t, 14> kNearby{1, 2, 3, 5, 7, 9, 13, 16, 17, 31, 33, 96, 160, 480};
constexpr std::array<int64_t, 5> kBatches{2, 3, 4, 8, 32};
constexpr size_t kMostTries = 600, kMostRounds = 3, kMostStuck = 8;
constexpr int64_t kLargest = 1024;  // of sizes that are tried one by one
constexpr size_t kSmallest = 4;
constexpr int kTriesOfADraw = 24, kMostBits = 11;
constexpr size_t kMostRepairs = 4000;  // walks, of all draws

/// Sizes, and how far they reach.
class Climb {
 public:
  Climb(const OpenDims& dims, const Reach& reach) : dims_(dims), reach_(reach), best_(dims.count()) {
    for (size_t d = 0; d < best_.size(); ++d) best_[d] = dims.likely(d, dims.is_batch(d) ? 1 : kLikely[0]);
    farthest_ = reach(best_);
  }
  bool is_there() const { return farthest_ == kAllowed; }
  const Sizes& best() const { return best_; }

  /// Every dim by itself: the size that comes farthest. True where one came farther.
  bool by_one(const std::vector<int64_t>& candidates) {
    const size_t before = farthest_;
    for (size_t d = 0; d < best_.size(); ++d) {
      const Sizes at = best_;
      for (const int64_t size : candidates) offer(at, {{d, size}});
    }
    return farthest_ != before;
  }
  /// The same of neighbours, whose sizes one node may compare with those of a constant.
  bool by_two(const std::vector<std::pair<int64_t, int64_t>>& candidates) {
    const size_t before = farthest_;
    for (const auto& [a, b] : dims_.neighbours()) {
      const Sizes at = best_;
      for (const auto& [first, second] : candidates) offer(at, {{a, first}, {b, second}});
    }
    return farthest_ != before;
  }

 private:
  void offer(Sizes sizes, std::initializer_list<std::pair<size_t, int64_t>> moved) {
    if (is_there()) return;
    for (const auto& [d, size] : moved) sizes[d] = dims_.allowed(d, size);
    if (const size_t far = reach_(sizes); far > farthest_) farthest_ = far, best_ = std::move(sizes);
  }

  const OpenDims& dims_;
  const Reach& reach_;
  Sizes best_;
  size_t farthest_;
};

/// In rounds, until all are allowed or no size comes farther.
std::optional<Sizes> climb(const OpenDims& dims, const std::vector<int64_t>& candidates, const std::vector<std::pair<int64_t, int64_t>>& pairs, const Reach& reach) {
  Climb climb(dims, reach);
  for (size_t round = 0; round < kMostRounds && !climb.is_there(); ++round)
    if (!climb.by_one(candidates) && !climb.by_two(pairs)) break;
  return climb.is_there() ? std::optional(climb.best()) : std::nullopt;
}

/// Whether the rules allow some other sizes of these dims, each moved alike.
bool moves(const std::vector<size_t>& moved, const Sizes& first, const Reach& reach) {
  const auto allowed = [&](const auto& size) {
    Sizes other = first;
    for (const size_t d : moved) other[d] = size(first[d]);
    return other != first && *std::min_element(other.begin(), other.end()) > 0 && reach(other) == kAllowed;
  };
  for (const int64_t by : {2, 3})
    if (allowed([&](int64_t size) { return size * by; })) return true;
  for (const int64_t more : {1, -1, 32})
    if (allowed([&](int64_t size) { return size + more; })) return true;
  if (allowed([](int64_t size) { return size / 2; })) return true;
  return moved.size() == 1 && std::any_of(kLikely.begin(), kLikely.end(), [&](int64_t likely) { return allowed([&](int64_t) { return likely; }); });
}

/// These, and all batches.
std::vector<size_t> with_batches(const OpenDims& dims, std::vector<size_t> some) {
  for (size_t d = 0; d < dims.count(); ++d)
    if (dims.is_batch(d) && std::find(some.begin(), some.end(), d) == some.end()) some.push_back(d);
  return some;
}

/// Looks at the same sizes once: where no dim is open, or each is held by what the user said, all tries are one.
Reach remembered(const Reach& reach) {
  return [&reach, known = std::map<Sizes, size_t>()](const Sizes& sizes) mutable {
    const auto [at, is_new] = known.try_emplace(sizes, 0);
    if (is_new) at->second = reach(sizes);
    return at->second;
  };
}

/// Sizes of images and sequences one by one, then those of signals in steps.
std::vector<int64_t> every_size() {
  std::vector<int64_t> out;
  for (int64_t size = 1; size <= 1024; ++size) out.push_back(size);
  for (int64_t size = 1100; size <= 100'000; size += 100) out.push_back(size);
  for (int64_t size = 1280; size <= 65'536; size += 256) out.push_back(size);
  return out;
}

}  // namespace

std::optional<Sizes> find_first(const OpenDims& dims, const Mentions& mentioned, const Reach& each, const std::function<bool(const Sizes&)>& also) {
  const Reach reach = remembered(each);
  const size_t n = dims.count();
  for (const bool wants_also : {true, false})
    for (const bool batch_is_one : {true, false})
      for (const int64_t size : kLikely) {
        Sizes sizes(n);
        for (size_t d = 0; d < n; ++d) sizes[d] = dims.likely(d, batch_is_one && dims.is_batch(d) ? 1 : size);
        if (reach(sizes) == kAllowed && (!wants_also || also(sizes))) return sizes;
      }
  std::vector<size_t> digits(n, 0);
  for (size_t tries = 0; n > 1 && tries < kMostTries; ++tries) {
    Sizes sizes(n);
    for (size_t d = 0; d < n; ++d) sizes[d] = dims.likely(d, dims.is_batch(d) ? 1 : kLikely[digits[d]]);
    if (reach(sizes) == kAllowed) return sizes;
    for (size_t d = 0; d < n && ++digits[d] == kLikely.size(); ++d) digits[d] = 0;
  }
  std::vector<int64_t> candidates(kLikely.begin(), kLikely.end());
  candidates.insert(candidates.end(), mentioned.sizes.begin(), mentioned.sizes.end());
  if (auto found = climb(dims, candidates, mentioned.pairs, reach)) return found;
  const std::vector<int64_t> all = every_size();
  for (const int64_t size : all) {
    Sizes sizes(n);
    for (size_t d = 0; d < n; ++d) sizes[d] = dims.likely(d, dims.is_batch(d) ? 1 : size);
    if (reach(sizes) == kAllowed) return sizes;
  }
  return climb(dims, all, mentioned.pairs, reach);
}

std::vector<Sizes> settle(OpenDims& dims, const Sizes& first, const Reach& reach, int64_t most) {
  std::vector<size_t> stuck;
  for (size_t d = 0; d < first.size() && stuck.size() <= kMostStuck; ++d) {
    if (dims.said(d)) continue;
    Sizes one = first;
    one[d] = 1;
    if (dims.is_batch(d) && first[d] != 1 && reach(one) != kAllowed) dims.be_no_batch(d);
    if (!moves({d}, first, reach)) stuck.push_back(d);
  }
  if (stuck.size() > kMostStuck) return {};
  std::set<size_t> pinned(stuck.begin(), stuck.end());
  const auto free = [&](const std::vector<size_t>& together) {
    if (std::any_of(together.begin(), together.end(), [&](size_t d) { return pinned.count(d) != 0; }) && moves(together, first, reach))
      for (const size_t d : together) pinned.erase(d);
  };
  free(with_batches(dims, stuck));
  if (pinned.empty())  // batches of several inputs that are one, as of what a Loop carries, or none is stuck
    for (const size_t d : stuck) dims.be_batch(d);
  for (size_t a = 0; a < stuck.size(); ++a)
    for (size_t b = a + 1; b < stuck.size(); ++b) {
      free({stuck[a], stuck[b]});
      for (size_t c = b + 1; c < stuck.size(); ++c) free({stuck[a], stuck[b], stuck[c]});
    }
  std::vector<Sizes> out;
  int64_t looked = 0;
  for (const size_t d : pinned) {
    const size_t before = out.size();
    Sizes sizes = first;
    for (sizes[d] = 1; sizes[d] <= kLargest && out.size() < before + kSmallest && looked < most; ++sizes[d])
      if (++looked; sizes[d] != first[d] && reach(sizes) == kAllowed) out.push_back(sizes);
    if (out.size() == before) dims.pin(d, first[d]);
  }
  return out;
}

std::optional<Sizes> freer(const OpenDims& dims, const Sizes& first, const Reach& reach, int64_t most) {
  int64_t looked = 0;
  const auto allows = [&](Sizes sizes, size_t d, int64_t size) {
    sizes[d] = size;
    return ++looked <= most && reach(sizes) == kAllowed;
  };
  for (size_t held = 0; held < first.size(); ++held) {
    const int64_t p = first[held];
    if (dims.said(held) || allows(first, held, p + 1)) continue;
    const int64_t last = looked + (allows(first, held, p + 32) ? most / 8 : most);  // most pictures come in strides
    for (size_t d = 0; d < first.size(); ++d)
      for (int64_t size = 1; d != held && !dims.is_batch(d) && size <= kLargest && looked < last; ++size) {
        Sizes sizes = first;
        sizes[d] = dims.likely(d, size);
        if (sizes[d] != first[d] && allows(sizes, held, 3 * p + 2) && allows(sizes, held, 2 * p + 1) && allows(sizes, held, p + 1)) {
          sizes[held] = p + 1;
          return sizes;
        }
      }
  }
  return std::nullopt;
}

std::vector<Sizes> around(const OpenDims& dims, const Sizes& first) {
  std::vector<Sizes> out{first};
  const auto all = [&](int64_t size) {
    Sizes sizes = first;
    for (size_t d = 0; d < first.size(); ++d)
      if (!dims.is_batch(d)) sizes[d] = size;
    out.push_back(sizes);
  };
  if (first.empty()) return out;
  for (const int64_t size : kLikely) all(size);
  for (size_t d = 0; d < first.size(); ++d)
    if (const sdk::SizeRange* range = dims.said(d))
      for (const int64_t size : {range->max, range->min}) out.push_back(first), out.back()[d] = size;
  for (const int64_t size : kNearby) all(size);
  for (const int64_t size : {first[0] + 16, int64_t{96}, int64_t{256}, int64_t{7}, int64_t{1}, int64_t{3}, int64_t{32}}) {  // batches of other sizes
    all(size);
    for (size_t d = 0; d < first.size(); ++d)
      if (dims.is_batch(d)) out.back()[d] = 3;
  }
  for (size_t d = 0; d < first.size(); ++d) {
    const auto one = [&](int64_t size) { out.push_back(first), out.back()[d] = size; };
    if (dims.is_batch(d)) {
      for (const int64_t size : kBatches) one(size);
      continue;
    }
    for (const int64_t size : {first[d] * 2, first[d] / 2, first[d] + 1, first[d] + 32, first[d] * 3}) one(size);
    for (const int64_t size : kNearby) one(size);
  }
  for (Sizes& sizes : out)
    for (size_t d = 0; d < first.size(); ++d) sizes[d] = dims.allowed(d, sizes[d]);
  return out;
}

Draws::Draws(const OpenDims& dims, const std::vector<int64_t>& mentioned, const Reach& reach, const std::vector<Sizes>& allowed)
    : dims_(dims), mentioned_(mentioned), reach_(reach), first_(allowed.empty() ? Sizes() : allowed.front()), steps_(dims.count()) {
  constexpr size_t kEnough = 3;  // different sizes that tell of a step
  for (size_t d = 0; d < dims.count(); ++d) {
    std::set<int64_t> seen;
    for (const Sizes& sizes : allowed) seen.insert(sizes[d]);
    if (seen.size() < kEnough || dims.said(d)) continue;
    int64_t step = 0;
    for (const int64_t size : seen) step = std::gcd(step, size - *seen.begin());
    steps_[d] = {*seen.begin() % step, step};
  }
  find_relations();
}

int64_t Draws::batch() {
  constexpr std::array<int64_t, 20> kAll{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 31, 32, 50, 64, 77, 100, 128};
  return kAll[random_() % kAll.size()];
}

int64_t Draws::size(size_t dim) {
  const Step step = steps_[dim];
  const uint32_t kind = random_() % 8;
  int64_t out = 1 + static_cast<int64_t>(random_() % 9);
  if (kind < 2) out *= step.step;
  else if (kind == 2) out = kLikely[random_() % kLikely.size()];
  else if (kind == 3 && !mentioned_.empty()) out = mentioned_[random_() % mentioned_.size()] + static_cast<int64_t>(random_() % 3) - 1;
  else if (const uint32_t bits = random_() % kMostBits; true) out = (int64_t{1} << bits) + static_cast<int64_t>(random_() % (1u << bits));
  return stepped(dim, out);
}

/// The size below it that a step allows.
int64_t Draws::stepped(size_t dim, int64_t size) const {
  const Step step = steps_[dim];
  return dims_.allowed(dim, std::max<int64_t>(step.first + (size - step.first) / step.step * step.step, step.first ? step.first : step.step));
}

/// Whether the sizes reach everywhere, or what they become as they hang together.
bool Draws::comes(Sizes& sizes) const {
  if (reach_(sizes) == kAllowed) return true;
  for (const Relation& r : relations_) apply(r, sizes);
  return !relations_.empty() && reach_(sizes) == kAllowed;
}

std::vector<Sizes> Draws::far() const {
  constexpr std::array<int64_t, 4> kFar{3'000, 20'000, 300'000, 4'000'000};
  constexpr double kMostTogether = 1 << 26;       // a plan may hold a table of all pixels
  if (first_.size() != dims_.count()) return {};  // none was planned
  std::vector<Sizes> out{first_};
  const auto add = [&](Sizes sizes) {
    const double together = std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double product, int64_t size) { return product * static_cast<double>(size); });
    if (together <= kMostTogether && comes(sizes) && std::find(out.begin(), out.end(), sizes) == out.end()) out.push_back(std::move(sizes));
  };
  for (const int64_t size : kFar) {
    Sizes all = first_;
    for (size_t d = 0; d < first_.size(); ++d) {
      Sizes one = first_;
      one[d] = stepped(d, size);
      if (!dims_.is_batch(d)) all[d] = one[d];
      add(std::move(one));
    }
    add(std::move(all));
  }
  return out;
}

/// Batches alike or, seldom, of any size.
Sizes Draws::draw() {
  Sizes out(dims_.count());
  const bool alike = random_() % 4 == 0, odd_batch = random_() % 8 == 0;
  const int64_t batches = random_() % 4 == 0 ? 1 : batch();
  for (size_t d = 0; d < out.size(); ++d)
    out[d] = dims_.is_batch(d) ? dims_.allowed(d, odd_batch ? size(d) : batches) : alike && d > 0 && !dims_.is_batch(d - 1) ? dims_.allowed(d, out[d - 1]) : size(d);
  return out;
}

void Draws::apply(const Relation& r, Sizes& sizes) const {
  const int64_t a = sizes[r.a], b = sizes[r.b];
  const std::array<int64_t, 6> forms{a, a + b, a - b, a + 1, a - 1, a * b};
  const int64_t size = forms[static_cast<size_t>(r.form)];
  if (size > 0 && size < int64_t{1} << 30) sizes[r.of] = dims_.allowed(r.of, size);
}

/// Finds how one dim hangs on others, so that the sizes come farther, until they reach everywhere.
bool Draws::repair(Sizes& sizes) {
  const size_t n = sizes.size();
  std::vector<Relation> relations;
  for (size_t farthest = reach_(sizes); farthest != kAllowed && repairs_ < kMostRepairs;) {
    std::optional<Relation> found;
    for (size_t of = 0; of < n; ++of)
      for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < n; ++b)
          for (int form = 0; form < 6 && farthest != kAllowed && repairs_ < kMostRepairs; ++form) {
            const bool takes_b = form == 1 || form == 2 || form == 5;
            if (of == a || of == b || (!takes_b && a != b) || (takes_b && form != 2 && a > b)) continue;
            Sizes other = sizes;
            apply({of, a, b, form}, other);
            ++repairs_;
            if (const size_t far = other == sizes ? 0 : reach_(other); far > farthest) farthest = far, found = {of, a, b, form};
          }
    if (!found) return false;
    apply(*found, sizes);
    relations.push_back(*found);
  }
  if (reach_(sizes) != kAllowed) return false;
  relations_ = std::move(relations);
  return true;
}

/// Sizes of 1 hide how dims hang together: a decoder's mask of one element broadcasts, whatever the past and the new length are. So what is drawn first is none of
/// those. Batches of one are mended last, for what equals them is 1, too, and small sizes first, for positions may be few.
void Draws::find_relations() {
  constexpr size_t kMostMended = 4;
  const auto ones = [&](const Sizes& sizes, bool batches) {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] == 1 && dims_.is_batch(d) == batches) return true;
    return false;
  };
  const std::mt19937 before = random_;
  std::vector<Sizes> refused;
  for (int k = 0; k < kTriesOfADraw; ++k) {
    Sizes sizes = draw();
    if (ones(sizes, false)) continue;
    if (reach_(sizes) == kAllowed) return void(random_ = before);
    refused.push_back(std::move(sizes));
  }
  const auto rank = [&](const Sizes& sizes) { return std::pair(ones(sizes, true), *std::max_element(sizes.begin(), sizes.end())); };
  std::stable_sort(refused.begin(), refused.end(), [&](const Sizes& a, const Sizes& b) { return rank(a) < rank(b); });
  for (size_t k = 0; k < std::min(refused.size(), kMostMended); ++k) {
    if (repair(refused[k]) && !ones(refused[k], false)) break;
    relations_.clear();
  }
  random_ = before;
}

std::optional<Sizes> Draws::next() {
  Sizes last;
  for (int k = 0; k < kTriesOfADraw; ++k) {
    Sizes sizes = draw();
    if (comes(sizes)) return sizes;
    last = std::move(sizes);
  }
  return repair(last) ? std::optional(last) : std::nullopt;
}

}  // namespace optima::llvm_cpu
