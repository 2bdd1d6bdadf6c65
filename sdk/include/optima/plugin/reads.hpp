// SPDX-License-Identifier: Apache-2.0
// optima/plugin/reads.hpp: which values a node reads and makes. Not included by plugin.hpp.
#pragma once

#include "optima/plugin/graph.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// f(value) for what the node reads: its inputs, then what its bodies capture, each time it does. Values by index in the image.
template <class F>
void each_read(const optima_graph& graph, const optima_node& n, F&& f) {
  const optima_image* image = graph.image;
  for (uint32_t k = 0; k < n.inputs.count; ++k)
    if (const uint32_t v = optima_input(image, &n, k); v != OPTIMA_NONE) f(v);
  const auto captured = [&](uint32_t body) {
    const optima_slice& all = optima_get_graph(image, body)->captures;
    for (uint32_t k = 0; k < all.count; ++k) f(optima_get_capture(image, all.first + k)->outer);
  };
  for (uint32_t k = 0; k < n.attrs.count; ++k) {
    const optima_attr& a = *optima_get_attr(image, n.attrs.first + k);
    if (a.type == OPTIMA_ATTR_GRAPH) captured(a.ref);
    for (uint32_t b = 0; a.type == OPTIMA_ATTR_GRAPHS && b < a.list.count; ++b) captured(*optima_get_index(image, a.list.first + b));
  }
}
template <class F>
void each_read(const Node& n, F&& f) {
  each_read(*n.graph(), n.raw(), f);
}

/// f(position, value) for what the node makes and somebody names.
template <class F>
void each_output(const optima_graph& graph, const optima_node& n, F&& f) {
  for (uint32_t k = 0; k < n.outputs.count; ++k)
    if (const uint32_t v = optima_output(graph.image, &n, k); v != OPTIMA_NONE) f(k, v);
}

}  // namespace v0_1
}  // namespace optima::sdk
