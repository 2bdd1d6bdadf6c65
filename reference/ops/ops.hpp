// SPDX-License-Identifier: Apache-2.0
// reference/ops: every evaluator, by file. The table binds them to operator names.
#pragma once

#include <string_view>

#include "reference/call.hpp"

namespace optima::reference::ops {

// unary.cpp
void abs(Call&), acos(Call&), acosh(Call&), asin(Call&), asinh(Call&), atan(Call&), atanh(Call&), ceil(Call&), cos(Call&),
    cosh(Call&), erf(Call&), exp(Call&), floor(Call&), log(Call&), neg(Call&), reciprocal(Call&), round(Call&), sign(Call&),
    sin(Call&), sinh(Call&), sqrt(Call&), tan(Call&), is_nan(Call&), is_inf(Call&), logical_not(Call&), bitwise_not(Call&);
// activation.cpp
void celu(Call&), clip(Call&), elu(Call&), gelu(Call&), hard_sigmoid(Call&), hard_swish(Call&), leaky_relu(Call&), mish(Call&),
    prelu(Call&), relu(Call&), selu(Call&), shrink(Call&), sigmoid(Call&), softplus(Call&), softsign(Call&), swish(Call&),
    tanh(Call&), thresholded_relu(Call&), swiglu(Call&);
// binary.cpp
void add(Call&), sub(Call&), mul(Call&), div(Call&), mod(Call&), pow(Call&), logical_and(Call&), logical_or(Call&),
    logical_xor(Call&), bitwise_and(Call&), bitwise_or(Call&), bitwise_xor(Call&), bit_shift(Call&), equal(Call&),
    greater(Call&), greater_or_equal(Call&), less(Call&), less_or_equal(Call&), max(Call&), min(Call&), mean(Call&), sum(Call&),
    where(Call&);
// cast.cpp
void cast(Call&), cast_like(Call&), bit_cast(Call&);
// matmul.cpp
void gemm(Call&), matmul(Call&), einsum(Call&), det(Call&);
// conv.cpp, conv_transpose.cpp, col2im.cpp, deform_conv.cpp
void conv(Call&), conv_transpose(Call&), conv_integer(Call&), qlinear_conv(Call&), col2im(Call&), deform_conv(Call&);
// quantize.cpp
void quantize_linear(Call&), dequantize_linear(Call&), dynamic_quantize_linear(Call&), qlinear_matmul(Call&), matmul_integer(Call&);
// pool.cpp
void max_pool(Call&), average_pool(Call&), lp_pool(Call&), global_max_pool(Call&), global_average_pool(Call&),
    global_lp_pool(Call&), max_unpool(Call&);
// reduce.cpp
void reduce_l1(Call&), reduce_l2(Call&), reduce_log_sum(Call&), reduce_log_sum_exp(Call&), reduce_max(Call&), reduce_mean(Call&),
    reduce_min(Call&), reduce_prod(Call&), reduce_sum(Call&), reduce_sum_square(Call&);
// order.cpp
void arg_max(Call&), arg_min(Call&), top_k(Call&), cum_sum(Call&), cum_prod(Call&), unique(Call&);
// non_max.cpp
void non_max_suppression(Call&);
// shape.cpp
void constant(Call&), constant_of_shape(Call&), identity(Call&), reshape(Call&), flatten(Call&), squeeze(Call&),
    unsqueeze(Call&), shape(Call&), size(Call&), range(Call&), eye_like(Call&), dropout(Call&);
// move.cpp
void transpose(Call&), concat(Call&), split(Call&), slice(Call&), expand(Call&), tile(Call&), pad(Call&), depth_to_space(Call&),
    space_to_depth(Call&), trilu(Call&), reverse_sequence(Call&), center_crop_pad(Call&);
// gather.cpp
void gather(Call&), gather_elements(Call&), gather_nd(Call&), scatter_elements(Call&), scatter_nd(Call&), one_hot(Call&),
    non_zero(Call&), compress(Call&), tensor_scatter(Call&);
// resize.cpp
void resize(Call&), upsample(Call&);
// grid_sample.cpp
void grid_sample(Call&), affine_grid(Call&);
// roi.cpp
void roi_align(Call&), max_roi_pool(Call&);
// loss.cpp
void negative_log_likelihood_loss(Call&), softmax_cross_entropy_loss(Call&);
// normalize.cpp
void batch_normalization(Call&), layer_normalization(Call&), instance_normalization(Call&), group_normalization(Call&),
    lp_normalization(Call&), lrn(Call&), mean_variance_normalization(Call&), rms_normalization(Call&), softmax(Call&),
    log_softmax(Call&), hardmax(Call&);
// recurrent.cpp
void lstm(Call&), gru(Call&), rnn(Call&);
// control.cpp
void if_(Call&), loop(Call&), scan(Call&);
// attention.cpp
void attention(Call&), rotary_embedding(Call&);
// state_space.cpp
void linear_attention(Call&), causal_conv_with_state(Call&);
// signal.cpp
void dft(Call&), stft(Call&), hann_window(Call&), hamming_window(Call&), blackman_window(Call&), mel_weight_matrix(Call&);
// ngrams.cpp
void tf_idf_vectorizer(Call&);
// random.cpp
void random_normal(Call&), random_uniform(Call&), bernoulli(Call&), multinomial(Call&);

/// random.cpp: of the operators that give another answer each time, Dropout of so many inputs among them that its third tells it whether it trains.
bool is_random(std::string_view op, uint32_t inputs);

/// recurrent.cpp: of the names an activation of LSTM, GRU or RNN may have, in any case of letters.
bool is_activation(std::string name);

}  // namespace optima::reference::ops
