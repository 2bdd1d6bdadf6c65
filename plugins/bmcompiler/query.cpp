// SPDX-License-Identifier: Apache-2.0
#include "query.hpp"

#include "info.hpp"
#include "quantized.hpp"
#include "top/lower.hpp"

namespace bmcompiler_plugin {
namespace {

/// The first dim of the node's values that is open.
std::string cure(const sdk::Node& n) {
  for (uint32_t k = 0; k < n.input_count() + n.output_count(); ++k) {
    const sdk::Value v = k < n.input_count() ? n.input(k) : n.output(k - n.input_count());
    if (!v || !v.ranked()) continue;
    for (uint32_t d = 0; d < static_cast<uint32_t>(v.rank()); ++d)
      if (v.dim(d) < 0 && !v.symbol(d).empty()) return "--dim " + std::string(v.symbol(d)) + "=N";
  }
  return "--shape INPUT=SIZES";
}

bool converts_codes(const sdk::Node& n) { return n.domain().empty() && (n.op() == "QuantizeLinear" || n.op() == "DequantizeLinear"); }

}  // namespace

sdk::Verdict judge(const sdk::Node& n, const Chip& chip) {
  sdk::Verdict v = sdk::judge(kInfo.operators, n);
  if (!v.yes()) {
    if (v.reason == OPTIMA_REASON_DYNAMIC_SHAPE) v.text += "; " + cure(n) + " would fix it";
    return v;
  }
  if (n.raw().graph != 0) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, "node is in a body, these chips take none");
  if (const std::string why = cannot_quantize(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_QUANT, why);
  if (converts_codes(n)) return v;
  if (const std::string why = top::cannot_lower(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, why);
  return v;
}

}  // namespace bmcompiler_plugin
