// SPDX-License-Identifier: Apache-2.0
#include "core/placement/other_servers.hpp"

#include "core/support/text.hpp"

namespace optima {

std::string other_servers_hint(std::span<Backend* const> plugins, const std::string& id, const DeviceName& asked) {
  if (!asked.plugin.empty()) return "";
  std::vector<std::string> others;
  for (const Backend* plugin : plugins)
    if (const Manifest& m = plugin->manifest(); m.id != id && m.find_kind(asked.kind)) others.push_back(DeviceName{m.id, asked.kind, asked.index}.text());
  return others.empty() ? "" : cat("; ", asked.text(), " means plugin ", quote(id), ", what others serve is called ", join(others));
}

}  // namespace optima
