// SPDX-License-Identifier: Apache-2.0
// optima/image/pack.hpp: Contents -> the bytes of a graph image. Same contents, same bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "optima/image/contents.hpp"

namespace optima::image {
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

  // Offsets are relative to the text block until lay_out() knows where it is. Equal short strings are stored once; long ones
  // are not shared, so that the sum of all texts stays within kMaxTextShare of verify.hpp.
  optima_text text(const std::string& s) {
    if (s.size() > 256) {
      bytes_ += s;
      return {bytes_.size() - s.size(), s.size()};
    }
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
    out.flags = n.flags;
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
    if (a.type == OPTIMA_ATTR_INT) out.i = a.i;
    if (a.type == OPTIMA_ATTR_FLOAT) out.f = a.f;
    out.s = text(a.type == OPTIMA_ATTR_STRING || a.type == OPTIMA_ATTR_TYPE ? a.s : std::string());
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

}  // namespace detail

/// Requires what verify() checks: every body has one owner and stands behind its owner's graph. Throws std::out_of_range
/// when an attribute that needs a tensor or body names none.
inline Bytes pack(const Contents& contents) { return detail::Packer().pack(contents); }

}  // namespace optima::image
