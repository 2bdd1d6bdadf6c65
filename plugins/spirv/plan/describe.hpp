// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: what is in a file of an artifact, for `inspect`.
#pragma once

#include <optional>

#include "plan.hpp"

namespace spirv_plugin {

/// The text of a JSON object; nothing for a file that this plugin does not write. Throws CORRUPT. The bytes are hostile.
std::optional<std::string> described(std::string_view name, std::string_view bytes);

}  // namespace spirv_plugin
