// SPDX-License-Identifier: Apache-2.0
// optima/plugin/meta_json.hpp: a JSON file among those of an artifact, read member by member. The JSON library is the plugin's: `Json` is
// nlohmann's basic_json, or a class with its functions. Everything read here is hostile; all of it throws CORRUPT. Not included by plugin.hpp.
#pragma once

#include <algorithm>

#include "optima/plugin/record.hpp"

namespace optima::sdk {
inline namespace v0_1 {

[[noreturn]] inline void bad_meta(const std::string& what) { throw Error(OPTIMA_CORRUPT, "meta file " + what); }

template <class Json>
const Json& meta_member(const Json& object, const char* key, typename Json::value_t type, const char* wanted) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (at == object.end()) bad_meta("has no '" + std::string(key) + "'");
  if (at->type() != type) bad_meta("has '" + std::string(key) + "' as " + at->type_name() + ", wanted " + wanted);
  return *at;
}

template <class Json>
std::string meta_text(const Json& object, const char* key) {
  return meta_member(object, key, Json::value_t::string, "a text").template get<std::string>();
}
template <class Json>
std::string meta_text_or_none(const Json& object, const char* key) {
  return object.contains(key) ? meta_text(object, key) : std::string();
}
template <class Json>
const Json& meta_list(const Json& object, const char* key) {
  return meta_member(object, key, Json::value_t::array, "a list");
}
template <class Json>
std::string meta_file_name(const Json& object, const char* key) {
  std::string name = meta_text(object, key);
  if (!is_file_name(name)) bad_meta("has " + std::string(key) + " " + shown(name) + ", wanted a file name");
  return name;
}

/// The element type of tensor `name`, no string, by the word that dtype_name() has for it.
template <class Json>
int32_t meta_dtype(const Json& object, const char* key, const std::string& name) {
  const std::string word = meta_text(object, key);
  for (int32_t d = OPTIMA_F32; d <= OPTIMA_I2; ++d)
    if (d != OPTIMA_STRING && dtype_name(d) == word) return d;
  bad_meta("has " + shown(name) + " of type " + shown(word) + ", wanted an element type");
}

/// Member "dims" of tensor `name`: at most 64 sizes that make no tensor larger than the seam's bindings are. `first_open`: the first may be -1.
template <class Json>
std::vector<int64_t> meta_dims(const Json& object, const std::string& name, int32_t dtype, bool first_open = false) {
  constexpr uint64_t kLargest = uint64_t{1} << 47;  // bytes
  std::vector<int64_t> dims;
  uint64_t bytes = std::max<uint64_t>(optima_dtype_bits(dtype) / 8, 1);
  for (const Json& d : meta_list(object, "dims")) {
    const bool open = first_open && dims.empty() && d.is_number_integer() && d.template get<int64_t>() == -1;
    if (!open && !d.is_number_unsigned() && !(d.is_number_integer() && d.template get<int64_t>() >= 0)) bad_meta("has a dim of " + shown(name) + " that is no size");
    if (dims.size() == 64) bad_meta("has " + shown(name) + " with more than 64 dims");
    const uint64_t size = open ? 1 : d.template get<uint64_t>();
    if (size > kLargest / bytes) bad_meta("has " + shown(name) + " larger than any tensor");
    bytes *= std::max<uint64_t>(size, 1);
    dims.push_back(open ? -1 : static_cast<int64_t>(size));
  }
  return dims;
}

/// The object in `bytes`, whose member "format" is `format`.
template <class Json>
Json parse_meta(std::string_view bytes, std::string_view format) {
  Json all = Json::parse(bytes, nullptr, false);
  if (all.is_discarded()) bad_meta("is not JSON, or truncated");
  if (!all.is_object()) bad_meta("is no JSON object");
  const std::string found = meta_text(all, "format");
  if (found != format) bad_meta("has format " + shown(found) + ", wanted " + std::string(format));
  return all;
}

/// The file's text. Throws UNSUPPORTED where a name is not UTF-8.
template <class Json>
std::string write_meta(const Json& all) {
  try {
    return all.dump(1) + "\n";
  } catch (const typename Json::exception&) {
    throw Error(OPTIMA_UNSUPPORTED, "a name of the graph is not UTF-8, which the meta file cannot hold");
  }
}

}  // namespace v0_1
}  // namespace optima::sdk
