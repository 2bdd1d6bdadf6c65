// SPDX-License-Identifier: Apache-2.0
// A writer and a reader of images as C functions. Built twice, as two libraries: with this abi.h, and with that of a minor to come
// (OPTIMA_TO_COME), whose structs are longer.
#include "optima/plugin/graph.hpp"
#include "tests/fuzz/image_walk.hpp"
#include "tests/support/sample_images.hpp"

using namespace optima;

namespace {

image::Contents sample(std::string_view name) {
  if (name == "everything") return samples::everything();
  return name == "scale_shift" ? samples::scale_shift({2, 4}) : samples::identity({3});
}

std::string told;

void say(std::string_view word) { told.append(word).append(" "); }
void say(int64_t number) { say(std::to_string(number)); }

void say(const sdk::Constant& c) {
  say(c.dtype()), say(c.blob_index());
  for (const int64_t n : c.shape()) say(n);
}

void say(const sdk::Value& v) {
  if (!v) return say("none");
  say(v.name()), say(v.kind()), say(v.dtype()), say(v.rank());
  for (uint32_t k = 0; k < v.raw().dims.count; ++k) say(v.dim(k)), say(v.symbol(k));
  if (v.is_constant()) say(v.constant());
  if (v.producer()) say(v.producer().id());
}

void say(const sdk::Graph& g);

void say(const sdk::Attr& a) {
  say(a.name()), say(a.type()), say(a.is_default()), say(a.integer()), say(std::to_string(a.real())), say(a.string());
  if (a.type() == OPTIMA_ATTR_TENSOR) say(a.tensor());
  if (a.type() == OPTIMA_ATTR_GRAPH) say(a.body());
  for (uint32_t k = 0; k < a.size(); ++k) {
    if (a.type() == OPTIMA_ATTR_INTS) say(a.integer(k));
    if (a.type() == OPTIMA_ATTR_FLOATS) say(std::to_string(a.real(k)));
    if (a.type() == OPTIMA_ATTR_STRINGS) say(a.string(k));
    if (a.type() == OPTIMA_ATTR_TENSORS) say(a.tensor(k));
    if (a.type() == OPTIMA_ATTR_GRAPHS) say(a.body(k));
  }
}

void say(const sdk::Node& n) {
  say(n.id()), say(n.op()), say(n.domain()), say(n.name()), say(n.since_version());
  for (uint32_t k = 0; k < n.input_count(); ++k) say(n.input(k));
  for (uint32_t k = 0; k < n.output_count(); ++k) say(n.output(k));
  for (uint32_t k = 0; k < n.attr_count(); ++k) say(n.attr(k));
  if (optima_find_node(n.graph()->image, n.id()) != &n.raw()) say("is not found");
}

void say(const sdk::Graph& g) {
  say("\n"), say(g.name());
  for (uint32_t k = 0; k < g.input_count(); ++k) say(g.input(k));
  for (uint32_t k = 0; k < g.output_count(); ++k) say(g.output(k));
  for (uint32_t k = 0; k < g.capture_count(); ++k) say(g.captured(k)), say(g.capture_of(k));
  for (uint32_t k = 0; k < g.size(); ++k) say(g[k]);
  for (uint32_t k = 0; k < g.value_count(); ++k) say(g.value(k));
}

// Whoever reads past the end of what it is given is seen there.
template <class F>
const char* tell(const uint8_t* data, uint64_t size, F&& f) {
  const image::Bytes exact(size);
  std::memcpy(exact.data(), data, size);
  told = image::verify(exact.data(), size);
  optima_graph graph{};
  graph.struct_size = sizeof graph;
  graph.image = exact.image();
  if (told.empty()) f(graph);
  return told.c_str();
}

#ifdef OPTIMA_TO_COME
constexpr uint64_t kMark = 0xA5A5A5A5A5A5A5A5;

template <class T>
void mark(const optima_image* g, const optima_array& array) {
  for (uint32_t k = 0; k < array.count; ++k) const_cast<T*>(static_cast<const T*>(optima_at(g, &array, k)))->to_come = kMark;
}

void mark_all(optima_image* g) {
  mark<optima_image_graph>(g, g->graphs), mark<optima_node>(g, g->nodes), mark<optima_value>(g, g->values), mark<optima_attr>(g, g->attrs);
  mark<optima_constant>(g, g->constants), mark<optima_capture>(g, g->captures), mark<optima_opset>(g, g->opsets), mark<optima_dim>(g, g->dims);
  g->to_come.count = 7;
}

// How many of an array's elements have the mark, how many zero, by a function of (element).
template <class T, class F>
void count(const optima_image* g, const optima_array& array, bool is_there, F&& f) {
  int64_t marked = 0, zero = 0;
  for (uint32_t k = 0; k < array.count; ++k) {
    const uint64_t found = f(*static_cast<const T*>(optima_at(g, &array, k)), k);
    marked += found == kMark, zero += found == 0;
  }
  if (is_there != (marked > 0)) say("OPTIMA_IMAGE_HAS is wrong");
  if (marked + zero != array.count) say("neither");
  say(marked), say(zero);
}
#endif

}  // namespace

