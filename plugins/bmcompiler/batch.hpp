// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: models whose batch is open: the sizes that a file is made for, and a graph at one of them.
#pragma once

#include <string>
#include <vector>

#include "chip.hpp"
#include "optima/plugin/plugin.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

/// Of option bmcompiler.batches: ascending, each once; empty = none are named. Throws INVALID_ARGUMENT, naming the word that is no size, and for
/// chips whose files hold one size.
std::vector<int64_t> batches_of(const sdk::Options& options, const Chip& chip);

/// The name of the batch: that of dim 0 of the first input of graph 0 where this is open. Empty where there is none, or it has no name: nothing
/// tells then which other sizes it is.
std::string batch_name(const sdk::Graph& graph);

/// A graph whose dims of this name have a size. Shares the blobs of `from`, which must outlive this.
class AtBatch {
 public:
  AtBatch(const optima_graph* from, std::string_view name, int64_t size);
  AtBatch(const AtBatch&) = delete;
  AtBatch& operator=(const AtBatch&) = delete;
  const optima_graph* raw() const { return &raw_; }

 private:
  std::vector<uint64_t> image_;  // numbers of 8 bytes lie at such addresses
  optima_graph raw_;
};

}  // namespace bmcompiler_plugin
