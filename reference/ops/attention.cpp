// SPDX-License-Identifier: Apache-2.0
// reference/ops: scaled dot product attention and rotary embedding, by the text of the ONNX operator pages.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/ops/map.hpp"
#include "reference/ops/ops.hpp"
#include "reference/shapes/dims.hpp"

namespace optima::reference::ops {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

/// The elements as [batch, heads, length, size], whatever the layout.
struct Heads : shapes::HeadShape {
  std::vector<double> x;

  Heads(const Tensor& t, int64_t asked, const char* what) : HeadShape(t, asked, what) {
    x = load<double>(t);
    if (!flat) return;
    std::vector<double> turned(x.size());
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t l = 0; l < length; ++l)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t k = 0; k < size; ++k) turned[static_cast<size_t>(((b * heads + h) * length + l) * size + k)] = x[static_cast<size_t>(((b * length + l) * heads + h) * size + k)];
    x = std::move(turned);
  }

  const double* row(int64_t b, int64_t h, int64_t l) const { return x.data() + ((b * heads + h) * length + l) * size; }

  /// Puts a cache of [batch, heads, past, size] before the rows.
  int64_t prepend(const Tensor& cache) {
    const int64_t before = length;
    extend(cache);
    const int64_t past = length - before;
    const std::vector<double> old = load<double>(cache);
    std::vector<double> all;
    for (int64_t bh = 0; bh < batch * heads; ++bh) {
      all.insert(all.end(), old.begin() + bh * past * size, old.begin() + (bh + 1) * past * size);
      all.insert(all.end(), x.begin() + bh * before * size, x.begin() + (bh + 1) * before * size);
    }
    x = std::move(all);
    return past;
  }
};

/// The additive mask of one score: 0, -inf, or what the mask input adds.
class Mask {
 public:
  Mask(const Call& c, const Heads& q, const Heads& k, int64_t past) : past_(past), queries_(q.length), causal_(c.integer("is_causal", 0) != 0) {
    left_ = c.integer("left_window_size", -1);
    right_ = c.integer("right_window_size", -1);
    if (c.maybe(6)) valid_ = load<int64_t>(c.in(6));
    if (c.maybe(6) && static_cast<int64_t>(valid_.size()) != q.batch) invalid("nonpad_kv_seqlen has " + std::to_string(valid_.size()) + " elements, must be " + std::to_string(q.batch));
    if (!c.maybe(3)) return;
    const Tensor& m = c.in(3);
    if (m.dims.empty() || m.dims.size() > 4) invalid("attn_mask has rank " + std::to_string(m.dims.size()) + ", must be 1 to 4");
    dims_ = {q.batch, q.heads, q.length, m.dims.back() == 1 ? k.length : std::min(m.dims.back(), k.length)};
    added_ = load_as<double>(m, dims_);
    if (m.dtype == OPTIMA_BOOL)
      for (double& v : added_) v = v != 0 ? 0 : kMasked;
  }

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t offset = valid_.empty() ? past_ : valid_[static_cast<size_t>(b)] - queries_;
    const int64_t ahead = j - (i + offset);
    if (causal_ && ahead > 0) return kMasked;
    if ((left_ >= 0 && -ahead > left_) || (right_ >= 0 && ahead > right_)) return kMasked;
    if (!valid_.empty() && j >= valid_[static_cast<size_t>(b)]) return kMasked;
    if (added_.empty()) return 0;
    return j < dims_[3] ? added_[static_cast<size_t>(((b * dims_[1] + h) * dims_[2] + i) * dims_[3] + j)] : kMasked;  // a short mask hides the rest
  }

 private:
  int64_t past_, queries_, left_ = -1, right_ = -1;
  bool causal_;
  std::vector<int64_t> valid_;
  Dims dims_;
  std::vector<double> added_;
};

/// In place; a row that is masked throughout becomes zeros.
void softmax_row(std::vector<double>& row, bool masked) {
  const double top = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& v : row) sum += v = masked ? 0 : std::exp(v - top);
  for (double& v : row) v = sum == 0 ? 0 : v / sum;
}

}  // namespace

