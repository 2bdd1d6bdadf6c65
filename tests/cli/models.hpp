// SPDX-License-Identifier: Apache-2.0
// tests/cli: small models as ONNX text, and where the bigger ones lie.
#pragma once

#include <filesystem>
#include <string>

namespace optima::test {

/// Two nodes without names: the host calls them relu_0 and softmax_0 or the like; `alloc` tells.
inline constexpr const char* kTiny = R"(<ir_version: 10, opset_import: ["" : 21]>
tiny (float[1,4] x) => (float[1,4] y) {
  h = Relu(x)
  y = Softmax<axis = 1>(h)
})";

/// The manifest of a device NPU9:0 that exists on paper only and takes one operator, of floats.
inline std::string paper_note(const std::string& op) {
  return R"({"manifest": 1, "abi": [[0, 1]], "id": "paper", "vendor": "nobody", "version": "1", "build_id": "1", "roles": ["compiler"],
    "devices": [{"kind": "NPU9", "class": "npu"}], "options": [], "operators": [{"op": ")" + op +
         R"(", "domain": "", "since_version": [1, 1000], "inputs": [[1, 2, 3]], "outputs": [[1, 2, 3]]}]})";
}

inline std::string digits_model() { return OPTIMA_SOURCE_DIR "/examples/digits/digits.onnx"; }
inline std::string digits_allocation() { return OPTIMA_SOURCE_DIR "/examples/digits/alloc_reference.json"; }
inline std::string digit_picture(int digit) { return OPTIMA_SOURCE_DIR "/examples/digits/pictures/digit_" + std::to_string(digit) + ".png"; }

/// Whether the openvino plugin was built; a test that needs it says `SKIP: kNoOpenvino` otherwise.
inline bool has_openvino() { return std::filesystem::exists(OPTIMA_BINARY_DIR "/lib/optima/plugins/optima_openvino.so"); }
inline constexpr const char* kNoOpenvino = "the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there";

/// Trained models that are not part of the project; empty when the folder is not there.
inline std::string shared_models() {
  const std::string folder = OPTIMA_SOURCE_DIR "/../shared/models";
  return std::filesystem::is_directory(folder) ? folder : std::string();
}

}  // namespace optima::test
