// SPDX-License-Identifier: Apache-2.0
#include "ranges.hpp"

#include <cmath>

#include "optima/plugin/plugin.hpp"

namespace bmcompiler_plugin {
namespace {

bool is_op(const sdk::Node& n, std::string_view op) { return n.domain().empty() && n.op() == op; }

/// Whether a node that reads `weights` reads codes beside them. A bias is read by who reads weights.
bool beside_codes(const sdk::Node& reader) {
  for (uint32_t k = 0; k < reader.input_count(); ++k) {
    const sdk::Value v = reader.input(k);
    const sdk::Node from = v && !v.is_constant() ? v.producer() : sdk::Node();
    if (from && is_op(from, "DequantizeLinear") && !from.input(0).is_constant()) return true;
  }
  return false;
}

bool read_beside_codes(const sdk::Node& dq) {
  const sdk::Graph graph(dq.graph(), dq.raw().graph);
  bool read = false;
  for (uint32_t k = 0; k < graph.size(); ++k)
    for (uint32_t i = 0; i < graph[k].input_count(); ++i)
      if (const sdk::Value v = graph[k].input(i); v && v.index() == dq.output(0).index()) {
        if (beside_codes(graph[k])) return true;
        read = true;
      }
  return !read;
}

std::string width(int32_t dtype) {
  if (dtype == OPTIMA_U8 || dtype == OPTIMA_I8) return {};
  return "codes are " + std::string(sdk::dtype_name(dtype)) + ", wanted u8 or i8";
}

std::string refused_zero(int64_t zero, const Chip& chip) {
  if (!chip.symmetric_only || zero == 0 || zero == 128) return {};
  return "codes have zero point " + std::to_string(zero) + " of 0 to 255, " + std::string(chip.name) + " has none but 0 and 128 (--scheme shared or symmetric)";
}

/// Counted from 0, as unsigned codes are.
int64_t from_zero(int64_t zero, int32_t dtype) { return dtype == OPTIMA_I8 ? zero + 128 : zero; }

std::string refused_activation(int32_t dtype, size_t scales, float scale, int64_t zero, const Chip& chip) {
  if (std::string why = width(dtype); !why.empty()) return why;
  if (scales != 1) return "an activation has " + std::to_string(scales) + " scales, wanted one";
  if (!(scale > 0) || !std::isfinite(scale)) return "the scale is " + std::to_string(scale) + ", wanted a finite number above 0";
  return refused_zero(from_zero(zero, dtype), chip);
}

Range range_of(const sdk::FloatGraph::Codes& c, const Chip& chip) {
  const std::string why = refused_activation(c.dtype, c.scales.size(), c.scales.empty() ? 0 : c.scales[0], c.zero_points.empty() ? 0 : c.zero_points[0], chip);
  if (!why.empty()) throw sdk::Error(OPTIMA_UNSUPPORTED, "value '" + c.value + "': " + why);
  return {c.scales[0], static_cast<int32_t>(from_zero(c.zero_points[0], c.dtype))};
}

int64_t zero_of(const sdk::Value& v) {
  if (!v) return 0;
  if (v.dtype() == OPTIMA_U8) return v.constant().as<uint8_t>()[0];
  if (v.dtype() == OPTIMA_I8) return v.constant().as<int8_t>()[0];
  return 0;
}

}  // namespace

std::map<std::string, Range> ranges_of(const sdk::Graph& graph, const std::vector<sdk::FloatGraph::Codes>& codes, const Chip& chip) {
  std::map<std::string, Range> out;
  for (const sdk::FloatGraph::Codes& c : codes)
    if (!c.constant) out[c.value] = range_of(c, chip);
  for (uint32_t k = 0; k < graph.size(); ++k) {
    const sdk::Node n = graph[k];
    if (!is_op(n, "DequantizeLinear")) continue;  // codes that come in
    const int32_t dtype = n.input(0).dtype();
    out[std::string(n.output(0).name())] = {n.input(1).constant().as<float>()[0], static_cast<int32_t>(from_zero(zero_of(n.input(2)), dtype))};
  }
  return out;
}

std::string refused_codes(const sdk::Node& node, const Chip& chip) {
  if (!chip.has_mode("INT8")) return std::string(chip.name) + " computes in " + std::string(chip.modes) + ", not in codes";
  const bool coded_constant = is_op(node, "DequantizeLinear") && node.input(0).is_constant();
  const sdk::Value scale = node.input(1), zero = node.input(2);
  if (!scale.is_constant() || (zero && !zero.is_constant())) return "scale or zero point is computed, wanted constants";
  if (scale.dtype() != OPTIMA_F32) return "the scale is " + std::string(sdk::dtype_name(scale.dtype())) + ", wanted f32";
  if (!coded_constant) {
    const int32_t dtype = is_op(node, "QuantizeLinear") ? node.output(0).dtype() : node.input(0).dtype();
    if (scale.constant().elements() < 1) return "there is no scale, wanted one";
    return refused_activation(dtype, static_cast<size_t>(scale.constant().elements()), scale.constant().as<float>()[0], zero_of(zero), chip);
  }
  if (node.integer("block_size", 0) > 0) return "weights are codes in blocks of " + std::to_string(node.integer("block_size", 0)) + ", wanted one scale a channel";
  const int32_t dtype = node.input(0).dtype();
  if (dtype == OPTIMA_I4 || dtype == OPTIMA_U4) return "weights are " + std::string(sdk::dtype_name(dtype)) + ", wanted i8: the tools would make codes of 8 bits of them";
  if (!read_beside_codes(node)) return "weights alone are codes here, wanted activations in codes as well (--precision int8 --calib DATA)";
  return {};
}

}  // namespace bmcompiler_plugin
