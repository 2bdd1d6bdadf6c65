// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: the names in an ONNX file, for tools that are told them and that speak of them. Reads protobuf's wire form; weights are
// not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snpe_plugin {

struct OnnxNames {
  struct Node {
    std::string name, op;
    std::vector<std::string> outputs;  ///< without those that are left out
  };
  struct Port {
    std::string name;
    int32_t dtype = 0;          ///< TensorProto's numbers, which are OPTIMA_*'s
    std::vector<int64_t> dims;  ///< -1 = not known
  };
  std::vector<Node> nodes;
  std::vector<Port> inputs, outputs;  ///< inputs without those that are initializers
};

/// Throws IO, or CORRUPT for what is no ONNX model.
OnnxNames read_onnx_names(const std::string& path);

}  // namespace snpe_plugin
