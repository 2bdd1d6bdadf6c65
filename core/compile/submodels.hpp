// SPDX-License-Identifier: Apache-2.0
// core/compile: a plan as a folder of ONNX files that other tools compile and run. Format: docs/submodels-format.md.
#pragma once

#include "core/compile/compile.hpp"

namespace optima {

/// A plan and where its pieces lie.
struct Submodels {
  Planned planned;
  std::string folder;  ///< absolute: OUT/<name>
};

/// plan_model, then every subgraph as graph_<i>.onnx and graph_infos.json in OUT/<name>; asks no plugin to compile. Of the request,
/// plan, out, replace and cancelled are read. A node that the host drives becomes a cpu graph with its bodies whole, with a note.
/// InvalidInput when a tensor that crosses cannot be described there: no tensor, no known rank, or no static shape at a subgraph whose
/// device is not of class cpu; and when a body has a node on such a device. On failure nothing remains on disk.
Result<Submodels> emit_submodels(const CompileRequest& request, Registry& registry, const ProgressReport& progress = {});

}  // namespace optima
