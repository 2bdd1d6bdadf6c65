// SPDX-License-Identifier: Apache-2.0
// optima/image.hpp: Contents (plain data) -> pack() -> graph image bytes -> verify(). C++17, header only, knows abi.h alone.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "optima/abi.h"

namespace optima::image {

// ---- what a builder fills. Indices of values are local to their graph; bodies are indices into Contents::graphs.

struct Dim {
  int64_t value = -1;
  std::string symbol{};
};

struct Value {
  std::string name{};
  int32_t dtype = OPTIMA_UNDEFINED;
  std::optional<std::vector<Dim>> dims{};  // nullopt = unranked
  uint32_t constant = OPTIMA_NONE;
  uint32_t kind = OPTIMA_KIND_TENSOR;
};

struct Attr {
  std::string name{};
  int32_t type = OPTIMA_ATTR_INT;
  uint32_t flags = 0;
  int64_t i = 0;
  double f = 0;
  std::string s{};
  std::vector<int64_t> ints{};
  std::vector<double> floats{};
  std::vector<std::string> strings{};
  std::vector<uint32_t> refs{};  // TENSOR(S): constants, GRAPH(S): bodies
};

struct Node {
  std::string name{}, op_type{}, domain{};
  uint32_t id = 0;
  int32_t since_version = 1;
  std::vector<uint32_t> inputs{}, outputs{};
  std::vector<Attr> attrs{};
};

struct Capture {
  uint32_t outer, inner;
};

struct Graph {
  std::string name{};
  std::vector<Value> values{};
  std::vector<Node> nodes{};
  std::vector<uint32_t> inputs{}, outputs{};
  std::vector<Capture> captures{};
};

struct Constant {
  int32_t dtype = OPTIMA_F32;
  std::vector<int64_t> dims{};
  uint32_t blob = 0;
};

struct Contents {
  std::vector<Graph> graphs{};  // a body comes after the graph its node is in
  std::vector<Constant> constants{};
  std::vector<std::pair<std::string, int64_t>> opsets{};
};

// 64-byte aligned bytes of exactly `size`.
class Bytes {
 public:
  explicit Bytes(uint64_t size) : data_(static_cast<uint8_t*>(::operator new(size, std::align_val_t{64}))), size_(size) {}
  uint8_t* data() const { return data_.get(); }
  uint64_t size() const { return size_; }
  const optima_image* image() const { return reinterpret_cast<const optima_image*>(data_.get()); }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<uint8_t[], Free> data_;
  uint64_t size_;
};

// ---- pack

namespace detail {

class Packer {
 public:
  Bytes pack(const Contents& contents) {
    find_parents(contents);
    for (size_t g = 0; g < contents.graphs.size(); ++g) add_graph(contents.graphs[g], static_cast<uint32_t>(g));
    for (const Constant& c : contents.constants)
      constants_.push_back({c.dtype, static_cast<int32_t>(c.dims.size()), append(ints_, c.dims), c.blob, 0});
    for (const auto& [domain, version] : contents.opsets) opsets_.push_back({text(domain), version});
    return lay_out();
  }

 private:
  template <class T>
  static optima_slice append(std::vector<T>& to, const std::vector<T>& from) {
    optima_slice s{static_cast<uint32_t>(to.size()), static_cast<uint32_t>(from.size())};
    to.insert(to.end(), from.begin(), from.end());
    return s;
  }

  // Offsets are relative to the text block until lay_out() knows where it is; equal strings are stored once.
  optima_text text(const std::string& s) {
    auto [it, fresh] = known_.try_emplace(s, bytes_.size());
    if (fresh) bytes_ += s;
    return {it->second, s.size()};
  }

