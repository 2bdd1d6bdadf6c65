// SPDX-License-Identifier: Apache-2.0
// core/backend: what a backend says of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "optima/abi.h"

namespace optima {

/// A verdict with its strings owned. `verdict` and `reason` are the seam's numbers, unknown ones already mapped.
struct Verdict {
  uint32_t node = OPTIMA_NONE;
  uint32_t verdict = OPTIMA_VERDICT_UNSUPPORTED;
  uint32_t reason = OPTIMA_REASON_OTHER;
  uint32_t group = OPTIMA_NONE;
  std::string what, found, wanted, text;
};
/// "OP", "DTYPE", ... as in the seam's reason names.
std::string_view reason_name(uint32_t reason);

/// The verdicts on the nodes of one question, in the order asked. Never changes; copies share it. Any thread.
class Answers {
 public:
  Answers() = default;
  explicit Answers(std::vector<Verdict> verdicts) : verdicts_(std::make_shared<const std::vector<Verdict>>(std::move(verdicts))) {}
  size_t size() const { return verdicts_ ? verdicts_->size() : 0; }
  const Verdict& at(size_t i) const { return verdicts_->at(i); }
  const Verdict* begin() const { return verdicts_ ? verdicts_->data() : nullptr; }
  const Verdict* end() const { return begin() + size(); }

 private:
  std::shared_ptr<const std::vector<Verdict>> verdicts_;
};

struct NodeCost {
  uint32_t node = OPTIMA_NONE;  ///< OPTIMA_NONE = all nodes asked, as one subgraph
  double microseconds = -1;     ///< as the plugin gave it: negative = unknown, and what is no time does not count
  uint64_t device_bytes = 0;
  bool measured = false;
};

}  // namespace optima
