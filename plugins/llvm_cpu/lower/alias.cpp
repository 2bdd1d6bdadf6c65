// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: operators that only rename bytes.
#include "plugins/llvm_cpu/lower/families.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr Types kAny = types(OPTIMA_F32, OPTIMA_F16, OPTIMA_I64, OPTIMA_I32, OPTIMA_BOOL, OPTIMA_U8, OPTIMA_I8, OPTIMA_F64);

void lower_alias(std::span<const NodeView> nodes, LowerContext& ctx) { ctx.alias(nodes[0].output(0), nodes[0].input(0)); }

constexpr Lowering kRows[] = {
    {"Reshape", 1, 25, {kAny, kIndex}, {kAny}, 0, 8, 0, nullptr, lower_alias},
    {"Flatten", 1, 25, {kAny}, {kAny}, 0, 8, 0, nullptr, lower_alias},
    {"Squeeze", 1, 25, {kAny, kIndex}, {kAny}, 0, 8, 0, nullptr, lower_alias},
    {"Unsqueeze", 1, 25, {kAny, kIndex}, {kAny}, 0, 8, 0, nullptr, lower_alias},
    {"Identity", 1, 25, {kAny}, {kAny}, 0, 8, 0, nullptr, lower_alias},
};

}  // namespace

Family alias_family() { return kRows; }

}  // namespace optima::llvm_cpu
