// SPDX-License-Identifier: Apache-2.0
// core/compile: all subgraphs of a plan to artifacts, in parallel. Private to the room.
#pragma once

#include <optional>

#include "core/compile/compile.hpp"
#include "core/package/writer.hpp"

namespace optima::detail {

/// A constant that an artifact refers to.
struct UsedWeight {
  std::string name;    ///< the artifact's name for it
  Blob bytes;
  std::string sha256;  ///< hexadecimal
};

/// One subgraph, compiled. Empty when the host drives it.
struct BuiltSubgraph {
  Compiled compiled;
  std::vector<std::string> inputs, outputs;         ///< names of values of its graph, in binding order
  std::vector<UsedWeight> weights;
  double ms = 0;
};

/// A node that its plugin refused while it compiled, or one with such a node in a body.
struct Refusal {
  uint32_t node_id = 0;
  std::string plugin;
  std::string text;
};

struct BuildResult {
  std::vector<BuiltSubgraph> subgraphs;  ///< by number, bodies' included; complete only when there is no refusal
  std::vector<Refusal> refusals;         ///< by subgraph, then order of discovery
};

/// Every artifact lands in its Subgraph_<i>/ of the writer; folders of subgraphs that were refused are dropped. Whatever goes wrong on
/// one of the threads, an exception or memory that runs out included, is the one failure.
Result<BuildResult> build_subgraphs(const CompileRequest& request, const Planned& planned, Registry& registry,
                                    PackageWriter& writer, const ProgressReport& progress);

}  // namespace optima::detail
