// SPDX-License-Identifier: Apache-2.0
#include "core/split/bytes_cut.hpp"

#include <algorithm>

#include "core/min_cut/min_cut.hpp"
#include "core/split/bytes_sweep.hpp"

namespace optima::detail {
namespace {
constexpr uint32_t kClosed = UINT32_MAX;
constexpr uint64_t kWorkPerArc = 8;  // what a reader's arcs cost in the cut, as multiples of one visit
}  // namespace

// Source side = the high part.
class BytesCut::Network {
 public:
  explicit Network(BytesCut& owner) : o_(owner) {
    for (uint32_t u : o_.open_) o_.node_[u] = cut_.add_node();
    for (uint32_t u : o_.open_) add_order(u);
    for (uint32_t t : o_.tensors_)
      if (o_.p_.bytes[t] > 0) add_tensor(t);
  }

  // The part of each open unit.
  std::vector<uint32_t> parts() const {
    const std::vector<uint8_t> high = cut_.source_side();
    std::vector<uint32_t> out;
    for (uint32_t u : o_.open_) out.push_back(high[o_.node_[u]] ? o_.high_[u] : o_.low_[u]);
    return out;
  }

 private:
  enum class Place : uint8_t { Fixed, Low, High };  // why a reader may be in a part
  struct Visitor {
    uint32_t part;
    Place place;
    uint32_t node;
    bool operator<(const Visitor& other) const { return part != other.part ? part < other.part : place < other.place; }
  };

  bool open(uint32_t u) const { return o_.low_[u] != kClosed; }

  // A reader is never in an earlier part than its producer.
  void add_order(uint32_t u) {
    for (uint32_t r = o_.p_.first_reader[o_.p_.first_tensor[u]]; r < o_.p_.first_reader[o_.p_.first_tensor[u + 1]]; ++r)
      if (const uint32_t w = o_.p_.readers[r]; open(w) && o_.high_[u] > o_.low_[w]) cut_.arc(o_.node_[u], o_.node_[w], MinCut::kNever);
  }

  // For each part that readers may lie in and the producer does not: the bytes, once.
  void add_tensor(uint32_t t) {
    visitors_.clear();
    for (uint32_t r = o_.p_.first_reader[t]; r < o_.p_.first_reader[t + 1]; ++r) {
      const uint32_t w = o_.p_.readers[r];
      if (!open(w)) {
        visitors_.push_back({o_.part_[w], Place::Fixed, 0});
        continue;
      }
      visitors_.push_back({o_.low_[w], Place::Low, o_.node_[w]});
      visitors_.push_back({o_.high_[w], Place::High, o_.node_[w]});
    }
    std::sort(visitors_.begin(), visitors_.end());
    for (size_t begin = 0, end; begin < visitors_.size(); begin = end) {
      for (end = begin + 1; end < visitors_.size() && visitors_[end].part == visitors_[begin].part;) ++end;
      add_part(t, begin, end);
    }
  }

  void add_part(uint32_t t, size_t begin, size_t end) {
    const uint32_t producer = o_.reads_.producer[t], part = visitors_[begin].part;
    const auto bytes = static_cast<double>(o_.p_.bytes[t]);
    const bool low_here = open(producer) && o_.low_[producer] == part, high_here = open(producer) && o_.high_[producer] == part;
    if (!open(producer) && o_.part_[producer] == part) return;
    if (low_here) return;  // who reads here keeps the producer here
    switch (visitors_[begin].place) {
      case Place::Fixed:
        if (high_here) cut_.arc(MinCut::kSource, o_.node_[producer], bytes);  // elsewhere, it is paid either way
        return;
      case Place::Low: return cut_.arc(MinCut::kSource, any_low(begin, end), bytes);
      case Place::High: return cut_.arc(any_high(begin, end), high_here ? o_.node_[producer] : MinCut::kSink, bytes);
    }
  }

  // A node that is on the sink's side when one of these is.
  uint32_t any_low(size_t begin, size_t end) {
    if (end - begin == 1) return visitors_[begin].node;
    const uint32_t helper = cut_.add_node();
    for (size_t i = begin; i < end; ++i) cut_.arc(helper, visitors_[i].node, MinCut::kNever);
    return helper;
  }

