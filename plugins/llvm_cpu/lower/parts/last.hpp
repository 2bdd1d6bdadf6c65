// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: steps of tensors whose channels come last, dims counted as the graph does.
#pragma once

#include <optional>

#include "plugins/llvm_cpu/lower/parts/copy.hpp"

namespace optima::llvm_cpu {

/// Elements from index to index of each dim, `pixel` elements from pixel to pixel.
Dims last_steps(const Dims& dims, int64_t pixel);
/// A row-major offset of a tensor that has elements as an offset of the one with channels last.
int64_t last_offset(int64_t offset, const Dims& dims, int64_t pixel);
/// Row-major steps over `walked` dims, each along one dim of the tensor, as steps of the one with channels last. Nothing when one is not.
/// The tensor has elements.
std::optional<Dims> to_last(const Dims& steps, const Dims& walked, const Dims& dims, int64_t pixel);
/// The same copy, dims in the order in which the target lies.
Copy by_target(const Copy& copy);

/// Whether a layout with channels last exists for the value: an image of bytes.
bool may_be_last(const GraphView& graph, uint32_t value);

}  // namespace optima::llvm_cpu
