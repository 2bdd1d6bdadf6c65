// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: a subgraph becomes a blob.
#pragma once

#include <atomic>
#include <memory>

#include "engine.hpp"

namespace openvino_plugin {

/// What is asked for: an OpenVINO device ("CPU", "GPU.0"), the type f32 models are computed in ("f32", "f16", "bf16"), and the
/// folder of OpenVINO's cache (empty: none), in which a subgraph compiled before is found again.
struct BlobJob {
  std::string device, precision, cache;
};

/// Translates, compiles and writes the blob to `path`. The same subgraph, job and OpenVINO give the same bytes, whatever ran
/// before or runs beside (see layers.hpp). `progress` is asked before and after each of OpenVINO's calls, and every half second
/// during them; OpenVINO cannot be stopped inside a call, so a cancel takes effect when that call returns.
/// Logs whether OpenVINO took the model from its cache. Throws CANCELLED, MEMORY, INVALID_GRAPH or TOOL_FAILED with OpenVINO's sentence. Any thread.
void make_blob(Engine& engine, const sdk::Host& host, const sdk::Graph& graph, const BlobJob& job, const std::string& path, const sdk::Progress& progress);

using Switch = std::shared_ptr<std::atomic<bool>>;

/// The properties under which a blob of `device` is written and taken back in: both sides must agree on the topology's coding.
/// While `final` is there and off, topologies are written as they are: into OpenVINO's cache, where the layers keep their names.
ov::AnyMap coding_of(const std::string& device, const Switch& final = nullptr);

}  // namespace openvino_plugin
