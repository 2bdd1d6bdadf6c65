// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see last.hpp.
#include "plugins/llvm_cpu/lower/parts/last.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "plugins/llvm_cpu/lower/parts/shapes.hpp"

namespace optima::llvm_cpu {

Dims last_steps(const Dims& dims, int64_t pixel) {
  Dims steps(dims.size(), 1);
  int64_t step = pixel;
  for (size_t d = dims.size(); d-- > 2;) steps[d] = step, step *= dims[d];
  steps[0] = step;
  return steps;
}

int64_t last_offset(int64_t offset, const Dims& dims, int64_t pixel) {
  const Dims own = row_major(dims), last = last_steps(dims, pixel);
  int64_t out = 0;
  for (size_t d = 0; d < dims.size(); ++d) out += offset / own[d] % dims[d] * last[d];
  return out;
}

std::optional<Dims> to_last(const Dims& steps, const Dims& walked, const Dims& dims, int64_t pixel) {
  const Dims own = row_major(dims), last = last_steps(dims, pixel);
  Dims out;
  for (size_t w = 0; w < walked.size(); ++w) {
    const int64_t step = std::abs(steps[w]);
    std::optional<int64_t> found = walked[w] == 1 || step == 0 ? std::optional<int64_t>(0) : std::nullopt;
    for (size_t d = 0; d < dims.size() && !found; ++d)  // no step of a tensor with elements is 0
      if (step % own[d] == 0 && step * (walked[w] - 1) < own[d] * dims[d]) found = steps[w] / own[d] * last[d];
    if (!found) return std::nullopt;
    out.push_back(*found);
  }
  return out;
}

Copy by_target(const Copy& c) {
  std::vector<size_t> order(c.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return c.to[a] > c.to[b]; });
  Copy out;
  for (const size_t d : order) out.dims.push_back(c.dims[d]), out.from.push_back(c.from[d]), out.to.push_back(c.to[d]);
  return out;
}

bool may_be_last(const GraphView& graph, uint32_t value) {
  const size_t rank = graph.dims(value).size();
  return element_bytes(graph.dtype(value)) == 1 && rank >= 3 && rank <= 5;
}

}  // namespace optima::llvm_cpu
