// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: parts of a Graph -> messages of the ONNX library. Private to the room.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"
#include "onnx/onnx_pb.h"

namespace optima::onnx_io {

enum class Defaults { Left, Written };  ///< attributes that only state the schema's default

/// ONNX scopes nest by name, ours by captures: this gives every value of a graph a name that means it, and no other, there.
struct OnnxNames {
  std::vector<std::string> names;                          ///< by value
  std::vector<bool> inherited;                             ///< by value: the name is one of a graph further out
  std::unordered_map<std::string_view, uint32_t> by_name;  ///< into this graph's values
  const OnnxNames* outer = nullptr;
  uint32_t graph = 0;

  /// Names for a graph; `outer` is null for the main graph. They borrow from each other: do not move.
  OnnxNames(const Graph& of, uint32_t index, const OnnxNames* outer);
  OnnxNames(const OnnxNames&) = delete;
};

/// Writes messages from one graph. `fill` puts a constant's bytes, or where they are, into a tensor whose type and dims are
/// set; it may be called for constants of any size.
class OnnxWriter {
 public:
  using Fill = std::function<Status(const image::Constant& constant, onnx::TensorProto& tensor)>;
  OnnxWriter(const Graph& graph, Fill fill, Defaults defaults) : graph_(graph), fill_(std::move(fill)), defaults_(defaults) {}

  Status node(const image::Node& node, const OnnxNames& names, onnx::NodeProto& out) const;
  /// A whole graph with its initializers and the known types of its values.
  Status graph(uint32_t index, const OnnxNames* outer, onnx::GraphProto& out) const;
  Status tensor(uint32_t constant, onnx::TensorProto& out) const;

 private:
  Status attribute(const image::Attr& attr, const OnnxNames& names, onnx::AttributeProto& out) const;

  const Graph& graph_;
  Fill fill_;
  Defaults defaults_;
};

/// Puts the bytes themselves into raw_data (string_data for strings).
void fill_inline(const image::Constant& constant, const Blob& bytes, onnx::TensorProto& tensor);

}  // namespace optima::onnx_io
