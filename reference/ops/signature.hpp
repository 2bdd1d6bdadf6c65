// SPDX-License-Identifier: Apache-2.0
// reference/ops: what each operator takes, as data: no evaluator is linked by reading it. Tier 1 of the plugin and the checks of
// the library are both made from it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "optima/abi.h"

namespace optima::reference {

using TypeSet = uint64_t;  ///< bit per dtype number

/// Set per input or output position; the last one that is not empty also holds for the rest.
using TypeList = std::array<TypeSet, 8>;

/// One operator of the default domain, for nodes that verified under a schema version within [first, last].
struct Signature {
  std::string_view name;
  int32_t first, last;
  TypeList in, out;
  uint32_t same;  ///< bit per input whose element type must be that of the lowest one; bit 31 speaks for all from 31 on
};

constexpr TypeSet type_at(const TypeList& list, uint32_t k) {
  TypeSet last = 0;
  for (uint32_t i = 0; i <= k && i < list.size() && list[i]; ++i) last = list[i];
  return last;
}

namespace signature {

template <class... D>
constexpr TypeSet set(D... dtypes) { return (TypeSet{0} | ... | (TypeSet{1} << dtypes)); }
template <class... T>
constexpr TypeList types(T... sets) { return {sets...}; }

constexpr TypeSet F = set(OPTIMA_F32, OPTIMA_F64, OPTIMA_F16, OPTIMA_BF16);  // floats
constexpr TypeSet Byte = set(OPTIMA_I8, OPTIMA_U8);
constexpr TypeSet Int = Byte | set(OPTIMA_I16, OPTIMA_I32, OPTIMA_I64, OPTIMA_U16, OPTIMA_U32, OPTIMA_U64);
constexpr TypeSet N = F | Int;  // numbers
constexpr TypeSet B = set(OPTIMA_BOOL);
constexpr TypeSet L = set(OPTIMA_I64);
constexpr TypeSet Ix = set(OPTIMA_I32, OPTIMA_I64);  // indices
constexpr TypeSet Mini = set(OPTIMA_F8E4M3FN, OPTIMA_F8E4M3FNUZ, OPTIMA_F8E5M2, OPTIMA_F8E5M2FNUZ, OPTIMA_F4E2M1, OPTIMA_F8E8M0);
constexpr TypeSet Packed = set(OPTIMA_U4, OPTIMA_I4, OPTIMA_U2, OPTIMA_I2);
constexpr TypeSet S = set(OPTIMA_STRING);
constexpr TypeSet C = N | B | Mini | Packed;                          // whatever has arithmetic
constexpr TypeSet A = C | S | set(OPTIMA_C64, OPTIMA_C128);           // any
constexpr TypeList none = {};
constexpr uint32_t kFree = 0, k01 = 3, k02 = 5, k12 = 6, kAll = 0xFFFFFFFF;

}  // namespace signature
}  // namespace optima::reference
