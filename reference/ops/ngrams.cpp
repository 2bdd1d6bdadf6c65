// SPDX-License-Identifier: Apache-2.0
// reference/ops: counts of the n-grams that a pool lists, by the text of the operator's page.
#include <algorithm>
#include <map>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

/// What an n-gram adds to which element of a row.
struct Entry {
  size_t column;
  double weight;
};

template <class T>
using Pool = std::map<std::vector<T>, Entry>;

/// The n-grams of `shortest` to `longest` items. ngram_counts says where those of each length begin in `items`; the other lists go by n-gram.
template <class T>
Pool<T> read_pool(const Call& c, const std::vector<T>& items, int64_t shortest, int64_t longest) {
  const Dims begins = c.list("ngram_counts"), columns = c.list("ngram_indexes");
  const std::vector<double> weights = c.reals("weights").value_or(std::vector<double>());
  if (!weights.empty() && weights.size() != columns.size()) invalid("weights has " + std::to_string(weights.size()) + " numbers, must be " + std::to_string(columns.size()) + " as ngram_indexes");
  Pool<T> pool;
  size_t number = 0;
  for (size_t n = 1; n <= begins.size(); ++n) {
    const auto size = static_cast<int64_t>(items.size()), first = begins[n - 1], last = n < begins.size() ? begins[n] : size;
    if (first < 0 || last < first || last > size || (last - first) % static_cast<int64_t>(n) != 0) invalid("ngram_counts is " + show(begins) + ", which does not divide a pool of " + std::to_string(size));
    for (int64_t at = first; at < last; at += static_cast<int64_t>(n), ++number) {
      if (number >= columns.size()) invalid("ngram_indexes has " + std::to_string(columns.size()) + " numbers, the pool more n-grams");
      if (static_cast<int64_t>(n) < shortest || static_cast<int64_t>(n) > longest) continue;
      pool[std::vector<T>(items.begin() + at, items.begin() + at + static_cast<int64_t>(n))] = {static_cast<size_t>(columns[number]), weights.empty() ? 1 : weights[number]};
    }
  }
  return pool;
}

/// Calls f(entry) for every n-gram of n items of the row that the pool has; between its items 0 to `most` others are skipped.
template <class T, class F>
void each_found(const Pool<T>& pool, const T* row, int64_t length, int64_t n, int64_t most, F&& f) {
  const int64_t widest = n == 1 ? 1 : std::min(most, (length - 1) / (n - 1)) + 1;
  std::vector<T> gram(static_cast<size_t>(n));
  for (int64_t step = 1; step <= widest; ++step)
    for (int64_t at = 0; at + step * (n - 1) < length; ++at) {
      for (int64_t k = 0; k < n; ++k) gram[static_cast<size_t>(k)] = row[at + k * step];
      if (const auto found = pool.find(gram); found != pool.end()) f(found->second);
    }
}

template <class T>
void count_ngrams(Call& c, const std::vector<T>& x, const std::vector<T>& items) {
  const Dims dims = shapes::ngram_dims(c);
  const std::string mode = c.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") invalid("mode is '" + mode + "', must be TF, IDF or TFIDF");
  const int64_t shortest = c.integer("min_gram_length", 1), longest = c.integer("max_gram_length", 1), most = c.integer("max_skip_count", 0);
  if (shortest < 1 || longest < shortest || most < 0) invalid("min_gram_length, max_gram_length and max_skip_count are " + show({shortest, longest, most}) + ", must be positive and rise, the last not negative");
  const Pool<T> pool = read_pool(c, items, shortest, longest);
  const auto columns = static_cast<size_t>(dims.back());
  const auto rows = static_cast<size_t>(dims.size() == 2 ? dims[0] : 1);
  const int64_t length = c.in(0).dims.back(), known = std::min(longest, static_cast<int64_t>(c.list("ngram_counts").size()));
  std::vector<double> out(rows * columns, 0.0);
  for (size_t r = 0; r < rows; ++r)
    for (int64_t n = shortest; n <= known; ++n)
      each_found(pool, x.data() + r * static_cast<size_t>(length), length, n, most, [&](const Entry& e) {
        double& to = out[r * columns + e.column];
        to = mode == "TF" ? to + 1 : mode == "IDF" ? e.weight : to + e.weight;
      });
  c.out(0, store(OPTIMA_F32, dims, out));
}

}  // namespace

void tf_idf_vectorizer(Call& c) {
  const bool words = c.has("pool_strings") && !c.texts("pool_strings")->empty();
  if (words != (c.in(0).dtype == OPTIMA_STRING)) invalid("input 0 is " + dtype_name(c.in(0).dtype) + ", the pool holds " + (words ? "strings" : "integers"));
  if (words) count_ngrams(c, strings(c.in(0)), *c.texts("pool_strings"));
  else count_ngrams(c, load<int64_t>(c.in(0)), c.list("pool_int64s"));
}

}  // namespace optima::reference::ops
