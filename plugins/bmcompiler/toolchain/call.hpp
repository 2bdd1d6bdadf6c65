// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/toolchain: one bounded call of a tool, whichever it is.
#pragma once

#include "toolchain/tools.hpp"

namespace bmcompiler_plugin {

struct Call {
  std::string name;                      ///< for messages
  std::string program;
  std::vector<std::string> words;
  std::vector<std::string> environment;  ///< all of it
  bool crash_refuses = false;            ///< a fault of its own is UNSUPPORTED, as an abort is, with the signal as vendor_code
};
/// Ends well or throws as tpuc_opt().
void call_tool(const Call& call, const Bounds& bounds);

/// Where the C library of this process lies.
std::string libc_folder();

}  // namespace bmcompiler_plugin
