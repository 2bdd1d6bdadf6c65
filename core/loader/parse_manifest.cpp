// SPDX-License-Identifier: Apache-2.0
// core/loader: reads a manifest strictly: every member that is used is checked, and a mistake is named with its place.
#include "core/loader/parse_manifest.hpp"

#include <algorithm>

#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {

namespace {

using Object = JsonReader;

Status bad(const Object& at, std::string_view member, std::string_view found, std::string_view wanted) {
  return invalid_input(cat(at.place(), ".", member, ": found ", found, ", wanted ", wanted));
}

bool only_of(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || extra.find(c) != extra.npos;
  });
}

Status one_of(const Object& at, std::string_view member, std::string_view found, std::initializer_list<std::string_view> legal) {
  if (std::find(legal.begin(), legal.end(), found) != legal.end()) return {};
  std::string wanted = "one of";
  for (std::string_view l : legal) wanted += cat(" ", l);
  return bad(at, member, quote(found), wanted);
}

Result<std::vector<Object>> array_or_none(const Object& at, std::string_view member) {
  if (!at.has(member)) return std::vector<Object>{};
  return at.array(member);
}

Result<std::vector<std::string>> strings_or_none(const Object& at, std::string_view member) {
  if (!at.has(member)) return std::vector<std::string>{};
  return at.strings(member);
}

Result<uint64_t> count_or(const Object& at, std::string_view member, uint64_t fallback) {
  OPTIMA_ASSIGN(const int64_t n, at.integer_or(member, static_cast<int64_t>(fallback)));
  if (n < 0) return bad(at, member, std::to_string(n), "0 or more");
  return static_cast<uint64_t>(n);
}

Result<std::pair<int32_t, int32_t>> range(const Object& at, std::string_view member, int32_t least, int32_t most) {
  OPTIMA_ASSIGN(const std::vector<int64_t> ends, at.integers(member));
  if (ends.size() != 2 || ends[0] < least || ends[1] > most || ends[0] > ends[1])
    return bad(at, member, at.json()[std::string(member)].dump(), cat("[low, high] within ", least, "..", most));
  return std::pair(static_cast<int32_t>(ends[0]), static_cast<int32_t>(ends[1]));
}

Result<std::vector<uint64_t>> dtype_sets(const Object& at, std::string_view member) {
  std::vector<uint64_t> sets;
  OPTIMA_ASSIGN(const std::vector<Object> rows, at.array(member));
  for (size_t k = 0; k < rows.size(); ++k) {
    const std::string place = cat(member, "[", k, "]");
    if (!rows[k].json().is_array()) return bad(at, place, rows[k].json().type_name(), "an array of dtype numbers");
    uint64_t set = 0;
    for (const Json& dtype : rows[k].json()) {
      if (!dtype.is_number_integer() || dtype < 1 || dtype > 63) return bad(at, place, dtype.dump(), "dtype numbers 1..63");
      set |= uint64_t{1} << dtype.get<int>();
    }
    sets.push_back(set);
  }
  return sets;
}

Status read_abi(const Object& root, Manifest& m) {
  OPTIMA_ASSIGN(const std::vector<Object> pairs, root.array("abi"));
  for (const Object& p : pairs) {
    const Json& j = p.json();
    if (!j.is_array() || j.size() != 2 || !j[0].is_number_unsigned() || !j[1].is_number_unsigned() || j[0] > 1000 || j[1] > 100000)
      return invalid_input(cat(p.place(), ": found ", j.dump(), ", wanted [major, minor]"));
    m.abi.emplace_back(j[0].get<uint32_t>(), j[1].get<uint32_t>());
  }
  if (m.abi.empty()) return bad(root, "abi", "no pair", "at least one [major, minor]");
  return {};
}

