// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: some nodes of graph 0 as a graph of their own, every value they make an output. Knows the seam only.
#pragma once

#include <unordered_map>

#include "optima/image.hpp"
#include "optima/plugin/graph.hpp"

namespace openvino_plugin {

namespace sdk = optima::sdk;
namespace image = optima::image;

/// Nodes without bodies, in the graph's order. Constants share the blobs of the graph they come from.
class Cut {
 public:
  Cut(const optima_graph* from, const std::vector<sdk::Node>& nodes) : from_(from) {
    contents_.graphs.emplace_back();
    graph().name = "query";
    for (const sdk::Node& n : nodes) add(n);
    for (uint32_t k = 0; k < from->image->opsets.count; ++k) {
      const optima_opset& o = *optima_get_opset(from->image, k);
      contents_.opsets.emplace_back(sdk::view(optima_string(from->image, &o.domain)), o.version);
    }
    bytes_.emplace(image::pack(contents_));
    raw_ = {sizeof raw_, 0, bytes_->image(), from->blobs, from->blob_count, 0, {}};
  }
  Cut(const Cut&) = delete;
  const optima_graph* raw() const { return &raw_; }

 private:
  image::Graph& graph() { return contents_.graphs[0]; }

  uint32_t constant(const sdk::Constant& c) {
    contents_.constants.push_back({c.dtype(), c.shape(), c.blob_index()});
    return static_cast<uint32_t>(contents_.constants.size() - 1);
  }

  uint32_t value(const sdk::Value& v, bool made_here) {
    if (!v) return OPTIMA_NONE;
    const auto [at, fresh] = values_.try_emplace(v.index(), static_cast<uint32_t>(graph().values.size()));
    if (!fresh) return at->second;
    image::Value out{std::string(v.name()), v.dtype(), std::nullopt, OPTIMA_NONE, v.kind()};
    if (v.ranked()) {
      out.dims.emplace();
      for (uint32_t k = 0; k < static_cast<uint32_t>(v.rank()); ++k) out.dims->push_back({v.dim(k), std::string(v.symbol(k))});
    }
    if (v.is_constant()) out.constant = constant(v.constant());
    if (made_here) graph().outputs.push_back(at->second);
    else if (!v.is_constant()) graph().inputs.push_back(at->second);
    graph().values.push_back(std::move(out));
    return at->second;
  }

  image::Attr attribute(const sdk::Attr& a) {
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

  void add(const sdk::Node& n) {
    image::Node out{std::string(n.name()), std::string(n.op()), std::string(n.domain()), n.id(), n.since_version()};
    for (uint32_t k = 0; k < n.input_count(); ++k) out.inputs.push_back(value(n.input(k), false));
    for (uint32_t k = 0; k < n.output_count(); ++k) out.outputs.push_back(value(n.output(k), true));
    for (uint32_t k = 0; k < n.attr_count(); ++k) out.attrs.push_back(attribute(n.attr(k)));
    graph().nodes.push_back(std::move(out));
  }

  const optima_graph* from_;
  image::Contents contents_;
  std::unordered_map<uint32_t, uint32_t> values_;
  std::optional<image::Bytes> bytes_;
  optima_graph raw_{};
};

}  // namespace openvino_plugin
