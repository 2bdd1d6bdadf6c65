// SPDX-License-Identifier: Apache-2.0
// core/backend: options as users write them and as backends get them.
#pragma once

#include <map>
#include <string>

namespace optima {

/// Settings an instance is made with; options are typed and checked against the manifest by the registry.
using OptionValues = std::map<std::string, std::string>;  ///< option name -> text as the user wrote it

/// An option as a plugin will get it. What changes the artifact belongs into cache keys and package metadata. Of a secret one the value
/// is "sha256:" and its hash when it changes the artifact, else empty.
struct EffectiveOption {
  std::string name, value, scope;
  bool is_default = true;
  bool changes_artifact = false;
  bool secret = false;
};

}  // namespace optima
