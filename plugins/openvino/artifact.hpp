// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: what an artifact is: `<stem>.blob` by OpenVINO, `<stem>.meta` with its inputs and outputs, and the compat
// record that says who wrote them and what their bytes sum up to. Everything read here is hostile. Knows no OpenVINO.
#pragma once

#include "optima/plugin/plugin.hpp"

namespace openvino_plugin {

namespace sdk = optima::sdk;

/// 64 bits over any bytes, at memory speed: four multiply-rotate lanes. Finds damage, not forgery: the package has each file's
/// SHA-256 and checks it before the plugin sees a byte, so this one is for users of the bare seam, within check_artifact's 50 ms.
class Checksum {
 public:
  void add(const void* data, size_t size);
  uint64_t value() const;

 private:
  void block(const uint8_t* p);
  uint64_t lanes_[4] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0x85ebca77c2b2ae63u};
  uint64_t size_ = 0;
  uint8_t rest_[32] = {};
};

struct Port {
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  bool ranked = true;
  std::vector<int64_t> dims{};         ///< -1 = not known before the run
  std::vector<std::string> symbols{};  ///< one per dim, empty = none: the model's word, inputs may differ
};

struct Meta {
  std::vector<Port> inputs, outputs;
  std::string write() const;
  static Meta read(std::string_view text);  ///< throws CORRUPT
};

/// The compat record, "key=value" lines.
struct Record {
  std::string openvino, device, chip, precision;
  uint64_t blob_size = 0, blob_sum = 0, meta_size = 0, meta_sum = 0;
  std::string write() const;
  static Record read(std::string_view text);  ///< throws CORRUPT
};

/// What is expected here.
struct Here {
  std::string openvino, device, chip;
};

/// Throws RECOMPILE, WRONG_DEVICE or CORRUPT; bytes that are there are summed up.
Record verify(const sdk::Artifact& artifact, const Here& here);

}  // namespace openvino_plugin
