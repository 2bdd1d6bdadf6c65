// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: what drivers do wrong, and what is therefore not used where they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace spirv_plugin {

/// What quirks go by, as Vulkan tells it.
struct DriverInfo {
  uint32_t vendor = 0, device = 0;  ///< of the GPU
  uint32_t driver = 0;              ///< VkDriverId; 0 = not told
  uint32_t version = 0;             ///< of the driver, packed in its vendor's way
};

/// Names of what is not used, features by Vulkan's names and kPipelineCache, and why: where it was reported, or who said so.
using Quirks = std::map<std::string, std::string>;

/// A cache of Vulkan's that pipelines are made with, and its file.
inline constexpr const char* kPipelineCache = "pipelineCache";

/// `said`: "auto" or nothing = what is known of this driver; "none" = nothing; else names, with commas between them, in place of what is known. `by` said it.
/// Throws INVALID_ARGUMENT for a name that is no quirk.
Quirks quirks_of(const DriverInfo& of, std::string_view said, const std::string& by);

}  // namespace spirv_plugin