void attention(Call& c) {
  const shapes::AttentionShape shape = shapes::attention_shape(c);
  const int64_t q_heads = c.integer("q_num_heads", 0), kv_heads = c.integer("kv_num_heads", 0);
  const Heads q(c.in(0), q_heads, "Q");
  Heads k(c.in(1), kv_heads, "K"), v(c.in(2), kv_heads, "V");
  const int64_t past = c.maybe(4) ? k.prepend(c.in(4)) : 0;
  if (c.maybe(5)) v.prepend(c.in(5));
  const Mask mask(c, q, k, past);
  const double scale = c.has("scale") ? c.real("scale", 1) : 1 / std::sqrt(static_cast<double>(q.size));
  const double cap = c.real("softcap", 0);
  const int64_t mode = c.integer("qk_matmul_output_mode", 0);
  std::vector<double> out(static_cast<size_t>(count({q.batch, q.heads, q.length, v.size})), 0.0), shown;
  std::vector<double> row(static_cast<size_t>(k.length)), capped(row), biased(row), raw(row);
  for (int64_t b = 0; b < q.batch; ++b)
    for (int64_t h = 0; h < q.heads; ++h)
      for (int64_t i = 0; i < q.length; ++i) {
        const int64_t g = h / (q.heads / k.heads);
        bool masked = true;
        for (int64_t j = 0; j < k.length; ++j) {
          const auto at = static_cast<size_t>(j);
          const double *x = q.row(b, h, i), *y = k.row(b, g, j), bias = mask(b, h, i, j);
          double sum = 0;
          for (int64_t s = 0; s < q.size; ++s) sum += x[s] * y[s];
          raw[at] = sum * scale;
          capped[at] = cap > 0 ? cap * std::tanh(raw[at] / cap) : raw[at];
          row[at] = biased[at] = capped[at] + bias;
          masked = masked && bias == kMasked;
        }
        softmax_row(row, masked);
        const std::vector<double>& seen = mode == 0 ? raw : mode == 1 ? capped : mode == 2 ? biased : row;
        if (c.wants(3)) shown.insert(shown.end(), seen.begin(), seen.end());
        double* to = out.data() + (q.flat ? (b * q.length + i) * q.heads + h : (b * q.heads + h) * q.length + i) * v.size;
        for (int64_t j = 0; j < k.length; ++j)
          for (int64_t s = 0; s < v.size; ++s) to[s] += row[static_cast<size_t>(j)] * v.row(b, g, j)[s];
      }
  c.out(0, store(c.in(0).dtype, shape.out(), out));
  if (c.wants(1)) c.out(1, store(c.in(1).dtype, k.dims(), k.x));
  if (c.wants(2)) c.out(2, store(c.in(2).dtype, v.dims(), v.x));
  if (c.wants(3)) c.out(3, store(c.in(0).dtype, {q.batch, q.heads, q.length, k.length}, shown));
}

/// Turns pairs of the first rotary_embedding_dim elements of every head by the angles of the caches. These may be of one batch for all, as PyTorch's exporter leaves them.
void rotary_embedding(Call& c) {
  const Tensor &cosines = c.in(1), &sines = c.in(2);
  Heads x(c.in(0), c.integer("num_heads", 0), "X");
  const int64_t asked = c.integer("rotary_embedding_dim", 0), turned = asked == 0 ? x.size : asked, half = turned / 2;
  const bool interleaved = c.integer("interleaved", 0) != 0;
  if (turned < 0 || turned > x.size || turned % 2 != 0) invalid("rotary_embedding_dim is " + std::to_string(asked) + ", must be even and within " + std::to_string(x.size));
  const bool by_position = c.maybe(3) != nullptr;
  const size_t rank = by_position ? 2 : 3;
  if (cosines.dims != sines.dims || cosines.dims.size() != rank || cosines.dims.back() != half || (!by_position && ((cosines.dims[0] != x.batch && cosines.dims[0] != 1) || cosines.dims[1] != x.length)))
    invalid("caches have shapes " + show(cosines.dims) + " and " + show(sines.dims) + ", which do not fit " + show(c.in(0).dims));
  std::vector<int64_t> position;
  if (by_position) position = load<int64_t>(c.in(3));
  if (by_position && c.in(3).dims != Dims{x.batch, x.length}) invalid("position_ids have shape " + show(c.in(3).dims) + ", must be " + show({x.batch, x.length}));
  const bool own = !by_position && cosines.dims[0] == x.batch;
  const std::vector<double> cs = load<double>(cosines), sn = load<double>(sines);
  for (int64_t b = 0; b < x.batch; ++b)
    for (int64_t h = 0; h < x.heads; ++h)
      for (int64_t l = 0; l < x.length; ++l) {
        const int64_t row = by_position ? position[static_cast<size_t>(b * x.length + l)] : (own ? b : 0) * x.length + l;
        if (row < 0 || (half > 0 && row >= static_cast<int64_t>(cs.size()) / half)) invalid("a position is " + std::to_string(row) + ", outside the caches");
        double* at = x.x.data() + ((b * x.heads + h) * x.length + l) * x.size;
        for (int64_t k = 0; k < half; ++k) {
          double &first = at[interleaved ? 2 * k : k], &second = at[interleaved ? 2 * k + 1 : k + half];
          const double a = first, o = second, cosine = cs[static_cast<size_t>(row * half + k)], sine = sn[static_cast<size_t>(row * half + k)];
          first = cosine * a - sine * o;
          second = sine * a + cosine * o;
        }
      }
  if (!x.flat) return c.out(0, store(c.in(0).dtype, x.dims(), x.x));
  const Tensor by_head = store(c.in(0).dtype, x.dims(), x.x);
  const Dims step = strides_of(by_head.dims);
  c.out(0, reshaped(pick(by_head, {x.batch, x.length, x.heads, x.size}, strided_index({x.batch, x.length, x.heads, x.size}, {step[0], step[2], step[1], step[3]})), c.in(0).dims));
}

}  // namespace optima::reference::ops
