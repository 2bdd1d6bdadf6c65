// SPDX-License-Identifier: Apache-2.0
// core/quantize: the story: a float graph becomes a QDQ graph, by encodings that no split and no backend has a say in. Knows no plugin.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/observe/observations.hpp"
#include "core/quantize/encodings.hpp"
#include "core/quantize/precision.hpp"
#include "core/quantize/ranges.hpp"

namespace optima {

struct QuantizeOptions {
  Precision precision = Precision::Int8;          ///< of nodes that `by_node` does not name
  std::map<uint32_t, Precision> by_node;          ///< by node id
  std::map<uint32_t, std::string> precision_why;  ///< by node id: who asked, for left_float
  Scheme scheme = Scheme::Shared;
  RangeChoice range;
  bool correct_bias = true, second_order = true /* of 4-bit weights */, smooth = true /* of products */;
  bool all = false;                               ///< every hole filled, of all nodes
  std::set<uint32_t> fill;                        ///< ids of nodes whose holes are filled: those on devices whose note says `quantizes: all`
  Encodings given;                                ///< wins over what is observed, by name
};

/// True for a model with attention or normalization of layers: where everything is codes, 8 bits leave its activations nothing.
bool wants_wide_activations(const Graph& graph);

/// What must be observed for these options, and a graph whose BatchNormalizations are folded, which is the one to observe and to insert into.
struct QuantizePlan {
  Graph graph;            ///< float; node names and ids kept, folded ones in Graph::folded
  std::vector<Tap> taps;  ///< by value name of `graph`; w8, w4 and dynamic do without, but round better with them
};
Result<QuantizePlan> plan_quantization(Graph graph, const QuantizeOptions& options);

/// Smooths (which moves weights), makes encodings, rounds weights, corrects biases, inserts QuantizeLinear and DequantizeLinear. New nodes are
/// called VALUE/q, VALUE/dq and get new ids behind the highest; others keep name and id.
struct Quantized {
  Graph graph;
  Encodings encodings;
  std::vector<std::string> notes;   ///< sentences for people: fewer than 8 samples, nodes left float
};
Result<Quantized> quantize_graph(const QuantizePlan& plan, const Observations& seen, const QuantizeOptions& options,
                                 const std::function<void(double)>& progress = {}, const std::atomic<bool>* cancelled = nullptr);

}  // namespace optima