Status read_identity(const Object& root, Manifest& m) {
  OPTIMA_ASSIGN(m.id, root.string("id"));
  if (m.id.empty() || m.id.size() > 64 || !only_of(m.id, "_.-")) return bad(root, "id", quote(m.id), "1 to 64 of a-z 0-9 _ . -");
  if (m.id[0] == '.' || m.id == "optima") return bad(root, "id", quote(m.id), "a name that is not reserved");
  OPTIMA_ASSIGN(m.vendor, root.string("vendor"));
  OPTIMA_ASSIGN(m.version, root.string("version"));
  OPTIMA_ASSIGN(m.build_id, root.string("build_id"));
  if (m.build_id.empty()) return bad(root, "build_id", "an empty string", "a text that differs between builds");
  OPTIMA_ASSIGN(const uint64_t minor, count_or(root, "min_host_minor", 0));
  m.min_host_minor = static_cast<uint32_t>(std::min<uint64_t>(minor, UINT32_MAX));
  OPTIMA_ASSIGN(m.sanitizer, root.string_or("sanitizer", "none"));
  OPTIMA_RETURN_IF_ERROR(one_of(root, "sanitizer", m.sanitizer, {"none", "address", "thread", "memory"}));
  OPTIMA_ASSIGN(m.priority, root.integer_or("priority", 0));
  if (m.priority < INT32_MIN || m.priority > INT32_MAX) return bad(root, "priority", std::to_string(m.priority), "a number of 32 bits");
  return {};
}

Status read_roles_and_flags(const Object& root, Manifest& m) {
  OPTIMA_ASSIGN(const std::vector<std::string> roles, root.strings("roles"));
  for (const std::string& role : roles) {
    OPTIMA_RETURN_IF_ERROR(one_of(root, "roles", role, {"compiler", "runtime"}));
    (role == "compiler" ? m.compiler : m.runtime) = true;
  }
  if (roles.empty()) return bad(root, "roles", "none", "compiler, runtime or both");
  OPTIMA_ASSIGN(const std::vector<std::string> flags, strings_or_none(root, "flags"));
  for (const std::string& flag : flags) {  // flags of the future are no mistake
    if (flag == "only_when_named") m.only_when_named = true;
    if (flag == "single_instance") m.single_instance = true;
    if (flag == "cancel_by_kill") m.cancel_by_kill = true;
  }
  return {};
}

Status read_devices(const Object& root, Manifest& m) {
  OPTIMA_ASSIGN(const std::vector<Object> devices, root.array("devices"));
  for (const Object& d : devices) {
    DeviceKind kind;
    OPTIMA_ASSIGN(kind.kind, d.string("kind"));
    const auto legal = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
    if (kind.kind.empty() || kind.kind[0] < 'A' || kind.kind[0] > 'Z' || !std::all_of(kind.kind.begin(), kind.kind.end(), legal))
      return bad(d, "kind", quote(kind.kind), "upper-case letters, digits and _");
    if (m.find_kind(kind.kind)) return bad(d, "kind", quote(kind.kind), "each kind once");
    OPTIMA_ASSIGN(kind.device_class, d.string_or("class", "other"));
    OPTIMA_RETURN_IF_ERROR(one_of(d, "class", kind.device_class, {"cpu", "gpu", "npu", "tpu", "dsp", "other"}));
    OPTIMA_ASSIGN(const std::vector<std::string> flags, strings_or_none(d, "flags"));
    kind.is_virtual = std::find(flags.begin(), flags.end(), "virtual") != flags.end();
    OPTIMA_ASSIGN(const std::string quantizes, d.string_or("quantizes", "products"));
    OPTIMA_RETURN_IF_ERROR(one_of(d, "quantizes", quantizes, {"products", "all"}));
    kind.quantizes_all = quantizes == "all";
    m.devices.push_back(std::move(kind));
  }
  return {};
}

