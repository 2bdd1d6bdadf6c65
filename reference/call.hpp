// SPDX-License-Identifier: Apache-2.0
// reference/call: one node being run, as its evaluator sees it. Knows no operator.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/tensor.hpp"

namespace optima::reference {

/// Thrown while a shape is inferred: it hangs on the elements of this input, which are not known.
struct Wanted {
  uint32_t input;
};

/// Borrowed by an evaluator for the time of its run. Attribute getters throw INVALID_GRAPH when the type is another one.
class Call {
 public:
  Call(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs, const Lookup& outer, const Foreign& foreign)
      : graph(graph), node(node), outer(outer), foreign(foreign), inputs_(inputs), outputs_(node.outputs.count) {}

  const optima_graph& graph;
  const optima_node& node;
  const Lookup& outer;     ///< values of the node's own graph, for what its bodies capture
  const Foreign& foreign;  ///< for nodes of its bodies

  int32_t version() const { return node.since_version; }
  std::string op() const;

  uint32_t inputs() const { return static_cast<uint32_t>(inputs_.size()); }
  const Tensor& in(uint32_t k) const;     ///< throws when absent
  const Tensor* maybe(uint32_t k) const;  ///< null when absent
  const std::vector<Tensor>& all() const { return inputs_; }

  uint32_t outputs() const { return node.outputs.count; }
  bool wants(uint32_t k) const { return optima_output(graph.image, &node, k) != OPTIMA_NONE; }
  void out(uint32_t k, Tensor t);  ///< dropped when nobody wants it
  std::vector<Tensor> take() { return std::move(outputs_); }

  /// False when only the type and the shape of input `k` are known, which is so in shape inference alone.
  bool known(uint32_t k) const { return in(k).data || in(k).elements() == 0; }
  /// Elements of an input that decides a shape. Throws Wanted when they are not known.
  Dims ints(uint32_t k) const;
  std::vector<double> numbers(uint32_t k) const;
  int64_t scalar(uint32_t k, const char* what) const;

  bool has(const char* name) const { return optima_find_attr(graph.image, &node, name) != nullptr; }
  int64_t integer(const char* name, int64_t otherwise) const;
  double real(const char* name, double otherwise) const;
  std::string text(const char* name, const char* otherwise) const;
  std::optional<Dims> integers(const char* name) const;
  Dims list(const char* name) const { return integers(name).value_or(Dims()); }
  std::optional<std::vector<double>> reals(const char* name) const;
  std::optional<std::vector<std::string>> texts(const char* name) const;
  std::optional<Tensor> tensor(const char* name) const;
  uint32_t body(const char* name) const;  ///< graph index

 private:
  const optima_attr* find(const char* name, int32_t type) const;

  const std::vector<Tensor>& inputs_;
  std::vector<Tensor> outputs_;
};

/// The constant as a tensor that borrows the blob's bytes (copied when they are not aligned for the type).
Tensor constant(const optima_graph& graph, uint32_t index);

/// Runs graph `index` of the image. `captured(v)` gives the outer value v for each of its captures.
std::vector<Tensor> run_graph(const optima_graph& graph, uint32_t index, const std::vector<Tensor>& inputs,
                              const Lookup& captured, const Foreign& foreign, const Observer& observe = {});

}  // namespace optima::reference
