// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/lower: see matrix_product.hpp.
#include "plugins/llvm_cpu/lower/parts/matrix_product.hpp"

#include <algorithm>

#include "plugins/llvm_cpu/lower/parts/program.hpp"

namespace optima::llvm_cpu {
namespace {

using Product = MatrixProduct;
using Batch = Product::Batch;

Product of_gemm(const NodeView& n) {
  const Dims a = n.in_dims(0), b = n.in_dims(1);
  const bool ta = n.integer("transA", 0), tb = n.integer("transB", 0);
  Product p;
  p.M = a[ta ? 1 : 0], p.K = a[ta ? 0 : 1], p.N = b[tb ? 0 : 1];
  p.sam = ta ? 1 : p.K, p.sak = ta ? p.M : 1, p.sbk = tb ? 1 : p.N, p.sbn = tb ? p.K : 1, p.scm = p.N;
  p.alpha = n.real("alpha", 1);
  return p;
}

}  // namespace

void simplify(MatrixProduct& p) {
  std::vector<Batch> merged;
  for (const Batch& d : p.batch) {
    if (d.size == 1) continue;
    if (!merged.empty()) {
      Batch& last = merged.back();
      if (last.a == d.a * d.size && last.b == d.b * d.size && last.c == d.c * d.size) {
        last = {last.size * d.size, d.a, d.b, d.c};
        continue;
      }
    }
    merged.push_back(d);
  }
  while (!merged.empty() && merged.back().b == 0 && merged.back().a == p.M * p.sam && merged.back().c == p.M * p.scm) {
    p.M *= merged.back().size;
    merged.pop_back();
  }
  p.batch = merged;
}

MatrixProduct MatrixProduct::of(Dims a, Dims b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product p;
  p.M = a[a.size() - 2], p.K = a.back(), p.N = b.back();
  p.sam = p.K, p.sbk = p.N, p.scm = p.N;
  const Dims ba(a.begin(), a.end() - 2), bb(b.begin(), b.end() - 2);
  const size_t rank = std::max(ba.size(), bb.size());
  Dims space(rank, 1);
  for (size_t d = 0; d < rank; ++d)
    for (const Dims* x : {&ba, &bb})
      if (d + x->size() >= rank && (*x)[d + x->size() - rank] != 1) space[d] = (*x)[d + x->size() - rank];
  const Dims sa = broadcast_steps(ba, space), sb = broadcast_steps(bb, space), sc = row_major(space);
  for (size_t d = 0; d < rank; ++d) p.batch.push_back({space[d], sa[d] * p.M * p.K, sb[d] * p.K * p.N, sc[d] * p.M * p.N});
  p.matrices = count(bb);
  simplify(p);
  return p;
}

MatrixProduct product_of(const NodeView& n) { return n.op() == "Gemm" ? of_gemm(n) : MatrixProduct::of(n.in_dims(0), n.in_dims(1)); }

}  // namespace optima::llvm_cpu
