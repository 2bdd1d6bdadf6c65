// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/toolchain: what a tool that ends badly says of it, in one clean line. The forms are those that tpuc-opt 1.30.2 was seen
// to print: MLIR's diagnostics, LLVM's UNREACHABLE, the tools' own ASSERT, assert(), and errors of the loader and of the C++ runtime.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace bmcompiler_plugin {

struct LastWords {
  std::string sentence;  ///< without colours, paths of source files and stack dumps; empty = it said nothing
  std::string name, op;  ///< location and operator ("Ceil") of what it had in hand; empty = not said
  bool out_of_memory = false;
  /// `"name" (Op): tpuc-opt says "sentence"`, as much of it as is known.
  std::string text(std::string_view tool) const;
};

/// Takes the lines as they come and keeps what may matter.
class Listener {
 public:
  void hear(std::string_view line, bool from_stderr);
  LastWords last_words() const;

 private:
  std::deque<std::string> errors_;  // of stderr, before the stack dump; the last of them
  std::string last_out_;
  bool dumping_ = false;
};

}  // namespace bmcompiler_plugin
