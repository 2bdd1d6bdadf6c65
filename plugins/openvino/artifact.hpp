// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: what an artifact is: `<stem>.blob` by OpenVINO, `<stem>.meta` with its inputs and outputs, and the compat
// record that says who wrote them and what their bytes sum up to. Everything read here is hostile. Knows no OpenVINO.
#pragma once

#include "optima/plugin/plugin.hpp"
#include "optima/plugin/record.hpp"

namespace openvino_plugin {

namespace sdk = optima::sdk;

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
