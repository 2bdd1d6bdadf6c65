// SPDX-License-Identifier: Apache-2.0
// core/passes: constants instead of nodes. The reference computes them.
#include "core/passes/constant_values.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/onnx_io/type_inference.hpp"
#include "reference/reference.hpp"

namespace optima::passes {
namespace {

constexpr uint64_t kLargestGrowth = 16 << 20;  // bytes: a result may be larger than its inputs up to here
constexpr uint64_t kElementAlignment = 16;     // of the widest element type

const Blob& bytes_of(const Graph& graph, const image::Value& value) {
  return graph.blobs[graph.contents.constants[value.constant].blob];
}

bool explodes(uint64_t result, uint64_t inputs) { return result > kLargestGrowth && result > inputs; }

bool may_compute(const Graph& graph, const image::Graph& g, const image::Node& node, const OwnOperators& own) {
  if (node.inputs.empty() || node.op_type == "DequantizeLinear") return false;
  uint64_t read = 0, made = 0;
  for (uint32_t v : node.inputs) {
    if (v == OPTIMA_NONE) continue;
    if (g.values[v].constant == OPTIMA_NONE) return false;
    read += bytes_of(graph, g.values[v]).size;
  }
  for (uint32_t v : node.outputs) {
    if (v == OPTIMA_NONE) continue;
    if (g.values[v].kind != OPTIMA_KIND_TENSOR && g.values[v].kind != OPTIMA_KIND_UNKNOWN) return false;
    made += static_bytes(g.values[v]);
  }
  bool has_body = false;
  for_each_body(node, [&](uint32_t) { has_body = true; });
  const bool repeatable = onnx_io::is_known(node) ? onnx_io::is_deterministic(node) : own.evaluate != nullptr;
  return !has_body && !explodes(made, read) && repeatable;
}

// The node alone: its inputs are constants of a graph of its own, so the cost does not depend on the model.
Graph alone(const Graph& graph, const image::Graph& g, const image::Node& node) {
  Graph out;
  out.contents.opsets = graph.contents.opsets;
  out.origins.resize(1);
  image::Graph& main = out.contents.graphs.emplace_back();
  auto keep = [&](uint32_t constant) {
    image::Constant made = graph.contents.constants[constant];
    out.blobs.push_back(graph.blobs[made.blob]);
    made.blob = static_cast<uint32_t>(out.blobs.size()) - 1;
    out.contents.constants.push_back(made);
    return static_cast<uint32_t>(out.contents.constants.size()) - 1;
  };
  image::Node copy = node;
  copy.id = 0;
  auto add = [&](uint32_t& v) {
    if (v == OPTIMA_NONE) return;
    image::Value value = g.values[v];
    if (value.constant != OPTIMA_NONE) value.constant = keep(value.constant);
    v = static_cast<uint32_t>(main.values.size());
    main.values.push_back(std::move(value));
  };
  for (uint32_t& v : copy.inputs) add(v);
  for (uint32_t& v : copy.outputs) add(v);
  for (image::Attr& a : copy.attrs)
    for (uint32_t& ref : a.refs) ref = keep(ref);
  main.outputs = copy.outputs;
  std::erase(main.outputs, OPTIMA_NONE);
  main.nodes.push_back(std::move(copy));
  return out;
}

reference::Tensor tensor_of(const Graph& graph, const image::Value& value) {
  const image::Constant& c = graph.contents.constants[value.constant];
  Blob bytes = graph.blobs[c.blob];
  // Bytes that come straight from a model file have no alignment.
  if (reinterpret_cast<uintptr_t>(bytes.data) % kElementAlignment != 0) bytes = Blob::copy(bytes.data, bytes.size);
  return {c.dtype, c.dims, bytes.keeper, bytes.data, bytes.size};
}

// Empty when the reference cannot or will not.
Result<std::vector<reference::Tensor>> evaluate(const Graph& single, const OwnOperators& own) {
  const image::Node& node = single.main().nodes[0];
  const PackedGraph packed = pack(single);
  const optima_node& raw = *optima_get_node(packed.raw.image, 0);
  std::vector<reference::Tensor> inputs;
  for (uint32_t v : node.inputs) inputs.push_back(v == OPTIMA_NONE ? reference::Tensor() : tensor_of(single, single.main().values[v]));
  try {
    if (!reference::can_evaluate(packed.raw, raw) && !own.evaluate) return std::vector<reference::Tensor>();
    return reference::evaluate(packed.raw, raw, inputs, {}, own.evaluate);
  } catch (const reference::ForeignError& e) {
    if (e.code != OPTIMA_UNSUPPORTED) return plugin_error(e.text);
  } catch (const std::exception&) {
    // The node stays, and whoever runs it says what is wrong with it.
  }
  return std::vector<reference::Tensor>();
}

}  // namespace

void make_constant(Graph& graph, uint32_t index, uint32_t v, int32_t dtype, std::vector<int64_t> dims, Blob bytes) {
  image::Value& value = graph.contents.graphs[index].values[v];
  value.kind = OPTIMA_KIND_TENSOR;
  value.dtype = dtype;
  value.constant = static_cast<uint32_t>(graph.contents.constants.size());
  value.dims.emplace();
  for (int64_t d : dims) value.dims->push_back({d, ""});
  graph.contents.constants.push_back({dtype, std::move(dims), static_cast<uint32_t>(graph.blobs.size())});
  graph.blobs.push_back(std::move(bytes));
}

std::optional<std::vector<int64_t>> integers_of(const Graph& graph, uint32_t constant) {
  const image::Constant& c = graph.contents.constants[constant];
  const Blob& blob = graph.blobs[c.blob];
  const auto read = [&](auto element) {
    std::vector<int64_t> out(blob.size / sizeof element);
    for (size_t i = 0; i < out.size(); ++i) std::memcpy(&element, blob.data + i * sizeof element, sizeof element), out[i] = c.dtype == OPTIMA_BOOL ? element != 0 : element;
    return out;
  };
  if (blob.data == nullptr && blob.size != 0) return std::nullopt;
  if (c.dtype == OPTIMA_I64) return read(int64_t{});
  if (c.dtype == OPTIMA_I32) return read(int32_t{});
  return c.dtype == OPTIMA_BOOL ? std::optional(read(uint8_t{})) : std::nullopt;
}

Result<bool> compute(Graph& graph, uint32_t index, const image::Node& node, const OwnOperators& own) {
  const image::Graph& g = graph.contents.graphs[index];
  if (!may_compute(graph, g, node, own)) return false;
  const Graph single = alone(graph, g, node);
  OPTIMA_ASSIGN(const std::vector<reference::Tensor> results, evaluate(single, own));
  if (results.size() != node.outputs.size()) return false;
  uint64_t made = 0, read = 0;
  for (const reference::Tensor& t : results) made += t.size;
  for (uint32_t v : node.inputs) read += v == OPTIMA_NONE ? 0 : bytes_of(graph, g.values[v]).size;
  if (explodes(made, read)) return false;
  for (size_t k = 0; k < results.size(); ++k)
    if (node.outputs[k] != OPTIMA_NONE && results[k].dtype == OPTIMA_UNDEFINED) return false;
  for (size_t k = 0; k < results.size(); ++k) {
    const reference::Tensor& t = results[k];
    if (node.outputs[k] == OPTIMA_NONE) continue;
    // An evaluator may hand an input through, whose bytes somebody else keeps.
    const Blob bytes = t.keeper ? Blob{static_cast<const std::byte*>(t.data), t.size, -1, 0, "", t.keeper} : Blob::copy(t.data, t.size);
    make_constant(graph, index, node.outputs[k], t.dtype, t.dims, bytes);
  }
  return true;
}

void spread_to_bodies(Graph& graph, uint32_t index, const image::Node& node) {
  for_each_body(node, [&](uint32_t body) {
    const image::Graph& outer = graph.contents.graphs[index];
    image::Graph& inner = graph.contents.graphs[body];
    std::erase_if(inner.captures, [&](const image::Capture& c) {
      const image::Value& value = outer.values[c.outer];
      if (value.dtype == OPTIMA_UNDEFINED) return false;
      const std::string name = inner.values[c.inner].name;
      inner.values[c.inner] = value;
      inner.values[c.inner].name = name;
      return value.constant != OPTIMA_NONE;
    });
  });
}

void note_gone(Graph& graph, const image::Node& node, std::string_view reason) {
  graph.folded.push_back({node.name, node.op_type, std::string(reason)});
  for_each_body(node, [&](uint32_t body) {
    for (const image::Node& inner : graph.contents.graphs[body].nodes) note_gone(graph, inner, reason);
  });
}

void remove_nodes(Graph& graph, uint32_t index, const std::vector<bool>& marked, std::string_view reason) {
  image::Graph& g = graph.contents.graphs[index];
  size_t kept = 0;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (marked[n]) note_gone(graph, g.nodes[n], reason);
    else if (kept++ != n) g.nodes[kept - 1] = std::move(g.nodes[n]);
  }
  g.nodes.resize(kept);
}

void tidy(Graph& graph) {
  std::vector<uint32_t> all(graph.main().nodes.size());
  std::iota(all.begin(), all.end(), 0u);
  graph = compact(graph, all);
}

}  // namespace optima::passes
