// SPDX-License-Identifier: Apache-2.0
// core/passes: values that become constants, and nodes that go. Shared by the passes of this room.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/passes/own_operators.hpp"

namespace optima::passes {

/// Makes a value a constant with these dense bytes; its type becomes the constant's.
void make_constant(Graph& graph, uint32_t index, uint32_t value, int32_t dtype, std::vector<int64_t> dims, Blob bytes);

/// Elements of a constant (its number in Contents::constants) of type INT64, INT32 or BOOL; nothing for one of another type or without bytes.
std::optional<std::vector<int64_t>> integers_of(const Graph& graph, uint32_t constant);

/// Computes a node of one graph by the reference and makes its outputs constants. True when it did: the node has inputs, all
/// of them constant, is not random, holds no bodies, is no DequantizeLinear, its result is not over 16 MiB and larger than
/// its inputs, and the reference has an evaluator that takes it, or `own` computes it. What an invalid node would do is left for
/// the run; Plugin when the one who brings the operator computes it wrongly.
Result<bool> compute(Graph& graph, uint32_t index, const image::Node& node, const OwnOperators& own);

/// Bodies of this node know of what they capture what is known of it now; what is a constant they have themselves.
void spread_to_bodies(Graph& graph, uint32_t index, const image::Node& node);

/// Notes a node and those of its bodies in Graph::folded: a wish for one of them names no unknown node.
void note_gone(Graph& graph, const image::Node& node, std::string_view reason);

/// Takes the marked nodes out of one graph and notes them, with those of their bodies, in Graph::folded. Values stay: tidy() when all is done.
void remove_nodes(Graph& graph, uint32_t index, const std::vector<bool>& marked, std::string_view reason);

/// Drops values, constants, bytes and bodies that nobody holds any more.
void tidy(Graph& graph);

}  // namespace optima::passes
