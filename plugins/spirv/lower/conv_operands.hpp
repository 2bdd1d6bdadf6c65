// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: what kernels of convolutions over one or two axes bind, what their sums begin with, and what becomes of them: of floats and of codes.
#pragma once

#include "conv_shape.hpp"
#include "sums.hpp"

namespace spirv_plugin {
namespace of_conv {

/// A root that is a convolution of codes by itself.
struct OfCodes {
  sdk::Value weights;
  CodeSums sums;        ///< has_bias; factor is that of codes of the output, empty where the sums are the output
  sdk::Value zero;      ///< of the input, where it is computed
  std::string out_zero;  ///< of the output, a literal
  bool to_codes() const { return !sums.factor.empty(); }
};

/// Of constant codes, [feature][channel][row][column].
inline Channels channels_of(const Dims& w) { return {w[0], elements_of(w) / w[0], elements_of(w) / w[0], 1, elements_of(w) / w[0]}; }

/// Words of four channels are worth it.
inline bool wants_words(const Lowering& to, const sdk::Value& weights) {
  constexpr int64_t kWord = 4;
  return has_dot(to) && weights.dim(1) >= kWord;
}

/// Sums alone, a step on the way to the group's output. `weights` are made when they are written, by tile of features as packed() has them.
struct SumsAlone {
  Conv conv;
  Tensor x, into;
  std::string name;  ///< of the weights
  std::function<std::vector<float>(const Patch&)> weights;
};

/// What each feature is multiplied with, and what is added to it, where a BatchNormalization is folded into the weights.
inline Scaling scaling_for(const Group& group, int64_t features) {
  const auto n = static_cast<size_t>(features);
  return group.scaling ? scaling_of(*group.scaling) : Scaling{std::vector<double>(n, 1), std::vector<double>(n, 0)};
}

/// What is added to a feature: the bias, as it is or through the scaling behind it.
inline std::optional<Tensor> bias_of(Lowering& to, const Group& group, const Scaling& scaling, int64_t features) {
  const sdk::Value bias = group.root.input(2);
  if (!group.scaling) return bias ? std::optional<Tensor>(to.read(bias)) : std::nullopt;
  const std::vector<double> given = bias ? reals_of(bias.constant()) : std::vector<double>(scaling.factor.size(), 0);
  std::vector<float> sums;
  for (size_t f = 0; f < given.size(); ++f) sums.push_back(static_cast<float>(given[f] * scaling.factor[f] + scaling.summand[f]));
  return to.weight(std::string(group.scaling->name()) + "/summand", {features}, sums);
}


/// A convolution's bindings, in the order in which they are made: begin with one of the constructors, then bind().
class ConvOperands {
 public:
  /// Of floats, or of the codes that they are decoded from.
  ConvOperands(Lowering& to, const Group& group) : ConvOperands(to, group, conv_of(group.root, group.root.input(1))) {
    weights_ = group.root.input(1);
    if (group.sums_codes()) codes_ = sums_of(group, channels_of(weights_.shape()), wants_words(to, weights_));
  }
  /// `of`: stays while the kernel is written.
  ConvOperands(Lowering& to, const Group& group, const OfCodes& of) : ConvOperands(to, group, conv_of(group.root, of.weights)) { weights_ = of.weights, codes_ = of.sums, own_ = &of; }
  ConvOperands(Lowering& to, const Group& group, SumsAlone of) : ConvOperands(to, group, of.conv) { alone_ = std::move(of); }

  const Conv& conv() const { return c_; }
  const Patch& patch() const { return t_; }
  Lowering& to() const { return to_; }
  /// Of each group.
  int64_t tiles() const { return (c_.group_features() + t_.features - 1) / t_.features; }
  int64_t taps() const { return c_.kernel_h * c_.kernel_w; }
  int64_t row_tiles() const { return (c_.out_width + t_.pixels - 1) / t_.pixels; }

