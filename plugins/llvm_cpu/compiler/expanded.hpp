// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: operators that are compiled as the operators that they are made of.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "optima/image.hpp"
#include "optima/plugin/graph.hpp"

namespace optima::llvm_cpu {

/// Whether Expanded restates the node: Attention and RotaryEmbedding of floats, halves and bfloat16 (opset 23 and up) whose ranks are known, and of what is turned the size of a head. Not: windows, caches that are longer
/// than what is in them (nonpad_kv_seqlen), scores as a result. Those are the reference's.
bool is_expanded(const sdk::Node& node);
/// Some node of the graph, bodies included.
bool has_expanded(const optima_graph& graph);

/// A graph in which such nodes, of bodies too, are products, sums, softmax and moves, as the operators' pages have them (onnx.ai, Attention-23, RotaryEmbedding-23). Inputs, outputs
/// and constants stay in order, new constants come behind; values inside have no known shape. The last of the new nodes has the id of the one that they stand for, the others
/// have ids that no model has, and all have its name. Borrows the graph's constants, so the graph outlives it.
class Expanded {
 public:
  explicit Expanded(const optima_graph& from);
  const optima_graph& graph() const { return *raw_; }

 private:
  std::deque<std::vector<char>> own_;  // bytes of new constants
  std::vector<optima_blob> blobs_;
  std::optional<image::Bytes> bytes_;
  std::unique_ptr<optima_graph> raw_;
};

/// The id that the model knows a node of Expanded by; others are their own.
uint32_t id_outside(const optima_graph& graph, uint32_t id);

}  // namespace optima::llvm_cpu
