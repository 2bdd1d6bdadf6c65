// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: tier 2, OpenVINO's own answer node by node.
#pragma once

#include "engine.hpp"

namespace openvino_plugin {

/// One verdict per candidate: the manifest's row first, then query_model on models made of the candidates.
std::vector<sdk::Verdict> ask(Engine& engine, const sdk::Host& host, const sdk::CheckRequest& request);

/// "Conv has 1 inputs, wanted 2 or more" for a node that violates its operator's schema in this, else empty.
std::string missing_operands(const sdk::Node& node);

}  // namespace openvino_plugin
