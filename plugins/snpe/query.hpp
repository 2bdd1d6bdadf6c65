// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: check(): the table first, then what no tool has to be asked about, then the tools' own word.
#pragma once

#include "answers.hpp"
#include "tools.hpp"

namespace snpe_plugin {

/// One verdict per candidate. Without tools, or for a kind that they cannot compile for, the table's word is all there is.
std::vector<sdk::Verdict> ask(const Tools& tools, const sdk::Host& host, Answers& answers, const sdk::CheckRequest& request);

/// The nodes of `folder`/model.onnx that the tools leave, of those of `graph` that was written there.
std::vector<sdk::Verdict> left_out(Toolchain& tools, const Target& target, const sdk::Graph& graph, const std::string& folder, const Bounds& bounds);

}  // namespace snpe_plugin
