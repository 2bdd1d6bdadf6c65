// SPDX-License-Identifier: Apache-2.0
// core/graph: what open sizes count as where work and traffic are estimated. Never for buffers, nor for limits.
#pragma once

#include <vector>

#include "core/graph/graph.hpp"

namespace optima {

inline constexpr double kAssumedSize = 64;

/// A dim's size; where it is open: 1 for the first of several dims, which most often is the batch, else kAssumedSize.
double assumed_size(const std::vector<image::Dim>& dims, size_t axis);

/// Elements with such sizes; of a tensor without a rank those of a matrix.
double assumed_elements(const image::Value& value);

/// static_bytes(), or an estimate of at least 1 byte where a size is open and the type has a fixed width.
uint64_t assumed_bytes(const image::Value& value);

}  // namespace optima
