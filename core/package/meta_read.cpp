// SPDX-License-Identifier: Apache-2.0
// core/package: the text of model.meta -> Package, everything in it checked. Knows no files.
#include <algorithm>
#include <set>

#include "core/package/meta_hash.hpp"
#include "core/package/meta_parts.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

using detail::is_sha256;
using detail::kLargestFile;
using detail::read_sha;

constexpr size_t kLongestName = 1024;
constexpr size_t kMostSubgraphs = 100000;
constexpr size_t kLargestRecord = 64 * 1024;          // the seam's limit of set_compat

Result<uint64_t> check_size(int64_t n, const std::string& place) {
  if (n < 0 || static_cast<uint64_t>(n) > kLargestFile) return invalid_input(cat(place, ": found size ", n, ", wanted 0 to ", kLargestFile));
  return static_cast<uint64_t>(n);
}

Result<std::map<std::string, std::string>> read_strings(const JsonReader& r, std::string_view key) {
  OPTIMA_ASSIGN(const auto members, r.string_members(key));
  return std::map<std::string, std::string>(members.begin(), members.end());
}

Result<PackageFile> read_file_entry(const JsonReader& r, std::string name) {
  PackageFile f;
  f.name = std::move(name);
  OPTIMA_RETURN_IF_ERROR(check_file_name(f.name).within(r.place()));
  OPTIMA_ASSIGN(const int64_t size, r.integer("size"));
  OPTIMA_ASSIGN(f.size, check_size(size, cat(r.place(), ".size")));
  OPTIMA_ASSIGN(f.sha256, read_sha(r, "sha256"));
  return f;
}

Result<std::vector<std::byte>> read_record(const JsonReader& r) {
  OPTIMA_ASSIGN(const std::string hex, r.string("record"));
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::vector<std::byte> out;
  bool good = hex.size() % 2 == 0 && hex.size() <= 2 * kLargestRecord;
  for (size_t i = 0; good && i < hex.size(); i += 2) {
    good = digit(hex[i]) >= 0 && digit(hex[i + 1]) >= 0;
    out.push_back(static_cast<std::byte>(good ? digit(hex[i]) * 16 + digit(hex[i + 1]) : 0));
  }
  if (!good) return invalid_input(cat(r.place(), ".record: wanted pairs of lower-case hexadecimal digits, at most ", kLargestRecord, " bytes"));
  return out;
}

Result<TargetDevice> read_target(const JsonReader& r) {
  TargetDevice t;
  OPTIMA_ASSIGN(t.kind, r.string("kind"));
  OPTIMA_ASSIGN(const int64_t slot, r.integer("slot"));
  if (slot < 0 || slot > UINT32_MAX) return invalid_input(cat(r.place(), ".slot: found ", slot, ", wanted 0 to ", UINT32_MAX));
  t.slot = static_cast<uint32_t>(slot);
  OPTIMA_ASSIGN(t.attributes, read_strings(r, "attributes"));
  OPTIMA_ASSIGN(const int64_t limit, r.integer("memory_limit"));
  t.memory_limit = static_cast<uint64_t>(std::max<int64_t>(limit, 0));
  return t;
}

Status read_subgraph_files(const JsonReader& r, PackageSubgraph& s, const Package& package) {
  OPTIMA_ASSIGN(const std::vector<JsonReader> files, r.array("files"));
  std::set<std::string> names;
  for (const JsonReader& f : files) {
    OPTIMA_ASSIGN(std::string name, f.string("name"));
    OPTIMA_ASSIGN(PackageFile file, read_file_entry(f, std::move(name)));
    if (!names.insert(file.name).second) return invalid_input(cat(f.place(), ": file ", quote(file.name), " is listed twice"));
    s.files.push_back(std::move(file));
  }
  OPTIMA_ASSIGN(const std::vector<JsonReader> weights, r.array("weights"));
  for (const JsonReader& w : weights) {
    OPTIMA_ASSIGN(std::string name, w.string("name"));
    OPTIMA_ASSIGN(std::string sha, read_sha(w, "sha256"));
    if (!package.weights.count(sha)) return invalid_input(cat(w.place(), ": weight ", sha, " is not among the package's weights"));
    s.weights.emplace_back(std::move(name), std::move(sha));
  }
  return {};
}

