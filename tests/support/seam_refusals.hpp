// SPDX-License-Identifier: Apache-2.0
// tests/support: which nodes of a graph a plugin does not take, over the bare seam.
#pragma once

#include <doctest/doctest.h>

#include "tests/support/seam_host.hpp"

namespace optima::seam {

/// The answers of check() on graph 0 that are no yes, by position. Each has a reason and a sentence.
inline std::map<uint32_t, Said> refusals(const Instance& plugin, const optima_graph& graph, const optima_device& device, const std::vector<optima_option>& options = {}) {
  const std::vector<uint32_t> ids = ids_of_nodes(graph);
  Verdicts verdicts;
  Status status;
  REQUIRE_MESSAGE(check(plugin, graph, ids, device, verdicts, status, options) == OPTIMA_OK, status.message);
  std::map<uint32_t, Said> out;
  for (uint32_t k = 0; k < ids.size(); ++k) {
    const Said& said = verdicts.by_node.at(ids[k]);
    if (said.verdict == OPTIMA_VERDICT_SUPPORTED) continue;
    CHECK_MESSAGE((said.reason != OPTIMA_REASON_NONE && !said.text.empty()), "node " << ids[k]);
    out.emplace(k, said);
  }
  return out;
}

}  // namespace optima::seam
