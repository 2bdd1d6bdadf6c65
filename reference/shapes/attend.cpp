// SPDX-License-Identifier: Apache-2.0
// reference/shapes: attention.

#include "reference/shapes/dims.hpp"
#include "reference/shapes/rules.hpp"

namespace optima::reference {
namespace shapes {

HeadShape::HeadShape(const Tensor& t, int64_t asked, const char* what) {
  const Dims& d = t.dims;
  flat = d.size() == 3;
  if (d.size() != 3 && d.size() != 4) invalid(std::string(what) + " has rank " + std::to_string(d.size()) + ", must be 3 or 4");
  if (flat && (asked < 1 || d[2] % asked != 0)) invalid(std::string(what) + " of shape " + show(d) + " does not divide into " + std::to_string(asked) + " heads");
  batch = d[0], heads = flat ? asked : d[1], length = flat ? d[1] : d[2], size = flat ? d[2] / asked : d[3];
}

void HeadShape::extend(const Tensor& cache) {
  const Dims& d = cache.dims;
  if (d.size() != 4 || d[0] != batch || d[1] != heads || d[3] != size) invalid("a cache has shape " + show(d) + ", which does not fit " + show(dims()));
  length += d[2];
}

AttentionShape attention_shape(const Call& c) {
  const int64_t q_heads = c.integer("q_num_heads", 0), kv_heads = c.integer("kv_num_heads", 0);
  AttentionShape s{{c.in(0), q_heads, "Q"}, {c.in(1), kv_heads, "K"}, {c.in(2), kv_heads, "V"}};
  const HeadShape& q = s.q;
  HeadShape &k = s.k, &v = s.v;
  if (k.batch != q.batch || v.batch != q.batch || k.heads < 1 || v.heads != k.heads || q.heads % k.heads != 0 || k.size != q.size || k.length != v.length)
    invalid("Q " + show(c.in(0).dims) + ", K " + show(c.in(1).dims) + " and V " + show(c.in(2).dims) + " do not fit together");
  if (c.maybe(4)) k.extend(c.in(4));
  if (c.maybe(5)) v.extend(c.in(5));
  if (v.length != k.length) invalid("past_key and past_value differ in length");
  return s;
}

}  // namespace shapes

namespace rules {

void attention(const Call& c, Inference& to) {
  const shapes::AttentionShape s = shapes::attention_shape(c);
  give(c, to, 0, c.in(0).dtype, s.out());
  give(c, to, 1, c.in(1).dtype, s.k.dims());
  give(c, to, 2, c.in(2).dtype, s.v.dims());
  give(c, to, 3, c.in(0).dtype, {s.q.batch, s.q.heads, s.q.length, s.k.length});
}

}  // namespace rules
}  // namespace optima::reference
