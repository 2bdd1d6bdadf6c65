// SPDX-License-Identifier: Apache-2.0
// core/backend: what a file of an artifact tells people, by the plugin that knows its format.
#pragma once

#include <optional>
#include <string>

#include "core/backend/job.hpp"
#include "core/support/status.hpp"

namespace optima {

/// A Backend that comes from a plugin file is one, too. Any thread.
class Describer {
 public:
  virtual ~Describer() = default;
  /// The text of a JSON object, as the plugin gave it; nothing when it offers no optima.describe/1 or the file is not of its kinds.
  /// InvalidInput for a damaged file.
  virtual Result<std::optional<std::string>> describe(const ArtifactFile& file) = 0;
};

}  // namespace optima
