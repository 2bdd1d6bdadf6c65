// SPDX-License-Identifier: Apache-2.0
// core/backend: tier 1, row by row; the refusal of the row that came nearest is the answer.
#include "core/backend/tier_one.hpp"

#include <algorithm>

#include "core/support/text.hpp"

namespace optima {

namespace {

std::string_view text_of(const optima_graph& graph, const optima_text& text) {
  const optima_str s = optima_string(graph.image, &text);
  return {s.data, s.size};
}

struct Refusal {
  uint32_t reason = OPTIMA_REASON_NONE;
  std::string what, found, wanted;
};

uint64_t set_at(const std::vector<uint64_t>& sets, uint32_t k) { return sets.empty() ? 0 : sets[std::min<size_t>(k, sets.size() - 1)]; }

std::string dtypes(uint64_t set) {
  std::string out;
  for (int d = 1; d < 64; ++d)
    if (set >> d & 1) out += cat(out.empty() ? "dtype " : ", ", d);
  return out.empty() ? "none there" : out;
}

class Judge {
 public:
  Judge(const OperatorRow& row, const optima_graph& graph, const optima_node& node) : row_(row), g_(graph.image), node_(node) {}

  Refusal judge() {
    if (node_.since_version < row_.since_min || node_.since_version > row_.since_max)
      return {OPTIMA_REASON_OPSET, "since_version", cat(node_.since_version), cat(row_.since_min, "..", row_.since_max)};
    for (uint32_t k = 0; k < node_.inputs.count && !refused(); ++k)
      if (const uint32_t v = optima_input(g_, &node_, k); v != OPTIMA_NONE) operand(*optima_get_value(g_, v), true, k);
    for (uint32_t k = 0; k < node_.outputs.count && !refused(); ++k)
      if (const uint32_t v = optima_output(g_, &node_, k); v != OPTIMA_NONE) operand(*optima_get_value(g_, v), false, k);
    return refusal_;
  }

 private:
  bool refused() const { return refusal_.reason != OPTIMA_REASON_NONE; }

  void operand(const optima_value& v, bool input, uint32_t k) {
    const std::string what = cat(input ? "input " : "output ", k);
    const uint64_t set = set_at(input ? row_.inputs : row_.outputs, k);
    if (v.dtype > 0 && (v.dtype > 63 || !(set >> v.dtype & 1))) {
      refusal_ = {OPTIMA_REASON_DTYPE, what, cat("dtype ", v.dtype), dtypes(set)};
      return;
    }
    if (input && k < 64 && (row_.const_inputs >> k & 1) && v.constant == OPTIMA_NONE && !maybe_captured(v)) {
      refusal_ = {OPTIMA_REASON_CONST_REQUIRED, what, "computed", "a constant"};
      return;
    }
    if (input) rank(v, what, k);
    if (!refused() && (row_.static_shape || row_.batch_only)) shape(v, what);
  }

  // A body's view of an outer value does not tell whether that is a constant.
  bool maybe_captured(const optima_value& v) const { return node_.graph != 0 && v.producer == OPTIMA_NONE; }

  void rank(const optima_value& v, const std::string& what, uint32_t k) {
    if (v.rank < 0 || k >= row_.ranks.size()) return;
    const auto [low, high] = row_.ranks[k];
    if (v.rank < low || v.rank > high) refusal_ = {OPTIMA_REASON_RANK, what, cat("rank ", v.rank), cat(low, "..", high)};
  }

  void shape(const optima_value& v, const std::string& what) {
    if (v.rank < 0) {
      refusal_ = {OPTIMA_REASON_DYNAMIC_SHAPE, what, "unknown rank", "a static shape"};
      return;
    }
    for (uint32_t d = row_.static_shape ? 0 : 1; d < v.dims.count; ++d)
      if (optima_get_dim(g_, v.dims.first + d)->value < 0) {
        refusal_ = {OPTIMA_REASON_DYNAMIC_SHAPE, cat(what, " dim ", d), "a dynamic dim", "a static one"};
        return;
      }
  }

  const OperatorRow& row_;
  const optima_image* g_;
  const optima_node& node_;
  Refusal refusal_;
};

Verdict as_verdict(uint32_t node, Refusal r, const std::string& text) {
  Verdict v;
  v.node = node;
  v.verdict = r.reason == OPTIMA_REASON_NONE ? OPTIMA_VERDICT_SUPPORTED : OPTIMA_VERDICT_UNSUPPORTED;
  v.reason = r.reason;
  v.what = std::move(r.what), v.found = std::move(r.found), v.wanted = std::move(r.wanted);
  v.text = text;
  return v;
}

}  // namespace

Verdict judge_by_note(const Manifest& manifest, std::string_view kind, const optima_graph& graph, const optima_node& node) {
  const std::string op(text_of(graph, node.op_type)), domain(text_of(graph, node.domain));
  const std::string shown = domain.empty() ? plain_line(op) : plain_line(domain + "." + op);
  Refusal nearest{OPTIMA_REASON_OP, "operator", shown, "an operator of its note"};
  std::string text = cat("operator ", shown, " is not in the note of plugin ", manifest.id);
  for (const OperatorRow& row : manifest.operators) {
    if (row.op != op || row.domain != domain) continue;
    if (!row.kinds.empty() && std::find(row.kinds.begin(), row.kinds.end(), kind) == row.kinds.end()) continue;
    Refusal r = Judge(row, graph, node).judge();
    if (r.reason == OPTIMA_REASON_NONE) return as_verdict(node.id, {}, "");
    if (nearest.reason > OPTIMA_REASON_OPSET) continue;  // the first row whose version fits explains best
    text = cat(shown, ": ", r.what, " is ", r.found, ", must be ", r.wanted);
    nearest = std::move(r);
  }
  return as_verdict(node.id, std::move(nearest), text);
}

}  // namespace optima
