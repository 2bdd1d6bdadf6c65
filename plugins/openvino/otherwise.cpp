// SPDX-License-Identifier: Apache-2.0
#include "otherwise.hpp"

namespace openvino_plugin {
namespace {

namespace sdk = optima::sdk;

bool has_input(const sdk::Node& n, uint32_t k) { return k < n.input_count() && n.input(k); }

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
    {"LSTM", [](const sdk::Node& n) { return has_input(n, 7); }, "the peepholes (P) of LSTM"},
    {"Resize", [](const sdk::Node& n) { return n.integer("antialias", 0) != 0; }, "antialias of Resize"},
    {"Resize", [](const sdk::Node& n) { return n.integer("exclude_outside", 0) != 0; }, "exclude_outside of Resize"},
    {"Resize", [](const sdk::Node& n) { return n.string("keep_aspect_ratio_policy", "stretch") != "stretch"; }, "keep_aspect_ratio_policy of Resize"},
    {"RoiAlign", [](const sdk::Node& n) { return n.string("mode", "avg") == "max"; }, "mode max of RoiAlign"},
    {"RotaryEmbedding", [](const sdk::Node& n) { return n.integer("rotary_embedding_dim", 0) == 0 || n.integer("interleaved", 0) != 0; },
     "RotaryEmbedding that is interleaved or over all of a head (rotary_embedding_dim 0)"},
    {"SpaceToDepth", [](const sdk::Node& n) { return n.string("mode", "DCR") == "CRD"; }, "mode CRD of SpaceToDepth"},
    {"Tile", [](const sdk::Node& n) { return has_input(n, 1) && !n.input(1).is_constant(); }, "repeats of Tile that are no constant"},
};

std::string in_body(const sdk::Graph& body) {
  for (uint32_t k = 0; k < body.size(); ++k)
    if (std::string why = computed_otherwise(body[k]); !why.empty()) return why;
  return "";
}

}  // namespace

std::string computed_otherwise(const sdk::Node& node) {
  if (!node.domain().empty()) return "";
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