  // A node that is on the source's side when one of these is.
  uint32_t any_high(size_t begin, size_t end) {
    if (end - begin == 1) return visitors_[begin].node;
    const uint32_t helper = cut_.add_node();
    for (size_t i = begin; i < end; ++i) cut_.arc(visitors_[i].node, helper, MinCut::kNever);
    return helper;
  }

  BytesCut& o_;
  MinCut cut_;
  std::vector<Visitor> visitors_;  // of one tensor
};

BytesCut::BytesCut(const SplitProblem& problem, const Reads& reads, std::vector<uint32_t>& part)
    : p_(problem), reads_(reads), part_(part), low_(problem.units(), kClosed), high_(problem.units(), kClosed), node_(problem.units()),
      seen_(problem.bytes.size(), 0) {}

bool BytesCut::improve(const std::vector<PartChoice>& choices, uint64_t& budget) {
  const uint64_t looked_at = narrow(choices);
  touch();
  const uint64_t work = looked_at + work_of_cut();
  const bool affordable = work <= budget;
  budget -= affordable ? work : std::min(budget, looked_at);
  const bool moved = !open_.empty() && affordable && cut();
  for (uint32_t u : open_) low_[u] = high_[u] = kClosed;
  for (uint32_t t : tensors_) seen_[t] = 0;
  return moved;
}

// Opens the choices that the other units leave: no earlier than the earliest part of its producers, no later than the latest of
// its readers. Gives the visits that took.
uint64_t BytesCut::narrow(const std::vector<PartChoice>& choices) {
  uint64_t visits = choices.size();
  for (const PartChoice& c : choices) low_[c.unit] = c.low, high_[c.unit] = c.high;
  for (const PartChoice& c : choices) {
    visits += reads_.first[c.unit + 1] - reads_.first[c.unit];
    for (uint32_t i = reads_.first[c.unit]; i < reads_.first[c.unit + 1]; ++i) {
      const uint32_t producer = reads_.producer[reads_.tensor[i]];
      if ((low_[producer] == kClosed ? part_[producer] : low_[producer]) > c.low) low_[c.unit] = c.high;
    }
  }
  for (auto c = choices.rbegin(); c != choices.rend(); ++c) {
    const uint32_t begin = p_.first_reader[p_.first_tensor[c->unit]], end = p_.first_reader[p_.first_tensor[c->unit + 1]];
    visits += end - begin;
    for (uint32_t r = begin; r < end; ++r) {
      const uint32_t reader = p_.readers[r];
      if ((high_[reader] == kClosed ? part_[reader] : high_[reader]) < c->high) high_[c->unit] = c->low;
    }
  }
  open_.clear();
  for (const PartChoice& c : choices) {
    if (low_[c.unit] < high_[c.unit])
      open_.push_back(c.unit);
    else
      low_[c.unit] = high_[c.unit] = kClosed;
  }
  return visits;
}

// Finds the tensors whose price depends on the open choices.
void BytesCut::touch() {
  tensors_.clear();
  const auto add = [&](uint32_t t) {
    if (!seen_[t]) seen_[t] = 1, tensors_.push_back(t);
  };
  for (uint32_t u : open_) {
    for (uint32_t t = p_.first_tensor[u]; t < p_.first_tensor[u + 1]; ++t) add(t);
    for (uint32_t i = reads_.first[u]; i < reads_.first[u + 1]; ++i) add(reads_.tensor[i]);
  }
}

uint64_t BytesCut::work_of_cut() const {
  uint64_t readers = open_.size();
  for (uint32_t t : tensors_) readers += p_.first_reader[t + 1] - p_.first_reader[t];
  return readers * kWorkPerArc;
}

bool BytesCut::cut() {
  const std::vector<uint32_t> parts = Network(*this).parts();
  moved_.clear();
  for (size_t i = 0; i < open_.size(); ++i)
    if (part_[open_[i]] != parts[i]) moved_.push_back(open_[i]);
  if (moved_.empty()) return false;
  const uint64_t before = touched_bytes();
  swap_moved();
  if (touched_bytes() < before) return true;
  swap_moved();
  return false;
}

void BytesCut::swap_moved() {
  for (uint32_t u : moved_) part_[u] = part_[u] == low_[u] ? high_[u] : low_[u];
}

uint64_t BytesCut::touched_bytes() {
  uint64_t sum = 0;
  for (uint32_t t : tensors_) sum += p_.bytes[t] * reading_parts(p_, part_, t, part_[reads_.producer[t]], seen_parts_);
  return sum;
}

}  // namespace optima::detail
