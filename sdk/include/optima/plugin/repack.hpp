// SPDX-License-Identifier: Apache-2.0
// optima/plugin/repack.hpp: values and attributes of a graph as contents of another that is made of it. Not included by plugin.hpp.
#pragma once

#include "optima/image.hpp"
#include "optima/plugin/graph.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// Name, type and dims; of a constant value not its constant.
inline image::Value repacked(const Value& v) {
  image::Value out{std::string(v.name()), v.dtype(), std::nullopt, OPTIMA_NONE, v.kind()};
  if (!v.ranked()) return out;
  out.dims.emplace();
  for (uint32_t k = 0; k < static_cast<uint32_t>(v.rank()); ++k) out.dims->push_back({v.dim(k), std::string(v.symbol(k))});
  return out;
}

/// All but bodies. `constant(Constant)` gives the number of a tensor's constant in the new contents.
template <class F>
image::Attr repacked(const Attr& a, F&& constant) {
  image::Attr out{std::string(a.name()), a.type(), a.raw().flags};
  out.i = a.integer(), out.f = a.real(), out.s = a.string();
  for (uint32_t k = 0; k < a.size(); ++k) {
    if (a.type() == OPTIMA_ATTR_INTS) out.ints.push_back(a.integer(k));
    if (a.type() == OPTIMA_ATTR_FLOATS) out.floats.push_back(a.real(k));
    if (a.type() == OPTIMA_ATTR_STRINGS || a.type() == OPTIMA_ATTR_TYPES) out.strings.emplace_back(a.string(k));
    if (a.type() == OPTIMA_ATTR_TENSORS) out.refs.push_back(constant(a.tensor(k)));
  }
  if (a.type() == OPTIMA_ATTR_TENSOR) out.refs.push_back(constant(a.tensor()));
  return out;
}

/// The versions of operator sets that the graph was written for.
inline void repack_opsets(const optima_image* from, image::Contents& to) {
  for (uint32_t k = 0; k < from->opsets.count; ++k) {
    const optima_opset& o = *optima_get_opset(from, k);
    to.opsets.emplace_back(view(optima_string(from, &o.domain)), o.version);
  }
}

}  // namespace v0_1
}  // namespace optima::sdk
