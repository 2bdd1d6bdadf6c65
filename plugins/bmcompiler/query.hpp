// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: check(): the table, then the rows of top/ and what the chip's codes allow. Asks no tool.
#pragma once

#include <map>
#include <memory>

#include "batch.hpp"
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

/// The same of a graph whose batch is open, at each size that it is compiled for: what one of them refuses is refused. Lives within the call.
class JudgeAtBatches {
 public:
  JudgeAtBatches(const sdk::Graph& graph, const Chip& chip, const std::string& mode, const std::vector<int64_t>& batches);
  sdk::Verdict operator()(const sdk::Node& node) const;

 private:
  struct At {
    std::unique_ptr<AtBatch> graph;
    std::map<uint32_t, sdk::Node> nodes;  ///< by id
    std::unique_ptr<Judge> judge;
  };
  Judge open_;          // of bodies, and of graphs whose batch is fixed
  std::vector<At> at_;  // by batch
};

}  // namespace bmcompiler_plugin
