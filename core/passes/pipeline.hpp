// SPDX-License-Identifier: Apache-2.0
// core/passes: what happens to a graph between import and placement, pass by pass. Knows no plugin or device.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// A pass changes a graph without changing what it computes, and records every node it takes away in Graph::folded.
struct Pass {
  std::string_view name;
  Status (*run)(Graph& graph, const OwnOperators& own);
};

/// The passes in the order they run.
std::span<const Pass> all_passes();

struct PassOptions {
  OwnOperators own_operators;    ///< by default nobody knows them
  std::vector<std::string> off;  ///< names of passes that do not run; an unknown name is a Usage error
  bool verify =                  ///< check every invariant after each pass
#ifdef NDEBUG
      false;
#else
      true;
#endif
  /// Called after each pass that ran.
  std::function<void(std::string_view pass, const Graph& graph, double milliseconds)> after_pass;
};

/// Runs the passes. Fails with what a pass fails with, its name in front.
Result<Graph> run_passes(Graph graph, const PassOptions& options = {});

}  // namespace optima::passes
