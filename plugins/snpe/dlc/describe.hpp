// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: what files of Qualcomm's tell people (optima.describe/1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace snpe_plugin {

/// The text of a JSON object; nothing for a file that is neither a DLC nor a Hexagon context. Any bytes: throws CORRUPT.
std::optional<std::string> describe_file(std::string_view name, std::string_view bytes);

}  // namespace snpe_plugin