Result<PackageSubgraph> read_subgraph(const JsonReader& r, size_t position, const Package& package) {
  PackageSubgraph s;
  OPTIMA_ASSIGN(const int64_t index, r.integer("index"));
  if (index != static_cast<int64_t>(position)) return invalid_input(cat(r.place(), ".index: found ", index, ", wanted ", position));
  s.index = static_cast<uint32_t>(position);
  OPTIMA_ASSIGN(s.device, r.string("device"));
  OPTIMA_ASSIGN(s.inputs, r.strings("inputs"));
  OPTIMA_ASSIGN(s.outputs, r.strings("outputs"));
  if (r.has("flow")) {
    OPTIMA_ASSIGN(s.flow, detail::read_flow(r, package));
    return s;
  }
  OPTIMA_ASSIGN(const JsonReader plugin, r.object("plugin"));
  OPTIMA_ASSIGN(s.plugin, plugin.string("id"));
  OPTIMA_ASSIGN(s.plugin_version, plugin.string("version"));
  OPTIMA_ASSIGN(s.plugin_build, plugin.string("build"));
  OPTIMA_ASSIGN(const JsonReader target, r.object("target"));
  OPTIMA_ASSIGN(s.target, read_target(target));
  OPTIMA_ASSIGN(s.format_id, r.string("format_id"));
  OPTIMA_ASSIGN(s.stem, r.string("stem"));
  OPTIMA_RETURN_IF_ERROR(read_subgraph_files(r, s, package));
  OPTIMA_ASSIGN(const JsonReader compat, r.object("compat"));
  OPTIMA_ASSIGN(s.compat_record, read_record(compat));
  OPTIMA_ASSIGN(s.compat_text, compat.string("text"));
  OPTIMA_ASSIGN(s.meta, r.string_members("meta"));
  return s;
}

Result<PackageVariant> read_variant(const JsonReader& r, size_t first_index, const Package& package) {
  PackageVariant v;
  OPTIMA_ASSIGN(const JsonReader shapes, r.object("shapes"));
  if (!shapes.json().empty()) return invalid_input(cat(shapes.place(), ": found a variant for certain shapes of the inputs, wanted none"));
  OPTIMA_ASSIGN(const std::vector<JsonReader> subgraphs, r.array("subgraphs"));
  if (subgraphs.size() > kMostSubgraphs) return invalid_input(cat(r.place(), ".subgraphs: found ", subgraphs.size(), ", wanted at most ", kMostSubgraphs));
  for (const JsonReader& s : subgraphs) {
    OPTIMA_ASSIGN(PackageSubgraph subgraph, read_subgraph(s, first_index + v.subgraphs.size(), package));
    v.subgraphs.push_back(std::move(subgraph));
  }
  OPTIMA_ASSIGN(v.pass_through, detail::read_pass_through(r, package));
  v.main = static_cast<uint32_t>(v.subgraphs.size());
  if (r.has("main")) {
    OPTIMA_ASSIGN(const int64_t main, r.integer("main"));
    if (main < 0 || main > static_cast<int64_t>(v.subgraphs.size()))
      return invalid_input(cat(r.place(), ".main: found ", main, ", wanted 0 to ", v.subgraphs.size()));
    v.main = static_cast<uint32_t>(main);
  }
  OPTIMA_RETURN_IF_ERROR(detail::check_flow(v, first_index, package, r.place()));
  return v;
}

Result<std::vector<std::string>> read_values(const JsonReader& r, std::string_view key, const Package& package) {
  std::vector<std::string> out;
  OPTIMA_ASSIGN(const std::vector<JsonReader> values, r.array(key));
  for (const JsonReader& v : values) {
    OPTIMA_ASSIGN(std::string name, v.string("name"));
    if (!package.find_tensor(name)) return invalid_input(cat(v.place(), ": tensor ", quote(name), " is not among the tensors"));
    out.push_back(std::move(name));
  }
  return out;
}

Result<SizeRange> read_range(const JsonReader& r) {
  SizeRange out{0, 0, 1, SizeRange::kNotSaid, {}};
  if (r.has("values")) {
    OPTIMA_ASSIGN(out.listed, r.integers("values"));
    if (out.listed.empty()) return invalid_input(cat(r.place(), ".values: is empty, wanted at least one size"));
    out.min = out.listed.front(), out.max = out.listed.back();
  } else {
    for (const auto& [key, number] : {std::pair("min", &out.min), std::pair("max", &out.max), std::pair("step", &out.step)}) {
      OPTIMA_ASSIGN(*number, r.integer(key));
    }
  }
  if (r.has("opt")) {
    OPTIMA_ASSIGN(out.opt, r.integer("opt"));
    if (out.opt < 0) return invalid_input(cat(r.place(), ".opt: found ", out.opt, ", wanted 0 or more"));
  }
  OPTIMA_RETURN_IF_ERROR(check_range(out).within(r.place()));
  return out;
}

// Which sizes open dims of inputs may have.
Status read_sizes(const JsonReader& r, Package& p) {
  if (!r.has("sizes")) return {};
  std::set<std::string_view> symbols;
  for (const std::string& name : p.inputs)
    for (const std::string& symbol : p.find_tensor(name)->symbols)
      if (!symbol.empty()) symbols.insert(symbol);
  OPTIMA_ASSIGN(const auto sizes, r.members("sizes"));
  for (const auto& [symbol, range] : sizes) {
    if (!symbols.count(symbol)) return invalid_input(cat(range.place(), ": no input has a dim ", quote(symbol), ", wanted the name of one"));
    OPTIMA_ASSIGN(p.sizes[symbol], read_range(range));
  }
  return {};
}

