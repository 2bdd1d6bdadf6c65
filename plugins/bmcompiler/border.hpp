// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: numbers between the graph's element types and the file's.
#pragma once

#include <cstdint>
#include <string>

namespace bmcompiler_plugin {

/// Whether numbers of one type can be had from another: the same, or both of bool, i8 … i64, u8 … u32, f16, bf16, f32, f64.
bool converts(int32_t from, int32_t to);
/// `count` dense elements. Whole numbers stay exact: INVALID_ARGUMENT names the value of `what` that `to` does not hold. Floats become whole
/// numbers by rounding, bool by being other than zero.
void convert(const std::string& what, const void* data, int32_t from, void* out, int32_t to, uint64_t count);

}  // namespace bmcompiler_plugin
