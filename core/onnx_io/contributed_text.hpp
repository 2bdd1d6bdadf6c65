// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: pieces of the texts that recipes are made of. Private to the room.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "core/onnx_io/contributed.hpp"
#include "core/support/text.hpp"

namespace optima::onnx_io::recipes {

using Text = std::string;
using Dims = std::vector<int64_t>;
inline constexpr int32_t kF32 = onnx::TensorProto::FLOAT, kU8 = onnx::TensorProto::UINT8, kI8 = onnx::TensorProto::INT8;
inline constexpr int32_t kU4 = onnx::TensorProto::UINT4, kI4 = onnx::TensorProto::INT4, kI32 = onnx::TensorProto::INT32;
inline constexpr int32_t kF64 = onnx::TensorProto::DOUBLE, kI64 = onnx::TensorProto::INT64, kString = onnx::TensorProto::STRING, kBool = onnx::TensorProto::BOOL;

inline Text number(double v) {
  char out[40];
  std::snprintf(out, sizeof out, "%.9g", v);
  Text text = out;
  return text.find_first_of(".en") == Text::npos ? text + ".0" : text;
}
inline Text list(const Dims& v) {
  Text out = "[";
  for (size_t k = 0; k < v.size(); ++k) out += cat(k ? ", " : "", v[k]);
  return out + "]";
}
/// A scalar of the type of `like`, a value of floats.
inline Text scalar(const Text& name, double value, const Text& like) {
  return cat(name, "_f = Constant <value = float {", number(value), "}> () ", name, " = CastLike(", name, "_f, ", like, ") ");
}
inline Text int_list(const Text& name, const Dims& v) { return cat(name, " = Constant <value_ints = ", list(v), "> () "); }
inline Text permuted(const Text& out, const Text& in, const Dims& perm) { return cat(out, " = Transpose <perm = ", list(perm), "> (", in, ") "); }

// Recipes of transformers, in contributed_transformers.cpp.
Text attention(Contributed& n);
Text embed_layer_normalization(Contributed& n);
Text group_query_attention(Contributed& n);
Text layer_normalization(Contributed& n);
Text multi_head_attention(Contributed& n);
Text q_attention(Contributed& n);
Text q_embed_layer_normalization(Contributed& n);
Text rotary_embedding(Contributed& n);
Text simplified_layer_normalization(Contributed& n);
Text skip_layer_normalization(Contributed& n);
Text skip_simplified_layer_normalization(Contributed& n);

// Recipes of images, in contributed_images.cpp.
Text conv_transpose_with_dynamic_pads(Contributed& n);
Text crop(Contributed& n);
Text crop_and_resize(Contributed& n);
Text group_norm(Contributed& n);
Text image_scaler(Contributed& n);
Text nhwc_conv(Contributed& n);
Text nhwc_fused_conv(Contributed& n);
Text nhwc_max_pool(Contributed& n);
Text skip_group_norm(Contributed& n);

// Mixtures of experts, in contributed_experts.cpp.
Text moe(Contributed& n);
Text q_moe(Contributed& n);

// Parts of newer language models, in contributed_language.cpp.
Text branchwise_rms_norm(Contributed& n);
Text causal_conv_with_state(Contributed& n);
Text gated_rms_norm(Contributed& n);
Text m_rotary_embedding(Contributed& n);
Text n_gram_repeat_block(Contributed& n);

// Others, in contributed_others.cpp.
Text affine(Contributed& n);
Text bias_add(Contributed& n);
Text bias_dropout(Contributed& n);
Text bias_softmax(Contributed& n);
Text bias_split_gelu(Contributed& n);
Text bifurcation_detector(Contributed& n);
Text cdist(Contributed& n);
Text dynamic_slice(Contributed& n);
Text expand_dims(Contributed& n);
Text gated_add(Contributed& n);
Text gather_nd(Contributed& n);
Text grid_sample(Contributed& n);
Text inverse(Contributed& n);
Text irfft(Contributed& n);
Text pad(Contributed& n);
Text parametric_softplus(Contributed& n);
Text range(Contributed& n);
Text rfft(Contributed& n);
Text sample_op(Contributed& n);
Text scale(Contributed& n);
Text scaled_silu(Contributed& n);
Text scaled_tanh(Contributed& n);
Text thresholded_relu(Contributed& n);
Text torch_embedding(Contributed& n);
Text trilu(Contributed& n);
Text unfold_tensor(Contributed& n);
Text unique(Contributed& n);

/// Codes of 2 or 4 bits, rows padded to whole bytes, as nibbles without that padding.
std::string unpadded(const std::string& bytes, int64_t rows, int64_t per_row, int64_t bits);
/// `out` = `in` [.., .., .., size], with the first `turned` of the last dim turned by angles whose cosines and sines fit beside the dims ahead: halves
/// with each other, or neighbours.
Text turned_text(const Text& out, const Text& in, const Text& cos, const Text& sin, int64_t size, int64_t turned, bool neighbours);
/// The permutation that brings channels from the last place to the second, and the one back.
Dims channels_first(int rank);
Dims channels_last(int rank);
/// The step of a fused convolution's activation; empty = not one of those known.
Text activated(Contributed& n, const Text& in, const Text& out);
/// All dims of an input are 1.
bool one_element(const Contributed& n, int input);

}  // namespace optima::onnx_io::recipes
