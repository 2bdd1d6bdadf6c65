// SPDX-License-Identifier: Apache-2.0
// core/package: the text of model.meta -> Package, everything in it checked. Knows no files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/package/meta_hash.hpp"
#include "core/package/package.hpp"
#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

constexpr size_t kLongestName = 1024;
constexpr size_t kMostSubgraphs = 100000;
constexpr size_t kMostDims = 64;
constexpr uint64_t kLargestFile = uint64_t{1} << 46;  // 64 TiB: no file system we know holds more in one file
constexpr size_t kLargestRecord = 64 * 1024;          // the seam's limit of set_compat

bool is_sha256(std::string_view s) {
  return s.size() == 64 && std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::string> read_sha(const JsonReader& r, std::string_view key) {
  OPTIMA_ASSIGN(std::string s, r.string(key));
  if (!is_sha256(s)) return invalid_input(cat(r.place(), ".", key, ": found ", quote(s), ", wanted 64 lower-case hexadecimal digits"));
  return s;
}

Result<uint64_t> check_size(int64_t n, const std::string& place) {
  if (n < 0 || static_cast<uint64_t>(n) > kLargestFile) return invalid_input(cat(place, ": found size ", n, ", wanted 0 to ", kLargestFile));
  return static_cast<uint64_t>(n);
}

Result<std::map<std::string, std::string>> read_strings(const JsonReader& r, std::string_view key) {
  std::map<std::string, std::string> out;
  OPTIMA_ASSIGN(const JsonReader object, r.object(key));
  for (const auto& [name, value] : object.json().items()) {
    if (!value.is_string()) return invalid_input(cat(object.place(), ".", name, ": found ", value.type_name(), ", wanted a string"));
    out.emplace(name, value.get<std::string>());
  }
  return out;
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

Status read_shape(const JsonReader& r, PackageTensor& t) {
  if (!r.has("shape")) return invalid_input(cat(r.place(), ": member 'shape' is missing, wanted an array or null"));
  const Json& shape = r.json()["shape"];
  t.unranked = shape.is_null();
  if (t.unranked) return {};
  const std::string place = cat(r.place(), ".shape");
  if (!shape.is_array()) return invalid_input(cat(place, ": found ", shape.type_name(), ", wanted an array or null"));
  if (shape.size() > kMostDims) return invalid_input(cat(place, ": found ", shape.size(), " dims, wanted at most ", kMostDims));
  for (const Json& d : shape) {
    const bool integer = d.is_number_integer() && !(d.is_number_unsigned() && d.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
    if (!(integer && d.get<int64_t>() >= 0) && !d.is_string() && !d.is_null())
      return invalid_input(cat(place, ": found ", to_line(d), ", wanted an integer from 0, a symbol or null"));
    t.shape.push_back(integer ? d.get<int64_t>() : -1);
    t.symbols.push_back(d.is_string() ? d.get<std::string>() : std::string());
  }
  const bool is_static = std::all_of(t.shape.begin(), t.shape.end(), [](int64_t d) { return d >= 0; });
  if (is_static && optima_dtype_bits(t.dtype) != 0) {
    const std::optional<uint64_t> bytes = byte_size(t.dtype, t.shape);
    if (!bytes || *bytes > kLargestFile) return invalid_input(cat(place, ": a tensor of shape ", shape_text(t.shape), " is absurdly large"));
  }
  return {};
}

Result<PackageTensor> read_tensor(const JsonReader& r, std::string name) {
  PackageTensor t;
  t.name = std::move(name);
  OPTIMA_ASSIGN(const std::string dtype, r.string("dtype"));
  const std::optional<int32_t> number = dtype_of(dtype);
  if (!number) return invalid_input(cat(r.place(), ".dtype: found ", quote(dtype), ", wanted a type name"));
  t.dtype = *number;
  OPTIMA_RETURN_IF_ERROR(read_shape(r, t));
  OPTIMA_ASSIGN(t.attr, r.string("attr"));
  if (t.attr != "input" && t.attr != "output" && t.attr != "intermediate")
    return invalid_input(cat(r.place(), ".attr: found ", quote(t.attr), ", wanted input, output or intermediate"));
  return t;
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
  OPTIMA_ASSIGN(const JsonReader plugin, r.object("plugin"));
  OPTIMA_ASSIGN(s.plugin, plugin.string("id"));
  OPTIMA_ASSIGN(s.plugin_version, plugin.string("version"));
  OPTIMA_ASSIGN(s.plugin_build, plugin.string("build"));
  OPTIMA_ASSIGN(const JsonReader target, r.object("target"));
  OPTIMA_ASSIGN(s.target, read_target(target));
  OPTIMA_ASSIGN(s.format_id, r.string("format_id"));
  OPTIMA_ASSIGN(s.stem, r.string("stem"));
  OPTIMA_RETURN_IF_ERROR(read_subgraph_files(r, s, package));
  OPTIMA_ASSIGN(s.inputs, r.strings("inputs"));
  OPTIMA_ASSIGN(s.outputs, r.strings("outputs"));
  OPTIMA_ASSIGN(const JsonReader compat, r.object("compat"));
  OPTIMA_ASSIGN(s.compat_record, read_record(compat));
  OPTIMA_ASSIGN(s.compat_text, compat.string("text"));
  OPTIMA_ASSIGN(const JsonReader meta, r.object("meta"));
  for (const auto& [key, value] : meta.json().items()) {
    OPTIMA_ASSIGN(std::string text, meta.string(key));
    s.meta.emplace_back(key, std::move(text));
  }
  return s;
}

Result<PassThrough> read_pass(const JsonReader& r, const Package& package) {
  PassThrough p;
  OPTIMA_ASSIGN(p.output, r.string("output"));
  if (r.has("weight")) {
    OPTIMA_ASSIGN(p.weight, read_sha(r, "weight"));
    if (!package.weights.count(p.weight)) return invalid_input(cat(r.place(), ": weight ", p.weight, " is not among the package's weights"));
  } else {
    OPTIMA_ASSIGN(p.input, r.string("input"));
  }
  return p;
}

// Every tensor is declared, written once, and written before it is read; every output is there in the end.
Status check_flow(const PackageVariant& v, const Package& package, const std::string& place) {
  std::set<std::string_view> ready(package.inputs.begin(), package.inputs.end());
  for (const PackageSubgraph& s : v.subgraphs) {
    for (const std::string& name : s.inputs)
      if (!ready.count(name)) return invalid_input(cat(place, ".subgraphs[", s.index, "]: input ", quote(name), " is not written before it is read"));
    for (const std::string& name : s.outputs) {
      if (!package.find_tensor(name)) return invalid_input(cat(place, ".subgraphs[", s.index, "]: output ", quote(name), " is not among the tensors"));
      if (!ready.insert(name).second) return invalid_input(cat(place, ".subgraphs[", s.index, "]: tensor ", quote(name), " is written twice"));
    }
  }
  for (const PassThrough& p : v.pass_through) {
    const bool known = std::find(package.outputs.begin(), package.outputs.end(), p.output) != package.outputs.end();
    if (!known) return invalid_input(cat(place, ".pass_through: ", quote(p.output), " is not an output of the model"));
    if (p.weight.empty() && std::find(package.inputs.begin(), package.inputs.end(), p.input) == package.inputs.end())
      return invalid_input(cat(place, ".pass_through: ", quote(p.input), " is not an input of the model"));
    if (ready.count(p.output) && p.output != p.input) return invalid_input(cat(place, ".pass_through: tensor ", quote(p.output), " is written twice"));
    ready.insert(p.output);
  }
  for (const std::string& name : package.outputs)
    if (!ready.count(name)) return invalid_input(cat(place, ": output ", quote(name), " of the model is never written"));
  return {};
}

Result<PackageVariant> read_variant(const JsonReader& r, size_t first_index, const Package& package) {
  PackageVariant v;
  OPTIMA_ASSIGN(const JsonReader shapes, r.object("shapes"));
  for (const auto& [name, dims] : shapes.json().items()) {
    OPTIMA_ASSIGN(v.shapes[name], shapes.integers(name));
  }
  OPTIMA_ASSIGN(const std::vector<JsonReader> subgraphs, r.array("subgraphs"));
  if (subgraphs.size() > kMostSubgraphs) return invalid_input(cat(r.place(), ".subgraphs: found ", subgraphs.size(), ", wanted at most ", kMostSubgraphs));
  for (const JsonReader& s : subgraphs) {
    OPTIMA_ASSIGN(PackageSubgraph subgraph, read_subgraph(s, first_index + v.subgraphs.size(), package));
    v.subgraphs.push_back(std::move(subgraph));
  }
  OPTIMA_ASSIGN(const std::vector<JsonReader> passes, r.array("pass_through"));
  for (const JsonReader& p : passes) {
    OPTIMA_ASSIGN(PassThrough pass, read_pass(p, package));
    v.pass_through.push_back(std::move(pass));
  }
  OPTIMA_RETURN_IF_ERROR(check_flow(v, package, r.place()));
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

Status read_tables(const JsonReader& r, Package& p) {
  OPTIMA_ASSIGN(const JsonReader tensors, r.object("tensors"));
  for (const auto& [name, value] : tensors.json().items()) {
    OPTIMA_ASSIGN(PackageTensor tensor, read_tensor(JsonReader(value, cat(tensors.place(), ".", name)), name));
    p.tensors.push_back(std::move(tensor));
  }
  std::sort(p.tensors.begin(), p.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  OPTIMA_ASSIGN(const JsonReader weights, r.object("weights"));
  for (const auto& [sha, value] : weights.json().items()) {
    if (!is_sha256(sha)) return invalid_input(cat(weights.place(), ": found ", quote(sha), ", wanted 64 lower-case hexadecimal digits"));
    const std::string place = cat(weights.place(), ".", sha);
    if (!value.is_number_integer()) return invalid_input(cat(place, ": found ", value.type_name(), ", wanted an integer"));
    OPTIMA_ASSIGN(p.weights[sha], check_size(value.get<int64_t>(), place));
  }
  OPTIMA_ASSIGN(const JsonReader files, r.object("files"));
  for (const auto& [name, value] : files.json().items()) {
    OPTIMA_ASSIGN(p.files[name], read_file_entry(JsonReader(value, cat(files.place(), ".", name)), name));
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
  if (format < 1) return invalid_input(cat(r.place(), ".format: found ", format, ", wanted ", kPackageFormat));
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
