// SPDX-License-Identifier: Apache-2.0
// optima/plugin/bounds.hpp: what calls of a vendor's tools are bounded by. Knows nothing else of the sdk. Not included by plugin.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace optima::sdk {
inline namespace v0_1 {

/// What bounds every call of a tool, and who may end it.
struct ToolBounds {
  std::chrono::milliseconds time_limit{0};  ///< per call of a tool; 0 = none
  uint64_t memory_limit = 0;                ///< bytes of address space of a child; 0 = none
  std::string work{};                       ///< a private folder for the tools' files, of the caller
  std::string log{};                        ///< a file that takes all that the tools print (appended); errors name it
  std::function<bool()> cancelled{};        ///< asked some fifty times a second; true ends the call with CANCELLED
};

}  // namespace v0_1
}  // namespace optima::sdk
