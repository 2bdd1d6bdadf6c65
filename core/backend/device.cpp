// SPDX-License-Identifier: Apache-2.0
// core/backend: the names users give to devices. Knows no plugin.
#include "core/backend/device.hpp"

#include <algorithm>
#include <charconv>

#include "core/support/text.hpp"

namespace optima {

namespace {

bool is_kind(std::string_view kind) {
  const auto legal = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return !kind.empty() && kind[0] >= 'A' && kind[0] <= 'Z' && std::all_of(kind.begin(), kind.end(), legal);
}

bool is_plugin_id(std::string_view id) {
  const auto legal = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'; };
  return !id.empty() && std::all_of(id.begin(), id.end(), legal);
}

}  // namespace

std::string DeviceName::text() const { return plugin.empty() ? cat(kind, ":", index) : cat(plugin, "/", kind, ":", index); }

Result<DeviceName> parse_device(std::string_view text) {
  const Status bad = invalid_input(cat("device ", quote(text), ": wanted KIND:index or plugin/KIND:index, as in CPU:0 or acme/CPU:0"));
  DeviceName name;
  std::string_view rest = text;
  if (const size_t slash = rest.find('/'); slash != rest.npos) {
    name.plugin = rest.substr(0, slash);
    if (!is_plugin_id(name.plugin)) return bad;
    rest.remove_prefix(slash + 1);
  }
  const size_t colon = rest.find(':');
  if (colon == rest.npos) return bad;
  name.kind = rest.substr(0, colon);
  const std::string_view index = rest.substr(colon + 1);
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), name.index);
  if (!is_kind(name.kind) || index.empty() || error != std::errc() || end != index.data() + index.size()) return bad;
  return name;
}

}  // namespace optima