/// Writes a sample into `to` when it has room, and gives its size. Members of the minor to come have a mark.
OPTIMA_EXPORT uint64_t write_image(const char* name, uint8_t* to, uint64_t room) {
  const image::Bytes bytes = image::pack(sample(name));
#ifdef OPTIMA_TO_COME
  mark_all(reinterpret_cast<optima_image*>(bytes.data()));
#endif
  if (bytes.size() <= room) std::memcpy(to, bytes.data(), bytes.size());
  return bytes.size();
}

/// What verify() has against an image, or all that the views and accessors give. Lives until the next call.
OPTIMA_EXPORT const char* read_image(const uint8_t* data, uint64_t size) {
  return tell(data, size, [&](const optima_graph& graph) {
    say(image::accepted(data, size) ? "walked" : "not accepted");
    say(sdk::Graph(&graph));
    for (const char* domain : {"", "com.acme"}) say(sdk::Graph(&graph).opset(domain));
  });
}

#ifdef OPTIMA_TO_COME
/// Of graphs, nodes, values, attributes, constants, captures, opsets and dims: how many have the mark, how many zero; then the image's own.
OPTIMA_EXPORT const char* read_what_is_to_come(const uint8_t* data, uint64_t size) {
  return tell(data, size, [](const optima_graph& graph) {
    const optima_image* g = graph.image;
    const auto views = [&](auto make, auto which) { return [=](const auto& raw, uint32_t k) { return make(raw, k).member(which); }; };
    const auto plain = [](const optima_array& array, auto which) { return [=](const auto& raw, uint32_t) { return image::member(array, &raw, which); }; };
    count<optima_image_graph>(g, g->graphs, OPTIMA_IMAGE_HAS(g, graphs, optima_image_graph, to_come),
                              views([&](const auto&, uint32_t k) { return sdk::Graph(&graph, k); }, &optima_image_graph::to_come));
    count<optima_node>(g, g->nodes, OPTIMA_IMAGE_HAS(g, nodes, optima_node, to_come),
                       views([&](const optima_node& n, uint32_t) { return sdk::Node(&graph, &n); }, &optima_node::to_come));
    count<optima_value>(g, g->values, OPTIMA_IMAGE_HAS(g, values, optima_value, to_come),
                        views([&](const auto&, uint32_t k) { return sdk::Value(&graph, k); }, &optima_value::to_come));
    count<optima_attr>(g, g->attrs, OPTIMA_IMAGE_HAS(g, attrs, optima_attr, to_come),
                       views([&](const optima_attr& a, uint32_t) { return sdk::Attr(&graph, &a); }, &optima_attr::to_come));
    count<optima_constant>(g, g->constants, OPTIMA_IMAGE_HAS(g, constants, optima_constant, to_come),
                           views([&](const auto&, uint32_t k) { return sdk::Constant(&graph, k); }, &optima_constant::to_come));
    count<optima_capture>(g, g->captures, OPTIMA_IMAGE_HAS(g, captures, optima_capture, to_come), plain(g->captures, &optima_capture::to_come));
    count<optima_opset>(g, g->opsets, OPTIMA_IMAGE_HAS(g, opsets, optima_opset, to_come), plain(g->opsets, &optima_opset::to_come));
    count<optima_dim>(g, g->dims, OPTIMA_IMAGE_HAS(g, dims, optima_dim, to_come), plain(g->dims, &optima_dim::to_come));
    if (OPTIMA_COVERS(g, to_come) != (image::member(g, &optima_image::to_come).count != 0)) say("OPTIMA_COVERS is wrong");
    say(image::member(g, &optima_image::to_come).count);
  });
}
#endif
