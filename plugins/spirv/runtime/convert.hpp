// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: the caller's elements to those of the device, and back.
#pragma once

#include "plan/plan.hpp"

namespace spirv_plugin {

/// `count` elements at `from`, of type `dtype`, as `element`s at `to`. Throws INVALID_ARGUMENT, naming `name`, for a number that has no place there.
void to_device(const std::string& name, int32_t dtype, const void* from, Element element, void* to, size_t count);
/// Throws INVALID_ARGUMENT, naming `name`, where one of `count` whole numbers on the device is outside of the range.
void require_indices(const std::string& name, const Range& range, const void* on_device, size_t count);
/// The way back. Throws UNSUPPORTED, naming `name`, for a 64-bit integer that is an end of 32 bits, which stands for all beyond.
void from_device(const std::string& name, int32_t dtype, void* to, Element element, const void* from, size_t count);

}  // namespace spirv_plugin
