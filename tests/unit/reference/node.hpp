// SPDX-License-Identifier: Apache-2.0
// Builds one-node graphs and small tensors for the reference's tests.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "optima/image.hpp"
#include "reference/reference.hpp"

namespace optima::test {

using reference::Tensor;
using Ints = std::vector<int64_t>;

template <class T>
Tensor tensor(int32_t dtype, Ints dims, const std::vector<T>& elements) {
  void* p = nullptr;
  Tensor t = Tensor::make(dtype, std::move(dims), &p);
  REQUIRE(t.size == elements.size() * sizeof(T));
  if (t.size) std::memcpy(p, elements.data(), t.size);
  return t;
}
inline Tensor f32(Ints dims, const std::vector<float>& x) { return tensor(OPTIMA_F32, std::move(dims), x); }
inline Tensor i64(Ints dims, const Ints& x) { return tensor(OPTIMA_I64, std::move(dims), x); }
inline Tensor boolean(Ints dims, const std::vector<uint8_t>& x) { return tensor(OPTIMA_BOOL, std::move(dims), x); }

template <class T>
std::vector<T> elements(const Tensor& t) {
  const auto* p = static_cast<const T*>(t.data);
  return std::vector<T>(p, p + t.size / sizeof(T));
}
inline std::vector<float> floats(const Tensor& t) {
  REQUIRE(t.dtype == OPTIMA_F32);
  return elements<float>(t);
}
inline Ints ints(const Tensor& t) {
  REQUIRE(t.dtype == OPTIMA_I64);
  return elements<int64_t>(t);
}

/// One node with as many outputs as asked, run by evaluate().
class OneNode {
 public:
  OneNode(std::string op, int32_t version, uint32_t outputs = 1) : outputs_(outputs) {
    node_.op_type = std::move(op);
    node_.name = "n";
    node_.id = 7;
    node_.since_version = version;
  }

  OneNode& integer(std::string name, int64_t i) { return attr(std::move(name), OPTIMA_ATTR_INT, [&](auto& a) { a.i = i; }); }
  OneNode& real(std::string name, double f) { return attr(std::move(name), OPTIMA_ATTR_FLOAT, [&](auto& a) { a.f = f; }); }
  OneNode& text(std::string name, std::string s) { return attr(std::move(name), OPTIMA_ATTR_STRING, [&](auto& a) { a.s = s; }); }
  OneNode& texts(std::string name, std::vector<std::string> s) { return attr(std::move(name), OPTIMA_ATTR_STRINGS, [&](auto& a) { a.strings = s; }); }
  OneNode& list(std::string name, Ints i) { return attr(std::move(name), OPTIMA_ATTR_INTS, [&](auto& a) { a.ints = i; }); }
  OneNode& domain(std::string d) { node_.domain = std::move(d); return *this; }

  std::vector<Tensor> all(const std::vector<Tensor>& inputs) {
    const image::Bytes bytes = build(inputs);
    const optima_graph graph{sizeof(optima_graph), 0, bytes.image(), nullptr, 0, 0, {}};
    REQUIRE(image::verify(bytes.data(), bytes.size(), &graph) == "");
    return reference::evaluate(graph, *optima_get_node(bytes.image(), 0), inputs);
  }
  Tensor operator()(const std::vector<Tensor>& inputs) { return all(inputs)[0]; }

  /// Text of the refusal; empty when there is none.
  std::string refusal(const std::vector<Tensor>& inputs, int32_t code) {
    try {
      all(inputs);
      return {};
    } catch (const Error& e) {
      CHECK(e.code == code);
      CHECK(e.node == 7);
      return e.text;
    }
  }

  image::Bytes build(const std::vector<Tensor>& inputs) const {
    image::Contents contents;
    image::Graph g;
    image::Node node = node_;
    for (const Tensor& t : inputs) {
      if (t.dtype == OPTIMA_UNDEFINED) {
        node.inputs.push_back(OPTIMA_NONE);
        continue;
      }
      image::Value v;
      v.name = "x" + std::to_string(g.values.size());
      v.dtype = t.dtype;
      node.inputs.push_back(static_cast<uint32_t>(g.values.size()));
      g.inputs.push_back(static_cast<uint32_t>(g.values.size()));
      g.values.push_back(v);
    }
    for (uint32_t k = 0; k < outputs_; ++k) {
      image::Value v;
      v.name = "y" + std::to_string(k);
      node.outputs.push_back(static_cast<uint32_t>(g.values.size()));
      g.outputs.push_back(static_cast<uint32_t>(g.values.size()));
      g.values.push_back(v);
    }
    g.nodes.push_back(node);
    contents.graphs.push_back(g);
    contents.opsets.emplace_back("", 21);
    return image::pack(contents);
  }

 private:
  template <class F>
  OneNode& attr(std::string name, int32_t type, F&& fill) {
    image::Attr a;
    a.name = std::move(name);
    a.type = type;
    fill(a);
    node_.attrs.push_back(a);
    return *this;
  }

  image::Node node_;
  uint32_t outputs_;
};

}  // namespace optima::test
