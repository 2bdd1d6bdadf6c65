// SPDX-License-Identifier: Apache-2.0
// optima/plugin/fixed.hpp: for compilers that want every size known: what to tell users of one that is not. Not included by plugin.hpp.
#pragma once

#include "optima/plugin/graph.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// Whether a user can name the size: ONNX's shape inference calls what it does not know unk__0 and so on, and a model's own may have no name.
inline bool is_named_dim(std::string_view symbol) { return !symbol.empty() && symbol.substr(0, 5) != "unk__"; }

/// What the user sets so that the node's sizes are known: "--dim batch=N" for the first open dim of its values that has a name, else
/// "--shape INPUT=SIZES".
inline std::string option_that_fixes(const Node& n) {
  for (uint32_t k = 0; k < n.input_count() + n.output_count(); ++k) {
    const Value v = k < n.input_count() ? n.input(k) : n.output(k - n.input_count());
    if (!v || !v.ranked()) continue;
    for (uint32_t d = 0; d < static_cast<uint32_t>(v.rank()); ++d)
      if (v.dim(d) < 0 && is_named_dim(v.symbol(d))) return "--dim " + std::string(v.symbol(d)) + "=N";
  }
  return "--shape INPUT=SIZES";
}

/// Throws UNSUPPORTED, naming the option that closes it, where a size of the value is open, but for dim 0 where it is named `batch`. `what`:
/// "input", "output".
inline void require_fixed(const Value& v, const std::string& what, std::string_view batch = {}) {
  if (!v.ranked()) throw Error(OPTIMA_UNSUPPORTED, what + " '" + std::string(v.name()) + "' has no known rank, wanted fixed sizes (--shape)");
  for (uint32_t k = 0; k < static_cast<uint32_t>(v.rank()); ++k)
    if (v.dim(k) < 0 && (k > 0 || batch.empty() || v.symbol(k) != batch))
      throw Error(OPTIMA_UNSUPPORTED, what + " '" + std::string(v.name()) + "' has open dim " + std::to_string(k) +
                                          (is_named_dim(v.symbol(k)) ? ", wanted fixed sizes (--dim " + std::string(v.symbol(k)) + "=N)" : ", wanted fixed sizes (--shape)"));
}

}  // namespace v0_1
}  // namespace optima::sdk
