// SPDX-License-Identifier: Apache-2.0
// optima/image/verify.hpp: are these bytes a graph image that every accessor of abi.h can walk? Bytes are hostile.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "optima/image/member.hpp"

namespace optima::image {
namespace detail {

constexpr int32_t kMaxRank = 64;
constexpr uint32_t kMaxDepth = 32;                    // readers recurse into bodies
constexpr uint64_t kMaxElements = uint64_t{1} << 56;  // times 128 bits still fits 64-bit byte counts
constexpr uint64_t kMaxTextShare = 64;                // all texts together, in image sizes: readers copy names

class Verifier {
 public:
  Verifier(const uint8_t* base, uint64_t size, const optima_graph* beside)
      : g_(reinterpret_cast<const optima_image*>(base)), size_(size), beside_(beside) {}

  std::string run() {
    if (header() && arrays() && graph_table() && constants() && values() && opsets() && all_graphs()) return {};
    return why_;
  }

 private:
  // Pool entries still unclaimed: every entry belongs to one element, so no small file can ask for quadratic work.
  struct Pool {
    uint32_t count = 0, left = 0;
  };

  bool fail(const char* what, uint64_t index) {
    why_ = std::string("graph image: ") + (texts_too_long_ ? "texts overlap too often" : what) + " (at " + std::to_string(index) + ")";
    return false;
  }
  bool text(const optima_text& t) {
    if (t.offset > size_ || t.size > size_ - t.offset) return false;
    text_bytes_ += t.size;  // at most 2^32 texts, and it stops at the first excess: cannot overflow
    texts_too_long_ = text_bytes_ / kMaxTextShare > size_;
    return !texts_too_long_;
  }
  static bool claim(Pool& pool, const optima_slice& s) {
    if (s.first > pool.count || s.count > pool.count - s.first || s.count > pool.left) return false;
    pool.left -= s.count;
    return true;
  }
  static bool inside(const optima_slice& s, uint32_t i) { return i >= s.first && i - s.first < s.count; }
  uint32_t at(const optima_slice& s, uint32_t k) const { return *optima_get_index(g_, s.first + k); }

  bool header() {
    if (reinterpret_cast<uintptr_t>(g_) % 8 != 0) return fail("base is not aligned to 8 bytes", 0);
    if (size_ < Least<optima_image>::size) return fail("shorter than its header", size_);
    if (std::memcmp(g_->magic, OPTIMA_IMAGE_MAGIC, 8) != 0) return fail("wrong magic", 0);
    if (g_->abi_major != OPTIMA_ABI_MAJOR) return fail("written for another ABI major", g_->abi_major);
    if (g_->struct_size < Least<optima_image>::size || g_->struct_size > size_) return fail("bad header size", g_->struct_size);
    if (g_->total_size != size_) return fail("total_size differs from the size received", g_->total_size);
    return true;
  }

  bool array(const char* name, const optima_array& a, uint32_t least, uint32_t align, Pool* pool = nullptr) {
    if (pool) *pool = {a.count, a.count};
    if (a.count == 0) return true;
    const uint64_t bytes = uint64_t{a.count} * a.stride;  // 32 x 32 bits: cannot overflow
    if (a.stride < least || a.stride % align != 0) return fail((std::string("bad step of ") + name).c_str(), a.stride);
    if (a.offset % 8 != 0 || a.offset < g_->struct_size || a.offset > size_ || bytes > size_ - a.offset)
      return fail((std::string("array lies outside: ") + name).c_str(), a.offset);
    return true;
  }
  template <class T>
  bool structs(const char* name, const optima_array& a, Pool* pool = nullptr) {
    return array(name, a, Least<T>::size, 8, pool);  // 8, since a later member may need it
  }
  // An array that came after 0.1 is asked for with member().
  bool arrays() {
    return structs<optima_image_graph>("graphs", g_->graphs) && structs<optima_node>("nodes", g_->nodes) &&
           structs<optima_value>("values", g_->values) && structs<optima_attr>("attrs", g_->attrs, &attrs_) &&
           structs<optima_constant>("constants", g_->constants) && structs<optima_capture>("captures", g_->captures, &captures_) &&
           structs<optima_opset>("opsets", g_->opsets) && structs<optima_dim>("dims", g_->dims, &dims_) &&
           structs<optima_text>("texts", g_->texts, &texts_) && array("ints", g_->ints, 8, 8, &ints_) &&
           array("floats", g_->floats, 8, 8, &floats_) && array("indices", g_->indices, 4, 4, &indices_);
  }

