// SPDX-License-Identifier: Apache-2.0
// reference/shapes: kinds of nodes.
#include <map>

#include "optima/plugin/reads.hpp"
#include "reference/shapes.hpp"

namespace optima::reference {
namespace {

/// Contents as a text. Numbers are of fixed length and texts end with theirs, so no two contents have one text.
class Key {
 public:
  Key& number(int64_t n) { return bytes(&n, sizeof n); }
  Key& text(const optima_image* image, const optima_text& t) {
    const optima_str s = optima_string(image, &t);
    return bytes(s.data, s.size).number(static_cast<int64_t>(s.size));
  }
  Key& bytes(const void* data, size_t size) {
    if (size) text_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Tensors and bodies by their numbers: one that has such an attribute is like no other.
void add_attribute(Key& key, const optima_image* image, uint32_t index) {
  const optima_attr& a = *optima_get_attr(image, index);
  key.text(image, a.name).number(a.type).number(a.i).bytes(&a.f, sizeof a.f).text(image, a.s).number(a.ref).number(a.list.count);
  for (uint32_t k = 0; k < a.list.count; ++k) {
    const uint32_t at = a.list.first + k;
    if (a.type == OPTIMA_ATTR_INTS) key.number(*optima_get_int(image, at));
    else if (a.type == OPTIMA_ATTR_FLOATS) key.bytes(optima_get_float(image, at), sizeof(double));
    else if (a.type == OPTIMA_ATTR_STRINGS) key.text(image, *optima_get_text(image, at));
    else key.number(index);
  }
}

/// Symbols say nothing of a node: dims that are no numbers are any.
void add_declared(Key& key, const optima_image* image, uint32_t value, bool with_dims) {
  const optima_value& v = *optima_get_value(image, value);
  key.number(v.dtype).number(v.rank);
  for (uint32_t d = 0; with_dims && d < v.dims.count; ++d) key.number(optima_get_dim(image, v.dims.first + d)->value);
}

std::string kind_of(const optima_graph& graph, const optima_node& n, bool with_dims) {
  Key key;
  key.text(graph.image, n.op_type).text(graph.image, n.domain).number(n.since_version).number(n.inputs.count).number(n.outputs.count);
  for (uint32_t k = 0; k < n.inputs.count; ++k) key.number(optima_input(graph.image, &n, k) != OPTIMA_NONE);
  sdk::each_output(graph, n, [&](uint32_t k, uint32_t v) { add_declared(key.number(k), graph.image, v, with_dims); });
  for (uint32_t k = 0; k < n.attrs.count; ++k) add_attribute(key, graph.image, n.attrs.first + k);
  return key.take();
}

}  // namespace

std::vector<uint32_t> kinds_of(const optima_graph& graph, bool with_dims) {
  std::map<std::string, uint32_t> all;
  std::vector<uint32_t> out;
  for (uint32_t n = 0; n < graph.image->nodes.count; ++n)
    out.push_back(all.try_emplace(kind_of(graph, *optima_get_node(graph.image, n), with_dims), static_cast<uint32_t>(all.size())).first->second);
  return out;
}

}  // namespace optima::reference
