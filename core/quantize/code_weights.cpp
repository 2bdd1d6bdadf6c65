// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/code_weights.hpp"

#include <algorithm>
#include <cmath>

#include "core/quantize/correct_bias.hpp"
#include "core/quantize/edit.hpp"
#include "core/quantize/second_order.hpp"
#include "core/quantize/tpu_names.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

class Coder {
 public:
  Coder(Graph& graph, const Uses& uses, const Sites& sites, const Product& p, const Seen& seen, const QuantizeOptions& options)
      : graph_(graph), uses_(uses), sites_(sites), p_(p), seen_(seen), options_(options), name_(graph.main().values[p.weights].name),
        input_(graph.main().values[p.input].name), weights_(floats_of(graph, p.weights)) {
    if (p.bias != OPTIMA_NONE) bias_ = floats_of(graph, p.bias);
  }

  Status run(Coding& coding) {
    if (std::any_of(weights_.begin(), weights_.end(), [](float w) { return !std::isfinite(w); }))
      return invalid_input(cat("weights ", quote(name_), " hold NaN or infinity, wanted finite numbers"));
    OPTIMA_ASSIGN(Encoding form, weight_form(given_name(), p_, precision(), options_.given));
    const Encoding* input = codes_in(coding);
    const bool given = !form.scale.empty();
    if (!given) {
      choose_scales(p_, weights_, form);
      if (input) make_room_for_bias(p_, bias_, input->scale[0], form);
    }
    WeightCodes codes = round(form, given);
    OPTIMA_RETURN_IF_ERROR(correct(codes, coding));
    if (input && !bias_.empty()) coding.biases.emplace(p_.node, code_bias(p_, bias_, input->scale[0], codes.encoding));
    else if (!bias_.empty() && (changed_ || precision() == Precision::Dynamic)) coding.float_biases.emplace(p_.node, bias_);
    coding.weights.emplace(p_.node, std::move(codes));
    return {};
  }

 private:
  Precision precision() const { return sites_.precision[p_.node]; }

  // A calibration table of tpu_mlir has another name for weights.
  std::string given_name() const {
    if (options_.given.weights.empty() || options_.given.weights.contains(name_)) return name_;
    std::string theirs = tpu_weight_name(graph_, uses_, p_.node);
    return options_.given.weights.contains(theirs) ? theirs : name_;
  }

  // The encoding of the left side where the bias can have its step: weights without a zero point.
  const Encoding* codes_in(const Coding& coding) const {
    if (!sites_.quantized[p_.node] || p_.groups * p_.outputs == 0) return nullptr;
    const auto it = coding.activations.find(sites_.owner(p_.input));
    return it == coding.activations.end() ? nullptr : &it->second;
  }

  WeightCodes round(const Encoding& form, bool given) {
    const bool second_order = options_.second_order && has_small_weights(precision()) && form.dtype == OPTIMA_I4 && !given && may_round_second_order(p_);
    std::vector<double> gram = second_order && uses_.consumers[p_.weights].size() == 1 ? seen_.gram(input_, p_.inputs) : std::vector<double>();
    has_second_order_ = !gram.empty();
    if (has_second_order_) return round_second_order(p_, weights_, form, std::move(gram));
    return {form, round_to_nearest(p_, weights_, form)};
  }

  Status correct(const WeightCodes& codes, Coding& coding) {
    if (!options_.correct_bias) return {};
    OPTIMA_ASSIGN(const std::vector<float> lost, lost_of(codes));
    if (!lost.empty() && add(lost) && !has_second_order_) coding.corrected.emplace(p_.node, lost);
    return {};
  }

  // By the encodings given, else by what was seen; empty where neither tells. InvalidInput for numbers that are not one a channel.
  Result<std::vector<float>> lost_of(const WeightCodes& codes) const {
    const std::string& output = graph_.main().values[graph_.main().nodes[p_.node].outputs[0]].name;
    const auto outputs = static_cast<size_t>(p_.outputs);
    if (const auto given = options_.given.corrected.find(output); given != options_.given.corrected.end() && !has_second_order_) {
      if (given->second.size() == outputs) return given->second;
      return invalid_input(cat("corrected value ", quote(output), " of the encodings given: found ", given->second.size(), " numbers, wanted ", outputs, ", one for each channel"));
    }
    const std::vector<double> means = seen_.means(input_, p_.inputs);
    if (means.empty()) return std::vector<float>();
    const std::vector<double> lost = lost_means(p_, weights_, dequantized(p_, codes), means);
    return std::vector<float>(lost.begin(), lost.end());
  }

  // To the product's bias, or what an Add behind it adds; whether there is such.
  bool add(const std::vector<float>& lost) {
    if (p_.takes_bias) return add_to_bias(lost);
    const uint32_t behind = bias_behind(graph_, uses_, p_);
    if (behind == OPTIMA_NONE) return false;
    std::vector<float> numbers = floats_of(graph_, behind);
    for (size_t c = 0; c < numbers.size(); ++c) numbers[c] += lost[c];
    Editor(graph_).replace_floats(behind, numbers);
    return true;
  }

  bool add_to_bias(const std::vector<float>& lost) {
    if (bias_.empty() && std::all_of(lost.begin(), lost.end(), [](float x) { return x == 0; })) return false;
    bias_.resize(lost.size());
    for (size_t c = 0; c < bias_.size(); ++c) bias_[c] += lost[c];
    changed_ = true;
    return true;
  }

  Graph& graph_;
  const Uses& uses_;
  const Sites& sites_;
  const Product& p_;
  const Seen& seen_;
  const QuantizeOptions& options_;
  const std::string name_, input_;
  const std::vector<float> weights_;
  std::vector<float> bias_;
  bool changed_ = false, has_second_order_ = false;
};

}  // namespace

Status code_product(Graph& graph, const Uses& uses, const Sites& sites, const Product& product, const Seen& seen, const QuantizeOptions& options, Coding& coding) {
  return Coder(graph, uses, sites, product, seen, options).run(coding);
}

}  // namespace optima::detail
