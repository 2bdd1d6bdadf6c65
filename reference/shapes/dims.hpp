// SPDX-License-Identifier: Apache-2.0
// reference/shapes: the shape rules that evaluators and inference share. Each judges the node's attributes and inputs, reads
// the elements of an input by Call::ints() and its kin alone (which throw Wanted in inference), and throws as evaluators do.
#pragma once

#include "reference/call.hpp"
#include "reference/shapes.hpp"

namespace optima::reference {

struct ConvShape;
struct Window;

namespace shapes {

// elementwise.cpp
Dims broadcast_all(const Call& c);                      ///< of all inputs
void need_broadcast(const Dims& from, const Dims& to);  ///< throws when `from` does not broadcast to `to` as it is
Dims one_shape(const Call& c);                          ///< of two inputs that must agree

// reshape.cpp
Dims reshape_dims(const Call& c);
Dims flatten_dims(const Call& c);
Dims squeeze_dims(const Call& c);
Dims unsqueeze_dims(const Call& c);
/// First and one past the last of the dims that Shape gives.
std::pair<int64_t, int64_t> shape_part(const Call& c);
/// max(ceil((limit - start) / delta), 0), below 2^30.
int64_t range_size(const Call& c);
Dims eye_dims(const Call& c);

// move.cpp
Dims permutation(const Call& c);  ///< perm of Transpose, or its default
Dims concat_dims(const Call& c, size_t& axis);
/// Lengths of the pieces: given, or as equal as they can be with the last one smaller.
Dims split_lengths(const Call& c, int64_t total);
/// Positions first, first + step, … of an axis: `size` of them.
struct Run {
  int64_t first, step, size;
};
std::vector<Run> slice_runs(const Call& c);  ///< one per axis
Dims tile_dims(const Call& c);
struct PadShape {
  Dims begin, out;
};
PadShape pad_shape(const Call& c);
int64_t block_size(const Call& c);
Dims depth_to_space_dims(const Call& c);
Dims space_to_depth_dims(const Call& c);
/// Axes and how many elements each is cropped or padded to.
struct CropShape {
  std::vector<size_t> axes;
  Dims target, out;
};
CropShape crop_shape(const Call& c);

// gather.cpp
Dims gather_dims(const Call& c);
/// The indices of a gather or scatter by elements fit `data` along all axes but one.
void need_inside(const Dims& data, const Dims& indices, size_t axis);
/// The same of tuples (last dim of `indices` = their length) behind `batch` common dims.
void need_tuples(const Dims& data, const Dims& indices, size_t batch);
Dims gather_nd_dims(const Call& c);
Dims one_hot_dims(const Call& c, size_t& axis);
/// What Compress cuts along `axis`: the input, or the input as one line.
Dims compressed(const Call& c, size_t& axis);
/// What TfIdfVectorizer counts: [coordinates], or that for every row.
Dims ngram_dims(const Call& c);

// resize.cpp
struct ResizeAxis {
  int64_t in = 0, out = 0;
  double scale = 1, begin = 0, end = 1;  ///< begin and end: region of interest, as shares of the input
};
/// `which`: the axes that scales, sizes and roi speak of.
std::vector<ResizeAxis> resize_axes(const Call& c, std::vector<size_t>& which);
std::vector<ResizeAxis> upsample_axes(const Call& c);
Dims sizes_of(const std::vector<ResizeAxis>& axes);

// product.cpp
Dims det_dims(const Call& c);
Dims gemm_dims(const Call& c);
EinsumShape einsum_shape(const Call& c);

// reduce.cpp
struct Reduced {
  std::vector<bool> reduce;
  Dims kept, out;  ///< with the reduced axes as 1, and as the node wants them
};
Reduced reduced(const Call& c);
Dims arg_dims(const Call& c, size_t& axis);
Dims top_k_dims(const Call& c, size_t& axis);

// sample.cpp
Dims grid_sample_dims(const Call& c);
Dims roi_align_dims(const Call& c);
Dims max_roi_pool_dims(const Call& c);
Dims target_dims(const Call& c);  ///< of the losses: scores [N, C, …] without C
/// [N, C] of x, then these.
Dims pooled_dims(const Tensor& x, const Dims& spatial);
Dims unpool_dims(const Call& c, Dims& plain);
Dims affine_grid_dims(const Call& c);
/// Over the image that Col2Im makes, of shape `out`.
Window col2im_window(const Call& c, Dims& out);
ConvShape deform_conv_shape(const Call& c);

// attend.cpp
/// A tensor as [batch, heads, length, size], whatever its layout.
struct HeadShape {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  bool flat = false;  ///< as [batch, length, heads · size]
  HeadShape(const Tensor& t, int64_t asked, const char* what);
  Dims dims() const { return {batch, heads, length, size}; }
  void extend(const Tensor& cache);  ///< by a cache of [batch, heads, past, size]
};
struct AttentionShape {
  HeadShape q, k, v;
  Dims out() const { return q.flat ? Dims{q.batch, q.length, q.heads * v.size} : Dims{q.batch, q.heads, q.length, v.size}; }
};
AttentionShape attention_shape(const Call& c);

/// [batch, length, heads · size], with decay and beta of as many steps, and a state of [batch, heads, key size, value size].
struct LinearAttentionShape {
  int64_t batch = 0, length = 0, q_heads = 0, heads = 0, key = 0, value = 0;
  bool decays = false, corrects = false;  ///< by the update rule
  Dims out() const { return {batch, length, q_heads * value}; }
  Dims state() const { return {batch, heads, key, value}; }
};
LinearAttentionShape linear_attention_shape(const Call& c);
/// Of CausalConvWithState: [batch, channels, kernel - 1].
Dims conv_state_dims(const Call& c);

// signal.cpp
/// A transform of lines of `in` elements, `inner` apart; complex numbers are two elements of the last dim.
struct DftShape {
  int64_t outer = 1, in = 0, inner = 1, length = 0, out = 0;
  bool real_in = false, inverse = false, half = false;  ///< half: of a real signal's spectrum only the first half is written or read
  Dims dims;
  bool is_half_in() const { return half && inverse; }
};
DftShape dft_shape(const Call& c);
struct StftShape {
  int64_t samples = 0, parts = 1, step = 1, length = 0;  ///< parts: 2 for a complex signal; length: of a frame
  Dims dims;                                             ///< [batch, frames, bins, 2]
};
StftShape stft_shape(const Call& c);
Dims window_dims(const Call& c);
Dims mel_dims(const Call& c);  ///< [bins of half a spectrum, filters]

// random.cpp
Type random_type(const Call& c);
Type multinomial_type(const Call& c);

// recurrent.cpp
/// Throws where weights, biases and states do not fit together.
struct SequenceShape {
  SequenceShape(const Call& c, int64_t gates);
  Dims state_dims() const { return by_batch ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden}; }
  Dims output_dims() const { return by_batch ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden}; }
  int64_t gates, directions = 1, steps = 0, batch = 0, width = 0, hidden = 0;
  bool by_batch = false, reverse_first = false;
};

// normalize.cpp
/// Dims of an inner statistic of LayerNormalization: 1 from the axis on.
Dims layer_dims(const Call& c);

// quantize.cpp
int32_t quantized_type(const Call& c);

}  // namespace shapes
}  // namespace optima::reference
