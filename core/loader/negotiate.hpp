// SPDX-License-Identifier: Apache-2.0
// core/loader: the first question to a loaded file: which ABI does it speak, and is its root table what its note promised.
#pragma once

#include <span>

#include "core/backend/manifest.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// Majors this host serves, highest first.
std::span<const uint32_t> served_majors();

/// Asks from the highest major down and gives the root table as this host knows it (abi_major says which was agreed).
/// Plugin error with one sentence, without the plugin's name: a null answer, wrong versions, a table that cannot be used. `plugin`: who is
/// called, as its note says.
Result<optima_plugin_api> negotiate(optima_query_fn query, const optima_host& host, std::span<const uint32_t> majors, std::string_view plugin = "");

/// Whether the note's ABI pairs let this host try at all: "speaks ABI 0.9, this program speaks 0.1".
Status abi_served(const Manifest& manifest, std::span<const uint32_t> majors);

/// Root table against note: id, version, build id and flags must agree.
Status matches_note(const optima_plugin_api& api, const Manifest& manifest);

/// "none", "address", "thread": what this program was built with.
std::string_view own_sanitizer();

}  // namespace optima
