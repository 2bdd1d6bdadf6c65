// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: OpenVINO's exception texts as one sentence for users. Knows no OpenVINO.
#pragma once

#include <string>
#include <string_view>

namespace openvino_plugin {

/// What OpenVINO said in an exception, without where in its sources it said so: it writes a chain of "Exception from FILE:LINE:",
/// "Check 'CONDITION' failed at FILE:LINE:" and "While validating node ..." lines around the one that tells the reason. Several
/// reasons are joined by "; ". Where there is nothing but a condition, that is told; at most 400 bytes.
std::string one_line(const std::string& said);

/// Is it memory that was missing? OpenVINO wraps std::bad_alloc and oneDNN's own error into exceptions of its own.
bool is_out_of_memory(std::string_view what);

}  // namespace openvino_plugin
