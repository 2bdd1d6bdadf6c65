// SPDX-License-Identifier: Apache-2.0
// core/support: the first text of a list that was there before, in time that no choice of texts makes quadratic.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace optima {

/// The least index whose text equals an earlier one's, or texts.size(). Sorts instead of hashing, because whoever writes the texts
/// can choose ones of equal hash; about 2 n log2(n) calls of `less`.
template <class Texts, class Less = std::less<>>
size_t first_repeated(const Texts& texts, Less less = {}) {
  constexpr size_t kFew = 6;  // compared each with each
  for (size_t b = 1; b < texts.size() && texts.size() <= kFew; ++b)
    for (size_t a = 0; a < b; ++a)
      if (!less(texts[a], texts[b]) && !less(texts[b], texts[a])) return b;
  if (texts.size() <= kFew) return texts.size();
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (less(texts[a], texts[b])) return true;
    return a < b && !less(texts[b], texts[a]);
  });
  size_t first = texts.size();
  for (size_t i = 1; i < order.size(); ++i)
    if (!less(texts[order[i - 1]], texts[order[i]])) first = std::min(first, order[i]);
  return first;
}

}  // namespace optima
