// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see mentioned.hpp.
#include "plugins/llvm_cpu/fit/mentioned.hpp"

#include <algorithm>
#include <map>

#include "reference/call.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr int64_t kMostElements = 1024, kMostSize = 1 << 20;

class Mentioned {
 public:
  explicit Mentioned(const optima_graph& graph) : graph_(graph) {
    for (uint32_t v = 0; v < graph.image->values.count; ++v)
      if (const uint32_t c = optima_get_value(graph.image, v)->constant; c != OPTIMA_NONE) read(c);
  }

  Mentions most(size_t most) const { return {most_of(times_, most), most_of(pairs_, most / 3)}; }

 private:
  template <class T>
  static std::vector<T> most_of(const std::map<T, int64_t>& times, size_t most) {
    std::vector<std::pair<int64_t, T>> all;
    for (const auto& [one, count] : times) all.emplace_back(-count, one);
    std::sort(all.begin(), all.end());
    std::vector<T> out;
    for (size_t k = 0; k < all.size() && k < most; ++k) out.push_back(all[k].second);
    return out;
  }

  static bool is_size(int64_t size) { return size > 1 && size <= kMostSize; }
  void add(int64_t size) {
    if (is_size(size)) ++times_[size];
  }

  void read(uint32_t constant) {
    const optima_constant& raw = *optima_get_constant(graph_.image, constant);
    int64_t elements = 1;
    for (uint32_t d = 0; d < raw.dims.count; ++d) {
      const int64_t dim = *optima_get_int(graph_.image, raw.dims.first + d);
      add(dim);
      if (const int64_t before = d ? *optima_get_int(graph_.image, raw.dims.first + d - 1) : 0; is_size(before) && is_size(dim)) ++pairs_[{before, dim}];
      elements = std::min(elements * std::min(dim, kMostSize), kMostSize);
    }
    const bool is_there = raw.blob < graph_.blob_count && optima_get_blob(&graph_, raw.blob)->data;
    if (!is_there || elements > kMostElements || (raw.dtype != OPTIMA_I64 && raw.dtype != OPTIMA_I32)) return;
    for (const int64_t x : reference::load<int64_t>(reference::constant(graph_, constant))) add(x), add(x + 1);
  }

  const optima_graph& graph_;
  std::map<int64_t, int64_t> times_;
  std::map<std::pair<int64_t, int64_t>, int64_t> pairs_;
};

}  // namespace

Mentions mentions_of(const optima_graph& graph, size_t most) { return Mentioned(graph).most(most); }

}  // namespace optima::llvm_cpu
