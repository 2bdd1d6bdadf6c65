// SPDX-License-Identifier: Apache-2.0
// core/graph: a graph image -> Graph, the inverse of pack().
#include "core/graph/graph.hpp"

namespace optima {
namespace {

class Unpacker {
 public:
  explicit Unpacker(const optima_graph& raw) : raw_(raw), image_(raw.image) {}

  Graph run() {
    for (uint32_t g = 0; g < image_->graphs.count; ++g) add_graph(*optima_get_graph(image_, g));
    for (uint32_t k = 0; k < image_->constants.count; ++k) {
      const optima_constant& c = *optima_get_constant(image_, k);
      out_.contents.constants.push_back({c.dtype, ints(c.dims), c.blob});
    }
    for (uint32_t k = 0; k < image_->opsets.count; ++k) {
      const optima_opset& o = *optima_get_opset(image_, k);
      out_.contents.opsets.emplace_back(text(o.domain), o.version);
    }
    for (uint32_t k = 0; k < raw_.blob_count; ++k) {
      const optima_blob& b = *optima_get_blob(&raw_, k);
      out_.blobs.push_back({static_cast<const std::byte*>(b.data), b.size, b.fd, b.file_offset, "", nullptr});
    }
    out_.model_name = out_.main().name;
    return std::move(out_);
  }

 private:
  std::string text(const optima_text& t) const {
    const optima_str s = optima_string(image_, &t);
    return {s.data, s.size};
  }
  std::vector<int64_t> ints(const optima_slice& s) const {
    std::vector<int64_t> out;
    for (uint32_t k = 0; k < s.count; ++k) out.push_back(*optima_get_int(image_, s.first + k));
    return out;
  }
  std::vector<uint32_t> refs(const optima_slice& s, uint32_t base) const {
    std::vector<uint32_t> out;
    for (uint32_t k = 0; k < s.count; ++k) {
      const uint32_t v = *optima_get_index(image_, s.first + k);
      out.push_back(v == OPTIMA_NONE ? v : v - base);
    }
    return out;
  }

  void add_graph(const optima_image_graph& source) {
    image::Graph& g = out_.contents.graphs.emplace_back();
    const uint32_t base = source.values.first;
    g.name = text(source.name);
    g.inputs = refs(source.inputs, base);
    g.outputs = refs(source.outputs, base);
    for (uint32_t k = 0; k < source.values.count; ++k) g.values.push_back(value(*optima_get_value(image_, base + k)));
    for (uint32_t k = 0; k < source.nodes.count; ++k) g.nodes.push_back(node(*optima_get_node(image_, source.nodes.first + k), base));
    for (uint32_t k = 0; k < source.captures.count; ++k) {
      const optima_capture& c = *optima_get_capture(image_, source.captures.first + k);
      const optima_node& holder = *optima_get_node(image_, source.parent_node);
      g.captures.push_back({c.outer - optima_get_graph(image_, holder.graph)->values.first, c.inner - base});
    }
  }

  image::Value value(const optima_value& v) const {
    image::Value out{text(v.name), v.dtype, std::nullopt, v.constant, v.kind};
    if (v.rank < 0) return out;
    out.dims.emplace();
    for (uint32_t k = 0; k < v.dims.count; ++k) {
      const optima_dim& d = *optima_get_dim(image_, v.dims.first + k);
      out.dims->push_back({d.value, text(d.symbol)});
    }
    return out;
  }

  image::Node node(const optima_node& n, uint32_t base) {
    image::Node out{text(n.name), text(n.op_type), text(n.domain), n.id, n.since_version, refs(n.inputs, base), refs(n.outputs, base), {}, n.flags};
    for (uint32_t k = 0; k < n.attrs.count; ++k) out.attrs.push_back(attr(*optima_get_attr(image_, n.attrs.first + k)));
    if (out_.origins.size() <= n.id) out_.origins.resize(n.id + 1);
    out_.origins[n.id] = {out.name, n.since_version};
    return out;
  }

  image::Attr attr(const optima_attr& a) const {
    image::Attr out;
    out.name = text(a.name), out.type = a.type, out.flags = a.flags;
    out.i = a.i, out.f = a.f, out.s = text(a.s);
    switch (a.type) {
      case OPTIMA_ATTR_INTS: out.ints = ints(a.list); break;
      case OPTIMA_ATTR_FLOATS:
        for (uint32_t k = 0; k < a.list.count; ++k) out.floats.push_back(*optima_get_float(image_, a.list.first + k));
        break;
      case OPTIMA_ATTR_STRINGS: case OPTIMA_ATTR_TYPES:
        for (uint32_t k = 0; k < a.list.count; ++k) out.strings.push_back(text(*optima_get_text(image_, a.list.first + k)));
        break;
      case OPTIMA_ATTR_TENSORS: case OPTIMA_ATTR_GRAPHS: out.refs = refs(a.list, 0); break;
      case OPTIMA_ATTR_TENSOR: case OPTIMA_ATTR_GRAPH: out.refs = {a.ref}; break;
      default: break;
    }
    return out;
  }

  const optima_graph& raw_;
  const optima_image* image_;
  Graph out_;
};

}  // namespace

Graph unpack(const optima_graph& raw) { return Unpacker(raw).run(); }

}  // namespace optima
