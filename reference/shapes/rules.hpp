// SPDX-License-Identifier: Apache-2.0
// reference/shapes: every rule, by file. The table binds them to operator names.
#pragma once

#include "reference/call.hpp"
#include "reference/shapes.hpp"

namespace optima::reference {

struct Rule {
  std::string_view op;
  void (*infer)(const Call& c, Inference& to);
};

/// "node 'conv_3'"
std::string name_of(const optima_graph& graph, const optima_node& node);

namespace rules {

/// Output k, if there is one.
inline void give(const Call& c, Inference& to, uint32_t k, int32_t dtype, Dims dims) {
  if (k < to.outputs.size() && (k == 0 || c.wants(k))) to.outputs[k] = {dtype, std::move(dims)};
}

// elementwise.cpp
void binary(const Call&, Inference&), comparison(const Call&, Inference&), where(const Call&, Inference&),
    swiglu(const Call&, Inference&), prelu(const Call&, Inference&);
// normalize.cpp
void same(const Call&, Inference&), same_bool(const Call&, Inference&), cast(const Call&, Inference&),
    cast_like(const Call&, Inference&), batch_normalization(const Call&, Inference&),
    layer_normalization(const Call&, Inference&), rms_normalization(const Call&, Inference&),
    quantize_linear(const Call&, Inference&), dequantize_linear(const Call&, Inference&),
    dynamic_quantize_linear(const Call&, Inference&);
// reshape.cpp
void reshape(const Call&, Inference&), flatten(const Call&, Inference&), squeeze(const Call&, Inference&),
    unsqueeze(const Call&, Inference&), shape(const Call&, Inference&), size(const Call&, Inference&),
    range(const Call&, Inference&), constant_of_shape(const Call&, Inference&), eye_like(const Call&, Inference&),
    dropout(const Call&, Inference&), constant(const Call&, Inference&);
// move.cpp
void transpose(const Call&, Inference&), concat(const Call&, Inference&), split(const Call&, Inference&),
    slice(const Call&, Inference&), expand(const Call&, Inference&), tile(const Call&, Inference&),
    pad(const Call&, Inference&), depth_to_space(const Call&, Inference&), space_to_depth(const Call&, Inference&),
    center_crop_pad(const Call&, Inference&);
// gather.cpp
void gather(const Call&, Inference&), gather_nd(const Call&, Inference&), gather_elements(const Call&, Inference&),
    scatter_elements(const Call&, Inference&), scatter_nd(const Call&, Inference&), one_hot(const Call&, Inference&),
    compress(const Call&, Inference&), tf_idf_vectorizer(const Call&, Inference&);
// sample.cpp
void conv(const Call&, Inference&), conv_integer(const Call&, Inference&), qlinear_conv(const Call&, Inference&),
    conv_transpose(const Call&, Inference&), max_pool(const Call&, Inference&), pool(const Call&, Inference&),
    global_pool(const Call&, Inference&), max_unpool(const Call&, Inference&), grid_sample(const Call&, Inference&),
    roi_align(const Call&, Inference&), max_roi_pool(const Call&, Inference&), loss(const Call&, Inference&),
    affine_grid(const Call&, Inference&), col2im(const Call&, Inference&), deform_conv(const Call&, Inference&);
// product.cpp
void matmul(const Call&, Inference&), matmul_integer(const Call&, Inference&), qlinear_matmul(const Call&, Inference&),
    gemm(const Call&, Inference&), einsum(const Call&, Inference&), det(const Call&, Inference&);
// reduce.cpp
void reduce(const Call&, Inference&), arg(const Call&, Inference&), top_k(const Call&, Inference&);
// resize.cpp
void resize(const Call&, Inference&), upsample(const Call&, Inference&);
// attend.cpp
void attention(const Call&, Inference&), linear_attention(const Call&, Inference&), causal_conv_with_state(const Call&, Inference&);
// signal.cpp
void dft(const Call&, Inference&), stft(const Call&, Inference&), window(const Call&, Inference&), mel_weight_matrix(const Call&, Inference&);
// random.cpp
void random_numbers(const Call&, Inference&), multinomial(const Call&, Inference&);
// recurrent.cpp
void lstm(const Call&, Inference&), gru(const Call&, Inference&), rnn(const Call&, Inference&);

}  // namespace rules
}  // namespace optima::reference
