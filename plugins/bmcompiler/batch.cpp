// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace bmcompiler_plugin {
namespace {

constexpr int64_t kMost = 65535;  // the chips' limit of a dim 0

int64_t size_of(std::string_view word) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error != std::errc() || end != word.data() + word.size() || size < 1 || size > kMost)
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "bmcompiler.batches has '" + std::string(word) + "', wanted sizes from 1 to " + std::to_string(kMost));
  return size;
}

}  // namespace

std::vector<int64_t> batches_of(const sdk::Options& options, const Chip& chip) {
  const sdk::Options list = options.list("bmcompiler.batches");
  std::vector<int64_t> sizes;
  for (uint32_t k = 0; k < list.size(); ++k) sizes.push_back(size_of(sdk::view(list[k].str)));
  if (!sizes.empty() && (chip.runner == Runner::Cvi || chip.is_of_bmnet()))
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "bmcompiler.batches is named, a file for " + std::string(chip.name) + " holds one size, which --dim fixes");
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::string batch_name(const sdk::Graph& graph) {
  for (uint32_t k = 0; k < graph.input_count(); ++k)
    if (const sdk::Value v = graph.input(k); v.ranked() && v.rank() > 0 && v.dim(0) < 0) return std::string(v.symbol(0));
  return {};
}

AtBatch::AtBatch(const optima_graph* from, std::string_view name, int64_t size) : image_((from->image->total_size + 7) / 8) {
  std::memcpy(image_.data(), from->image, from->image->total_size);
  raw_ = {sizeof raw_, 0, reinterpret_cast<const optima_image*>(image_.data()), from->blobs, from->blob_count, 0, {}};
  const optima_array& dims = raw_.image->dims;
  for (uint32_t k = 0; k < dims.count; ++k) {
    auto* dim = reinterpret_cast<optima_dim*>(reinterpret_cast<char*>(image_.data()) + dims.offset + uint64_t{k} * dims.stride);
    if (dim->value < 0 && sdk::view(optima_string(raw_.image, &dim->symbol)) == name) dim->value = size;
  }
}

}  // namespace bmcompiler_plugin