  void find_parents(const Contents& contents) {
    uint32_t nodes = 0;
    for (const Graph& g : contents.graphs) {
      node_base_.push_back(nodes);
      value_base_.push_back(value_base_.empty() ? 0 : value_base_.back() + last_values_);
      last_values_ = static_cast<uint32_t>(g.values.size());
      for (const Node& n : g.nodes) {
        for (const Attr& a : n.attrs)
          if (a.type == OPTIMA_ATTR_GRAPH || a.type == OPTIMA_ATTR_GRAPHS)
            for (uint32_t body : a.refs) parent_[body] = nodes;
        ++nodes;
      }
    }
  }

  optima_slice value_refs(const std::vector<uint32_t>& local, uint32_t base) {
    std::vector<uint32_t> global;
    for (uint32_t v : local) global.push_back(v == OPTIMA_NONE ? v : v + base);
    return append(indices_, global);
  }

  void add_graph(const Graph& g, uint32_t index) {
    const uint32_t base = value_base_[index];
    optima_image_graph out{};
    out.name = text(g.name);
    out.nodes = {node_base_[index], static_cast<uint32_t>(g.nodes.size())};
    out.values = {base, static_cast<uint32_t>(g.values.size())};
    out.inputs = value_refs(g.inputs, base);
    out.outputs = value_refs(g.outputs, base);
    out.parent_node = index == 0 ? OPTIMA_NONE : parent_.at(index);
    const uint32_t outer = index == 0 ? 0 : value_base_[graph_of(out.parent_node)];
    std::vector<optima_capture> captures;
    for (const Capture& c : g.captures) captures.push_back({c.outer + outer, c.inner + base});
    out.captures = append(captures_, captures);
    graphs_.push_back(out);
    for (const Value& v : g.values) add_value(v);
    for (const Node& n : g.nodes) add_node(n, index, base);
  }

  uint32_t graph_of(uint32_t node) const {
    auto next = std::upper_bound(node_base_.begin(), node_base_.end(), node);
    return static_cast<uint32_t>(next - node_base_.begin()) - 1;
  }

  void add_value(const Value& v) {
    optima_value out{};
    out.name = text(v.name);
    out.kind = v.kind;
    out.dtype = v.dtype;
    out.rank = v.dims ? static_cast<int32_t>(v.dims->size()) : -1;
    out.producer = OPTIMA_NONE;
    out.constant = v.constant;
    std::vector<optima_dim> dims;
    for (const Dim& d : v.dims.value_or(std::vector<Dim>{})) dims.push_back({d.value, text(d.symbol)});
    out.dims = append(dims_, dims);
    values_.push_back(out);
  }

  void add_node(const Node& n, uint32_t graph, uint32_t base) {
    optima_node out{};
    out.name = text(n.name);
    out.op_type = text(n.op_type);
    out.domain = text(n.domain);
    out.id = n.id;
    out.since_version = n.since_version;
    out.inputs = value_refs(n.inputs, base);
    out.outputs = value_refs(n.outputs, base);
    out.graph = graph;
    for (uint32_t v : n.outputs)
      if (v != OPTIMA_NONE) values_[v + base].producer = static_cast<uint32_t>(nodes_.size());
    std::vector<optima_attr> attrs;
    for (const Attr& a : n.attrs) attrs.push_back(attr(a));
    out.attrs = append(attrs_, attrs);
    nodes_.push_back(out);
  }

  optima_attr attr(const Attr& a) {
    optima_attr out{};
    out.name = text(a.name);
    out.type = a.type;
    out.flags = a.flags;
    out.i = a.i;
    out.f = a.f;
    out.s = text(a.s);
    out.ref = OPTIMA_NONE;
    if (a.type == OPTIMA_ATTR_INTS) out.list = append(ints_, a.ints);
    if (a.type == OPTIMA_ATTR_FLOATS) out.list = append(floats_, a.floats);
    if (a.type == OPTIMA_ATTR_STRINGS || a.type == OPTIMA_ATTR_TYPES) {
      std::vector<optima_text> texts;
      for (const std::string& s : a.strings) texts.push_back(text(s));
      out.list = append(texts_, texts);
    }
    if (a.type == OPTIMA_ATTR_TENSORS || a.type == OPTIMA_ATTR_GRAPHS) out.list = append(indices_, a.refs);
    if (a.type == OPTIMA_ATTR_TENSOR || a.type == OPTIMA_ATTR_GRAPH) out.ref = a.refs.at(0);
    return out;
  }

