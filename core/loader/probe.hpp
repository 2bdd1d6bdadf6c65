// SPDX-License-Identifier: Apache-2.0
// core/loader: the first meeting with a plugin file takes place in a throw-away child, where it may crash or hang.
#pragma once

#include <string>

#include "core/loader/library.hpp"
#include "core/support/status.hpp"

namespace optima {

/// The child's side, for the hidden verb `__probe FILE`: reads the note, loads, query, init, devices, deinit. Writes one
/// line of JSON, {"ok":true} or {"ok":false,"message":"..."}, and before it the step it is at ("step init"). Gives the exit
/// code. Whatever the plugin prints on stdout does not get there.
int probe_plugin(const char* file);

/// The parent's side. Ok: the file behaved, now or (same hash) earlier. Otherwise a Plugin error with one sentence: it
/// crashes, hangs, ends the process (with the last line that the child wrote on stderr), or what the child reported. `cache_folder`
/// remembers by the file's hash and the environment that it may depend on (LD_*, OPTIMA_*, PATH, HOME and what ends in _PATH, _DIR, _HOME or
/// _ROOT): good verdicts for ever, crashes and hangs for an hour, what the child reported (a missing library) not at all.
struct ProbeSettings {
  std::string program;
  std::string cache_folder;
  double seconds = 10;
};
Status probe(const std::string& path, const FileStamp& stamp, const ProbeSettings& settings);

}  // namespace optima
