// SPDX-License-Identifier: Apache-2.0
// core/config: the one door to yaml-cpp. Reads one document into a plain tree with places; knows no setting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima {

/// A scalar, list or map of a YAML document, and where it stands (both from 1).
struct YamlNode {
  enum class Kind { Null, Scalar, List, Map };
  struct Member;
  Kind kind = Kind::Null;
  std::string text;            ///< of a scalar
  bool quoted = false;         ///< of a scalar: never a number or boolean
  uint32_t line = 1, column = 1;
  std::vector<YamlNode> items;     ///< of a list
  std::vector<Member> members;     ///< of a map, in file order, keys unique
};
struct YamlNode::Member {
  std::string key;
  uint32_t line = 1, column = 1;
  YamlNode value;
};

/// "what:line:column: " in front of a message.
Status yaml_error(std::string_view what, uint32_t line, uint32_t column, std::string_view message);

/// One document. InvalidInput as "what:line:column: ..." for bad syntax, duplicate keys, keys that are no scalars, several
/// documents, tags, and everything that lets a small file grow large: anchors and aliases, nesting over 64, over 16 MiB.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view what);

/// The same as JSON: unquoted null, true, false and numbers are such, all else is a string.
Result<Json> yaml_to_json(std::string_view text, std::string_view what);
/// Of a file; `what` is its path.
Result<Json> read_yaml(const std::string& path);

}  // namespace optima
