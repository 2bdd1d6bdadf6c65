// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/toolchain: where the compiler lies and one call of it. Knows no graph.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "optima/plugin/bounds.hpp"
#include "optima/plugin/plugin.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

/// Of tools that are whole.
struct Facts {
  std::string root;     ///< holds bin/tpuc-opt and lib/
  std::string version;  ///< "tpu_mlir 1.30.2": the wheel's, else what tpuc-opt --version says
};

/// The tools of this plugin instance, looked for once: option bmcompiler.root, TPUC_ROOT, OPTIMA_SOPHON, then the place that scripts/setup
/// --with sophon unpacks to. Any thread.
class Tools {
 public:
  explicit Tools(const sdk::Init& init);
  /// Null when there are none; `why` then names what is missing and the command that installs it.
  const Facts* find(std::string& why) const;
  /// Throws DEPENDENCY with that sentence.
  const Facts& get() const;

 private:
  std::optional<Facts> look(std::string& why) const;
  std::string named_;  // by the option; empty = not said
  mutable std::mutex mutex_;
  mutable bool looked_ = false;
  mutable std::string why_;
  mutable std::optional<Facts> found_;
};

/// What bounds each call of a tool; `work` is its working directory.
using Bounds = sdk::ToolBounds;

/// What every call of a tool has for its environment, and nothing else of ours: the number of threads and the locale move no byte of a file
/// then, and no other libraries are loaded. `work` takes temporary files.
std::vector<std::string> environment_of(const std::string& root, const std::string& work);

/// One call: bin/tpuc-opt with these words in bounds.work, TPUC_ROOT set, no libc of the wheel's. Throws
///   UNSUPPORTED  it aborted on what it was given (assertion, "not supported", signal 6, exit status 134 or 255): its own sentence, one line,
///                behind `"name" (Operator): ` where it says which operator it had in hand
///   TOOL_FAILED  any other end: signal, exit status, memory limit, time limit (TIMEOUT is for limits of the host); names the log
///   CANCELLED, DEPENDENCY, IO (a full disk, of which the tools say nothing)
void tpuc_opt(const Facts& tools, const std::vector<std::string>& words, const Bounds& bounds);

}  // namespace bmcompiler_plugin
