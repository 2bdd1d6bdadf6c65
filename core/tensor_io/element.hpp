// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: element types by number, name and size. Knows no file format and no graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima {

/// "float32" for OPTIMA_F32 and so on (the names of docs/package-format.md); "undefined" for 0 and unknown numbers.
std::string_view dtype_name(int32_t dtype);
/// The number of such a name; nullopt when there is none.
std::optional<int32_t> dtype_of(std::string_view name);

/// Product of the dims; nullopt when one is negative or the product passes 2^62.
std::optional<uint64_t> element_count(std::span<const int64_t> shape);
/// Bytes of a dense tensor, packed types rounded up; nullopt when the count has none or the type has no fixed size.
std::optional<uint64_t> byte_size(int32_t dtype, std::span<const int64_t> shape);

/// "1x3x224x224", "scalar", "?" for a dim of -1.
std::string shape_text(std::span<const int64_t> shape);

}  // namespace optima
