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

LinearAttentionShape linear_attention_shape(const Call& c) {
  const Dims &q = c.in(0).dims, &k = c.in(1).dims, &v = c.in(2).dims;
  const std::string rule = c.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") invalid("update_rule is '" + rule + "', must be linear, gated, delta or gated_delta");
  LinearAttentionShape s;
  s.q_heads = c.integer("q_num_heads", 0), s.heads = c.integer("kv_num_heads", 0);
  if (s.heads < 1 || s.q_heads < 1 || s.q_heads % s.heads != 0) invalid("q_num_heads is " + std::to_string(s.q_heads) + ", must be a multiple of kv_num_heads, " + std::to_string(s.heads));
  s.decays = rule == "gated" || rule == "gated_delta";
  s.corrects = rule == "delta" || rule == "gated_delta";
  const HeadShape query(c.in(0), s.q_heads, "query"), key(c.in(1), s.heads, "key"), value(c.in(2), s.heads, "value");
  if (!query.flat || !key.flat || !value.flat || k[0] != q[0] || v[0] != q[0] || k[1] != q[1] || v[1] != q[1] || key.size != query.size)
    invalid("query " + show(q) + ", key " + show(k) + " and value " + show(v) + " do not fit together");
  s.batch = q[0], s.length = q[1], s.key = key.size, s.value = value.size;
  const auto need = [&](uint32_t at, const char* what, bool wanted, int64_t one, int64_t other) {
    if ((c.maybe(at) != nullptr) != wanted) invalid(std::string(what) + (wanted ? " is missing, which " : " is given, which ") + "update_rule '" + rule + (wanted ? "' wants" : "' does not take"));
    if (!wanted) return;
    const Dims a{s.batch, s.length, one}, b{s.batch, s.length, other};
    if (c.in(at).dims != a && c.in(at).dims != b) invalid(std::string(what) + " has shape " + show(c.in(at).dims) + ", must be " + show(a) + " or " + show(b));
  };
  need(4, "decay", s.decays, s.heads, s.heads * s.key);
  need(5, "beta", s.corrects, s.heads, 1);
  if (c.maybe(3) && c.in(3).dims != s.state()) invalid("past_state has shape " + show(c.in(3).dims) + ", must be " + show(s.state()));
  return s;
}

Dims conv_state_dims(const Call& c) {
  const Dims &x = c.in(0).dims, &w = c.in(1).dims;
  if (x.size() != 3 || w.size() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1) invalid("input " + show(x) + " and weight " + show(w) + " do not fit together");
  if (c.maybe(2) && c.in(2).dims != Dims{x[1]}) invalid("bias has shape " + show(c.in(2).dims) + ", must be " + show(Dims{x[1]}));
  const Dims state{x[0], x[1], w[2] - 1};
  if (c.maybe(3) && c.in(3).dims != state) invalid("past_state has shape " + show(c.in(3).dims) + ", must be " + show(state));
  const std::string activation = c.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") invalid("activation is '" + activation + "', must be none, silu or swish");
  return state;
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

void linear_attention(const Call& c, Inference& to) {
  const shapes::LinearAttentionShape s = shapes::linear_attention_shape(c);
  give(c, to, 0, c.in(0).dtype, s.out());
  give(c, to, 1, c.in(c.maybe(3) ? 3 : 0).dtype, s.state());
}

void causal_conv_with_state(const Call& c, Inference& to) {
  Dims state = shapes::conv_state_dims(c);
  give(c, to, 0, c.in(0).dtype, c.in(0).dims);
  give(c, to, 1, c.in(0).dtype, std::move(state));
}

}  // namespace rules
}  // namespace optima::reference
