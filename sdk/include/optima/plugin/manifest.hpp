// SPDX-License-Identifier: Apache-2.0
// optima/plugin/manifest.hpp: tier 1 as a constexpr table. The manifest is written from it, and judge() answers check() with
// it, so that what a plugin promises and what it says cannot drift apart.
#pragma once

#include <array>

#include "optima/plugin/graph.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// "f32", "i64", ...; "dtype 99" for numbers this header does not know.
inline std::string dtype_name(int32_t dtype) {
  static constexpr const char* names[] = {"unknown", "f32", "u8", "i8", "u16", "i16", "i32", "i64", "string", "bool", "f16", "f64", "u32", "u64",
                                          "c64", "c128", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4", "i4", "f4e2m1", "f8e8m0", "u2", "i2"};
  return dtype >= 0 && dtype < 27 ? names[dtype] : "dtype " + std::to_string(dtype);
}

/// A bit set over dtype numbers.
using Types = uint64_t;
template <class... D>
constexpr Types types(D... dtype) {
  return (Types{0} | ... | (Types{1} << dtype));
}

struct Range {
  int32_t min = 0, max = 64;
};

/// One operator (or one range of its versions) that the plugin takes. An upper bound: check() may still refuse.
struct Op {
  std::string_view domain, name;        ///< domain "" = ai.onnx
  int32_t since_min = 1, since_max = 1; ///< range of Node::since_version
  std::array<Types, 8> in{}, out{};     ///< per position; the last one set also holds for the rest
  std::array<Range, 8> ranks{};         ///< per input; not set = any
  bool static_shape = true;             ///< every operand's shape must be known
  bool tensors_only = true;             ///< no sequences, maps, optionals
  uint32_t const_inputs = 0;            ///< bit per input that must be a constant, when present
  std::string_view kinds{};             ///< device kinds, space between; empty = all of the plugin's
  bool batch_only = false;              ///< only the first dim may be unknown or vary
  bool needs_layout = false;
  std::string_view note{};
  bool stateful = false;                ///< its result depends on what ran before (a generator, a counter): kept in the model's order, never cloned
};

struct DeviceKind {
  std::string_view kind;                ///< "X64"
  std::string_view device_class = "other";  ///< cpu gpu npu tpu dsp other
  bool is_virtual = false;              ///< any index may be compiled for, present or not
  bool quantizes_all = false;           ///< of quantized nodes every tensor is to be codes, so that none computes in float
};

/// One option users may set as `--option name=value`.
struct OptionSpec {
  std::string_view name;     ///< "<plugin id>.<key>"
  std::string_view type;     ///< bool int float string enum path bytes list
  std::string_view scope;    ///< init compile load context
  std::string_view def;      ///< default: JSON text for bool, int, float and list; else the text itself
  std::string_view doc;
  bool changes_artifact = false;  ///< another value makes another artifact: part of the cache key
  std::string_view values{}; ///< of an enum, space between
  double min = 0, max = 0;   ///< of int and float; equal = none
  bool secret = false;       ///< a licence key, a password: the host neither stores nor shows its value
};

struct OpsetRange {
  std::string_view domain;
  int32_t min, max;
};

struct Limits {  ///< 0 and empty = none
  uint64_t max_subgraphs = 0, max_nodes = 0, max_io = 0, memory = 0;
  bool connected_only = false;
  std::string_view not_first{}, not_last{};  ///< operators, space between
};

/// Who the plugin is and what it can do. Both its files, compiler and runtime, are made from one.
struct Info {
  std::string_view id;        ///< [a-z0-9_.-]+; reverse DNS outside the project
  std::string_view vendor, version;
  std::string_view build_id;  ///< changes when the artifacts may change; equal in both files of one plugin
  Span<const DeviceKind> devices{};
  Span<const Op> operators{};
  Span<const OptionSpec> options{};
  std::string_view formats{};  ///< format ids that load() accepts, space between
  std::string_view domains{};  ///< operator domains the plugin brings (optima.schema/1), space between
  Span<const OpsetRange> opsets{};
  Limits limits{};
  int32_t priority = 0;
  bool only_when_named = false, single_instance = false, cancel_by_kill = false;
};

constexpr bool valid_id(std::string_view id) {
  if (id.empty() || id.size() > 64) return false;
  for (char c : id)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-')) return false;
  return true;
}

/// An answer of check(). Anything but SUPPORTED needs a reason and a sentence.
struct Verdict {
  uint32_t node = OPTIMA_NONE;
  uint32_t verdict = OPTIMA_VERDICT_SUPPORTED;
  uint32_t reason = OPTIMA_REASON_NONE;
  std::string what{}, found{}, wanted{}, text{};
  uint32_t group = OPTIMA_NONE;

  bool yes() const { return verdict == OPTIMA_VERDICT_SUPPORTED; }
  static Verdict supported(const Node& n) { return {n.id()}; }
  /// The sentence is made from what, found and wanted: "input 0 is i64, must be f32".
  static Verdict refused(const Node& n, uint32_t reason, std::string what, std::string found, std::string wanted) {
    std::string text = what + " is " + found + ", must be " + wanted;
    return {n.id(), OPTIMA_VERDICT_UNSUPPORTED, reason, std::move(what), std::move(found), std::move(wanted), std::move(text)};
  }
  static Verdict refused(const Node& n, uint32_t reason, std::string text) {
    return {n.id(), OPTIMA_VERDICT_UNSUPPORTED, reason, {}, {}, {}, std::move(text)};
  }
};

namespace detail {

inline Types types_at(const std::array<Types, 8>& sets, uint32_t k) {
  Types last = 0;
  for (uint32_t i = 0; i <= k && i < sets.size() && sets[i]; ++i) last = sets[i];
  return last;
}

inline std::string type_names(Types set) {
  std::string all;
  for (int32_t d = 0; d < 64; ++d)
    if (set >> d & 1) all += (all.empty() ? "" : " or ") + dtype_name(d);
  return all.empty() ? "absent" : all;
}

inline std::string range_text(Range r) { return r.min == r.max ? std::to_string(r.min) : std::to_string(r.min) + ".." + std::to_string(r.max); }

/// What the row asks of one operand.
struct OperandRule {
  std::string what;
  Types set;
  Range rank;
  bool constant;
};

inline Verdict judge_operand(const Op& op, const Node& n, const Value& v, const OperandRule& rule) {
  const auto no = [&](uint32_t reason, std::string what, std::string found, std::string wanted) {
    return Verdict::refused(n, reason, std::move(what), std::move(found), std::move(wanted));
  };
  if (op.tensors_only && v.kind() != OPTIMA_KIND_TENSOR) return no(OPTIMA_REASON_DTYPE, rule.what, "no tensor", "a tensor");
  if (v.dtype() < 0 || v.dtype() > 63 || !(rule.set >> v.dtype() & 1)) return no(OPTIMA_REASON_DTYPE, rule.what, dtype_name(v.dtype()), type_names(rule.set));
  if (rule.constant && !v.is_constant()) return no(OPTIMA_REASON_CONST_REQUIRED, rule.what, "computed", "a constant");
  if (v.ranked() && (v.rank() < rule.rank.min || v.rank() > rule.rank.max))
    return no(OPTIMA_REASON_RANK, "rank of " + rule.what, std::to_string(v.rank()), range_text(rule.rank));
  if (!op.static_shape && !op.batch_only) return Verdict::supported(n);
  if (!v.ranked()) return no(OPTIMA_REASON_DYNAMIC_SHAPE, "shape of " + rule.what, "unranked", op.static_shape ? "static" : "static but for dim 0");
  for (uint32_t d = op.static_shape ? 0 : 1; d < static_cast<uint32_t>(v.rank()); ++d)
    if (v.dim(d) < 0) return no(OPTIMA_REASON_DYNAMIC_SHAPE, rule.what + " dim " + std::to_string(d), "dynamic", "static");
  return Verdict::supported(n);
}

}  // namespace detail

/// Why this row does not cover the node; SUPPORTED when it does.
inline Verdict judge(const Op& op, const Node& n) {
  const int32_t since = n.since_version();
  if (since < op.since_min || since > op.since_max)
    return Verdict::refused(n, OPTIMA_REASON_OPSET, "since_version", std::to_string(since), detail::range_text({op.since_min, op.since_max}));
  for (uint32_t k = 0; k < n.input_count(); ++k) {
    if (!n.input(k)) continue;
    const Range rank = k < op.ranks.size() ? op.ranks[k] : Range{};
    Verdict v = detail::judge_operand(op, n, n.input(k), {"input " + std::to_string(k), detail::types_at(op.in, k), rank, k < 32 && (op.const_inputs >> k & 1)});
    if (!v.yes()) return v;
  }
  for (uint32_t k = 0; k < n.output_count(); ++k) {
    if (!n.output(k)) continue;
    Verdict v = detail::judge_operand(op, n, n.output(k), {"output " + std::to_string(k), detail::types_at(op.out, k), {}, false});
    if (!v.yes()) return v;
  }
  return Verdict::supported(n);
}

/// SUPPORTED when any row covers the node, else the last fitting row's refusal, else "operator X is not in the table".
inline Verdict judge(Span<const Op> table, const Node& n) {
  Verdict best = Verdict::refused(n, OPTIMA_REASON_OP, "operator " + std::string(n.op()) + " is not in the table");
  best.what = "operator", best.found = std::string(n.op());
  for (const Op& op : table)
    if (op.name == n.op() && op.domain == n.domain()) {
      best = judge(op, n);
      if (best.yes()) break;
    }
  return best;
}

}  // namespace v0_1
}  // namespace optima::sdk
