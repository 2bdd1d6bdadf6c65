// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see passage.hpp.
#include "plugins/llvm_cpu/compiler/passage.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/compiler/work.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"

namespace optima::llvm_cpu {
namespace {

int64_t pixels(const Dims& dims) { return count(dims) / std::max<int64_t>(1, dims[0] * dims[1]); }

}  // namespace

bool is_plain_in_blocks(const Dims& dims, const Target& target) {
  return pixels(dims) == 1 && (dims[0] == 1 || dims[1] % target.vector_width == 0);
}

Op passage(const Dims& dims, Layout to, const Target& target) {
  const int64_t P = pixels(dims), vl = target.vector_width;
  Op op;
  if (to == Layout::Plain) op.kernel = k::FromBlocked{.C = dims[1], .P = P};
  else op.kernel = k::ToBlocked{.C = dims[1], .P = P};
  op.units = dims[0] * ((dims[1] + vl - 1) / vl) * ((P + k::kStrip - 1) / k::kStrip);
  op.work = elements(dims, Layout::Blocked, target) * work::kMoved;
  op.label = to == Layout::Plain ? "to plain" : "to blocked";
  return op;
}

}  // namespace optima::llvm_cpu
