// SPDX-License-Identifier: Apache-2.0
// reference: one naive plain-loop evaluator per operator over the seam's graph image. The oracle of tests and of `compare`,
// and what folds constants. Depends on sdk only. Slow on purpose: nobody optimises it.
//
// Precision: floats of every width are computed in double and rounded once, to the output's type, per operator; integers in
// 64 bits, results keep their low bits. So the reference is closer to the exact answer than any backend it judges.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optima/plugin/plugin.hpp"

namespace optima::reference {

/// A dense row-major tensor in host memory, or an absent optional (dtype UNDEFINED). Copies share the bytes.
struct Tensor {
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> dims;
  std::shared_ptr<const void> keeper;  ///< keeps `data`; null when somebody else does
  const void* data = nullptr;          ///< aligned for the element type; STRING as in a blob (abi.h)
  uint64_t size = 0;                   ///< bytes; 4- and 2-bit types packed

  int64_t elements() const;  ///< throws INVALID_GRAPH or MEMORY when the shape is none
  static Tensor make(int32_t dtype, std::vector<int64_t> dims, void** writable);  ///< owned, zeroed; no STRING
};

/// Gives a value of the image by its index.
using Lookup = std::function<Tensor(uint32_t value)>;
/// Is told every value of graph 0 as it is computed.
using Observer = std::function<void(uint32_t value, const Tensor& tensor)>;

/// Computes a node of a domain that is not ours, whose operator somebody else brings: inputs by position, absent optional =
/// default Tensor; outputs by position, those that nobody names may be default Tensors.
using Foreign = std::function<std::vector<Tensor>(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs)>;
/// What a Foreign throws, and what is said of results that do not fit the graph. Code UNSUPPORTED: nobody computes this node;
/// any other code: who computes it does it wrong.
struct ForeignError : Error {
  using Error::Error;
};

/// True when an evaluator exists for the node's operator and version, and for those of its bodies (dtype and rank may still be
/// refused when it runs).
bool can_evaluate(const optima_graph& graph, const optima_node& node);

/// Why the node cannot run by what its operator, version and declared element types say; empty when it can. Bodies included.
std::string why_not(const optima_graph& graph, const optima_node& node);

/// Runs one node; bodies of If/Loop/Scan run through it too. Inputs by position, absent optional = default Tensor. `outer`
/// gives the values of the node's own graph that its bodies capture; not needed for other nodes. An output nobody names
/// is a default Tensor. A node of a foreign domain goes to `foreign`, when that is set. Throws optima::Error (UNSUPPORTED,
/// INVALID_GRAPH, INVALID_ARGUMENT, MEMORY) with node and sentence, ForeignError for what `foreign` did. Any thread.
std::vector<Tensor> evaluate(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs,
                             const Lookup& outer = {}, const Foreign& foreign = {});

/// Runs graph 0: inputs in its order, outputs in its order. `observe`, when set, is called with every value as it is
/// computed (value index of the image). Throws as evaluate().
std::vector<Tensor> run(const optima_graph& graph, const std::vector<Tensor>& inputs, const Observer& observe = {}, const Foreign& foreign = {});

}  // namespace optima::reference
