// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: see general.hpp.
#include "plugins/llvm_cpu/compiler/general.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {
namespace {

const SizeWords& declared(const KernelSpec& spec) {
  static const SizeWords nothing;
  return spec.words ? *spec.words : nothing;
}

/// Literals of the struct; what follows them are numbers of an expression.
size_t struct_words(const KernelSpec& spec) { return spec.expression.empty() ? spec.literals.size() : 1; }

/// Of the tile that the spec has: 0 = pixels or rows, 1 = vectors of columns; 1 where its template has none.
int64_t tile_of(const KernelSpec& spec, const SizeWords& words, size_t k) { return k < words.tile ? spec.literals[words.hints[k]] : 1; }

}  // namespace

std::vector<uint32_t> sizes(const KernelSpec& spec) {
  std::vector<uint32_t> out = declared(spec).sizes;
  for (size_t i = struct_words(spec); i < spec.literals.size(); ++i) out.push_back(static_cast<uint32_t>(i));
  return out;
}

KernelSpec general(const KernelSpec& spec, const std::vector<uint32_t>& slots) {
  const std::vector<uint32_t> allowed = sizes(spec), &hints = declared(spec).hints;
  std::vector<uint32_t> wanted = slots;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (const uint32_t slot : wanted)
    if (!std::binary_search(allowed.begin(), allowed.end(), slot))
      throw sdk::Error(OPTIMA_INTERNAL, "kernel " + spec.entry + ": literal " + std::to_string(slot) + " is to be read in the run, but may not be");
  KernelSpec out = spec;
  out.slots.clear();
  std::set_union(wanted.begin(), wanted.end(), hints.begin(), hints.end(), std::back_inserter(out.slots));
  for (const uint32_t slot : out.slots)
    if (!std::binary_search(hints.begin(), hints.end(), slot)) out.literals[slot] = 0;
  return out;
}

bool matches(const KernelSpec& general, const KernelSpec& literal) {
  if (!literal.slots.empty() || general.entry != literal.entry || general.literals.size() != literal.literals.size() || general.expression != literal.expression)
    return false;
  auto slot = general.slots.begin();
  for (size_t i = 0; i < general.literals.size(); ++i) {
    if (slot != general.slots.end() && *slot == i) ++slot;
    else if (general.literals[i] != literal.literals[i]) return false;
  }
  return true;
}

bool suits(const KernelSpec& general, const KernelSpec& spec) {
  const SizeWords& words = declared(spec);
  if (words.hints.empty()) return true;
  constexpr int64_t kLong = 6, kEnough = 8;  // as many accumulators as multiply-adds are under way
  const int64_t made = tile_of(general, words, 0), wanted = tile_of(spec, words, 0), made_columns = tile_of(general, words, 1), columns = tile_of(spec, words, 1);
  const bool rows_do = made == wanted || (made >= kLong && wanted >= kLong) || (made > wanted && (words.rests_in_one || std::has_single_bit(static_cast<uint64_t>(wanted))));
  return rows_do && (columns <= made_columns || made_columns >= (kEnough - 1) / wanted + 1);  // not multiplied: the kernel's numbers may come from a file
}

bool covers(const KernelSpec& general, const KernelSpec& spec) {
  const SizeWords& words = declared(spec);
  return words.hints.empty() || tile_of(general, words, 0) >= tile_of(spec, words, 0);
}

std::vector<int64_t> row(const KernelSpec& general, const KernelSpec& literal) {
  std::vector<int64_t> out;
  for (const uint32_t slot : general.slots) out.push_back(literal.literals[slot]);
  return out;
}

}  // namespace optima::llvm_cpu
