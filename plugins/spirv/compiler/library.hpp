// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: functions that kernels call because GLSL has none, or promises too little of its own.
#pragma once

#include <string>

namespace spirv_plugin {

/// The definitions of what `body` calls, each once, in an order that compiles. Names end in '_'.
std::string library_for(const std::string& body);

}  // namespace spirv_plugin