Status read_claims(const Object& root, Manifest& m) {
  OPTIMA_ASSIGN(m.domains, strings_or_none(root, "domains"));
  OPTIMA_ASSIGN(m.formats, strings_or_none(root, "formats"));
  OPTIMA_ASSIGN(const std::vector<Object> functions, array_or_none(root, "functions"));
  for (const Object& f : functions) {
    OPTIMA_ASSIGN(std::string domain, f.string("domain"));
    OPTIMA_ASSIGN(std::string name, f.string("name"));
    m.functions.emplace_back(std::move(domain), std::move(name));
  }
  OPTIMA_ASSIGN(const std::vector<Object> opsets, array_or_none(root, "opsets"));
  for (const Object& o : opsets) {
    OpsetRange r;
    OPTIMA_ASSIGN(r.domain, o.string("domain"));
    OPTIMA_ASSIGN(r.min, o.integer("min"));
    OPTIMA_ASSIGN(r.max, o.integer("max"));
    if (r.min < 1 || r.max < r.min) return bad(o, "max", std::to_string(r.max), cat(r.min, " or more, and min 1 or more"));
    m.opsets.push_back(std::move(r));
  }
  return {};
}

Status read_limits(const Object& root, Manifest& m) {
  if (!root.has("limits")) return {};
  OPTIMA_ASSIGN(const Object at, root.object("limits"));
  OPTIMA_ASSIGN(m.limits.max_subgraphs, count_or(at, "max_subgraphs", 0));
  OPTIMA_ASSIGN(m.limits.max_nodes, count_or(at, "max_nodes", 0));
  OPTIMA_ASSIGN(m.limits.max_io, count_or(at, "max_io", 0));
  OPTIMA_ASSIGN(m.limits.memory, count_or(at, "memory", 0));
  OPTIMA_ASSIGN(m.limits.connected_only, at.boolean_or("connected_only", false));
  OPTIMA_ASSIGN(m.limits.not_first, strings_or_none(at, "not_first"));
  OPTIMA_ASSIGN(m.limits.not_last, strings_or_none(at, "not_last"));
  return {};
}

// "rank" is of input 0; "ranks", when later inputs are bounded too, has a pair per input.
Status read_ranks(const Object& o, OperatorRow& row) {
  if (o.has("rank")) {
    OPTIMA_ASSIGN(const auto ends, range(o, "rank", 0, 64));
    std::tie(row.rank_min, row.rank_max) = ends;
  }
  OPTIMA_ASSIGN(const std::vector<Object> pairs, array_or_none(o, "ranks"));
  for (const Object& pair : pairs) {
    const Json& p = pair.json();
    if (!p.is_array() || p.size() != 2 || !p[0].is_number_unsigned() || !p[1].is_number_unsigned() || p[1] > 64 || p[0] > p[1])
      return invalid_input(cat(pair.place(), ": found ", p.dump(), ", wanted [low, high] within 0..64"));
    row.ranks.emplace_back(p[0].get<int32_t>(), p[1].get<int32_t>());
  }
  if (row.ranks.empty()) row.ranks.emplace_back(row.rank_min, row.rank_max);
  std::tie(row.rank_min, row.rank_max) = row.ranks[0];
  return {};
}

Result<OperatorRow> read_operator(const Object& o, const Manifest& m) {
  OperatorRow row;
  OPTIMA_ASSIGN(row.domain, o.string("domain"));
  OPTIMA_ASSIGN(row.op, o.string("op"));
  if (row.op.empty()) return bad(o, "op", "an empty string", "an operator's name");
  OPTIMA_ASSIGN(const auto since, range(o, "since_version", 1, INT32_MAX));
  std::tie(row.since_min, row.since_max) = since;
  OPTIMA_ASSIGN(row.inputs, dtype_sets(o, "inputs"));
  OPTIMA_ASSIGN(row.outputs, dtype_sets(o, "outputs"));
  OPTIMA_RETURN_IF_ERROR(read_ranks(o, row));
  OPTIMA_ASSIGN(row.static_shape, o.boolean_or("static_shape", false));
  OPTIMA_ASSIGN(const std::vector<std::string> flags, strings_or_none(o, "flags"));
  row.batch_only = std::find(flags.begin(), flags.end(), "batch_only") != flags.end();
  row.stateful = std::find(flags.begin(), flags.end(), "stateful") != flags.end();
  OPTIMA_ASSIGN(row.const_inputs, count_or(o, "const_inputs", 0));
  OPTIMA_ASSIGN(row.kinds, strings_or_none(o, "kinds"));
  for (const std::string& kind : row.kinds)
    if (!m.find_kind(kind)) return bad(o, "kinds", quote(kind), "kinds that devices lists");
  OPTIMA_ASSIGN(row.note, o.string_or("note", ""));
  return row;
}

