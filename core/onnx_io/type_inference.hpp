// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: types and shape elements of one node at a time, by the operators' own rules. For passes and foreign operators.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/onnx_io/onnx_io.hpp"

namespace optima::onnx_io {

/// Walks over the nodes of one graph, in order: the main graph or a body. Between two calls the caller may give values constants. One
/// thread, and one at a time over a Graph: two may give different dims one symbol.
class TypeInference {
 public:
  /// `graph` must outlive this and keep the walked graph's values (more may be known about them later). Bodies of the nodes may not
  /// change. Of a body (`index`), what it captures has the type it has inside, and foreign operators are not asked about.
  explicit TypeInference(Graph& graph, InferForeign foreign = {}, uint32_t index = 0);
  ~TypeInference();

  /// Infers the outputs of one node (and the values in its bodies) from what is known about its inputs; what is new goes into
  /// the graph's values, which never lose what they knew. InvalidInput with the node's name when its inputs cannot be; what does not
  /// fit in a branch of an If alone is no error: the other one may be taken. Of an If whose condition is a constant only that counts.
  Status infer(const image::Node& node);

  /// The elements of an integer tensor of rank 0 or 1 when all follow from known dims ("the shape of x"); else nullopt.
  std::optional<std::vector<int64_t>> elements(uint32_t value) const;

  /// The caller made this value a constant.
  void became_constant(uint32_t value);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The value of a constant of one bool, which decides an If; else nullopt.
std::optional<bool> known_condition(const Graph& graph, const image::Value& condition);

/// True for operators that the ONNX library has a schema of, at the node's version.
bool is_known(const image::Node& node);

/// False for operators that give another answer each time (random numbers), and for those nobody knows.
bool is_deterministic(const image::Node& node);

}  // namespace optima::onnx_io
