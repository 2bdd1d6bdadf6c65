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
Text rotary_embedding(Contributed& n);
Text simplified_layer_normalization(Contributed& n);
Text skip_layer_normalization(Contributed& n);
Text skip_simplified_layer_normalization(Contributed& n);

/// All dims of an input are 1.
bool one_element(const Contributed& n, int input);

}  // namespace optima::onnx_io::recipes
