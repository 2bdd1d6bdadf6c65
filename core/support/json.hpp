// SPDX-License-Identifier: Apache-2.0
// core/support: the one door to nlohmann/json. Reading is strict, writing is byte-stable (sorted or given key order).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/support/status.hpp"

namespace optima {

/// Keys keep the order in which they were written: same input, same bytes.
using Json = nlohmann::ordered_json;

/// Strict RFC 8259. InvalidInput naming `what`, line and column for bad syntax, duplicate keys (both places named),
/// invalid UTF-8, or nesting over 200.
Result<Json> parse_json(std::string_view text, std::string_view what);
/// The same, of a file; `what` is its path.
Result<Json> read_json(const std::string& path);

/// Adds a member of a name that the object does not have yet. Its operator[] would search all members for it: quadratic in a loop.
void append_member(Json& object, std::string key, Json value);

/// Two-space indented, newline at the end, bytes that are no UTF-8 replaced.
std::string to_text(const Json& json);
/// On one line.
std::string to_line(const Json& json);

/// Walks a document that somebody else wrote and names every mistake with its place ("model.meta: subgraphs[2].device").
/// All getters give an error when the member is missing or of another type; `*_or` give the fallback when it is missing.
class JsonReader {
 public:
  JsonReader(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {}

  const Json& json() const { return *json_; }
  const std::string& place() const { return place_; }
  bool has(std::string_view key) const;
  Result<JsonReader> object(std::string_view key) const;
  Result<std::vector<JsonReader>> array(std::string_view key) const;
  /// Of an object, its members in order. To look each up by name would be quadratic.
  Result<std::vector<std::pair<std::string, JsonReader>>> members(std::string_view key) const;
  Result<std::vector<std::pair<std::string, std::string>>> string_members(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string_or(std::string_view key, std::string fallback) const;
  Result<int64_t> integer_or(std::string_view key, int64_t fallback) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::vector<std::string>> strings(std::string_view key) const;
  Result<std::vector<int64_t>> integers(std::string_view key) const;
  Result<std::vector<int64_t>> integers() const;  ///< of this value itself
  /// Fails unless this is an object whose members are all among `known`.
  Status only(std::initializer_list<std::string_view> known) const;

 private:
  Result<const Json*> member(std::string_view key, std::string_view wanted, bool (*is)(const Json&)) const;
  const Json* json_;
  std::string place_;
};

}  // namespace optima
