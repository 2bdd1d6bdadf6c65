// SPDX-License-Identifier: Apache-2.0
// core/loader: a manifest that has no plugin yet, as a plugin: it says what silicon of the future would take.
#pragma once

#include <memory>
#include <string>

#include "core/loader/registry.hpp"

namespace optima {

/// Reads a manifest (sdk/manifest.schema.json) and gives a compiler plugin that answers check() by it alone, serves any index of
/// its kinds, has no device on this machine, and refuses to compile and to load. InvalidInput when the file is no manifest of a
/// plugin with the role compiler.
Result<std::unique_ptr<Backend>> read_note_plugin(const std::string& path);

}  // namespace optima
