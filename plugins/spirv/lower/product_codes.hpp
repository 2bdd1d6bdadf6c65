// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/lower: products that read codes by constant codes, in the tile of registers that floats have.
#pragma once

#include "product.hpp"
#include "sums.hpp"

namespace spirv_plugin {

/// A product of codes with its operands: `a` as it lies, `b` as [k][n] of what is summed, or by words [k / 4][n]. `bias` may be absent.
struct CodedMultiply {
  Product p;
  Tensor a, b;
  sdk::Value bias;
  CodeSums sums;
};

namespace coded_products {

/// Rows and columns past the end read the last one and are not stored.
inline void write_tile(Shader& s, const CodedMultiply& of, const Tile& t, int a, int b, const SumEnds& ends) {
  using namespace tiles;
  const Product& p = of.p;
  const bool by_words = of.sums.by_words();
  const std::string type = of.sums.type == SumType::Floats ? "float " : "int ";
  const auto column = [&](int64_t j) { return within(t.whole_columns(p), "col+" + text(t.column(j)), p.n); };
  write_places(s, p, t);
  for (int64_t i = 0; i < t.rows; ++i)
    for (int64_t j = 0; j < t.cols; ++j) s.line(type + acc(i, j) + "=" + ends.begin(s, column(j)) + ";");
  s.line("for(int k=0;k<" + text(by_words ? (p.k + 3) / 4 : p.k) + ";++k){");
  for (int64_t i = 0; i < t.rows; ++i) {
    const auto at = [&](int64_t j) { return s.load(a, name("ra", i) + "+" + times(by_words ? "(" + place_in("k", j, p.k) + ")" : "k", p.a_k)); };
    s.line(type + name("x", i) + "=" + left_of(of.sums, at) + ";");
  }
  for (int64_t j = 0; j < t.cols; ++j) {
    s.line(type + name("w", j) + "=" + s.load(b, name("cb", j) + "+" + times("k", p.b_k)) + ";");
    for (int64_t i = 0; i < t.rows; ++i)
      s.line(acc(i, j) + "+=" + (by_words ? "dot_(" + name("x", i) + "," + name("w", j) + ")" : name("x", i) + "*" + name("w", j)) + ";");
  }
  s.line("}");
  for (int64_t j = 0; j < t.cols; ++j) s.line(ends.named(s, text(j), column(j)));
}

}  // namespace coded_products

/// The step of a group whose root is such a product; an output without elements has none.
inline void lower_coded_product(Lowering& to, const Group& group, const CodedMultiply& of) {
  const Tile t = products::register_tile(of.p);
  Shader s(t.x, t.y);
  const int a = s.in(of.a), b = s.in(of.b);
  const std::shared_ptr<const Floats> bias = of.bias && !of.sums.has_bias ? to.known(of.bias) : nullptr;
  const SumEnds ends(to, s, std::string(group.root.output(0).name()), of.sums, bias.get());
  const Lowering::Tail tail = to.tail(s, group);
  const Tensor y = to.made(group.end().output(0));
  if (y.elements() == 0) return;
  const int out = s.out(y);
  s.top("void put(const int o,const float v){" + s.store(out, "o", tail("v", "o")) + "}");
  coded_products::write_tile(s, of, t, a, b, ends);
  write_stores(s, of.p, t, [&](int64_t i, int64_t j) { return ends.value(text(j), tiles::acc(i, j)); });
  to.step(group, ways_of(s, of.sums.by_words(), t.groups(of.p)), products::work_of(of.p, of.a.elements() + of.b.elements() + y.elements()));
}

}  // namespace spirv_plugin