  template <class T>
  void place(optima_array& array, const std::vector<T>& items, uint64_t& at) {
    array = {at, static_cast<uint32_t>(items.size()), sizeof(T)};
    at = (at + items.size() * sizeof(T) + 7) & ~uint64_t{7};
  }
  template <class T>
  static void write(uint8_t* base, const optima_array& array, const std::vector<T>& items) {
    if (!items.empty()) std::memcpy(base + array.offset, items.data(), items.size() * sizeof(T));
  }

  void rebase_texts(uint64_t by) {
    for (auto& x : graphs_) x.name.offset += by;
    for (auto& x : nodes_) x.name.offset += by, x.op_type.offset += by, x.domain.offset += by;
    for (auto& x : values_) x.name.offset += by;
    for (auto& x : attrs_) x.name.offset += by, x.s.offset += by;
    for (auto& x : dims_) x.symbol.offset += by;
    for (auto& x : opsets_) x.domain.offset += by;
    for (auto& x : texts_) x.offset += by;
  }

  Bytes lay_out() {
    optima_image h{};
    std::memcpy(h.magic, OPTIMA_IMAGE_MAGIC, 8);
    h.struct_size = sizeof h;
    h.abi_major = OPTIMA_ABI_MAJOR;
    h.abi_minor = OPTIMA_ABI_MINOR;
    uint64_t at = sizeof h;
    place(h.graphs, graphs_, at), place(h.nodes, nodes_, at), place(h.values, values_, at), place(h.attrs, attrs_, at);
    place(h.constants, constants_, at), place(h.captures, captures_, at), place(h.opsets, opsets_, at);
    place(h.dims, dims_, at), place(h.texts, texts_, at), place(h.ints, ints_, at), place(h.floats, floats_, at);
    place(h.indices, indices_, at);
    rebase_texts(at);
    h.total_size = (at + bytes_.size() + 7) & ~uint64_t{7};

    Bytes out(h.total_size);
    uint8_t* b = out.data();
    std::memset(b, 0, h.total_size);  // gaps are part of the hash
    std::memcpy(b, &h, sizeof h);
    write(b, h.graphs, graphs_), write(b, h.nodes, nodes_), write(b, h.values, values_), write(b, h.attrs, attrs_);
    write(b, h.constants, constants_), write(b, h.captures, captures_), write(b, h.opsets, opsets_);
    write(b, h.dims, dims_), write(b, h.texts, texts_), write(b, h.ints, ints_), write(b, h.floats, floats_);
    write(b, h.indices, indices_);
    std::memcpy(b + at, bytes_.data(), bytes_.size());
    return out;
  }

  std::vector<optima_image_graph> graphs_;
  std::vector<optima_node> nodes_;
  std::vector<optima_value> values_;
  std::vector<optima_attr> attrs_;
  std::vector<optima_constant> constants_;
  std::vector<optima_capture> captures_;
  std::vector<optima_opset> opsets_;
  std::vector<optima_dim> dims_;
  std::vector<optima_text> texts_;
  std::vector<int64_t> ints_;
  std::vector<double> floats_;
  std::vector<uint32_t> indices_;
  std::string bytes_;
  std::unordered_map<std::string, uint64_t> known_;  // looked up only, never iterated
  std::unordered_map<uint32_t, uint32_t> parent_;
  std::vector<uint32_t> node_base_, value_base_;
  uint32_t last_values_ = 0;
};

// ---- verify

constexpr int32_t kMaxRank = 64;
constexpr uint32_t kMaxDepth = 32;               // readers recurse into bodies
constexpr uint64_t kMaxElements = uint64_t{1} << 56;  // times 128 bits still fits 64-bit byte counts

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
    why_ = std::string("graph image: ") + what + " (at " + std::to_string(index) + ")";
    return false;
  }
  bool text(const optima_text& t) const { return t.offset <= size_ && t.size <= size_ - t.offset; }
  static bool claim(Pool& pool, const optima_slice& s) {
    if (s.first > pool.count || s.count > pool.count - s.first || s.count > pool.left) return false;
    pool.left -= s.count;
    return true;
  }
  static bool inside(const optima_slice& s, uint32_t i) { return i >= s.first && i - s.first < s.count; }
  uint32_t at(const optima_slice& s, uint32_t k) const { return *optima_get_index(g_, s.first + k); }