  // Graphs tile nodes and values; a body lies behind the graph of its node, so nesting cannot have a cycle.
  bool graph_table() {
    if (g_->graphs.count == 0) return fail("no graph", 0);
    uint64_t nodes = 0, values = 0;
    for (uint32_t i = 0; i < g_->graphs.count; ++i) {
      const optima_image_graph* graph = optima_get_graph(g_, i);
      if (!text(graph->name)) return fail("graph name lies outside", i);
      if (graph->nodes.first != nodes || graph->values.first != values) return fail("graphs do not tile nodes and values", i);
      nodes += graph->nodes.count, values += graph->values.count;
      if (nodes > g_->nodes.count || values > g_->values.count) return fail("graphs do not tile nodes and values", i);
      if (!claim(indices_, graph->inputs) || !claim(indices_, graph->outputs)) return fail("bad list of graph inputs or outputs", i);
      if (!claim(captures_, graph->captures)) return fail("bad list of captures", i);
      if (!place_in_tree(graph, i)) return false;
    }
    if (nodes != g_->nodes.count || values != g_->values.count) return fail("nodes or values outside every graph", nodes);
    return true;
  }
  bool place_in_tree(const optima_image_graph* graph, uint32_t i) {
    if (i == 0) {
      depth_.push_back(0);
      return (graph->parent_node == OPTIMA_NONE && graph->captures.count == 0) || fail("the main graph has a parent", 0);
    }
    const optima_image_graph* before = optima_get_graph(g_, i - 1);
    const uint64_t known = uint64_t{before->nodes.first} + before->nodes.count;
    if (graph->parent_node >= known) return fail("body lies before its node's graph", i);
    const uint32_t parent = optima_get_node(g_, graph->parent_node)->graph;
    if (parent >= i || !inside(optima_get_graph(g_, parent)->nodes, graph->parent_node)) return fail("body and parent disagree", i);
    depth_.push_back(depth_[parent] + 1);
    return depth_.back() <= kMaxDepth || fail("bodies nested too deeply", i);
  }

  bool constants() {
    for (uint32_t i = 0; i < g_->constants.count; ++i) {
      const optima_constant* c = optima_get_constant(g_, i);
      if (c->rank < 0 || c->rank > kMaxRank || c->dims.count != static_cast<uint32_t>(c->rank) || !claim(ints_, c->dims))
        return fail("bad shape of constant", i);
      uint64_t elements = 1;
      for (uint32_t k = 0; k < c->dims.count; ++k)
        if (!multiply(elements, *optima_get_int(g_, c->dims.first + k))) return fail("constant too large", i);
      if (beside_ && !blob_fits(*c, elements)) return fail("constant and blob differ in size", i);
    }
    return true;
  }
  static bool multiply(uint64_t& elements, int64_t dim) {
    if (dim < 0 || (dim > 0 && elements > kMaxElements / static_cast<uint64_t>(dim))) return false;
    elements *= static_cast<uint64_t>(dim);
    return true;
  }
  bool blob_fits(const optima_constant& c, uint64_t elements) const {
    if (c.blob >= beside_->blob_count) return false;
    const uint64_t size = optima_get_blob(beside_, c.blob)->size;
    if (c.dtype == OPTIMA_STRING) return size / 8 >= elements;
    const uint32_t bits = optima_dtype_bits(c.dtype);
    return bits != 0 && size == (elements * bits + 7) / 8;
  }

  bool values() {
    for (uint32_t i = 0; i < g_->values.count; ++i) {
      const optima_value* v = optima_get_value(g_, i);
      if (!text(v->name)) return fail("value name lies outside", i);
      if (v->rank < -1 || v->rank > kMaxRank || v->dims.count != (v->rank < 0 ? 0u : static_cast<uint32_t>(v->rank)) ||
          !claim(dims_, v->dims))
        return fail("bad rank or dims of value", i);
      uint64_t elements = 1;
      for (uint32_t k = 0; k < v->dims.count; ++k) {
        const optima_dim* d = optima_get_dim(g_, v->dims.first + k);
        if (!text(d->symbol) || d->value < -1) return fail("bad dim of value", i);
        if (d->value >= 0 && !multiply(elements, d->value)) return fail("value too large", i);
      }
      if (v->constant != OPTIMA_NONE && v->constant >= g_->constants.count) return fail("value names no constant", i);
      if (v->constant != OPTIMA_NONE && v->producer != OPTIMA_NONE) return fail("constant with a producer", i);
    }
    return true;
  }

