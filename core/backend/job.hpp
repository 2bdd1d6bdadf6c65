// SPDX-License-Identifier: Apache-2.0
// core/backend: a subgraph to compile, and what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/calibration.hpp"
#include "core/backend/door.hpp"
#include "core/backend/target.hpp"
#include "core/backend/verdict.hpp"
#include "core/sizes/sizes.hpp"
#include "core/support/blob.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// A file of a finished artifact.
struct ArtifactFile {
  std::string name;  ///< relative, '/'-separated
  Blob bytes;
};
/// What compile produced. Files lie under the folder given to compile.
struct Compiled {
  std::string format_id;
  std::vector<std::string> files;                              ///< relative names, in the order they were opened
  std::vector<std::pair<std::string, std::string>> meta;       ///< set_meta, in order
  std::vector<std::byte> compat_record;
  std::string compat_text;
  std::vector<std::pair<std::string, uint32_t>> weights;       ///< use_weight: name, blob index of the graph
};

/// compile's failure, with the nodes that were blamed: UNSUPPORTED + nodes makes the host split again.
struct CompileFailure {
  Status status;
  int32_t code = OPTIMA_INTERNAL;  ///< the seam's
  std::vector<Verdict> refused = {};  ///< nodes that cannot be compiled here, each once, their texts whole sentences for people
};

struct CompileJob {
  const optima_graph* graph = nullptr;
  /// The bytes behind graph->blobs, element by element, so that the plugin may retain them. Empty: it may only read them.
  std::span<const Blob> blobs = {};
  const Calibration* calibration = nullptr;  ///< or null
  TargetDevice device;
  std::vector<ValueDoor> doors;     ///< by value; those that are not the usual one
  SizeRanges sizes;                 ///< what the user said of open dims of the graph's inputs, by their symbol
  std::string stem;                 ///< "subgraph_3"
  std::string folder;               ///< absolute, existing; the plugin's files land below it
  int64_t threads = 0;              ///< optima.threads; 0 = all
  std::function<void(double fraction, std::string_view stage)> progress;  ///< from any thread, one call at a time; may be empty
  const std::atomic<bool>* cancelled = nullptr;
};

/// How an artifact is to be loaded.
struct LoadJob {
  int64_t threads = 0;  ///< optima.threads; 0 = all
  std::function<void(double fraction, std::string_view stage)> progress = {};  ///< from any thread, one call at a time; may be empty
  const std::atomic<bool>* cancelled = nullptr;
};

}  // namespace optima
