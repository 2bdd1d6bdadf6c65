// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: what is known of a model's codes, from the graph itself and from the user's calibration.
#pragma once

#include <memory>

#include "toolchain.hpp"

namespace snpe_plugin {

/// Null where the graph holds no codes and the user gave neither encodings nor data. Refers to `request`: use it while compile() runs.
std::unique_ptr<Quantized> quantized_of(const sdk::CompileRequest& request, const sdk::Host& host);

}  // namespace snpe_plugin
