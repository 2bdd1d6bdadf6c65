// SPDX-License-Identifier: Apache-2.0
// core/graph: names for nodes that have none or share one.
#include "core/graph/names.hpp"

#include <unordered_map>

namespace optima {
namespace {

std::string lower(std::string_view op) {
  std::string out(op);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::vector<std::string> stable_names(std::span<const NamedOp> nodes) {
  std::unordered_map<std::string_view, uint32_t> count;
  for (const NamedOp& n : nodes) ++count[n.name];
  std::vector<std::string> names(nodes.size());
  std::unordered_map<std::string, uint32_t> next;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const std::string op = lower(nodes[k].op_type);
    uint32_t& number = next[op];
    ++number;
    if (!nodes[k].name.empty() && count[nodes[k].name] == 1) {
      names[k] = nodes[k].name;
      continue;
    }
    // Shared names count as taken too, so that nobody mistakes a generated name for them.
    while (count.count(names[k] = op + '_' + std::to_string(number))) ++number;
  }
  return names;
}

std::string fresh_name(std::string_view op, std::unordered_set<std::string>& taken) {
  const std::string stem = lower(op) + '_';
  for (uint32_t number = 1;; ++number) {
    std::string name = stem + std::to_string(number);
    if (taken.insert(name).second) return name;
  }
}

}  // namespace optima
