// SPDX-License-Identifier: Apache-2.0
#include "query.hpp"

#include <algorithm>

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

/// Largest integer up to which a mode's floats hold all.
int64_t exact_in(std::string_view mode) { return mode == "F16" ? 2048 : mode == "BF16" ? 256 : 1 << 24; }

/// Places that are computed are floats in a file: those of less than f32 do not tell large ones apart.
std::string blurred_places(const sdk::Node& n, std::string_view mode) {
  static constexpr std::string_view kByPlace[] = {"Gather", "GatherElements", "GatherND", "OneHot", "ScatterElements", "ScatterND"};
  if (std::find(std::begin(kByPlace), std::end(kByPlace), n.op()) == std::end(kByPlace)) return "";
  const sdk::Value places = n.input(n.op() == "OneHot" ? 0 : 1), data = n.op() == "OneHot" ? n.output(0) : n.input(0);
  if (!places || places.is_constant() || !data || !data.is_static()) return "";
  for (const int64_t d : data.shape())
    if (d > exact_in(mode))
      return "places that are computed go up to " + std::to_string(d) + ", and " + std::string(mode) + " holds whole numbers up to " + std::to_string(exact_in(mode)) +
             " (bmcompiler.precision=f32)";
  return "";
}

sdk::Verdict judge(const sdk::Node& n, const Chip& chip, std::string_view mode) {
  sdk::Verdict v = sdk::judge(kInfo.operators, n);
  if (!v.yes()) {
    if (v.reason == OPTIMA_REASON_DYNAMIC_SHAPE) v.text += "; " + cure(n) + " would fix it";
    return v;
  }
  if (n.raw().graph != 0) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, "node is in a body, these chips take none");
  if (converts_codes(n) && !chip.has_mode("INT8"))
    return sdk::Verdict::refused(n, OPTIMA_REASON_QUANT, std::string(chip.name) + " is made files for in " + std::string(chip.modes) + " alone");
  if (const std::string why = cannot_quantize(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_QUANT, why);
  if (converts_codes(n)) return v;
  if (const std::string why = top::cannot_lower(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, why);
  if (const std::string why = blurred_places(n, mode); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, why);
  return v;
}

}  // namespace

Judge::Judge(const sdk::Graph& graph, const Chip& chip, std::string mode) : chip_(chip), mode_(std::move(mode)) {
  bool codes = false;
  for (uint32_t k = 0; k < graph.size(); ++k) codes = codes || converts_codes(graph[k]);
  if (!codes) return;
  try {
    floats_ = std::make_unique<sdk::FloatGraph>(graph.raw());
    const sdk::Graph made(floats_->raw());
    for (uint32_t k = 0; k < made.size(); ++k)
      if (!converts_codes(made[k])) in_floats_.emplace(made[k].id(), made[k]);
  } catch (const sdk::Error& e) {
    if (e.code != OPTIMA_UNSUPPORTED) throw;
    in_floats_.clear(), floats_.reset();  // a node with a body: then as they stand
  }
}

sdk::Verdict Judge::operator()(const sdk::Node& node) const {
  const auto at = node.raw().graph == 0 && !converts_codes(node) ? in_floats_.find(node.id()) : in_floats_.end();
  return judge(at == in_floats_.end() ? node : at->second, chip_, mode_);
}

}  // namespace bmcompiler_plugin
