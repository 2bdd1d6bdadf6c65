// SPDX-License-Identifier: Apache-2.0
// core/passes: shape arithmetic.
#include "core/passes/fold_shapes.hpp"

#include "core/onnx_io/type_inference.hpp"
#include "core/passes/choose_branches.hpp"
#include "core/passes/constant_values.hpp"
#include "core/passes/partly_known.hpp"

namespace optima::passes {
namespace {

// One walk over the main graph or a body.
class ShapeFolder {
 public:
  ShapeFolder(Graph& graph, uint32_t index, const OwnOperators& own, PartialValues::Captured& captured)
      : graph_(graph), index_(index), own_(own), inference_(graph, own.infer, index), partial_(graph, index, captured) {}

  Status run() {
    const size_t count = here().nodes.size();
    std::vector<bool> folded(count);
    for (size_t n = 0; n < count; ++n) {
      const image::Node& node = here().nodes[n];
      spread_to_bodies(graph_, index_, node);
      // Import has checked the model as it is. What only shows now may be in what never runs, or runs all the same (a Range to a list of
      // one): that is left for the run, as in compute().
      if (const Status status = inference_.infer(node); !status.ok() && !(onnx_io::is_known(node) && status.kind() == StatusKind::InvalidInput)) return status;
      partial_.follow(node);
      folded[n] = take_known_elements(node);
      if (!folded[n]) { OPTIMA_ASSIGN(folded[n], compute(graph_, index_, node, own_)); }
      if (!folded[n]) continue;
      for (uint32_t v : node.outputs)
        if (v != OPTIMA_NONE) inference_.became_constant(v);
    }
    remove_nodes(graph_, index_, folded, "shape arithmetic");
    return {};
  }

 private:
  image::Graph& here() { return graph_.contents.graphs[index_]; }

  // All outputs of such operators are small integers; those with several (Split) are left to compute().
  bool take_known_elements(const image::Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == OPTIMA_NONE) return false;
    const image::Value& value = here().values[node.outputs[0]];
    if (value.kind != OPTIMA_KIND_TENSOR || (value.dtype != OPTIMA_I64 && value.dtype != OPTIMA_I32 && value.dtype != OPTIMA_BOOL)) return false;
    auto elements = value.dtype == OPTIMA_BOOL ? std::nullopt : inference_.elements(node.outputs[0]);
    if (!elements) elements = partial_.elements(node.outputs[0]);
    if (!elements || !value.dims || value.dims->size() > 1) return false;
    const int64_t wanted = value.dims->empty() ? 1 : (*value.dims)[0].value;
    if (wanted != static_cast<int64_t>(elements->size())) return false;
    const std::vector<int64_t> dims = value.dims->empty() ? std::vector<int64_t>{} : std::vector<int64_t>{wanted};
    make_constant(graph_, index_, node.outputs[0], value.dtype, dims, bytes(*elements, value.dtype));
    return true;
  }

  static Blob bytes(const std::vector<int64_t>& elements, int32_t dtype) {
    if (dtype == OPTIMA_I64) return Blob::copy(elements.data(), elements.size() * sizeof(int64_t));
    if (dtype == OPTIMA_BOOL) {
      const std::vector<uint8_t> truths(elements.begin(), elements.end());
      return Blob::copy(truths.data(), truths.size());
    }
    const std::vector<int32_t> narrow(elements.begin(), elements.end());
    return Blob::copy(narrow.data(), narrow.size() * sizeof(int32_t));
  }

  Graph& graph_;
  const uint32_t index_;
  const OwnOperators& own_;
  onnx_io::TypeInference inference_;
  PartialValues partial_;
};

}  // namespace

Status fold_shapes(Graph& graph, const OwnOperators& own) {
  bool chosen = true;
  while (chosen) {  // what is known of one branch alone may decide the next
    PartialValues::Captured captured;
    // A body stands behind the graph of its node, so it sees what became known outside.
    for (uint32_t index = 0; index < graph.contents.graphs.size(); ++index) OPTIMA_RETURN_IF_ERROR(ShapeFolder(graph, index, own, captured).run());
    chosen = choose_branches(graph);
    tidy(graph);
  }
  return {};
}

}  // namespace optima::passes
