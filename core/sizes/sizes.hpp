// SPDX-License-Identifier: Apache-2.0
// core/sizes: what the user says of sizes that a model leaves open: which there are, and which of them matters most. Knows no model.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"

namespace optima {

/// Largest size that a bound may name.
inline constexpr int64_t kMostSize = INT32_MAX;
/// Most sizes of a list.
inline constexpr size_t kMostListed = 256;

/// The sizes of one dim: those from `min` to `max` in steps of `step` from `min`; of a list those alone.
struct SizeRange {
  int64_t min, max;             ///< 0 to kMostSize, both are sizes
  int64_t step;                 ///< at least 1; of a list 1
  int64_t opt;                  ///< the size that matters most, one of them; kNotSaid
  std::vector<int64_t> listed;  ///< ascending, each once; empty: no list

  static constexpr int64_t kNotSaid = -1;
  bool allows(int64_t size) const;
  /// The allowed size that is next to `size`; the smaller one of two.
  int64_t nearest_to(int64_t size) const;

  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

/// By the name that dims of inputs have. Equal names are equal sizes.
using SizeRanges = std::map<std::string, SizeRange, std::less<>>;

/// What follows the '=' of --dim: "320", "32..960", "32..960:32", "32..960:32@320", or "1,4,8", whose first is the opt. A single size is a
/// range of that size, with it as the opt. InvalidInput without the name of the dim for anything else: "found '9..3', wanted ...".
Result<SizeRange> parse_size_range(std::string_view text);
/// As it is typed.
std::string range_text(const SizeRange& range);
/// "32 to 960 in steps of 32", "1 to 8", "1, 4 or 8", "7": after "wanted".
std::string range_words(const SizeRange& range);

/// InvalidInput for a range that no user could have typed: what is wrong with it.
Status check_range(const SizeRange& range);
/// The sizes of one input against what is said of them: "width = 1000, wanted 32 to 960 in steps of 32". `symbols` by dim, empty = none; may be
/// shorter than `dims`. Allocates nothing where the sizes are allowed.
Status check_sizes(const SizeRanges& ranges, std::span<const std::string> symbols, std::span<const int64_t> dims);

}  // namespace optima