Status read_bounds(const Object& o, OptionSchema& option) {
  if (o.has("min")) {
    OPTIMA_ASSIGN(option.min, o.number("min"));
    option.has_min = true;
  }
  if (o.has("max")) {
    OPTIMA_ASSIGN(option.max, o.number("max"));
    option.has_max = true;
  }
  if (option.has_min && option.has_max && option.min > option.max) return bad(o, "max", "less than min", "min or more");
  return {};
}

Result<OptionSchema> read_option(const Object& o, const Manifest& m) {
  OptionSchema option;
  OPTIMA_ASSIGN(option.name, o.string("name"));
  if (!option.name.starts_with(m.id + ".") || option.name.size() == m.id.size() + 1 || !only_of(option.name, "_.-"))
    return bad(o, "name", quote(option.name), cat("'", m.id, ".' and then a-z 0-9 _ . -"));
  OPTIMA_ASSIGN(option.type, o.string("type"));
  OPTIMA_RETURN_IF_ERROR(one_of(o, "type", option.type, {"bool", "int", "float", "string", "enum", "path", "bytes", "list"}));
  OPTIMA_ASSIGN(option.scope, o.string("scope"));
  OPTIMA_RETURN_IF_ERROR(one_of(o, "scope", option.scope, {"init", "compile", "load", "context"}));
  OPTIMA_ASSIGN(option.doc, o.string_or("doc", ""));
  OPTIMA_ASSIGN(option.changes_artifact, o.boolean_or("changes_artifact", option.scope == "compile"));
  OPTIMA_ASSIGN(option.secret, o.boolean_or("secret", false));
  if (option.type == "enum") {
    OPTIMA_ASSIGN(option.values, o.strings("values"));
    if (option.values.empty()) return bad(o, "values", "none", "the enum's values");
  }
  OPTIMA_RETURN_IF_ERROR(read_bounds(o, option));
  if (o.has("default")) {
    const Json& value = o.json()["default"];
    option.default_text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return option;
}

Status read_tables(const Object& root, Manifest& m) {
  OPTIMA_ASSIGN(const std::vector<Object> operators, root.array("operators"));
  for (const Object& o : operators) {
    OPTIMA_ASSIGN(OperatorRow row, read_operator(o, m));
    m.operators.push_back(std::move(row));
  }
  OPTIMA_ASSIGN(const std::vector<Object> options, root.array("options"));
  for (const Object& o : options) {
    OPTIMA_ASSIGN(OptionSchema option, read_option(o, m));
    const auto same = [&](const OptionSchema& other) { return other.name == option.name; };
    if (std::any_of(m.options.begin(), m.options.end(), same)) return bad(o, "name", quote(option.name), "each option once");
    m.options.push_back(std::move(option));
  }
  return {};
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view json, std::string_view what) {
  while (!json.empty() && (json.back() == '\0' || json.back() == '\n')) json.remove_suffix(1);  // a note may be padded
  OPTIMA_ASSIGN(const Json document, parse_json(json, what));
  const Object root(document, std::string(what));
  OPTIMA_ASSIGN(const int64_t format, root.integer("manifest"));
  if (format != 1) return bad(root, "manifest", std::to_string(format), "format 1");
  Manifest m;
  OPTIMA_RETURN_IF_ERROR(read_abi(root, m));
  OPTIMA_RETURN_IF_ERROR(read_identity(root, m));
  OPTIMA_RETURN_IF_ERROR(read_roles_and_flags(root, m));
  OPTIMA_RETURN_IF_ERROR(read_devices(root, m));
  OPTIMA_RETURN_IF_ERROR(read_claims(root, m));
  OPTIMA_RETURN_IF_ERROR(read_limits(root, m));
  OPTIMA_RETURN_IF_ERROR(read_tables(root, m));
  return m;
}

}  // namespace optima
