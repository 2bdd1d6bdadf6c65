// SPDX-License-Identifier: Apache-2.0
// core/quantize: what a node is computed in, as users name it.
#pragma once

#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima {

/// What a node is computed in. Dynamic: DynamicQuantizeLinear at run time. Auto: int8 where a device takes it, else float.
enum class Precision { F32, F16, BF16, Int8, A16W8, A16W4, W8, W4, Dynamic, Auto };
/// By name: f32 f16 fp16 bf16 int8 a16w8 int8w16a a16w4 w8 w4 dynamic auto. Usage.
Result<Precision> precision_named(const std::string& name);
std::string_view name_of(Precision precision);
/// True where representative data is needed: int8, a16w8, a16w4, auto.
bool needs_data(Precision precision);

}  // namespace optima