  bool by_words() const { return codes_ && codes_->by_words(); }
  bool in_floats() const { return !codes_ || codes_->type == SumType::Floats; }
  std::string type() const { return in_floats() ? "float" : "int"; }
  /// Channels of a group that the sums walk over, four at once where they are words.
  int64_t depth() const { return by_words() ? (c_.group_channels() + 3) / 4 : c_.group_channels(); }
  /// Sums that no tensor of SumEnds goes with find those of their words' weights behind the last of them: a buffer less.
  bool has_weight_sums() const { return by_words() && own_ && !own_->to_codes(); }
  /// Of a tile of packed weights.
  int64_t places() const { return depth() * taps() + has_weight_sums(); }
  /// Weights lie by tile of features, as packed() has them, and are loaded by fours of those; or as the model has them.
  bool is_packed() const { return is_packed_; }
  bool by_four() const { return by_four_; }
  /// The bindings of the input and the weights.
  int x() const { return x_; }
  int w() const { return w_; }
  /// Both are halves.
  bool in_halves() const { return s_.element(x_) == Element::F16 && s_.element(w_) == Element::F16; }

  /// The shader that every way begins with: its bindings, and put(OFFSET, SUM), which stores what becomes of a sum. Nothing where the output has no element.
  std::optional<Shader> bind() {
    if (alone_) return bind_alone();
    const sdk::Node& node = group_.root;
    bind_operands(node);
    const Lowering::Tail tail = to_.tail(s_, group_);
    const Tensor y = to_.made(group_.end().output(0));
    if (y.elements() == 0) return std::nullopt;
    const int out = s_.out(y);
    s_.top(std::string("void put(const int o,const ") + type_of(element_of(node.output(0).dtype())) + " v){" + s_.store(out, "o", tail("v", "o")) + "}");
    work_ = {2 * static_cast<uint64_t>(y.elements() * c_.group_channels() * taps()), 4 * static_cast<uint64_t>(node.input(0).elements() + weights_.elements() + y.elements())};
    return s_;
  }
  void finish(std::vector<Way> ways) { to_.step(group_, std::move(ways), work_); }

  /// The statement that names the zero point of the input, where that is computed.
  std::string zero_point(const Shader& s) const {
    return !codes_ || codes_->zero ? "" : "int xz=" + s.load(zero_, "0") + (by_words() ? ",pad=((xz-" + text(half_of(codes_->dtype())) + ")&255)*16843009" : "") + ";";
  }

  /// What the sums of a feature begin with; `sum_of_weights`: of words, where has_weight_sums().
  std::string begin(const Shader& s, const std::string& feature, const std::string& sum_of_weights) const {
    if (ends_) return ends_->begin(s, feature);
    if (has_weight_sums()) return "(" + text(half_of(codes_->dtype())) + "-" + (codes_->zero ? literal(*codes_->zero) : "xz") + ")*" + sum_of_weights;
    return bias_ >= 0 ? s.load(bias_, feature) : in_floats() ? "0.0" : "0";
  }
  /// What the kernel multiplies of the input: a float, a code less its zero point, or the codes of four channels; `at(j)`: where the channel j further on lies.
  template <class At>
  std::string loaded(const Shader& s, const At& at) const {
    const auto code = [&](int64_t j) { return s.load(x_, at(j)); };
    return codes_ ? left_of(*codes_, code) : code(0);
  }
  /// A pad: zero, which of words is four zero points.
  std::string outside() const {
    if (!by_words()) return in_floats() ? "0.0" : "0";
    if (!codes_->zero) return "pad";
    const auto code = static_cast<uint32_t>(*codes_->zero - half_of(codes_->dtype())) & 255u;
    return literal(int64_t{static_cast<int32_t>(code * 0x01010101u)});
  }
  /// Statements ahead of end() for a feature, whose names end in `name`.
  std::string named(const Shader& s, const std::string& name, const std::string& feature) const { return ends_ ? ends_->named(s, name, feature) : ""; }
  /// A sum as the convolution's output.
  std::string end(const std::string& name, const std::string& sum) const {
    const std::string value = ends_ ? ends_->value(name, sum) : sum;
    if (!own_) return value;
    return own_->to_codes() ? code_of(group_.root.output(0).dtype(), value, own_->out_zero) : "int(" + sum + ")";
  }

 private:
  ConvOperands(Lowering& to, const Group& group, const Conv& conv) : to_(to), group_(group), c_(conv), t_(patch_for(to.limits(), c_)), s_(local_for(c_.out_height * row_tiles())) {}

