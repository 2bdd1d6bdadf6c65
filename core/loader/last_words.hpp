// SPDX-License-Identifier: Apache-2.0
// core/loader: the one sentence of a process that ends in the middle, and the end. Everything here is async-signal-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/loader/calls.hpp"

namespace optima {

/// A line put together without memory of its own; what does not fit is cut.
class Line {
 public:
  Line& add(std::string_view text);
  Line& add(uint64_t number);
  /// "subgraph 2: plugin 'x': compile"
  Line& add(const seam::RunningCall& call);
  std::string_view text() const { return {text_, size_}; }

 private:
  char text_[1024];
  size_t size_ = 0;
};

/// What lines on stderr begin with. Literals.
struct Prefixes {
  const char* note;
  const char* error;
};
void set_prefixes(const Prefixes& prefixes);
void print_note(const Line& line);
void print_error(const Line& line);

/// Of several threads that end the process the first one comes back from here.
void begin_to_end();
/// After the program's own work, when only libraries' destructors run.
void begin_to_exit();

/// Says what somebody did ("crashed (SIGSEGV)"), and `more` at the end, and ends the process with the exit code of a failed plugin, leftovers
/// removed. Comes back when it was the program itself.
void end_with(std::string_view what, std::string_view more = "");
/// Ends the process by a signal that asked for it, leftovers removed.
[[noreturn]] void end_interrupted(int signal);
/// Ends it at once: by the signal's usual effect; with an exit code.
[[noreturn]] void die_of(int signal);
[[noreturn]] void leave(int code);

}  // namespace optima
