// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: what the text of a kernel says of its loops and of its shared memory, before it is compiled.
#pragma once

#include <cstdint>
#include <string_view>

namespace spirv_plugin {

struct Measure {
  /// Iterations of all loops that one invocation goes through at most, whatever its data; 2^62 stands for more.
  uint64_t iterations = 0;
  uint64_t shared_bytes = 0;  ///< of a workgroup
};

/// Reads GLSL as generators write it: every loop is a `for` whose end is a literal, or the least of several things of which one is (min(), &&); it begins at
/// nothing less than 0. Branches count as both of their sides: invocations that run side by side go through both. Throws INTERNAL for a loop whose end
/// no literal bounds.
Measure measured(std::string_view text);

}  // namespace spirv_plugin
