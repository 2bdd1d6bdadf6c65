// SPDX-License-Identifier: Apache-2.0
// tests/fuzz: reads everything a reader may read of a graph image. What verify() accepts must be safe to walk.
#pragma once

#include <cstdlib>
#include <cstring>

#include "optima/image/verify.hpp"

namespace optima::image {

inline uint64_t eaten = 0;  // keeps the reads alive

inline void eat(const optima_image* g, const optima_text& t) {
  const optima_str s = optima_string(g, &t);
  for (uint64_t i = 0; i < s.size; i += s.size > 64 ? s.size - 1 : 1) eaten += static_cast<uint8_t>(s.data[i]);
}

inline void walk_graph(const optima_image* g, uint32_t index);

inline void walk_constant(const optima_image* g, uint32_t index) {
  const optima_constant* c = optima_get_constant(g, index);
  for (uint32_t k = 0; k < c->dims.count; ++k) eaten += static_cast<uint64_t>(*optima_get_int(g, c->dims.first + k));
}

inline void walk_attr(const optima_image* g, const optima_attr* a) {
  eat(g, a->name);
  if (a->type == OPTIMA_ATTR_STRING || a->type == OPTIMA_ATTR_TYPE) eat(g, a->s);
  if (a->type == OPTIMA_ATTR_TENSOR) walk_constant(g, a->ref);
  if (a->type == OPTIMA_ATTR_GRAPH) walk_graph(g, a->ref);
  for (uint32_t k = a->list.first, n = 0; n < a->list.count; ++k, ++n) {
    if (a->type == OPTIMA_ATTR_INTS) eaten += static_cast<uint64_t>(*optima_get_int(g, k));
    if (a->type == OPTIMA_ATTR_FLOATS) eaten += *optima_get_float(g, k) > 0;
    if (a->type == OPTIMA_ATTR_STRINGS || a->type == OPTIMA_ATTR_TYPES) eat(g, *optima_get_text(g, k));
    if (a->type == OPTIMA_ATTR_TENSORS) walk_constant(g, *optima_get_index(g, k));
    if (a->type == OPTIMA_ATTR_GRAPHS) walk_graph(g, *optima_get_index(g, k));
  }
}

inline void walk_value(const optima_image* g, uint32_t index) {
  if (index == OPTIMA_NONE) return;
  const optima_value* v = optima_get_value(g, index);
  eat(g, v->name);
  for (uint32_t k = 0; k < v->dims.count; ++k) eat(g, optima_get_dim(g, v->dims.first + k)->symbol);
  if (v->constant != OPTIMA_NONE) walk_constant(g, v->constant);
  if (v->producer != OPTIMA_NONE) eat(g, optima_get_node(g, v->producer)->op_type);
}

inline void walk_graph(const optima_image* g, uint32_t index) {
  const optima_image_graph* graph = optima_get_graph(g, index);
  eat(g, graph->name);
  for (uint32_t k = 0; k < graph->inputs.count; ++k) walk_value(g, *optima_get_index(g, graph->inputs.first + k));
  for (uint32_t k = 0; k < graph->outputs.count; ++k) walk_value(g, *optima_get_index(g, graph->outputs.first + k));
  for (uint32_t k = 0; k < graph->captures.count; ++k) {
    walk_value(g, optima_get_capture(g, graph->captures.first + k)->outer);
    walk_value(g, optima_get_capture(g, graph->captures.first + k)->inner);
  }
  for (uint32_t k = 0; k < graph->values.count; ++k) walk_value(g, graph->values.first + k);
  for (uint32_t n = 0; n < graph->nodes.count; ++n) {
    const optima_node* node = optima_get_node(g, graph->nodes.first + n);
    eat(g, node->name), eat(g, node->op_type), eat(g, node->domain);
    for (uint32_t k = 0; k < node->inputs.count; ++k) walk_value(g, optima_input(g, node, k));
    for (uint32_t k = 0; k < node->outputs.count; ++k) walk_value(g, optima_output(g, node, k));
    for (uint32_t k = 0; k < node->attrs.count; ++k) walk_attr(g, optima_get_attr(g, node->attrs.first + k));
  }
}

/// Verifies a private copy of exactly `size` bytes, and walks it when it is accepted.
inline bool accepted(const uint8_t* data, size_t size) {
  auto* exact = static_cast<uint8_t*>(std::malloc(size ? size : 1));  // so that one byte past the end is seen
  std::memcpy(exact, data, size);
  const bool good = verify(exact, size).empty();
  if (good) walk_graph(reinterpret_cast<const optima_image*>(exact), 0);
  std::free(exact);
  return good;
}

}  // namespace optima::image