  bool header() {
    if (reinterpret_cast<uintptr_t>(g_) % 8 != 0) return fail("base is not aligned to 8 bytes", 0);
    if (size_ < sizeof(optima_image)) return fail("shorter than its header", size_);
    if (std::memcmp(g_->magic, OPTIMA_IMAGE_MAGIC, 8) != 0) return fail("wrong magic", 0);
    if (g_->abi_major != OPTIMA_ABI_MAJOR) return fail("written for another ABI major", g_->abi_major);
    if (g_->struct_size < sizeof(optima_image) || g_->struct_size > size_) return fail("bad header size", g_->struct_size);
    if (g_->total_size != size_) return fail("total_size differs from the size received", g_->total_size);
    return true;
  }

  bool array(const char* name, const optima_array& a, size_t element, size_t align, Pool* pool = nullptr) {
    if (pool) *pool = {a.count, a.count};
    if (a.count == 0) return true;
    const uint64_t bytes = uint64_t{a.count} * a.stride;  // 32 x 32 bits: cannot overflow
    if (a.stride < element || a.stride % align != 0) return fail((std::string("bad step of ") + name).c_str(), a.stride);
    if (a.offset % 8 != 0 || a.offset < g_->struct_size || a.offset > size_ || bytes > size_ - a.offset)
      return fail((std::string("array lies outside: ") + name).c_str(), a.offset);
    return true;
  }
  bool arrays() {
    return array("graphs", g_->graphs, sizeof(optima_image_graph), 8) && array("nodes", g_->nodes, sizeof(optima_node), 8) &&
           array("values", g_->values, sizeof(optima_value), 8) && array("attrs", g_->attrs, sizeof(optima_attr), 8, &attrs_) &&
           array("constants", g_->constants, sizeof(optima_constant), 4) &&
           array("captures", g_->captures, sizeof(optima_capture), 4, &captures_) &&
           array("opsets", g_->opsets, sizeof(optima_opset), 8) && array("dims", g_->dims, sizeof(optima_dim), 8, &dims_) &&
           array("texts", g_->texts, sizeof(optima_text), 8, &texts_) && array("ints", g_->ints, 8, 8, &ints_) &&
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
    if (!is_list(a->type) && a->list.count != 0) return fail("list in an attribute that has none", index);
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
  Pool attrs_, captures_, dims_, texts_, ints_, floats_, indices_;
  std::vector<uint8_t> ready_, owned_;
  std::vector<uint32_t> depth_;
  std::unordered_set<uint32_t> ids_;
};

}  // namespace detail

inline Bytes pack(const Contents& contents) { return detail::Packer().pack(contents); }

// Empty when every accessor of abi.h is safe on these bytes; else the first thing wrong. `beside`: the blobs, if known.
// The bytes must not change afterwards: verify a private copy or a sealed memory file, never memory another process can write.
inline std::string verify(const uint8_t* data, uint64_t size, const optima_graph* beside = nullptr) {
  return detail::Verifier(data, size, beside).run();
}

}  // namespace optima::image
