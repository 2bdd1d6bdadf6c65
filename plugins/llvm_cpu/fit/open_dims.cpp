// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see open_dims.hpp.
#include "plugins/llvm_cpu/fit/open_dims.hpp"

#include <algorithm>

#include "optima/plugin/fixed.hpp"

namespace optima::llvm_cpu {

OpenDims::OpenDims(const optima_graph& graph, const std::vector<sdk::SizeRange>& said, const Ranks& assumed) : graph_(&graph), said_(&said) {
  std::map<std::string, size_t> named;
  for (uint32_t k = 0; k < graph_.input_count(); ++k) {
    const sdk::Value v = graph_.input(k);
    of_.emplace_back();
    while (!v.ranked() && k < assumed.size() && of_.back().size() < assumed[k]) of_.back().push_back(add("", named));
    for (uint32_t d = 0; v.ranked() && d < static_cast<uint32_t>(v.rank()); ++d) {
      const std::string name(v.symbol(d));
      if (v.dim(d) >= 0) of_.back().push_back(SIZE_MAX);
      else if (const auto at = named.find(name); sdk::is_named_dim(name) && at != named.end()) of_.back().push_back(at->second);
      else of_.back().push_back(add(name, named));
      if (of_.back().back() != SIZE_MAX && v.rank() > 1) (d == 0 ? is_first_ : is_other_)[of_.back().back()] = true;
    }
  }
}

size_t OpenDims::add(const std::string& name, std::map<std::string, size_t>& named) {
  if (sdk::is_named_dim(name)) named[name] = range_.size();
  is_first_.push_back(false), is_other_.push_back(false), pinned_.push_back(0);
  const auto at = std::find_if(said_->begin(), said_->end(), [&](const sdk::SizeRange& r) { return r.symbol == name; });
  range_.push_back(at == said_->end() ? nullptr : &*at);
  return range_.size() - 1;
}

int64_t OpenDims::likely(size_t dim, int64_t size) const {
  const sdk::SizeRange* range = said(dim);
  return range && range->opt >= 0 ? range->opt : allowed(dim, size);
}

std::vector<std::pair<size_t, size_t>> OpenDims::neighbours() const {
  std::vector<std::pair<size_t, size_t>> out;
  for (const std::vector<size_t>& input : of_)
    for (size_t d = 1; d < input.size(); ++d)
      if (input[d - 1] != SIZE_MAX && input[d] != SIZE_MAX && input[d - 1] != input[d]) out.emplace_back(input[d - 1], input[d]);
  return out;
}

Shapes OpenDims::shapes(const std::vector<int64_t>& sizes) const {
  Shapes out;
  for (uint32_t k = 0; k < graph_.input_count(); ++k) {
    const sdk::Value v = graph_.input(k);
    out.push_back(v.ranked() ? v.shape() : std::vector<int64_t>(of_[k].size()));
    for (size_t d = 0; d < out[k].size(); ++d)
      if (of_[k][d] != SIZE_MAX) out[k][d] = sizes[of_[k][d]];
  }
  return out;
}

}  // namespace optima::llvm_cpu
