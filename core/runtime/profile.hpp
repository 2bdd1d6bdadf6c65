// SPDX-License-Identifier: Apache-2.0
// core/runtime: what took how long. Knows no clock but the monotonic one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// The numbers are those of the public API. FlowExecute: nodes that the host drives, their bodies' subgraphs included.
enum class ProfileKind : uint32_t {
  ModelInit, SubgraphInit, RequestInit, LayerExecute, Wait, BufferCopy, ModelExecute, SubgraphExecute, FlowExecute
};
/// "ModelInit", …
std::string_view name_of(ProfileKind kind);

struct ProfileEvent {
  ProfileKind kind = ProfileKind::ModelInit;
  uint32_t index = 0;        ///< subgraph, or input/output position for BufferCopy
  uint64_t start_ns = 0;     ///< CLOCK_MONOTONIC
  uint64_t duration_ns = 0;
  uint32_t track = 0;        ///< number of the request that made it
  std::string name;          ///< "subgraph 3 on X64:0", tensor name, …
  uint32_t node = OPTIMA_NONE;  ///< LayerExecute: node id, where the plugin tells it
};

uint64_t now_ns();

/// Chrome trace event format (one object per event, microseconds), readable by chrome://tracing and Perfetto.
std::string chrome_trace(std::span<const ProfileEvent> events);

}  // namespace optima