  bool opsets() {
    for (uint32_t i = 0; i < g_->opsets.count; ++i)
      if (!text(optima_get_opset(g_, i)->domain) || optima_get_opset(g_, i)->version < 1) return fail("bad opset", i);
    return true;
  }

  bool all_graphs() {
    ready_.assign(g_->values.count, 0);
    owned_.assign(g_->graphs.count, 0);
    for (uint32_t i = 0; i < g_->graphs.count; ++i)
      if (!one_graph(i)) return false;
    return true;
  }

  // Walks the nodes in order; ready_ marks the values that exist at that point.
  bool one_graph(uint32_t i) {
    const optima_image_graph* graph = optima_get_graph(g_, i);
    if (i > 0 && !owned_[i]) return fail("body that no attribute holds", i);
    for (uint32_t k = 0; k < graph->inputs.count; ++k)
      if (!enter(*graph, at(graph->inputs, k))) return fail("bad graph input", i);
    for (uint32_t k = 0; k < graph->captures.count; ++k)
      if (!enter(*graph, optima_get_capture(g_, graph->captures.first + k)->inner)) return fail("bad capture", i);
    for (uint32_t v = 0; v < graph->values.count; ++v)
      if (optima_get_value(g_, graph->values.first + v)->constant != OPTIMA_NONE) ready_[graph->values.first + v] = 1;
    for (uint32_t n = 0; n < graph->nodes.count; ++n)
      if (!node(*graph, i, graph->nodes.first + n)) return false;
    for (uint32_t k = 0; k < graph->outputs.count; ++k)
      if (!inside(graph->values, at(graph->outputs, k))) return fail("bad graph output", i);
    return every_value_ready(*graph) || fail("value that nothing produces", i);
  }
  bool enter(const optima_image_graph& graph, uint32_t v) {
    if (!inside(graph.values, v) || ready_[v]) return false;
    const optima_value* value = optima_get_value(g_, v);
    if (value->producer != OPTIMA_NONE || value->constant != OPTIMA_NONE) return false;
    ready_[v] = 1;
    return true;
  }
  bool every_value_ready(const optima_image_graph& graph) const {
    auto first = ready_.begin() + graph.values.first;
    return std::all_of(first, first + graph.values.count, [](uint8_t r) { return r != 0; });
  }

  bool node(const optima_image_graph& graph, uint32_t graph_index, uint32_t index) {
    const optima_node* n = optima_get_node(g_, index);
    if (n->graph != graph_index) return fail("node names another graph", index);
    if (!text(n->name) || !text(n->op_type) || !text(n->domain)) return fail("node text lies outside", index);
    if (n->id == OPTIMA_NONE || !ids_.insert(n->id).second) return fail("node id is not unique", index);
    if (!claim(indices_, n->inputs) || !claim(indices_, n->outputs)) return fail("bad list of node inputs or outputs", index);
    if (!claim(attrs_, n->attrs)) return fail("bad list of attributes", index);
    for (uint32_t k = 0; k < n->inputs.count; ++k) {
      const uint32_t v = at(n->inputs, k);
      if (v != OPTIMA_NONE && (!inside(graph.values, v) || !ready_[v])) return fail("input used before it is produced", index);
    }
    for (uint32_t k = 0; k < n->attrs.count; ++k)
      if (!attr(index, graph_index, n->attrs.first + k)) return false;
    for (uint32_t k = 0; k < n->outputs.count; ++k) {
      const uint32_t v = at(n->outputs, k);
      if (v == OPTIMA_NONE) continue;
      if (!inside(graph.values, v) || ready_[v] || optima_get_value(g_, v)->producer != index) return fail("bad node output", index);
      ready_[v] = 1;
    }
    return true;
  }

