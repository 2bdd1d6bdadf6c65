// SPDX-License-Identifier: Apache-2.0
// tests: ONNX models from text, as messages and as bytes; and the trained models that lie beside the project.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

namespace optima::test {

inline onnx::ModelProto parse_model(std::string_view text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text);
  REQUIRE_MESSAGE(status.IsOK(), status.ErrorMessage());
  return model;
}

/// A model around one main graph: "g (float[2] x) => (float[2] y) { y = Relu(x) }".
inline onnx::ModelProto graph_model(std::string_view graph, int opset = 17) {
  return parse_model("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> " + std::string(graph));
}

/// The tensor's data goes to a file: location, offset and length as given; `length` < 0 leaves it out.
inline void make_external(onnx::TensorProto& tensor, const std::string& location, int64_t offset = 0, int64_t length = -1) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto entry = [&](const char* key, const std::string& value) {
    auto& e = *tensor.add_external_data();
    e.set_key(key), e.set_value(value);
  };
  entry("location", location);
  if (offset != 0) entry("offset", std::to_string(offset));
  if (length >= 0) entry("length", std::to_string(length));
}

/// Path of a model in ../shared/models; empty, with a visible message, where that folder is not there.
inline std::string shared_model(const char* name) {
  const std::string path = std::string(OPTIMA_SOURCE_DIR) + "/../shared/models/" + name;
  if (std::filesystem::exists(path)) return path;
  MESSAGE("SKIP: no file ", path);
  return "";
}

}  // namespace optima::test
