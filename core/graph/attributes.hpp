// SPDX-License-Identifier: Apache-2.0
// core/graph: attributes of nodes by name, read and made.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"

namespace optima {

/// Null when the node has none of this name. Lives as long as the node's attributes stay.
inline const image::Attr* find_attr(const image::Node& node, std::string_view name) {
  const auto it = std::find_if(node.attrs.begin(), node.attrs.end(), [&](const image::Attr& a) { return a.name == name; });
  return it == node.attrs.end() ? nullptr : &*it;
}

inline int64_t int_attr(const image::Node& node, std::string_view name, int64_t otherwise) {
  const image::Attr* a = find_attr(node, name);
  return a ? a->i : otherwise;
}

inline image::Attr int_attribute(std::string name, int64_t number) {
  image::Attr a;
  a.name = std::move(name);
  a.i = number;
  return a;
}

inline image::Attr ints_attribute(std::string name, std::vector<int64_t> numbers) {
  image::Attr a;
  a.name = std::move(name);
  a.type = OPTIMA_ATTR_INTS;
  a.ints = std::move(numbers);
  return a;
}

}  // namespace optima