// Which inputs and outputs have codes of texts.
Status read_texts(const JsonReader& r, Package& p) {
  if (!r.has("texts")) return {};
  OPTIMA_ASSIGN(const JsonReader tables, r.object("texts"));
  for (const auto& [name, table] : tables.json().items()) {
    const bool is_end = std::find(p.inputs.begin(), p.inputs.end(), name) != p.inputs.end() || std::find(p.outputs.begin(), p.outputs.end(), name) != p.outputs.end();
    if (!is_end) return invalid_input(cat(tables.place(), ": there is no input or output ", quote(name), ", wanted the name of one"));
    if (const int32_t dtype = p.find_tensor(name)->dtype; dtype != OPTIMA_I64)
      return invalid_input(cat(tables.place(), ".", name, ": tensor ", quote(name), " is ", dtype_name(dtype), ", wanted int64 of codes"));
    OPTIMA_ASSIGN(p.texts[name], tables.strings(name));
    OPTIMA_RETURN_IF_ERROR(check_text_table(p.texts[name]).within(cat(tables.place(), ".", name)));
  }
  return {};
}

Status read_tables(const JsonReader& r, Package& p) {
  OPTIMA_ASSIGN(p.tensors, detail::read_tensors(r));
  OPTIMA_ASSIGN(const JsonReader weights, r.object("weights"));
  for (const auto& [sha, value] : weights.json().items()) {
    if (!is_sha256(sha)) return invalid_input(cat(weights.place(), ": found ", quote(sha), ", wanted 64 lower-case hexadecimal digits"));
    const std::string place = cat(weights.place(), ".", sha);
    if (!value.is_number_integer()) return invalid_input(cat(place, ": found ", value.type_name(), ", wanted an integer"));
    OPTIMA_ASSIGN(p.weights[sha], check_size(value.get<int64_t>(), place));
  }
  OPTIMA_ASSIGN(const auto files, r.members("files"));
  for (const auto& [name, file] : files) {
    OPTIMA_ASSIGN(p.files[name], read_file_entry(file, name));
  }
  OPTIMA_ASSIGN(p.options, read_strings(r, "options"));
  OPTIMA_ASSIGN(p.tools, read_strings(r, "tools"));
  return {};
}

// The format comes first: a newer file may break every other rule.
Status check_format(const JsonReader& r) {
  OPTIMA_ASSIGN(const int64_t format, r.integer("format"));
  if (format > kPackageFormat)
    return invalid_input(cat(r.place(), ": found package format ", format, ", wanted ", kPackageFormat, " or older: a newer optima made it"));
  if (format < 1) return invalid_input(cat(r.place(), ".format: found ", format, ", wanted 1 to ", kPackageFormat));
  return {};
}

Status check_own_hash(std::string_view text, const JsonReader& r) {
  OPTIMA_ASSIGN(const std::string stated, read_sha(r, "sha256"));
  const size_t at = meta_hash_at(text);
  if (at == std::string_view::npos || text.substr(at, 64) != stated)
    return invalid_input(cat(r.place(), ".sha256: is not where the writer puts it, wanted the second member"));
  std::string zeroed(text);
  zeroed.replace(at, 64, 64, '0');
  const std::string found = to_hex(sha256(zeroed.data(), zeroed.size()));
  if (found != stated) return invalid_input(cat(r.place(), ": found sha256 ", found, ", wanted ", stated, ": the file was changed or damaged"));
  return {};
}

}  // namespace

Status check_file_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return invalid_input(cat("a file name of ", name.size(), " bytes, wanted 1 to ", kLongestName));
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\') return invalid_input(cat("file name ", quote(name), " has a byte that is not allowed"));
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return invalid_input(cat("file name ", quote(name), " leaves the package, wanted a relative name without '.' and '..'"));
    at = end + 1;
  }
  return {};
}

Result<Package> read_meta(std::string_view text, std::string_view what) {
  OPTIMA_ASSIGN(const Json json, parse_json(text, what));
  const JsonReader r(json, std::string(what));
  OPTIMA_RETURN_IF_ERROR(check_format(r));
  OPTIMA_RETURN_IF_ERROR(check_own_hash(text, r));
  Package p;
  p.hash = to_hex(sha256(text.data(), text.size()));
  OPTIMA_ASSIGN(const JsonReader model, r.object("model"));
  OPTIMA_ASSIGN(p.model_name, model.string("name"));
  OPTIMA_ASSIGN(p.model_hash, model.string("sha256"));
  OPTIMA_RETURN_IF_ERROR(read_tables(r, p));
  OPTIMA_ASSIGN(p.inputs, read_values(r, "inputs", p));
  OPTIMA_ASSIGN(p.outputs, read_values(r, "outputs", p));
  OPTIMA_RETURN_IF_ERROR(read_sizes(r, p));
  OPTIMA_RETURN_IF_ERROR(read_texts(r, p));
  OPTIMA_ASSIGN(const std::vector<JsonReader> variants, r.array("variants"));
  if (variants.empty()) return invalid_input(cat(r.place(), ".variants: is empty, wanted at least one"));
  size_t index = 0;
  for (const JsonReader& v : variants) {
    OPTIMA_ASSIGN(PackageVariant variant, read_variant(v, index, p));
    index += variant.subgraphs.size();
    p.variants.push_back(std::move(variant));
  }
  return p;
}

}  // namespace optima