  std::optional<Shader> bind_alone() {
    x_ = s_.in(alone_->x);
    is_packed_ = true, by_four_ = t_.features % 4 == 0;
    w_ = s_.in(to_.weight(alone_->name, packed_dims(), [t = t_, make = alone_->weights] { return make(t); }), by_four_ ? 4 : 1);
    const int out = s_.out(alone_->into);
    s_.top("void put(const int o,const float v){" + s_.store(out, "o", "v") + "}");
    const int64_t y = alone_->into.elements();
    work_ = {2 * static_cast<uint64_t>(y * c_.group_channels() * taps()), 4 * static_cast<uint64_t>(alone_->x.elements() + c_.features * c_.group_channels() * taps() + y)};
    return s_;
  }

  void bind_operands(const sdk::Node& node) {
    if (codes_) return bind_codes(node);
    const Scaling scaling = scaling_for(group_, c_.features);
    x_ = s_.in(to_.read(node.input(0)));
    const std::shared_ptr<const Floats> weights = to_.known(node.input(1));
    is_packed_ = weights != nullptr, by_four_ = is_packed_ && t_.features % 4 == 0;
    w_ = s_.in(is_packed_ ? to_.weight(std::string(node.input(1).name()) + "/packed", packed_dims(),
                                       [c = c_, t = t_, all = c_.group_channels() * taps(), weights, factor = scaling.factor] {
                                         return packed<float>(c, t, all, [&](int64_t f, int64_t k) {
                                           return static_cast<float>((*weights)[static_cast<size_t>(f * all + k)] * factor[static_cast<size_t>(f)]);
                                         });
                                       })
                          : to_.read(node.input(1)),
               by_four_ ? 4 : 1);
    if (const std::optional<Tensor> summand = bias_of(to_, group_, scaling, c_.features)) bias_ = s_.in(*summand);
  }

  void bind_codes(const sdk::Node& node) {
    x_ = s_.in(to_.read(codes_->left));
    is_packed_ = true, by_four_ = t_.features % 4 == 0;
    w_ = s_.in(packed_codes(std::string(weights_.name())), by_four_ ? 4 : 1);
    if (!codes_->zero) zero_ = s_.in(to_.read(own_->zero));
    if (own_ && !own_->to_codes()) return;
    const std::shared_ptr<const Floats> bias = node.input(2) && !codes_->has_bias ? to_.known(node.input(2)) : nullptr;
    ends_ = SumEnds(to_, s_, std::string(node.output(0).name()), *codes_, bias.get());
  }

  Dims packed_dims() const { return {c_.groups * tiles(), places(), t_.features}; }

  Tensor packed_codes(const std::string& name) {
    const int64_t taps = this->taps(), channels = c_.group_channels();
    if (codes_->type == SumType::Floats)
      return to_.weight(name + "/codes", packed_dims(), [c = c_, t = t_, all = channels * taps, codes = *codes_] {
        return packed<float>(c, t, all, [&](int64_t f, int64_t k) { return static_cast<float>(codes.weights[codes.channels.at(f, k)]); });
      });
    const auto code = [&](int64_t f, int64_t k) { return codes_->weights[codes_->channels.at(f, k)]; };
    if (!by_words()) return to_.weight(name + "/codes", packed_dims(), packed<int32_t>(c_, t_, channels * taps, code));
    return to_.weight(name + "/words", packed_dims(), packed<int32_t>(c_, t_, places(), [&](int64_t f, int64_t k) {
                        if (k == depth() * taps) return static_cast<int32_t>(codes_->over(f, [](int32_t w) { return w; }));
                        return packed_word(k / taps, channels, [&](int64_t channel) { return code(f, channel * taps + k % taps); });
                      }));
  }

  Lowering& to_;
  const Group& group_;
  sdk::Value weights_{};
  Conv c_;
  Patch t_;
  bool is_packed_ = false, by_four_ = false;
  Shader s_;
  std::optional<CodeSums> codes_{};
  std::optional<SumsAlone> alone_{};
  const OfCodes* own_ = nullptr;  ///< where the root is a convolution of codes by itself
  std::optional<SumEnds> ends_{};
  int x_ = -1, w_ = -1, bias_ = -1, zero_ = -1;
  Work work_{};
};

}  // namespace of_conv
}  // namespace spirv_plugin
