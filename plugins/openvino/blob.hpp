// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: a subgraph becomes a blob.
#pragma once

#include "engine.hpp"

namespace openvino_plugin {

/// What is asked for: an OpenVINO device ("CPU", "GPU.0") and the type f32 models are computed in ("f32", "f16", "bf16").
struct BlobJob {
  std::string device, precision;
};

/// Translates, compiles and writes the blob to `path`. The same subgraph, job and OpenVINO give the same bytes, whatever ran
/// before or runs beside (see layers.hpp). `progress` is asked before and after each of OpenVINO's calls, and every half second
/// during them; OpenVINO cannot be stopped inside a call, so a cancel takes effect when that call returns.
/// Throws CANCELLED, MEMORY, INVALID_GRAPH or TOOL_FAILED with OpenVINO's sentence. Any thread.
void make_blob(Engine& engine, const sdk::Host& host, const sdk::Graph& graph, const BlobJob& job, const std::string& path, const sdk::Progress& progress);

/// The properties under which a blob of `device` is written and taken back in: both sides must agree on the topology's coding.
ov::AnyMap coding_of(const std::string& device);

}  // namespace openvino_plugin
