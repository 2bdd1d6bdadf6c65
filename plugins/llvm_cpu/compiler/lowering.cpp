// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see lowering.hpp: the table and its judgement.
#include "plugins/llvm_cpu/compiler/lowering.hpp"

#include "plugins/llvm_cpu/compiler/judge.hpp"

#include <algorithm>
#include <unordered_map>

#include "optima/plugin/manifest.hpp"

namespace optima::llvm_cpu {

namespace {

/// The position that also holds for the rest.
size_t last_set(const std::array<Types, 4>& types) {
  size_t last = 0;
  for (size_t k = 0; k < types.size(); ++k)
    if (types[k]) last = k;
  return last;
}

/// Where a row takes f32 it takes the 16-bit floats: GraphView::dtype() shows them to the lowerings as f32.
Types with_halves(Types of_row) { return of_row & kFloat ? of_row | types(OPTIMA_F16, OPTIMA_BF16) : of_row; }

}  // namespace

sdk::Op tier_one(const Lowering& row) {
  sdk::Op op;
  op.domain = row.domain, op.name = row.op;
  op.since_min = row.since_min, op.since_max = row.since_max;
  std::transform(row.in.begin(), row.in.end(), op.in.begin(), with_halves);
  std::transform(row.out.begin(), row.out.end(), op.out.begin(), with_halves);
  op.ranks[0] = {row.rank_min, row.rank_max};
  // Floats may come through a DequantizeLinear of a constant, which the note cannot tell: judge() looks.
  for (uint32_t k = 0; k < 32; ++k)
    if (!(row.in[std::min<size_t>(k, last_set(row.in))] >> OPTIMA_F32 & 1)) op.const_inputs |= row.const_inputs & 1u << k;
  return op;
}

std::span<const Lowering> all_lowerings() {
  static const std::vector<Lowering> all = [] {
    std::vector<Lowering> rows;
    for (const Family family : families()) rows.insert(rows.end(), family.begin(), family.end());
    std::stable_sort(rows.begin(), rows.end(), [](const Lowering& a, const Lowering& b) {
      return std::tie(a.domain, a.op, a.since_min) < std::tie(b.domain, b.op, b.since_min);
    });
    return rows;
  }();
  return all;
}

namespace {

/// What the tier's types, ranks and constants do not say: all that hangs on dims and elements.
Refusal judge_numbers(const Lowering& row, const NodeView& node) {
  if (const Refusal r = check_signature(row.operands, node)) return r;
  for (uint32_t k = 0; k < node.input_count(); ++k)
    if (k < 32 && (row.const_inputs >> k & 1) && node.has_input(k) && !node.graph.is_known(node.input(k)))
      return {OPTIMA_REASON_CONST_REQUIRED, "input " + std::to_string(k), node.graph.is_constant(node.input(k)) ? "not mapped" : "computed",
              node.graph.is_constant(node.input(k)) ? "a constant with its bytes" : "a constant"};
  return row.check ? row.check(node) : Refusal();
}

Refusal judge(const Lowering& row, const NodeView& node) {
  const sdk::Verdict v = sdk::judge(tier_one(row), sdk::Node(node.graph.raw, node.raw));
  if (!v.yes()) return {v.reason, v.what, v.found, v.wanted};
  return judge_numbers(row, node);
}

/// The rows that may be the node's, in their order: a plan asks some thousand times.
std::span<const Lowering> rows_of(const NodeView& node) {
  static const std::unordered_map<std::string_view, std::span<const Lowering>> by_op = [] {
    std::unordered_map<std::string_view, std::span<const Lowering>> out;
    const std::span<const Lowering> all = all_lowerings();
    for (size_t first = 0, end = 0; first < all.size(); first = end) {
      while (end < all.size() && all[end].op == all[first].op && all[end].domain == all[first].domain) ++end;
      if (all[first].domain.empty()) out.emplace(all[first].op, all.subspan(first, end - first));
    }
    return out;
  }();
  if (!node.domain().empty()) return all_lowerings();
  const auto at = by_op.find(node.op());
  return at == by_op.end() ? std::span<const Lowering>() : at->second;
}

}  // namespace

const Lowering* find_lowering(const NodeView& node) {
  const Lowering *nearest = nullptr, *first = nullptr;
  for (const Lowering& row : rows_of(node)) {
    if (row.op != node.op() || row.domain != node.domain()) continue;
    nearest = &row;
    if (node.since() < row.since_min || node.since() > row.since_max) continue;
    if (!first) {
      first = &row;
      continue;
    }
    // Several: the first one that takes it, else that whose types it has, which knows what is wrong with it.
    const Refusal own = judge(*first, node);
    if (!own) return first;
    const Refusal other = judge(row, node);
    if (!other) return &row;
    if (own.reason == OPTIMA_REASON_DTYPE && other.reason != OPTIMA_REASON_DTYPE) first = &row;
  }
  return first ? first : nearest;
}

Refusal judge(const NodeView& node) {
  const Lowering* row = find_lowering(node);
  return row ? judge(*row, node) : Refusal{OPTIMA_REASON_OP, "operator", std::string(node.op()), "one of the plugin's table"};
}

const Lowering* taker(const NodeView& node) { return judge(node) ? nullptr : find_lowering(node); }

bool is_taker(const Lowering* row, const NodeView& node) {
  int rows = 0;
  for (const Lowering& r : rows_of(node)) rows += r.op == node.op() && r.domain == node.domain() && node.since() >= r.since_min && node.since() <= r.since_max;
  return row && rows == 1 ? !judge_numbers(*row, node) : taker(node) == row;
}

int64_t last_channels(int64_t channels) { return channels <= 4 ? 4 : (channels + 15) / 16 * 16; }

int64_t elements(const Dims& dims, Layout layout, const Target& target) {
  if (layout == Layout::Plain || layout == Layout::Narrow) return count(dims);
  Dims padded = dims;
  if (layout == Layout::Last) return dims[1] ? count(dims) / dims[1] * last_channels(dims[1]) : 0;
  padded[1] = (dims[1] + target.vector_width - 1) / target.vector_width * target.vector_width;
  return count(padded);
}

Dims blocked_dims(const Dims& dims, const Target& target) {
  Dims out = dims;
  out[1] = (dims[1] + target.vector_width - 1) / target.vector_width;
  out.push_back(target.vector_width);
  return out;
}

}  // namespace optima::llvm_cpu
