// SPDX-License-Identifier: Apache-2.0
// reference: one naive plain-loop evaluator per operator over the seam's graph image. The oracle of tests and of `compare`,
// and what folds constants. Depends on sdk only. Slow on purpose: nobody optimises it.
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
  const void* data = nullptr;          ///< aligned for the element type
  uint64_t size = 0;                   ///< bytes; 4- and 2-bit types packed

  int64_t elements() const;
  static Tensor make(int32_t dtype, std::vector<int64_t> dims, void** writable);  ///< owned, zeroed
};

/// True when an evaluator exists for the node's operator and version (dtype and rank may still be refused when it runs).
bool can_evaluate(const optima_graph& graph, const optima_node& node);

/// Runs one node; bodies of If/Loop/Scan run through it too. Inputs by position, absent optional = default Tensor.
/// Throws optima::Error (UNSUPPORTED, INVALID_GRAPH, INVALID_ARGUMENT) with node and sentence. Any thread.
std::vector<Tensor> evaluate(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs);

/// Runs graph 0: inputs in its order, outputs in its order. `observe`, when set, is called with every value as it is
/// computed (value index of the image).
std::vector<Tensor> run(const optima_graph& graph, const std::vector<Tensor>& inputs,
                        const std::function<void(uint32_t value, const Tensor& tensor)>& observe = {});

}  // namespace optima::reference
