// SPDX-License-Identifier: Apache-2.0
#include "otherwise.hpp"

#include <algorithm>

#include "optima/plugin/manifest.hpp"

namespace openvino_plugin {
namespace {

namespace sdk = optima::sdk;

bool has_input(const sdk::Node& n, uint32_t k) { return k < n.input_count() && n.input(k); }

/// A dim that is 0 for certain.
bool is_empty(const sdk::Value& v) {
  for (int64_t dim : v.shape())
    if (dim == 0) return true;
  return false;
}

bool may_be_empty(const sdk::Value& v) { return is_empty(v) || !v.is_static(); }

/// A trip count of a constant below one, or of no constant; or a condition that is not true for certain.
bool may_make_no_trip(const sdk::Node& loop) {
  const sdk::Value count = loop.input(0), condition = loop.input(1);
  if (count && (!count.is_constant() || count.constant().elements() != 1 || count.constant().as<int64_t>()[0] < 1)) return true;
  return condition && (!condition.is_constant() || condition.constant().elements() != 1 || !condition.constant().as<uint8_t>()[0]);
}

/// Outputs behind the carried values.
bool collects(const sdk::Node& loop) {
  for (uint32_t k = std::max(loop.input_count(), 2u) - 2; k < loop.output_count(); ++k)
    if (loop.output(k)) return true;
  return false;
}

/// One of neither weights nor sizes is known before.
bool recurs_over_none(const sdk::Node& n) { return may_be_empty(n.input(0)) && !(n.input(1).is_constant() && n.input(2).is_constant()); }

/// The length over which the products are summed up is in neither shape.
bool sums_over_none(const sdk::Node& n) {
  const auto length = [](const sdk::Value& v, int64_t turned, uint32_t d) { return v.rank() == 2 ? v.dim(turned ? 1 - d : d) : -1; };
  return length(n.input(0), n.integer("transA", 0), 1) < 0 && length(n.input(1), n.integer("transB", 0), 0) < 0;
}

/// `differs` is asked about nodes of the operator.
struct Rule {
  std::string_view op;
  bool (*differs)(const sdk::Node&);
  const char* what;
};

constexpr Rule kRules[] = {
    {"Attention", [](const sdk::Node& n) { return n.integer("left_window_size", -1) >= 0 || n.integer("right_window_size", -1) >= 0; }, "the window of Attention"},
    {"Attention", [](const sdk::Node& n) { return n.integer("is_causal", 0) != 0 && has_input(n, 3) && has_input(n, 4); }, "is_causal of Attention beside attn_mask and past_key"},
    {"BitShift",
     [](const sdk::Node& n) {
       const int32_t t = n.input(0).dtype();
       return t == OPTIMA_I8 || t == OPTIMA_I16 || t == OPTIMA_I32 || t == OPTIMA_I64;
     },
     "BitShift of signed integers"},
    {"GRU", recurs_over_none, "GRU of what may have no elements, with weights that are no constants,"},
    {"Gemm", [](const sdk::Node& n) { return has_input(n, 2) && sums_over_none(n); }, "Gemm with C over a length that may be 0"},
    {"LSTM", recurs_over_none, "LSTM of what may have no elements, with weights that are no constants,"},
    {"Loop", [](const sdk::Node& n) { return collects(n) && may_make_no_trip(n); }, "what a Loop collects, when it may make no trip,"},
    {"LSTM", [](const sdk::Node& n) { return has_input(n, 7); }, "the peepholes (P) of LSTM"},
    {"Resize", [](const sdk::Node& n) { return n.integer("antialias", 0) != 0; }, "antialias of Resize"},
    {"Resize", [](const sdk::Node& n) { return n.integer("exclude_outside", 0) != 0; }, "exclude_outside of Resize"},
    {"Resize", [](const sdk::Node& n) { return n.string("keep_aspect_ratio_policy", "stretch") != "stretch"; }, "keep_aspect_ratio_policy of Resize"},
    {"RNN", recurs_over_none, "RNN of what may have no elements, with weights that are no constants,"},
    {"RoiAlign", [](const sdk::Node& n) { return n.string("mode", "avg") == "max"; }, "mode max of RoiAlign"},
    {"RotaryEmbedding", [](const sdk::Node& n) { return n.integer("rotary_embedding_dim", 0) == 0 || n.integer("interleaved", 0) != 0; },
     "RotaryEmbedding that is interleaved or over all of a head (rotary_embedding_dim 0)"},
    {"SpaceToDepth", [](const sdk::Node& n) { return n.string("mode", "DCR") == "CRD"; }, "mode CRD of SpaceToDepth"},
    {"Tile", [](const sdk::Node& n) { return has_input(n, 1) && !n.input(1).is_constant(); }, "repeats of Tile that are no constant"},
    {"Unique", [](const sdk::Node& n) { return may_be_empty(n.input(0)); }, "Unique of what may have no elements"},
};

std::string nothing_in(const sdk::Value& v, const std::string& what) {
  if (!v || !is_empty(v)) return "";
  std::string type = sdk::dtype_name(v.dtype()) + std::string("[");
  for (uint32_t k = 0; k < static_cast<uint32_t>(v.rank()); ++k) type += (k ? "," : "") + (v.dim(k) < 0 ? std::string("?") : std::to_string(v.dim(k)));
  return what + " is " + type + "], without elements, which OpenVINO does not compute as ONNX does";
}

/// Constants without elements are parameters that are not there (of Resize), shapes of scalars, axes: those are understood.
std::string without_elements(const sdk::Node& node) {
  std::string why;
  for (uint32_t k = 0; k < node.output_count() && why.empty(); ++k) why = nothing_in(node.output(k), "output " + std::to_string(k));
  for (uint32_t k = 0; k < node.input_count() && why.empty(); ++k)
    if (node.input(k) && !node.input(k).is_constant()) why = nothing_in(node.input(k), "input " + std::to_string(k));
  return why;
}

std::string in_body(const sdk::Graph& body) {
  for (uint32_t k = 0; k < body.output_count(); ++k)
    if (std::string why = nothing_in(body.output(k), "output " + std::to_string(k) + " of body '" + std::string(body.name()) + "'"); !why.empty()) return why;
  for (uint32_t k = 0; k < body.size(); ++k)
    if (std::string why = computed_otherwise(body[k]); !why.empty()) return why;
  return "";
}

}  // namespace

std::string computed_otherwise(const sdk::Node& node) {
  if (!node.domain().empty()) return "";
  if (std::string why = without_elements(node); !why.empty()) return why;
  for (const Rule& rule : kRules)
    if (rule.op == node.op() && rule.differs(node)) return std::string("OpenVINO does not compute ") + rule.what + " as ONNX does";
  for (uint32_t k = 0; k < node.attr_count(); ++k) {
    const sdk::Attr a = node.attr(k);
    std::string why;
    if (a.type() == OPTIMA_ATTR_GRAPH) why = in_body(a.body());
    for (uint32_t b = 0; a.type() == OPTIMA_ATTR_GRAPHS && b < a.size() && why.empty(); ++b) why = in_body(a.body(b));
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace openvino_plugin
