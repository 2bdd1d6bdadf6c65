// SPDX-License-Identifier: Apache-2.0
#include "core/backend/verdict.hpp"

#include <algorithm>

namespace optima {

std::string_view reason_name(uint32_t reason) {
  static constexpr std::string_view names[] = {"NONE",   "OP",         "OPSET",  "DTYPE", "RANK",   "DYNAMIC_SHAPE", "ATTRIBUTE", "CONST_REQUIRED",
                                               "LAYOUT", "SIZE_LIMIT", "MEMORY", "QUANT", "DEVICE", "DEPENDENCY",    "POLICY",    "OTHER"};
  return names[std::min<uint32_t>(reason, OPTIMA_REASON_OTHER)];
}

}  // namespace optima
