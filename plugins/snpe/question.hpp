// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: what the tools are asked about one node: the node, or the operator with the nodes that bring and take its codes, as these
// tools judge them together. Knows no tools.
#pragma once

#include <string>
#include <vector>

#include "optima/plugin/graph.hpp"

namespace snpe_plugin {

namespace sdk = optima::sdk;

/// Nodes in the graph's order. `asked` is among them.
struct Piece {
  sdk::Node asked;
  std::vector<sdk::Node> nodes;
  bool as_one = false;  ///< the tools make one operator of them and do not take `asked` otherwise
};

/// A piece per node, by the graph's own values: DequantizeLinear nodes that the operator reads, and where it reads one, what follows
/// up to the QuantizeLinear nodes (Conv, Relu, QuantizeLinear). An Erf comes with the nodes that make it a Gelu: the tools know no other.
/// Only nodes among `nodes`, which are in the graph's order, are taken in.
std::vector<Piece> pieces_of(const sdk::Graph& graph, const std::vector<sdk::Node>& nodes);

/// All that the tools look at, names left out: operators, versions, attributes, types, shapes, values of small constants. Pieces of
/// one signature get one answer.
std::string signature(const Piece& piece);

}  // namespace snpe_plugin
