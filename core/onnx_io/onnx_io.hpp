// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: ONNX files and text <-> Graph. The only room that knows the ONNX library; knows no plugin or device.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"

namespace optima::onnx_io {

/// Types of a foreign-domain node's outputs, in order: name, kind, dtype and dims of each image::Value are read, of which
/// the name is ignored. Called with an image in which the node's input types are as far known as they can be. An error ends
/// the import. A null answer of the caller ("nobody knows this operator") is an empty vector: the types stay unknown.
using InferForeign = std::function<Result<std::vector<image::Value>>(const optima_graph& graph, uint32_t node_index)>;

struct ImportOptions {
  std::map<std::string, std::vector<int64_t>> shapes;             ///< model input -> dims; -1: open, also where the model says a size
  std::map<std::string, int64_t> dims;                            ///< symbolic dim -> its value; input that is a sequence (an optional) -> how many tensors it has
  SizeRanges ranges;                                              ///< symbolic dim -> which sizes it may have: it stays open
  std::vector<std::string> inputs, outputs;                       ///< values that become inputs/outputs; empty = the model's
  std::vector<std::pair<std::string, std::string>> kept_functions;///< (domain, name) of local functions that are not inlined
  InferForeign infer_foreign;                                     ///< may be empty
  bool hash = true;                                               ///< fill Graph::model_hash: one pass over all the bytes
};

/// Reads a model (binary ONNX of any size, with external data; ONNX text when the name ends in .onnxtxt) by the recipe of
/// docs/onnx.md: opset raised to 21, functions inlined, types inferred, every node checked against its schema. Weights are
/// ranges of the mapped files. Fails with InvalidInput and one sentence for everything that is wrong with the file.
Result<Graph> load_model(const std::string& path, const ImportOptions& options = {});

/// The same from ONNX text; `name` becomes model_name. External data is refused. For tests.
Result<Graph> load_text(std::string_view text, const std::string& name, const ImportOptions& options = {});

/// Names of all operators that the ONNX library has schemas of, of every domain and version, each once.
std::vector<std::string> operator_names();

/// What a function makes of one node: `text` is a function in ONNX's text form (optima/ext/schema.h), into which the node's
/// attributes are put. The result's inputs are the node's present inputs, of the types in `inputs` (by position; UNDEFINED =
/// absent); its outputs are the node's present outputs. Operators that the library does not know stay nodes, typed by `foreign`.
/// InvalidInput, with what is wrong with the text: it does not parse, is of another name or domain, has fewer inputs or outputs
/// than the node, holds itself, or does not import; the same for a node that holds bodies.
Result<Graph> expand_function(const optima_graph& graph, uint32_t node_index, std::string_view text, std::span<const image::Value> inputs,
                              const InferForeign& foreign = {});

/// Writes a graph as `folder`/model.onnx; constants of 64 KiB and more go to `folder`/weights.bin (copied inside the kernel
/// where they come from a file). Opset 21 when every node has a form there, else the graph's own. The folder is made when it
/// is not there. Io when the disk refuses, InvalidInput when a constant has no bytes or more than 2 GB remain.
Status write_onnx(const Graph& graph, const std::string& folder);
/// The same from the seam's view; the image must verify. HostServices::graph_to_onnx.
Status write_onnx(const optima_graph& graph, const std::string& folder);
/// Writes a graph as `folder`/`stem`.onnx with all constants inside; when those are more than `most_inside` bytes (by default
/// what leaves room below the 2 GB of a protobuf message), those of 64 KiB and more go to `folder`/`stem`.weights.bin. Errors as above.
Status write_onnx_file(const Graph& graph, const std::string& folder, const std::string& stem, uint64_t most_inside = uint64_t{2000} << 20);

}  // namespace optima::onnx_io
