// SPDX-License-Identifier: Apache-2.0
// tests/support: graph images for tests of the seam: one node each for the plugins, and one with everything an image holds.
#pragma once

#include "optima/image.hpp"

namespace optima::samples {

using namespace optima::image;

inline Value tensor(std::string name, std::vector<int64_t> dims, int32_t dtype = OPTIMA_F32) {
  std::vector<Dim> d;
  for (int64_t n : dims) d.push_back({n, n < 0 ? "N" : ""});
  return {std::move(name), dtype, d, OPTIMA_NONE, OPTIMA_KIND_TENSOR};
}

inline Attr real(std::string name, double f) {
  Attr a{std::move(name), OPTIMA_ATTR_FLOAT};
  a.f = f;
  return a;
}

inline Contents identity(std::vector<int64_t> dims, int32_t dtype = OPTIMA_F32) {
  Graph g{"identity", {tensor("in", dims, dtype), tensor("out", dims, dtype)}, {}, {0}, {1}, {}};
  g.nodes.push_back({"copy", "Identity", "", 11, 16, {0}, {1}, {}});
  return {{g}, {}, {{"", 21}}};
}

// y = scale * x + shift, the operator of examples/vendor_plugin; blob 0 is the shift.
inline Contents scale_shift(std::vector<int64_t> dims) {
  Graph g{"scale_shift", {tensor("x", dims), tensor("shift", {dims.back()}), tensor("y", dims)}, {}, {0}, {2}, {}};
  g.values[1].constant = 0;
  g.nodes.push_back({"scale", "ScaleShift", "com.acme", 7, 1, {0, 1}, {2}, {real("scale", 2.0)}});
  return {{g}, {{OPTIMA_F32, {dims.back()}, 0}}, {{"", 21}, {"com.acme", 1}}};
}

// If with two bodies, the first with a Loop inside; captures through two levels; every attribute type; absent operands.
inline Contents everything() {
  Contents m;
  m.opsets = {{"", 21}, {"com.acme", 1}};
  m.constants = {{OPTIMA_F32, {2, 3}, 0}, {OPTIMA_I64, {}, 1}, {OPTIMA_I4, {5}, 2}, {OPTIMA_STRING, {2}, 3}};
  Graph top{"main", {tensor("x", {-1, 3}), tensor("cond", {}, OPTIMA_BOOL), tensor("w", {2, 3}), tensor("h", {-1, 3}), tensor("y", {-1, 3})}, {}, {0, 1}, {4}, {}};
  top.values[2].constant = 0;
  Node first{"first", "Everything", "com.acme", 1, 1, {0, OPTIMA_NONE, 2}, {3, OPTIMA_NONE}, {}};
  Attr ints{"pads", OPTIMA_ATTR_INTS}, floats{"scales", OPTIMA_ATTR_FLOATS}, strings{"names", OPTIMA_ATTR_STRINGS}, text{"mode", OPTIMA_ATTR_STRING};
  Attr one{"value", OPTIMA_ATTR_TENSOR}, many{"values", OPTIMA_ATTR_TENSORS}, type{"type", OPTIMA_ATTR_TYPE};
  ints.ints = {1, -2, 3}, floats.floats = {0.5, 1e300}, strings.strings = {"a", "", "ccc"}, text.s = "nearest", text.flags = OPTIMA_ATTR_IS_DEFAULT;
  one.refs = {1}, many.refs = {2, 3}, type.s = "seq(tensor(float))";
  first.attrs = {ints, floats, strings, text, one, many, type, real("alpha", 0.25)};
  Attr then_body{"then_branch", OPTIMA_ATTR_GRAPH}, else_body{"else_branch", OPTIMA_ATTR_GRAPH}, loop_body{"body", OPTIMA_ATTR_GRAPH};
  then_body.refs = {1}, else_body.refs = {2}, loop_body.refs = {3};
  top.nodes = {first, {"choose", "If", "", 2, 21, {1}, {4}, {then_body, else_body}}};
  Graph yes{"then", {tensor("h", {-1, 3}), tensor("n", {}, OPTIMA_I64), tensor("r", {-1, 3})}, {}, {}, {2}, {{3, 0}}};
  yes.values[1].constant = 1;
  yes.nodes = {{"loop", "Loop", "", 3, 21, {1, OPTIMA_NONE, 0}, {2}, {loop_body}}};
  Graph no{"else", {tensor("x", {-1, 3}), tensor("r", {-1, 3})}, {}, {}, {1}, {{0, 0}}};
  no.nodes = {{"", "Relu", "", 4, 14, {0}, {1}, {}}};
  Graph body{"loop", {tensor("i", {}, OPTIMA_I64), tensor("c", {}, OPTIMA_BOOL), tensor("a", {-1, 3}), tensor("h", {-1, 3}), tensor("b", {-1, 3})}, {}, {0, 1, 2}, {1, 4}, {{0, 3}}};
  body.nodes = {{"add", "Add", "", 5, 14, {2, 3}, {4}, {}}};
  m.graphs = {top, yes, no, body};
  return m;
}

}  // namespace optima::samples
