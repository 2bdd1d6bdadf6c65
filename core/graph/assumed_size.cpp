// SPDX-License-Identifier: Apache-2.0
#include "core/graph/assumed_size.hpp"

#include <algorithm>

namespace optima {

double assumed_size(const std::vector<image::Dim>& dims, size_t axis) {
  if (dims[axis].value >= 0) return static_cast<double>(dims[axis].value);
  return axis == 0 && dims.size() > 1 ? 1 : kAssumedSize;
}

double assumed_elements(const image::Value& value) {
  if (!value.dims) return kAssumedSize * kAssumedSize;
  double product = 1;
  for (size_t axis = 0; axis < value.dims->size(); ++axis) product *= assumed_size(*value.dims, axis);
  return product;
}

uint64_t assumed_bytes(const image::Value& value) {
  const uint64_t bits = optima_dtype_bits(value.dtype), known = static_bytes(value);
  if (known > 0 || bits == 0 || value.kind != OPTIMA_KIND_TENSOR) return known;
  const bool open = !value.dims || std::any_of(value.dims->begin(), value.dims->end(), [](const image::Dim& d) { return d.value < 0; });
  constexpr double kMost = 1e15;
  return open ? static_cast<uint64_t>(std::clamp(assumed_elements(value) * static_cast<double>(bits) / 8, 1.0, kMost)) : 0;
}

}  // namespace optima
