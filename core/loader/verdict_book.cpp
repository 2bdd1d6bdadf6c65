// SPDX-License-Identifier: Apache-2.0
// core/loader: rules of check() in docs/plugin-abi.md: exactly one verdict per candidate, never without a reason.
#include "core/loader/verdict_book.hpp"

#include <algorithm>
#include <cstddef>

#include "core/backend/tier_one.hpp"
#include "core/loader/seam.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

bool is_yes(uint32_t verdict) {
  return verdict == OPTIMA_VERDICT_SUPPORTED || verdict == OPTIMA_VERDICT_ONLY_IN_GROUP || verdict == OPTIMA_VERDICT_PREFER_ELSEWHERE;
}

}  // namespace

bool is_readable(const optima_verdict* raw) { return seam::sane(raw, offsetof(optima_verdict, group)); }

Verdict owned(const optima_verdict& raw) {
  Verdict v;
  v.node = raw.node;
  v.verdict = raw.verdict;
  v.reason = raw.reason <= OPTIMA_REASON_OTHER ? raw.reason : uint32_t{OPTIMA_REASON_OTHER};
  v.group = raw.verdict == OPTIMA_VERDICT_ONLY_IN_GROUP ? raw.group : OPTIMA_NONE;
  v.what = seam::text(raw.what, 200);
  v.found = seam::text(raw.found, 1000);
  v.wanted = seam::text(raw.wanted, 1000);
  v.text = seam::text(raw.text);
  return v;
}

std::vector<Verdict> all_refused(std::span<const uint32_t> nodes, uint32_t reason, const std::string& otherwise, const std::string& said) {
  std::vector<Verdict> verdicts(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    verdicts[i].node = nodes[i];
    verdicts[i].reason = reason;
    verdicts[i].text = said.empty() ? otherwise : said;
  }
  return verdicts;
}

VerdictBook::VerdictBook(std::string_view plugin, std::span<const uint32_t> nodes) : plugin_(plugin), verdicts_(nodes.size()), told_(nodes.size()) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    verdicts_[i].node = nodes[i];
    slot_.emplace(nodes[i], i);
  }
}

int32_t VerdictBook::report(void* book, const optima_verdict* verdicts, uint32_t count) {
  return seam::guarded([&]() -> int32_t {
    auto& self = *static_cast<VerdictBook*>(book);
    const std::lock_guard lock(self.mutex_);
    for (; count > 0; --count) {
      if (!is_readable(verdicts)) {
        self.damage_ = cat("reported a verdict of size ", verdicts ? verdicts->struct_size : 0);
        self.complain_once(self.damage_);
        return OPTIMA_INVALID_ARGUMENT;
      }
      if (const int32_t code = self.add(seam::known(verdicts)); code != OPTIMA_OK) return code;
      verdicts = OPTIMA_NEXT(optima_verdict, verdicts);
    }
    return OPTIMA_OK;
  });
}

std::string VerdictBook::damage() {
  const std::lock_guard lock(mutex_);
  return damage_;
}

int32_t VerdictBook::add(const optima_verdict& raw) {
  const auto it = slot_.find(raw.node);
  if (it == slot_.end()) {
    complain_once(cat("gave a verdict for node ", raw.node, ", which was not asked"));
    return OPTIMA_OK;
  }
  Verdict& v = verdicts_[it->second];
  if (told_[it->second]) {
    refuse(v, "gave more than one verdict for this node");
    return OPTIMA_OK;
  }
  told_[it->second] = true;
  v = owned(raw);
  if (v.verdict < OPTIMA_VERDICT_SUPPORTED || v.verdict > OPTIMA_VERDICT_PREFER_ELSEWHERE)
    refuse(v, cat("gave the unknown verdict ", v.verdict));
  else if (v.verdict != OPTIMA_VERDICT_SUPPORTED && (raw.reason == OPTIMA_REASON_NONE || v.text.empty()))
    refuse(v, "refused without a reason");
  else if (v.verdict == OPTIMA_VERDICT_ONLY_IN_GROUP && v.group == OPTIMA_NONE)
    refuse(v, "said ONLY_IN_GROUP without a group");
  else if (v.verdict == OPTIMA_VERDICT_SUPPORTED)
    v.reason = OPTIMA_REASON_NONE;
  return OPTIMA_OK;
}

void VerdictBook::refuse(Verdict& v, std::string_view misdeed) {
  const uint32_t node = v.node;
  v = Verdict{};
  v.node = node;
  v.text = cat("plugin ", plugin_, " ", misdeed);
  complain_once(std::string(misdeed));
}

void VerdictBook::complain_once(std::string misdeed) {
  if (std::find(complaints_.begin(), complaints_.end(), misdeed) != complaints_.end() || complaints_.size() >= 100) return;
  seam::misbehaves(plugin_, cat("check: ", misdeed));
  complaints_.push_back(std::move(misdeed));
}

void VerdictBook::hold_to_note(const Manifest& manifest, std::string_view kind, const optima_graph& graph) {
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < graph.image->nodes.count; ++i) {
    const optima_node& node = *optima_get_node(graph.image, i);
    const auto it = slot_.find(node.id);
    if (it == slot_.end() || !told_[it->second] || !is_yes(verdicts_[it->second].verdict)) continue;
    const Verdict note = judge_by_note(manifest, kind, graph, node);
    if (note.verdict != OPTIMA_VERDICT_SUPPORTED) refuse(verdicts_[it->second], cat("says yes outside its note: ", note.text));
  }
}

std::vector<Verdict> VerdictBook::finish() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < verdicts_.size(); ++i)
    if (!told_[i] && slot_.at(verdicts_[i].node) == i) refuse(verdicts_[i], "gave no verdict for this node");
  for (size_t i = 0; i < verdicts_.size(); ++i)  // a node asked twice gets the same answer twice
    if (const size_t first = slot_.at(verdicts_[i].node); first != i) verdicts_[i] = verdicts_[first];
  return std::move(verdicts_);
}

}  // namespace optima
