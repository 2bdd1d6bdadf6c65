// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: what the head of a Hexagon context binary tells, without the vendor's tools. What it runs is machine code and is not told.
//
// 40 bytes (four big-endian words, of which the second is 3, three little-endian 64-bit numbers: bytes of what follows, where the code begins in the
// file, bytes of code), then a FlatBuffer. There is no public description; its fields were found by comparing contexts of known models for known SoCs,
// made by onnxruntime-qnn 2.7.0 (QAIRT 2.51), with QnnSystemContext_BinaryInfoV3_t of the public header QnnSystemContext.h, whose members they are in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlc.hpp"

namespace snpe_plugin {

struct HexagonContext {
  uint64_t size = 0;        ///< bytes of the file
  std::string build;        ///< of the tools: "v2.51.0.260929181845"
  int32_t soc_model = 0;    ///< the number that `soc_model` takes, see soc.hpp
  uint64_t code_size = 0;   ///< bytes
  std::vector<DlcGraph> graphs;  ///< without operators; tensors: inputs and outputs
};

/// Whether it begins as one does.
bool is_context(std::string_view file);
/// Any bytes: throws CORRUPT with a sentence.
HexagonContext read_context(std::string_view file);

}  // namespace snpe_plugin
