// SPDX-License-Identifier: Apache-2.0
// core/passes: copies of bodies.
#include "core/passes/bodies.hpp"

#include <algorithm>
#include <utility>

#include "core/passes/constant_values.hpp"
#include "core/support/text.hpp"

namespace optima::passes {
namespace {

std::string fresh(std::string name, std::unordered_set<std::string>& taken) {
  const std::string wanted = name;
  for (int k = 2; !taken.insert(name).second; ++k) name = cat(wanted, '_', k);
  return name;
}

}  // namespace

Bodies::Bodies(Graph& graph) : graph_(graph) {
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& node : g.nodes) nodes_.insert(node.name);
}

std::string Bodies::fresh_value(uint32_t index, std::string name) {
  const auto [taken, first] = values_.try_emplace(index);
  if (first)
    for (const image::Value& v : at(index).values) taken->second.insert(v.name);
  return fresh(std::move(name), taken->second);
}

uint32_t Bodies::add(uint32_t index, image::Value value) {
  value.name = fresh_value(index, std::move(value.name));
  at(index).values.push_back(std::move(value));
  return static_cast<uint32_t>(at(index).values.size()) - 1;
}

uint32_t Bodies::add(uint32_t index, std::string name, int32_t dtype) {
  image::Value value;
  value.name = std::move(name);
  value.dtype = dtype;
  value.kind = dtype == OPTIMA_UNDEFINED ? OPTIMA_KIND_UNKNOWN : OPTIMA_KIND_TENSOR;
  return add(index, std::move(value));
}

uint32_t Bodies::constant(uint32_t index, std::string name, int32_t dtype, std::vector<int64_t> dims, Blob bytes) {
  const uint32_t v = add(index, std::move(name), dtype);
  make_constant(graph_, index, v, dtype, std::move(dims), std::move(bytes));
  return v;
}
uint32_t Bodies::integers(uint32_t index, std::string name, std::vector<int64_t> dims, const std::vector<int64_t>& elements) {
  return constant(index, std::move(name), OPTIMA_I64, std::move(dims), Blob::copy(elements.data(), elements.size() * sizeof(int64_t)));
}
uint32_t Bodies::truth(uint32_t index, std::string name) {
  const uint8_t one = 1;
  return constant(index, std::move(name), OPTIMA_BOOL, {}, Blob::copy(&one, 1));
}

void Bodies::free_name(uint32_t index, const std::string& name) {
  image::Graph& g = at(index);
  for (uint32_t v = 0; v < g.values.size(); ++v) {
    if (g.values[v].name != name || std::find(g.inputs.begin(), g.inputs.end(), v) != g.inputs.end()) continue;
    g.values[v].name = fresh_value(index, cat(name, "/inner"));
    values_[index].erase(name);
    return;
  }
}

uint32_t Bodies::captured(uint32_t holder, uint32_t v, uint32_t body) {
  for (const image::Capture& c : at(body).captures)
    if (c.outer == v) return c.inner;
  const image::Value outer = value(holder, v);
  const uint32_t inner = add(body, outer);
  if (outer.constant == OPTIMA_NONE) at(body).captures.push_back({v, inner});
  return inner;
}

image::Node Bodies::node(const std::string& name, std::string op, int32_t version, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, std::vector<image::Attr> attrs) {
  image::Node made;
  made.name = fresh(name, nodes_);
  made.op_type = std::move(op);
  made.id = static_cast<uint32_t>(graph_.origins.size());
  made.since_version = version;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.attrs = std::move(attrs);
  graph_.origins.push_back({made.name, version});
  return made;
}

image::Node Bodies::copy(const image::Node& node, const std::string& mark) {
  image::Node made = node;
  made.name = fresh(node.name + mark, nodes_);
  made.id = static_cast<uint32_t>(graph_.origins.size());
  graph_.origins.push_back(Origin(graph_.origins[node.id]));
  for (image::Attr& a : made.attrs)
    if (holds_body(a))
      for (uint32_t& body : a.refs) body = copy_graph(body, mark);
  return made;
}

uint32_t Bodies::copy_graph(uint32_t body, const std::string& mark) {
  const auto index = static_cast<uint32_t>(graph_.contents.graphs.size());
  graph_.contents.graphs.push_back(image::Graph(at(body)));
  for (size_t n = 0; n < at(index).nodes.size(); ++n) {
    image::Node made = copy(image::Node(at(index).nodes[n]), mark);
    at(index).nodes[n] = std::move(made);
  }
  return index;
}

std::vector<uint32_t> Bodies::inline_body(uint32_t index, uint32_t body, std::span<const uint32_t> inputs, const std::string& mark, std::vector<image::Node>& out) {
  const image::Graph source = at(body);
  std::vector<uint32_t> now(source.values.size(), OPTIMA_NONE);
  for (size_t k = 0; k < source.inputs.size(); ++k) now[source.inputs[k]] = inputs[k];
  for (const image::Capture& c : source.captures) now[c.inner] = c.outer;
  const auto here = [&](uint32_t v) {
    if (v == OPTIMA_NONE) return v;
    if (now[v] == OPTIMA_NONE) {
      image::Value value = source.values[v];
      value.name += mark;
      now[v] = add(index, std::move(value));
    }
    return now[v];
  };
  for (const image::Node& node : source.nodes) {
    image::Node made = copy(node, mark);
    for (auto* list : {&made.inputs, &made.outputs})
      for (uint32_t& v : *list) v = here(v);
    for_each_body(made, [&](uint32_t inner) {
      for (image::Capture& c : at(inner).captures) c.outer = here(c.outer);
    });
    out.push_back(std::move(made));
  }
  std::vector<uint32_t> outputs;
  for (uint32_t v : source.outputs) outputs.push_back(here(v));
  return outputs;
}

size_t Bodies::nodes_in(uint32_t body) const {
  size_t count = 0;
  for (const image::Node& node : graph_.contents.graphs[body].nodes) {
    ++count;
    for_each_body(node, [&](uint32_t inner) { count += nodes_in(inner); });
  }
  return count;
}

}  // namespace optima::passes
