// SPDX-License-Identifier: Apache-2.0
// core/session: a graph compiled to a place of its own and run there, sample after sample. Private to the room.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/session/observe_model.hpp"

namespace optima {

/// Runs a graph. One thread at a time.
class TapRunner {
 public:
  /// On the devices that are here and execute: those of the request first, then the others. A node that none of them takes goes to a plugin that
  /// has to be named, and without such a one the whole graph to the reference; `note` is told then. Errors of compile_graph(), but Placement.
  static Result<std::unique_ptr<TapRunner>> make(const Graph& graph, const ObserveRequest& request, Registry& registry,
                                                 const ProgressReport& progress, const std::function<void(const std::string&)>& note);
  virtual ~TapRunner() = default;
  /// The graph's outputs, in its order, valid until the next run. Errors of Request::run() and run_reference().
  virtual Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) = 0;
};

}  // namespace optima
