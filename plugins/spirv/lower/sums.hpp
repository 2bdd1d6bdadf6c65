// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: sums of products of codes, which are whole numbers, and exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "codes.hpp"

namespace spirv_plugin {

/// The codes less their zero point, which is one, or one for each `of` that an index divided by `behind` counts.
inline std::vector<int32_t> centred(const sdk::Value& codes, const sdk::Value& zero, int64_t behind) {
  const std::vector<int64_t> all = integers_of(codes.constant()), off = zero ? integers_of(zero.constant()) : std::vector<int64_t>{0};
  std::vector<int32_t> out(all.size());
  for (size_t i = 0; i < all.size(); ++i) out[i] = static_cast<int32_t>(all[i] - off[i / static_cast<size_t>(behind) % off.size()]);
  return out;
}

/// A factor as the bits of a float, beside whole numbers in one tensor.
inline int32_t bits_of(double factor) { return std::bit_cast<int32_t>(static_cast<float>(factor)); }

// Four codes in a word. A target with integer dot products multiplies a word of the one side with a word of the other in one instruction; codes of 0 to
// 255 are less 128 there, and what that and zero points change of a sum is one product with the sum of the weights.

/// What is taken off codes of the type where they are in words.
inline int64_t half_of(int32_t dtype) { return dtype == OPTIMA_U8 ? 128 : 0; }

/// The word of four codes.
inline std::string word_of(int32_t dtype, const std::array<std::string, 4>& codes) {
  const std::string word = "((" + codes[0] + "&255)|(" + codes[1] + "&255)<<8|(" + codes[2] + "&255)<<16|" + codes[3] + "<<24)";
  return dtype == OPTIMA_U8 ? "(" + word + "^" + literal(int64_t{-0x7f7f7f80}) + ")" : word;
}

/// The word of four weights that fit_words(): number `word` of those at `at(depth)`, zeros behind `depth` of them.
template <class At>
int32_t packed_word(int64_t word, int64_t depth, const At& at) {
  uint32_t out = 0;
  for (int64_t j = 0; j < 4 && word * 4 + j < depth; ++j) out |= (static_cast<uint32_t>(at(word * 4 + j)) & 255u) << (8 * j);
  return static_cast<int32_t>(out);
}

/// Position j of word `word` along a depth; behind the end the last one, where weights are zero.
inline std::string place_in(const std::string& word, int64_t j, int64_t depth) {
  const std::string at = word + "*4+" + text(j);
  return depth % 4 == 0 ? at : "min(" + at + "," + text(depth - 1) + ")";
}

/// Whether words are worth making: the target promises what multiplies them.
inline bool has_dot(const Lowering& to) { return to.limits().features.count("shaderIntegerDotProduct") != 0; }

/// Each weight is a signed code of 8 bits.
inline bool fit_words(const std::vector<int32_t>& weights) {
  return std::all_of(weights.begin(), weights.end(), [](int32_t w) { return w >= -128 && w <= 127; });
}

/// Adds dot_(), the sum of products of the signed codes in two words: by OpSDot with packed operands (SPV_KHR_integer_dot_product, which glslang has no
/// word for: instruction 4450, capabilities DotProductInput4x8BitPacked and DotProduct), or code by code.
inline void write_dot(Shader& s, bool by_instruction) {
  if (!by_instruction)
    return s.top("int dot_(const int a,const int b){return bitfieldExtract(a,0,8)*bitfieldExtract(b,0,8)+bitfieldExtract(a,8,8)*bitfieldExtract(b,8,8)+bitfieldExtract(a,16,8)*bitfieldExtract(b,16,8)+bitfieldExtract(a,24,8)*bitfieldExtract(b,24,8);}");
  s.extend("GL_EXT_spirv_intrinsics");
  s.top("spirv_instruction(extensions=[\"SPV_KHR_integer_dot_product\"],capabilities=[6018,6019],id=4450) int sdot_(int a,int b,spirv_literal int format);");
  s.top("int dot_(const int a,const int b){return sdot_(a,b,0);}");
}

/// The ways of a kernel that lacks dot_() alone, where it `dots` at all.
inline std::vector<Way> ways_of(const Shader& s, bool dots, std::array<uint32_t, 3> groups) {
  std::vector<Way> out;
  for (const bool by_instruction : {true, false}) {
    if (by_instruction && !dots) continue;
    out.push_back({s, groups});
    if (dots) write_dot(out.back().shader, by_instruction);
  }
  return out;
}

// Products that read the codes in front of a DequantizeLinear (Group::decoders): the sum of products of codes less their zero points, times both scales.

/// What codes and sums are in a kernel. A float has every whole number up to 2^24, so that sums which stay below are exact in it, whatever the order, and a
/// kernel of floats is the kernel of codes.
enum class SumType { Floats, Integers, Words };

inline bool of_constants(const sdk::Node& decoder) {
  for (uint32_t k = 0; k < 3; ++k)
    if (decoder.input(k) && !decoder.input(k).is_constant()) return false;
  return true;
}

inline bool has_codes(const sdk::Node& decoder) {
  return sdk::types(OPTIMA_I8, OPTIMA_U8, OPTIMA_I16, OPTIMA_U16) >> decoder.input(0).dtype() & 1 && decoder.output(0).dtype() == OPTIMA_F32;
}

/// Codes of one constant scale and zero point.
inline bool has_one_scale(const sdk::Node& decoder) {
  for (uint32_t k = 1; k < 3; ++k)
    if (decoder.input(k) && (!decoder.input(k).is_constant() || decoder.input(k).elements() != 1)) return false;
  return has_codes(decoder) && decoder.integer("block_size", 0) == 0;
}

/// Constant codes of 8 bits and one scale, or of one for each position along `axis`; zero points likewise.
inline bool has_scales_along(const sdk::Node& decoder, int64_t axis) {
  const int32_t dtype = decoder.input(0).dtype();  // of 16 bits halves would not hold them
  if (!of_constants(decoder) || !has_codes(decoder) || (dtype != OPTIMA_I8 && dtype != OPTIMA_U8) || decoder.integer("block_size", 0) != 0) return false;
  if (has_one_scale(decoder)) return true;
  const int64_t rank = decoder.input(0).rank(), given = decoder.integer("axis", 1), along = given < 0 ? given + rank : given;
  const int64_t count = decoder.input(0).dim(static_cast<uint32_t>(axis));
  return along == axis && decoder.input(1).elements() == count && (!decoder.input(2) || decoder.input(2).elements() == count);
}

/// The largest distance of a code from its zero point, where that is known.
inline int64_t reach_of(int32_t dtype, const std::optional<int64_t>& zero) {
  const CodeRange r = range_of(dtype);
  return zero ? std::max(r.high - *zero, *zero - r.low) : r.high - r.low;
}

/// What sums may be that reach this far from zero; nothing where 32 bits are too few.
inline std::optional<SumType> type_for(int64_t reach) {
  constexpr int64_t kExact = int64_t{1} << 24;
  if (reach <= kExact) return SumType::Floats;
  return reach <= INT32_MAX ? std::optional(SumType::Integers) : std::nullopt;
}

/// Where constant codes lie: `depth` of a channel from channel * stride on, `step` apart. `behind`: neighbours of one zero point.
struct Channels {
  int64_t count, stride, depth, step, behind;
  size_t at(int64_t channel, int64_t k) const { return static_cast<size_t>(channel * stride + k * step); }
};

/// The codes of a bias that are in the sums' own unit, the product of both scales; empty where it has another, or is no codes.
inline std::vector<int64_t> whole_bias(const std::optional<sdk::Node>& decoder, const std::vector<double>& factor) {
  if (!decoder || !of_constants(*decoder) || decoder->input(0).dtype() != OPTIMA_I32 || (decoder->input(2) && !all_zero(decoder->input(2)))) return {};
  std::vector<int64_t> codes = integers_of(decoder->input(0).constant());
  const std::vector<double> scales = reals_of(decoder->input(1).constant());
  if (codes.size() != factor.size() || (scales.size() != 1 && scales.size() != codes.size())) return {};
  for (size_t c = 0; c < codes.size(); ++c)
    if (static_cast<float>(scales[scales.size() == 1 ? 0 : c]) != static_cast<float>(factor[c])) return {};
  return codes;
}

/// Products with constant codes, by channel of the right side. A sum begins with `begin`; its value is that sum times `factor`, and the root's bias where
/// it is not in `begin`.
struct CodeSums {
  SumType type;
  sdk::Value left;              ///< its codes
  std::optional<int64_t> zero;  ///< of the left side; nothing: it is computed, and a kernel has it as `xz`
  Channels channels;
  std::vector<int32_t> weights;  ///< less their zero points
  std::vector<double> factor;
  std::vector<int64_t> begin;
  bool has_bias;  ///< in `begin`
  int32_t dtype() const { return left.dtype(); }
  bool by_words() const { return type == SumType::Words; }
  /// The sum of a function of a channel's weights.
  template <class Each>
  int64_t over(int64_t channel, const Each& each) const {
    int64_t sum = 0;
    for (int64_t k = 0; k < channels.depth; ++k) sum += each(weights[channels.at(channel, k)]);
    return sum;
  }
};

/// The sums with the type that they want, and with what words of them begin with, where a zero point is known. `words`: they are wanted where the codes
/// fit. Nothing where 32 bits are too few.
inline std::optional<CodeSums> typed(CodeSums of, bool words) {
  int64_t most = 0;
  for (int64_t c = 0; c < of.channels.count; ++c)
    most = std::max(most, of.over(c, [](int32_t w) { return std::abs(w); }) * reach_of(of.dtype(), of.zero) + std::abs(of.begin[static_cast<size_t>(c)]));
  const std::optional<SumType> type = type_for(most);
  if (!type) return std::nullopt;
  const CodeRange r = range_of(of.dtype());
  of.type = words && r.high - r.low == 255 && fit_words(of.weights) ? SumType::Words : *type;
  for (int64_t c = 0; c < of.channels.count && of.by_words() && of.zero; ++c)
    of.begin[static_cast<size_t>(c)] += (half_of(of.dtype()) - *of.zero) * of.over(c, [](int32_t w) { return w; });
  return of;
}

/// Of a group whose decoders are there, the right one of constants; as typed().
inline std::optional<CodeSums> sums_of(const Group& group, const Channels& channels, bool words) {
  const sdk::Node &left = *group.decoders[0], &right = *group.decoders[1];
  const int64_t zero = left.input(2) ? integers_of(left.input(2).constant())[0] : 0;
  CodeSums out{SumType::Floats, left.input(0), zero, channels, centred(right.input(0), right.input(2), channels.behind), {}, {}, false};
  const std::vector<double> scales = reals_of(right.input(1).constant());
  const double scale = reals_of(left.input(1).constant())[0];
  for (int64_t c = 0; c < channels.count; ++c) out.factor.push_back(scale * scales[scales.size() == 1 ? 0 : static_cast<size_t>(c)]);
  out.begin = whole_bias(group.decoders[2], out.factor);
  out.has_bias = !out.begin.empty();
  out.begin.resize(static_cast<size_t>(channels.count), 0);
  return typed(std::move(out), words);
}

/// An input of the root that is absent, or the same in every run.
inline bool is_known(const Group& group, uint32_t input) {
  const sdk::Value v = group.root.input(input);
  return !v || v.is_constant() || (group.decoders[input] && of_constants(*group.decoders[input]));
}

/// What begins and ends sums, in one tensor [3][channel], floats by their bits.
class SumEnds {
 public:
  SumEnds() = default;
  /// `bias`: what is added to a channel's value, of one element or one for each; null = nothing.
  SumEnds(Lowering& to, Shader& s, const std::string& name, const CodeSums& sums, const Floats* bias)
      : channels_(sums.channels.count), adds_(bias != nullptr), type_(sums.type) {
    std::vector<int32_t> all;
    for (const int64_t b : sums.begin) all.push_back(static_cast<int32_t>(b));
    for (const double f : sums.factor) all.push_back(bits_of(f));
    for (int64_t c = 0; c < channels_; ++c) all.push_back(bias ? bits_of((*bias)[bias->size() == 1 ? 0 : static_cast<size_t>(c)]) : 0);
    binding_ = s.in(to.weight(name + "/ends", {3, channels_}, std::move(all)));
  }
  /// What a sum begins with, of its own type.
  std::string begin(const Shader& s, const std::string& channel) const {
    const std::string b = s.load(binding_, channel);
    return type_ == SumType::Floats ? "float(" + b + ")" : b;
  }
  /// The statement that names a channel's factor and summand.
  std::string named(const Shader& s, const std::string& name, const std::string& channel) const {
    const auto at = [&](int64_t row) { return "intBitsToFloat(" + s.load(binding_, text(row * channels_) + "+" + channel) + ")"; };
    return "float m" + name + "=" + at(1) + (adds_ ? ",n" + name + "=" + at(2) : "") + ";";
  }
  /// The value of a sum of the channel that was named so.
  std::string value(const std::string& name, const std::string& sum) const {
    return adds_ ? "fma(float(" + sum + "),m" + name + ",n" + name + ")" : "float(" + sum + ")*m" + name;
  }

 private:
  int64_t channels_ = 0;
  bool adds_ = false;
  SumType type_ = SumType::Floats;
  int binding_ = -1;
};

/// What a kernel multiplies of the left side: a code less its zero point, or the word of four. `code(j)`: the code j further on.
template <class Code>
std::string left_of(const CodeSums& sums, const Code& code) {
  if (sums.by_words()) return word_of(sums.dtype(), {code(0), code(1), code(2), code(3)});
  const std::string v = sums.zero == 0 ? code(0) : "(" + code(0) + "-" + (sums.zero ? literal(*sums.zero) : "xz") + ")";
  return sums.type == SumType::Floats ? "float(" + v + ")" : v;
}

}  // namespace spirv_plugin
