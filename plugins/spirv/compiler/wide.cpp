// SPDX-License-Identifier: Apache-2.0
// Which floats do not lie as halves where all others do.
#include <algorithm>
#include <array>

#include "lowering.hpp"
#include "plan/half.hpp"

namespace spirv_plugin {
namespace {

bool is_float(const sdk::Value& v) { return v && element_of(v.dtype()) == Element::F32; }

/// Operators whose results are small whatever they read.
bool is_bounded(const sdk::Node& node) {
  constexpr std::array<std::string_view, 17> kBounded{"Softmax", "Hardmax", "Sigmoid", "HardSigmoid", "Tanh", "Erf", "Sin", "Cos", "Atan", "Softsign", "Sign", "LayerNormalization", "RMSNormalization",
                                                      "InstanceNormalization", "GroupNormalization", "LpNormalization", "MeanVarianceNormalization"};
  return std::find(kBounded.begin(), kBounded.end(), node.op()) != kBounded.end();
}

bool has_beyond(const sdk::Value& v) {
  const Floats all(v.constant());
  for (size_t k = 0; k < all.size(); ++k)
    if (is_beyond_half(all[k])) return true;
  return false;
}

/// Inputs of the graph that are added to what Softmax reads: masks, whose numbers are as large as their makers like.
class Masks {
 public:
  explicit Masks(const std::vector<sdk::Node>& nodes) {
    for (const sdk::Node& node : nodes)
      for (uint32_t k = 0; k < node.output_count(); ++k)
        if (node.output(k)) makers_.emplace(node.output(k).index(), node);
    for (const sdk::Node& node : nodes)
      if (node.op() == "Softmax" || node.op() == "LogSoftmax") summands(node.input(0));
  }
  const std::set<uint32_t>& all() const { return out_; }

 private:
  const sdk::Node* maker(const sdk::Value& v) const {
    const auto at = makers_.find(v.index());
    return at == makers_.end() ? nullptr : &at->second;
  }
  void summands(const sdk::Value& sum) {
    const sdk::Node* add = maker(sum);
    if (!add || add->op() != "Add") return;
    for (uint32_t k = 0; k < 2; ++k) {
      summands(add->input(k));
      sdk::Value v = add->input(k);
      for (const sdk::Node* node = maker(v); node && is_same(*node); node = maker(v)) v = node->input(0);
      if (!maker(v) && !v.is_constant()) out_.insert(v.index());
    }
  }
  /// Makes no other numbers of those that it reads.
  static bool is_same(const sdk::Node& node) {
    constexpr std::array<std::string_view, 8> kSame{"Reshape", "Unsqueeze", "Squeeze", "Expand", "Cast", "Identity", "Slice", "Transpose"};
    return std::find(kSame.begin(), kSame.end(), node.op()) != kSame.end();
  }
  std::map<uint32_t, sdk::Node> makers_;  // by value
  std::set<uint32_t> out_;
};

}  // namespace

std::set<uint32_t> beyond_halves(const std::vector<sdk::Node>& nodes) {
  std::set<uint32_t> out = Masks(nodes).all(), seen;
  for (const sdk::Node& node : nodes) {
    bool is_wide = false;
    for (uint32_t k = 0; k < node.input_count(); ++k) {
      const sdk::Value v = node.input(k);
      if (!is_float(v)) continue;
      if (v.is_constant() && seen.insert(v.index()).second && has_beyond(v)) out.insert(v.index());
      is_wide = is_wide || (out.count(v.index()) && (k == 0 || node.op() != "Clip"));  // limits make nothing larger
    }
    if (!is_wide || is_bounded(node)) continue;
    for (uint32_t k = 0; k < node.output_count(); ++k)
      if (is_float(node.output(k))) out.insert(node.output(k).index());
  }
  return out;
}

}  // namespace spirv_plugin
