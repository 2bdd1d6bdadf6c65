// SPDX-License-Identifier: Apache-2.0
#include "core/split/reads.hpp"

namespace optima::detail {

Reads::Reads(const SplitProblem& p) : first(p.units() + 1, 0), tensor(p.readers.size()), producer(p.bytes.size()) {
  for (uint32_t w : p.readers) ++first[w + 1];
  for (uint32_t u = 0; u < p.units(); ++u) first[u + 1] += first[u];
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (uint32_t u = 0; u < p.units(); ++u)
    for (uint32_t t = p.first_tensor[u]; t < p.first_tensor[u + 1]; ++t) {
      producer[t] = u;
      for (uint32_t r = p.first_reader[t]; r < p.first_reader[t + 1]; ++r) tensor[next[p.readers[r]]++] = t;
    }
}

}  // namespace optima::detail