  bool attr(uint32_t node, uint32_t graph, uint32_t index) {
    const optima_attr* a = optima_get_attr(g_, index);
    if (!text(a->name) || !text(a->s)) return fail("attribute text lies outside", index);
    if (!only_what_its_type_uses(*a)) return fail("attribute holds more than its type uses", index);
    switch (a->type) {
      case OPTIMA_ATTR_INT:
      case OPTIMA_ATTR_FLOAT:
      case OPTIMA_ATTR_STRING:
      case OPTIMA_ATTR_TYPE: return true;
      case OPTIMA_ATTR_INTS: return claim(ints_, a->list) || fail("bad list of ints", index);
      case OPTIMA_ATTR_FLOATS: return claim(floats_, a->list) || fail("bad list of floats", index);
      case OPTIMA_ATTR_STRINGS:
      case OPTIMA_ATTR_TYPES: return text_list(a->list) || fail("bad list of texts", index);
      case OPTIMA_ATTR_TENSOR: return a->ref < g_->constants.count || fail("attribute names no constant", index);
      case OPTIMA_ATTR_GRAPH: return body(node, graph, a->ref) || fail("bad body", index);
      case OPTIMA_ATTR_TENSORS:
      case OPTIMA_ATTR_GRAPHS: return ref_list(*a, node, graph) || fail("bad list of tensors or bodies", index);
      default: return fail("attribute of unknown type", index);
    }
  }
  // A reader that goes by the member and not by the type must find nothing.
  static bool only_what_its_type_uses(const optima_attr& a) {
    const bool texts = a.type == OPTIMA_ATTR_STRING || a.type == OPTIMA_ATTR_TYPE;
    const bool refers = a.type == OPTIMA_ATTR_TENSOR || a.type == OPTIMA_ATTR_GRAPH;
    return (is_list(a.type) || a.list.count == 0) && (texts || a.s.size == 0) && (refers || a.ref == OPTIMA_NONE) &&
           (a.type == OPTIMA_ATTR_INT || a.i == 0) && (a.type == OPTIMA_ATTR_FLOAT || is_zero(a.f));
  }
  static bool is_zero(double f) {
    uint64_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    return bits == 0;
  }
  static bool is_list(int32_t type) { return (type >= OPTIMA_ATTR_FLOATS && type <= OPTIMA_ATTR_GRAPHS) || type == OPTIMA_ATTR_TYPES; }
  bool text_list(const optima_slice& list) {
    if (!claim(texts_, list)) return false;
    for (uint32_t k = 0; k < list.count; ++k)
      if (!text(*optima_get_text(g_, list.first + k))) return false;
    return true;
  }
  bool ref_list(const optima_attr& a, uint32_t node, uint32_t graph) {
    if (!claim(indices_, a.list)) return false;
    for (uint32_t k = 0; k < a.list.count; ++k) {
      const uint32_t ref = at(a.list, k);
      if (a.type == OPTIMA_ATTR_TENSORS ? ref >= g_->constants.count : !body(node, graph, ref)) return false;
    }
    return true;
  }
  // A body has one owner, and what it captures exists before its node runs.
  bool body(uint32_t node, uint32_t graph, uint32_t ref) {
    if (ref >= g_->graphs.count || ref <= graph || owned_[ref]) return false;
    const optima_image_graph* b = optima_get_graph(g_, ref);
    if (b->parent_node != node) return false;
    const optima_image_graph* outer = optima_get_graph(g_, graph);
    for (uint32_t k = 0; k < b->captures.count; ++k) {
      const uint32_t v = optima_get_capture(g_, b->captures.first + k)->outer;
      if (!inside(outer->values, v) || !ready_[v]) return false;
    }
    owned_[ref] = 1;
    return true;
  }

  const optima_image* g_;
  uint64_t size_;
  const optima_graph* beside_;
  std::string why_;
  uint64_t text_bytes_ = 0;
  bool texts_too_long_ = false;
  Pool attrs_, captures_, dims_, texts_, ints_, floats_, indices_;
  std::vector<uint8_t> ready_, owned_;
  std::vector<uint32_t> depth_;
  std::unordered_set<uint32_t> ids_;
};

}  // namespace detail

/// Empty when every accessor of abi.h is safe on these bytes; else the first thing wrong. `beside`: the blobs, if known.
/// The bytes must not change afterwards: verify a private copy or a sealed memory file, never memory another process can write.
inline std::string verify(const uint8_t* data, uint64_t size, const optima_graph* beside = nullptr) {
  return detail::Verifier(data, size, beside).run();
}

}  // namespace optima::image
