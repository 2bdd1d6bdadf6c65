// SPDX-License-Identifier: Apache-2.0
// core/graph: our dense-index graph. Plain data over the seam's image::Contents, the bytes of its constants, and where each
// node came from. Knows no ONNX library, plugin or device.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/sizes/sizes.hpp"
#include "core/support/blob.hpp"
#include "core/support/status.hpp"
#include "core/texts/texts.hpp"
#include "optima/image.hpp"

namespace optima {

/// What the source model called a node. Found by node id (image::Node::id), which never changes after import.
struct Origin {
  std::string name;      ///< as in the model, may be empty or shared; image::Node::name is the stable unique one
  int64_t opset = 0;     ///< version of the node's domain in the source model
};

/// A node of the source model that is no longer a node of the graph.
struct Folded {
  std::string name;    ///< stable name, as `alloc` lists it
  std::string op_type;
  std::string reason;  ///< "constant", "shape arithmetic", "identity", "constant condition", "unrolled", "branch never taken", "dead", "not needed for --outputs", "inlined function",
                       ///< "restated in ONNX operators"
};

/// A model's graph. contents.graphs[0] is the main graph, the others are bodies (If, Loop, Scan), each behind the graph of
/// its node. Value indices are local to their graph. Nodes stand in topological order. Node names are unique in the model
/// ("loop_3/body/conv_1" inside bodies). Copying shares the constants' bytes.
struct Graph {
  std::string model_name;            ///< stem of the file or the name given
  std::string model_hash;            ///< hexadecimal SHA-256 of the model's bytes and external data ranges
  image::Contents contents;
  std::vector<Blob> blobs;           ///< by image::Constant::blob
  std::vector<Origin> origins;       ///< by node id
  std::vector<Folded> folded;
  SizeRanges sizes;                  ///< what the user said of open dims of inputs, by their symbol
  TextTables texts;                  ///< of inputs and outputs of the main graph whose elements are codes of texts

  const image::Graph& main() const { return contents.graphs[0]; }
  image::Graph& main() { return contents.graphs[0]; }
};

/// True for an attribute whose refs are bodies.
inline bool holds_body(const image::Attr& a) { return a.type == OPTIMA_ATTR_GRAPH || a.type == OPTIMA_ATTR_GRAPHS; }
/// Calls f(graph index) for every body the node holds, in order of its attributes.
template <class F>
void for_each_body(const image::Node& node, F&& f) {
  for (const image::Attr& a : node.attrs)
    if (holds_body(a))
      for (uint32_t body : a.refs) f(body);
}

/// Who produces and who reads each value of one graph (bodies' captures count as reads by the node that holds the body).
struct Uses {
  static constexpr uint32_t kNone = OPTIMA_NONE;
  std::vector<uint32_t> producer;                ///< by value: node index or kNone
  std::vector<std::vector<uint32_t>> consumers;  ///< by value: node indices, ascending, each once
};
Uses uses_of(const Graph& graph, uint32_t index = 0);

/// A value's size in bytes when its shape is static and its type has a fixed width; otherwise 0.
uint64_t static_bytes(const image::Value& value);
/// "f32", "i64", ...; "dtype 99" for numbers we do not know.
std::string short_dtype_name(int32_t dtype);
/// "f32[1,3,224,224]", "i64[batch,?]", "f32[*]" when unranked.
std::string type_text(const image::Value& value);

/// Checks every invariant named above. For tests and after each pass; Internal with the place when one is broken.
Status verify(const Graph& graph);
/// The graph as text, one node a line, deterministic. For people and golden tests.
std::string print(const Graph& graph);

/// The seam's view of a graph: image bytes, blob table, and the optima_graph that joins them. Movable; `raw` stays valid.
/// Blob ids are `first_blob_id + index`. The graph's blobs must outlive it.
struct PackedGraph {
  image::Bytes bytes;
  std::vector<optima_blob> blobs;
  optima_graph raw{};
};
/// Fills blobs with their SHA-256 and raw.sha256 (image with the ABI pair zeroed, then blob hashes) when `hashed`.
PackedGraph pack(const Graph& graph, bool hashed = false, uint64_t first_blob_id = 1);

/// The inverse of pack(), from an image that verifies (image::verify). Bytes are borrowed, so `raw` must outlive the graph and
/// its copies; origins are the nodes' own names and versions, model_name is the main graph's name.
Graph unpack(const optima_graph& raw);

/// The given nodes of the main graph (ascending node indices) as a graph of their own; ids, names, origins and bytes kept.
/// Inputs: values read but not produced inside and not constant, in order of first use. Outputs: values produced inside that
/// are read outside or are model outputs, in order of production. Bodies come along with their nodes.
Graph extract(const Graph& graph, std::span<const uint32_t> nodes, const Uses& uses);

/// The same with inputs and outputs as given (values of the main graph): what else is produced inside stays inside.
Graph extract(const Graph& graph, std::span<const uint32_t> nodes, std::span<const uint32_t> inputs, std::span<const uint32_t> outputs);

/// A body as a graph of its own: its inputs, then one input for each value that it captures, under the name it has inside.
struct BodyGraph {
  Graph graph;
  std::vector<uint32_t> captured;  ///< values of the holder's graph, one for each of the last inputs
};
/// The body with index `body`; ids, names, origins and bytes kept. Bodies inside it come along.
BodyGraph body_graph(const Graph& graph, uint32_t body);

/// The graph with only the given nodes of the main graph (ascending) and what they need: values nobody touches, constants,
/// bytes and bodies nobody holds are gone. Inputs, outputs, origins and folded stay. The nodes must suffice for the outputs.
Graph compact(const Graph& graph, std::span<const uint32_t> nodes);

}  // namespace optima
