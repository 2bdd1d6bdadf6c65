// SPDX-License-Identifier: Apache-2.0
// core/package: tensors and pass-through of model.meta, of the main graph and of bodies.
#include <algorithm>

#include "core/package/meta_parts.hpp"
#include "core/support/json_value.hpp"
#include "core/support/most_dims.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/door.hpp"
#include "core/tensor_io/element.hpp"

namespace optima::detail {
namespace {

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
  OPTIMA_ASSIGN(t.dtype, read_dtype(r));
  OPTIMA_RETURN_IF_ERROR(read_shape(r, t));
  OPTIMA_ASSIGN(t.attr, r.string("attr"));
  if (t.attr != "input" && t.attr != "output" && t.attr != "intermediate")
    return invalid_input(cat(r.place(), ".attr: found ", quote(t.attr), ", wanted input, output or intermediate"));
  if (!r.has("door")) return t;
  OPTIMA_ASSIGN(const JsonReader door, r.object("door"));
  if (t.attr != "intermediate") return invalid_input(cat(door.place(), ": found one of an ", t.attr, ", wanted none"));
  if (t.unranked || std::any_of(t.shape.begin(), t.shape.end(), [](int64_t d) { return d < 1; }))
    return invalid_input(cat(door.place(), ": found one of a tensor of unknown or empty shape, wanted none"));
  OPTIMA_ASSIGN(t.door, door_from_json(door));
  if (const std::string wrong = wrong_with(t.door, t.dtype, t.shape); !wrong.empty()) return invalid_input(cat(door.place(), ": the door ", wrong));
  return t;
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

}  // namespace

bool is_sha256(std::string_view s) {
  return s.size() == 64 && std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::string> read_sha(const JsonReader& r, std::string_view key) {
  OPTIMA_ASSIGN(std::string s, r.string(key));
  if (!is_sha256(s)) return invalid_input(cat(r.place(), ".", key, ": found ", quote(s), ", wanted 64 lower-case hexadecimal digits"));
  return s;
}

Result<int32_t> read_dtype(const JsonReader& r) {
  OPTIMA_ASSIGN(const std::string dtype, r.string("dtype"));
  const std::optional<int32_t> number = dtype_of(dtype);
  if (!number) return invalid_input(cat(r.place(), ".dtype: found ", quote(dtype), ", wanted a type name"));
  return *number;
}

Result<std::vector<PackageTensor>> read_tensors(const JsonReader& r) {
  std::vector<PackageTensor> out;
  OPTIMA_ASSIGN(const auto tensors, r.members("tensors"));
  for (const auto& [name, value] : tensors) {
    OPTIMA_ASSIGN(PackageTensor tensor, read_tensor(value, name));
    out.push_back(std::move(tensor));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

Result<std::vector<PassThrough>> read_pass_through(const JsonReader& r, const Package& package) {
  std::vector<PassThrough> out;
  OPTIMA_ASSIGN(const std::vector<JsonReader> passes, r.array("pass_through"));
  for (const JsonReader& p : passes) {
    OPTIMA_ASSIGN(PassThrough pass, read_pass(p, package));
    out.push_back(std::move(pass));
  }
  return out;
}

}  // namespace optima::detail
