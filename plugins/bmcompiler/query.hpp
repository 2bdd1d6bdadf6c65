// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: check(): the table, then the rows of top/ and what the chip's codes allow. Asks no tool.
#pragma once

#include <map>
#include <memory>

#include "chip.hpp"
#include "optima/plugin/float_graph.hpp"
#include "optima/plugin/plugin.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

/// Of nodes of one graph. Those of a graph of codes are judged as they are compiled: among floats, weights constants. Lives within the call.
class Judge {
 public:
  /// `mode`: what floats are computed in, "F32", "F16", "BF16".
  Judge(const sdk::Graph& graph, const Chip& chip, std::string mode);
  sdk::Verdict operator()(const sdk::Node& node) const;

 private:
  const Chip& chip_;
  std::string mode_;
  std::unique_ptr<sdk::FloatGraph> floats_;  // null where there are no codes, or bodies
  std::map<uint32_t, sdk::Node> in_floats_;  // by id
};

}  // namespace bmcompiler_plugin
