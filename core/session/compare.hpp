// SPDX-License-Identifier: Apache-2.0
// core/session: two of model (run on the reference), package and output folder, on the same inputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/loader/registry.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/runtime/model.hpp"
#include "core/tensor_io/compare.hpp"
#include "core/tensor_io/load.hpp"

namespace optima {

/// One side of a comparison: a graph, a loaded package, or the tensors of an output folder.
struct CompareSide {
  std::string path;
  std::optional<Graph> graph;
  std::unique_ptr<LoadedModel> model;
  std::vector<Tensor> outputs;
  bool is_folder = false;

  /// What it wants, in order; not of an output folder.
  std::vector<TensorInfo> inputs() const;
};

struct CompareOptions {
  onnx_io::ImportOptions import;  ///< of a model
  int64_t threads = 0;            ///< of a package; 0 = all
  bool at_cuts = false;           ///< every tensor between subgraphs, too
  Tolerance tolerance = {};
  const std::atomic<bool>* cancelled = nullptr;
};

/// A tensor that both sides have.
struct ComparedTensor {
  std::string name;
  std::string made_by;  ///< "3 on X64:0": the subgraph of a package that makes it; empty when it is a plain output of a model
  Comparison figures;
};

struct CompareReport {
  std::vector<ComparedTensor> tensors;  ///< in the order in which the package makes them, so that the first bad one names the guilty subgraph
  std::string first_bad;                ///< a sentence; empty when all are within tolerance
  std::string not_compared;             ///< a sentence about what is left out at cuts; empty when nothing is
};

/// A folder with a model.meta is a package, any other an output folder, a file a model. InvalidInput and Plugin as their rooms say.
Result<CompareSide> open_side(RuntimeContext& context, const Registry& registry, const std::string& path, const CompareOptions& options);

/// The inputs of a side, with the sizes that `shapes` gives and those that only the other side knows.
Result<std::vector<TensorInfo>> shared_inputs(const CompareSide& a, const CompareSide& b, const std::map<std::string, std::vector<int64_t>>& shapes);

/// Runs both sides on the inputs; `a` is what is wanted. Usage when cuts are wanted and neither side is a package; InvalidInput when no
/// output has the same name, or types or shapes of one differ; Cancelled between two subgraphs, or inside one where its plugin can stop.
Result<CompareReport> compare_sides(const Registry& registry, const CompareSide& a, const CompareSide& b, const std::vector<Tensor>& inputs,
                                    const CompareOptions& options);

}  // namespace optima
