// SPDX-License-Identifier: Apache-2.0
#include "query.hpp"

#include <algorithm>

#include "info.hpp"
#include "optima/plugin/fixed.hpp"
#include "quantized.hpp"
#include "top/lower.hpp"

namespace bmcompiler_plugin {
namespace {

/// Operand `k` of a node: its inputs, then its outputs.
sdk::Value operand(const sdk::Node& n, uint32_t k) { return k < n.input_count() ? n.input(k) : n.output(k - n.input_count()); }

/// Why the node is refused where dim 0 of an operand is open: the table lets that through for bmcompiler.batches, which fix it before.
std::string open_batch(const sdk::Node& n) {
  for (uint32_t k = 0; k < n.input_count() + n.output_count(); ++k)
    if (const sdk::Value v = operand(n, k); v && v.rank() > 0 && v.dim(0) < 0) {
      const std::string at = k < n.input_count() ? "input " + std::to_string(k) : "output " + std::to_string(k - n.input_count());
      return at + " dim 0 is dynamic, must be static; " + sdk::option_that_fixes(n) + " would fix it, " +
             (sdk::is_named_dim(v.symbol(0)) ? "and where the batch is open bmcompiler.batches=1,4 names sizes for it"
                                             : "bmcompiler.batches wants a batch that has a name in the model");
    }
  return "";
}

bool converts_codes(const sdk::Node& n) { return n.domain().empty() && (n.op() == "QuantizeLinear" || n.op() == "DequantizeLinear"); }

/// Of a Cast to or from 16-bit floats, which --precision f16 puts before and behind nodes: a module has f32 alone, and a mode for all of it.
std::string halves(const sdk::Node& n, const Chip& chip) {
  for (uint32_t k = 0; k < n.input_count() + n.output_count(); ++k) {
    const sdk::Value v = operand(n, k);
    if (!v || (v.dtype() != OPTIMA_F16 && v.dtype() != OPTIMA_BF16)) continue;
    const std::string type = sdk::dtype_name(v.dtype());
    return "value '" + std::string(v.name()) + "' is of " + type + ", and models of this device stay f32: " +
           (chip.has_mode(v.dtype() == OPTIMA_F16 ? "F16" : "BF16")
                ? "bmcompiler.precision=" + type + ", in place of --precision " + type + ", computes their floats in it"
                : std::string(chip.name) + " computes in " + std::string(chip.modes));
  }
  return "";
}

/// Largest integer up to which a mode's floats hold all.
int64_t exact_in(std::string_view mode) { return mode == "F16" ? 2048 : mode == "BF16" ? 256 : 1 << 24; }

/// Places that are computed are floats in a file: those of less than f32 do not tell large ones apart.
std::string blurred_places(const sdk::Node& n, std::string_view mode) {
  static constexpr std::string_view kByPlace[] = {"Gather", "GatherElements", "GatherND", "OneHot", "RotaryEmbedding", "ScatterElements", "ScatterND", "TensorScatter"};
  if (std::find(std::begin(kByPlace), std::end(kByPlace), n.op()) == std::end(kByPlace)) return "";
  const bool counts = n.op() == "OneHot", turns = n.op() == "RotaryEmbedding";
  const sdk::Value places = n.input(counts ? 0 : turns ? 3 : n.op() == "TensorScatter" ? 2 : 1), data = counts ? n.output(0) : n.input(turns ? 1 : 0);
  if (!places || places.is_constant() || !data || !data.is_static()) return "";
  for (const int64_t d : data.shape())
    if (d > exact_in(mode))
      return "places that are computed go up to " + std::to_string(d) + ", and " + std::string(mode) + " holds whole numbers up to " + std::to_string(exact_in(mode)) +
             " (bmcompiler.precision=f32)";
  return "";
}

/// Integers are computed in F32 whatever the mode is, where the chip has it.
std::string blurred_integers(const sdk::Node& n, const Chip& chip, std::string_view mode) {
  if (chip.has_mode("F32") || !top::has_integers(n)) return "";
  return "integers are computed in " + std::string(mode) + ", which holds whole numbers up to " + std::to_string(exact_in(mode)) + ", and " + std::string(chip.name) +
         " has no f32";
}

sdk::Verdict judge(const sdk::Node& n, const Chip& chip, std::string_view mode) {
  sdk::Verdict v = sdk::judge(kInfo.operators, n);
  if (!v.yes()) {
    if (v.reason == OPTIMA_REASON_DYNAMIC_SHAPE) v.text += "; " + sdk::option_that_fixes(n) + " would fix it";
    return v;
  }
  if (const std::string why = open_batch(n); !why.empty())
    return sdk::Verdict::refused(n, OPTIMA_REASON_DYNAMIC_SHAPE, why);
  if (n.raw().graph != 0) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, "node is in a body, these chips take none");
  if (const std::string why = halves(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_DTYPE, why);
  if (converts_codes(n) && !chip.has_mode("INT8"))
    return sdk::Verdict::refused(n, OPTIMA_REASON_QUANT, std::string(chip.name) + " is made files for in " + std::string(chip.modes) + " alone");
  if (const std::string why = cannot_quantize(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_QUANT, why);
  if (converts_codes(n)) return v;
  if (const std::string why = top::cannot_lower(n, chip); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, why);
  if (const std::string why = blurred_integers(n, chip, mode); !why.empty()) return sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, why);
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

JudgeAtBatches::JudgeAtBatches(const sdk::Graph& graph, const Chip& chip, const std::string& mode, const std::vector<int64_t>& batches) : open_(graph, chip, mode) {
  const std::string batch = batches.empty() ? std::string() : batch_name(graph);
  if (batch.empty()) return;
  for (const int64_t size : batches) {
    At& at = at_.emplace_back(At{std::make_unique<AtBatch>(graph.raw(), batch, size), {}, nullptr});
    const sdk::Graph fixed(at.graph->raw());
    for (uint32_t k = 0; k < fixed.size(); ++k) at.nodes.emplace(fixed[k].id(), fixed[k]);
    at.judge = std::make_unique<Judge>(fixed, chip, mode);
  }
}

sdk::Verdict JudgeAtBatches::operator()(const sdk::Node& node) const {
  sdk::Verdict v = sdk::Verdict::supported(node);
  if (at_.empty() || node.raw().graph != 0) return open_(node);
  for (const At& at : at_) {
    v = (*at.judge)(at.nodes.at(node.id()));
    if (!v.yes()) break;
  }
  return v;
}

}  // namespace bmcompiler_plugin
