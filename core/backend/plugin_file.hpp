// SPDX-License-Identifier: Apache-2.0
// core/backend: a plugin file as it was found.
#pragma once

#include <string>

#include "core/backend/manifest.hpp"
#include "core/support/status.hpp"

namespace optima {

/// One file of a plugin folder: usable when refusal.ok().
struct PluginFile {
  std::string path;      ///< absolute
  Manifest manifest;     ///< empty when the file has none that can be read
  Status refusal;        ///< one sentence: why the file is not used
  bool unwanted = false; ///< refused because the allow-list leaves it out, which is no fault
};

}  // namespace optima
