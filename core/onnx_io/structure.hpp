// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: what must hold before the library's own checks, said in our words; and names for all nodes. Private to the room.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

/// "node 'conv_1' (Conv)".
std::string node_text(const onnx::NodeProto& node);

/// Checks that every value is made once, every name read exists, and no node waits for itself; puts nodes into an order in
/// which values are made before they are read (the old order where it is legal). Bodies too. Linear.
Status check_and_sort(onnx::GraphProto& graph);

/// Where the nodes of the source model came from, kept aside while the model is rewritten.
struct SourceNames {
  std::unordered_map<std::string, Origin> by_name;       ///< stable name -> origin
  std::unordered_map<std::string, std::string> by_value; ///< value -> stable name of the node that made it
};

/// Writes a stable unique name into every node (bodies: "<owner>/<attribute>/<name>") and remembers the original.
void give_names(onnx::GraphProto& graph, int64_t opset, SourceNames& names);

/// After rewriting: a nameless node takes the name of the source node that made its first output, if no other node has it;
/// the others get fresh names. Every node of the model has a unique name afterwards.
void restore_names(onnx::GraphProto& graph, const SourceNames& names);

/// The source of an operator's bodies, by attribute: calls f(body, attribute name, number or -1).
template <class F>
void for_each_body(onnx::NodeProto& node, F&& f) {
  for (auto& a : *node.mutable_attribute()) {
    if (a.has_g()) f(*a.mutable_g(), a.name(), -1);
    for (int k = 0; k < a.graphs_size(); ++k) f(*a.mutable_graphs(k), a.name(), k);
  }
}

}  // namespace optima::onnx_io
