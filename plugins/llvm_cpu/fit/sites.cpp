// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see sites.hpp.
#include "plugins/llvm_cpu/fit/sites.hpp"

#include <algorithm>
#include <set>

#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"

namespace optima::llvm_cpu {
namespace {

/// Kernels that read all their sizes in the run: those that move and map elements, which costs nothing and makes them few, and products on codes,
/// which costs little: short rows and few rows have kernels of their own, and of these few samples tell which sizes are open.
constexpr std::string_view kOpen[] = {"k_elementwise", "k_to_blocked", "k_from_blocked", "k_to_last", "k_from_last", "k_copy_bytes",
                                      "k_join_channels", "k_move", "k_widen", "k_narrow", "k_fill", "k_trilu", "k_range", "k_one_hot", "k_gather",
                                      "k_gather_elements", "k_gather_nd", "k_scatter_elements", "k_scatter_nd", "k_arg", "k_cumsum", "k_grid_sample",
                                      "k_col2im", "k_deform_columns", "k_max_roi_pool", "k_max_unpool", "k_roi_align", "k_table", "k_weights",
                                      "k_pick_pixels", "k_quantize_to_last", "k_dequantize_from_last", "k_quantize_blocked",
                                      "k_dequantize_to_blocked", "k_codes_conv", "k_codes_amx", "k_codes_depthwise", "k_codes_matmul",
                                      "k_codes_matmul_amx", "k_codes_pad", "k_codes_rows", "k_codes_sums", "k_pool_codes"};

}  // namespace

void Sites::add(const Site& site, const KernelSpec& spec) {
  const auto [at, is_new] = all_.try_emplace(site);
  Seen& seen = at->second;
  if (is_new) seen.first = spec, seen.differs.resize(spec.literals.size());
  if (spec.literals.size() == seen.first.literals.size() && spec.expression == seen.first.expression)
    for (size_t word = 0; word < spec.literals.size(); ++word) seen.differs[word] = seen.differs[word] || spec.literals[word] != seen.first.literals[word];
  if (spec.expression.empty()) return;
  const bool one = spec.literals[row_words(spec.expression).length] == target_.vector_width;
  bool& all = seen.rows_of_one_vector.try_emplace(spec.expression, true).first->second;
  all = all && one;
}

std::vector<uint32_t> Sites::slots(const Site& site, const KernelSpec& spec) const {
  const std::vector<uint32_t> words = sizes(spec);
  if (std::find(std::begin(kOpen), std::end(kOpen), spec.entry) != std::end(kOpen)) return words;
  const bool is_product = spec.entry.find("matmul") != std::string::npos;
  std::set<uint32_t> out;
  for (const auto& [other, seen] : all_) {
    if (other.entry != spec.entry || seen.first.literals.size() != spec.literals.size() || (is_product && other.node_ids != site.node_ids)) continue;
    for (const uint32_t word : words)
      if (seen.differs[word]) out.insert(word);
  }
  return {out.begin(), out.end()};
}

bool Sites::has_rows_of_one_vector(const Site& site, const KernelSpec& spec) const {
  if (spec.expression.empty() || spec.literals[row_words(spec.expression).length] != target_.vector_width) return false;
  const auto& seen = all_.at(site).rows_of_one_vector;
  const auto at = seen.find(spec.expression);
  return at == seen.end() || at->second;
}

std::vector<uint32_t> all_but_rows(const KernelSpec& spec) {
  const RowWords row = row_words(spec.expression);
  std::vector<uint32_t> out = sizes(spec);
  std::erase_if(out, [&](uint32_t word) { return word == row.length || word == row.chunk; });
  return out;
}

}  // namespace optima::llvm_cpu
