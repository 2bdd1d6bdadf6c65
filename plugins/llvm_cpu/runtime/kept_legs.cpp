// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see kept_legs.hpp.
#include "plugins/llvm_cpu/runtime/kept_legs.hpp"

#include <algorithm>
#include <iterator>

#include "plugins/llvm_cpu/runtime/ready_leg.hpp"

namespace optima::llvm_cpu {
namespace {

/// Plans in a row that cannot be moved, after which none is expected to be.
constexpr int kMostUnmoved = 4;
/// Keys that are remembered after their plans have been moved to others: as many as may take turns. Sizes that grow again and again are no such.
constexpr size_t kMostMovedAway = 8;

}  // namespace

KeptLegs::KeptLegs(size_t most) : most_(most) {}
KeptLegs::~KeptLegs() = default;

ReadyLeg& KeptLegs::get(std::string key, const Given& given, const Make& make) {
  const auto at = std::find_if(legs_.begin(), legs_.end(), [&](const Kept& k) { return k.leg->way().key == key; });
  if (at != legs_.end()) {
    legs_.splice(legs_.begin(), legs_, at);
  } else {
    Way way{std::move(key), given()};
    if (!move_one(way)) add(std::move(way), make);
  }
  return *legs_.front().leg;
}

void KeptLegs::note_run() {
  Kept& latest = legs_.front();
  latest.is_wanted = latest.was_run, latest.was_run = true;
}

void KeptLegs::outlive_keys() {
  if (legs_.size() > 1) legs_.erase(std::next(legs_.begin()), legs_.end());
  if (!legs_.empty()) legs_.front().is_wanted = false;
  moved_away_.clear();
}

void KeptLegs::add(Way way, const Make& make) {
  auto leg = make(std::move(way), unmoved_ < kMostUnmoved ? Fitter::Keep::HowItWasMade : Fitter::Keep::Plan);
  unmoved_ = leg->leg().can_move() ? 0 : unmoved_ + 1;
  if (legs_.size() >= most_) legs_.pop_back();
  legs_.push_front({std::move(leg)});
}

/// Moves a leg to another key: the latest, where it has been run only once, as a size that grows does not come back (where one does, its plan stays); else
/// the one that would have to go.
bool KeptLegs::move_one(const Way& way) {
  if (legs_.empty()) return false;
  if (legs_.front().is_wanted) return legs_.size() >= most_ && move(std::prev(legs_.end()), way);
  if (!legs_.front().leg->leg().can_move()) return false;
  const std::hash<std::string> hash;
  if (const auto away = std::find(moved_away_.begin(), moved_away_.end(), hash(way.key)); away != moved_away_.end()) {
    moved_away_.erase(away);
    return false;
  }
  const size_t away = hash(legs_.front().leg->way().key);
  if (!move(legs_.begin(), way)) return false;
  moved_away_.push_front(away);
  if (moved_away_.size() > kMostMovedAway) moved_away_.pop_back();
  return true;
}

/// It becomes the latest; gone where it cannot be moved.
bool KeptLegs::move(std::list<Kept>::iterator from, const Way& way) {
  std::unique_ptr<ReadyLeg> leg = std::move(from->leg);
  legs_.erase(from);
  if (!leg->move(way)) return false;
  legs_.push_front({std::move(leg)});
  return true;
}

}  // namespace optima::llvm_cpu
