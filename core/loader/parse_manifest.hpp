// SPDX-License-Identifier: Apache-2.0
// core/loader: the capability note of a plugin, from its JSON. Format: sdk/manifest.schema.json.
#pragma once

#include <string_view>

#include "core/backend/manifest.hpp"
#include "core/support/status.hpp"

namespace optima {

/// InvalidInput with the place of the first mistake; unknown members are ignored.
Result<Manifest> parse_manifest(std::string_view json, std::string_view what);

}  // namespace optima
