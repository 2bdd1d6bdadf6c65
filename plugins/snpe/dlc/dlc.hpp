// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: what is inside a deep learning container, read without the vendor's tools. Needs nothing but the bytes.
//
// A DLC is a zip file. Its part `model` has 8 bytes (0xD5 0x0A, the version as 16 bits, four more) and a FlatBuffer 'NETD'; weights lie in
// `model.params` and `model.params.bin`, where and how it was made is JSON in `dlc.metadata*`, prepared Hexagon contexts are parts of their own.
// There is no public schema. Sources: what netron reads (lutzroeder/netron, source/dlc-schema.js, fields of version 4), and DLCs made of known models
// by onnxruntime-qnn 2.7.0 (QAIRT 2.51), whose every name, dim and scale was compared with what libQnnSystem.so says of the same file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zip.hpp"

namespace snpe_plugin {

/// real = (code + offset) * scale: QNN's sign, so that `offset` is minus the zero point of ONNX.
struct DlcCoding {
  bool told = true;             ///< false: the tensor has one of a form that is not read here
  int32_t axis = -1;            ///< of the dims; -1 = one scale for all
  int32_t bits = 0;             ///< of a code; 0 = its type's
  std::vector<float> scales;    ///< none = not quantized
  std::vector<int32_t> offsets; ///< as many
};

struct DlcTensor {
  std::string name;
  int32_t type = 0;  ///< Qnn_DataType_t, see type_name()
  int32_t role = 0;  ///< Qnn_TensorType_t: 0 input, 1 output, 3 between ops, 4 constant, see role_name()
  std::vector<int64_t> dims;
  DlcCoding coding;
  bool is_input() const { return role == 0; }
  bool is_output() const { return role == 1; }
};

struct DlcOp {
  std::string name, type;
  std::vector<std::string> inputs, outputs;
};

struct DlcGraph {
  std::string name;
  std::vector<DlcOp> ops;
  std::vector<DlcTensor> tensors;
};

struct Dlc {
  uint64_t size = 0;                  ///< bytes of the file
  std::vector<Part> parts;            ///< in the file's order
  int32_t version = 0;                ///< of the part `model`; 0 = it has none
  std::vector<DlcGraph> graphs;
  std::vector<std::pair<std::string, std::string>> made_by;  ///< what its metadata says: "tool", "version", "backend", …
  std::vector<std::string> not_told;  ///< a sentence for everything that is there and was not read
};

/// Any bytes: throws CORRUPT with a sentence that names the part. Names and texts of the result are the file's own and may hold anything.
Dlc read_dlc(std::string_view file);

/// "float32", "ufixed8" (codes of 8 bits without sign); "type 0x0999" where it is not known.
std::string type_name(int32_t type);
/// "input", "output", "between", "constant"; "role 7" where it is not known.
std::string role_name(int32_t role);

}  // namespace snpe_plugin
