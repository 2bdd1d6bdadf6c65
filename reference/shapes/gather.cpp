// SPDX-License-Identifier: Apache-2.0
// reference/shapes: elements moved by positions that are data.
#include <algorithm>

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

Dims gather_dims(const Call& c) {
  const Dims &x = c.in(0).dims, &indices = c.in(1).dims;
  const auto axis = static_cast<ptrdiff_t>(normal_axis(c.integer("axis", 0), x.size()));
  Dims to;
  to.reserve(x.size() + indices.size());
  to.assign(x.begin(), x.begin() + axis);
  to.insert(to.end(), indices.begin(), indices.end());
  to.insert(to.end(), x.begin() + axis + 1, x.end());
  return to;
}

void need_inside(const Dims& data, const Dims& indices, size_t axis) {
  if (indices.size() != data.size()) invalid("indices have rank " + std::to_string(indices.size()) + ", must be " + std::to_string(data.size()));
  for (size_t d = 0; d < data.size(); ++d)
    if (d != axis && indices[d] > data[d]) invalid("indices of shape " + show(indices) + " reach outside " + show(data));
}

void need_tuples(const Dims& data, const Dims& indices, size_t batch) {
  if (indices.empty()) invalid("indices have rank 0, must be 1 or more");
  const auto length = static_cast<size_t>(indices.back());
  if (batch >= indices.size() || batch + length > data.size())
    invalid("indices of shape " + show(indices) + " name more axes than " + show(data) + " has");
  if (!std::equal(data.begin(), data.begin() + static_cast<ptrdiff_t>(batch), indices.begin()))
    invalid("the first " + std::to_string(batch) + " dims of " + show(data) + " and " + show(indices) + " differ");
}

Dims gather_nd_dims(const Call& c) {
  const Dims &data = c.in(0).dims, &indices = c.in(1).dims;
  const int64_t batch = c.integer("batch_dims", 0);
  if (batch < 0 || batch >= static_cast<int64_t>(std::max<size_t>(1, indices.size()))) invalid("batch_dims is " + std::to_string(batch) + ", must be within the rank of indices");
  need_tuples(data, indices, static_cast<size_t>(batch));
  Dims to(indices.begin(), indices.end() - 1);
  to.insert(to.end(), data.begin() + static_cast<ptrdiff_t>(batch + indices.back()), data.end());
  return to;
}

Dims one_hot_dims(const Call& c, size_t& axis) {
  const int64_t depth = c.scalar(1, "depth");
  Dims to = c.in(0).dims;
  axis = normal_axis(c.integer("axis", -1), to.size() + 1);
  if (c.in(2).elements() != 2) invalid("values have shape " + show(c.in(2).dims) + ", must be two elements");
  if (depth < 1) invalid("depth is " + std::to_string(depth) + ", must be positive");
  to.insert(to.begin() + static_cast<ptrdiff_t>(axis), depth);
  return to;
}

Dims compressed(const Call& c, size_t& axis) {
  Dims dims = c.has("axis") ? c.in(0).dims : Dims{c.in(0).elements()};
  axis = c.has("axis") ? normal_axis(c.integer("axis", 0), dims.size()) : 0;
  const int64_t n = c.in(1).elements();
  if (n > dims[axis]) invalid("condition has " + std::to_string(n) + " elements, must be " + std::to_string(dims[axis]) + " or fewer");
  return dims;
}

Dims ngram_dims(const Call& c) {
  const Dims& d = c.in(0).dims;
  if (d.size() != 1 && d.size() != 2) invalid("input 0 has rank " + std::to_string(d.size()) + ", must be 1 or 2");
  const Dims columns = c.list("ngram_indexes");
  if (columns.empty()) invalid("ngram_indexes is empty");
  for (int64_t k : columns)
    if (k < 0 || k >= 1 << 30) invalid("ngram_indexes is " + show(columns) + ", out of range");
  Dims to{*std::max_element(columns.begin(), columns.end()) + 1};
  if (d.size() == 2) to.insert(to.begin(), d[0]);
  count(to);
  return to;
}

}  // namespace shapes

namespace rules {

/// Indices that sizes decide are judged by them; a backend that moves wrong ones inside would not tell.
void gather(const Call& c, Inference& to) {
  give(c, to, 0, c.in(0).dtype, shapes::gather_dims(c));
  const Dims& x = c.in(0).dims;
  const int64_t n = x[normal_axis(c.integer("axis", 0), x.size())];
  if (!c.known(1)) return;
  for (const int64_t i : c.ints(1))
    if (i < -n || i >= n) invalid("an index is " + std::to_string(i) + ", must be within " + std::to_string(n));
}
void gather_nd(const Call& c, Inference& to) { give(c, to, 0, c.in(0).dtype, shapes::gather_nd_dims(c)); }

void gather_elements(const Call& c, Inference& to) {
  const Dims& x = c.in(0).dims;
  shapes::need_inside(x, c.in(1).dims, normal_axis(c.integer("axis", 0), x.size()));
  give(c, to, 0, c.in(0).dtype, c.in(1).dims);
}

void scatter_elements(const Call& c, Inference& to) {
  const Dims& x = c.in(0).dims;
  if (c.in(1).dims != c.in(2).dims) invalid("indices have shape " + show(c.in(1).dims) + ", updates " + show(c.in(2).dims));
  shapes::need_inside(x, c.in(1).dims, normal_axis(c.integer("axis", 0), x.size()));
  give(c, to, 0, c.in(0).dtype, x);
}

void scatter_nd(const Call& c, Inference& to) {
  shapes::need_tuples(c.in(0).dims, c.in(1).dims, 0);
  give(c, to, 0, c.in(0).dtype, c.in(0).dims);
}

void one_hot(const Call& c, Inference& to) {
  size_t axis = 0;
  Dims dims = shapes::one_hot_dims(c, axis);
  give(c, to, 0, c.in(2).dtype, std::move(dims));
}

void compress(const Call& c, Inference& to) {
  size_t axis = 0;
  Dims dims = shapes::compressed(c, axis);
  const Dims keep = c.ints(1);
  dims[axis] = static_cast<int64_t>(keep.size()) - std::count(keep.begin(), keep.end(), 0);
  give(c, to, 0, c.in(0).dtype, std::move(dims));
}

void tf_idf_vectorizer(const Call& c, Inference& to) { give(c, to, 0, OPTIMA_F32, shapes::ngram_dims(c)); }

}  // namespace rules
}  // namespace optima::reference
