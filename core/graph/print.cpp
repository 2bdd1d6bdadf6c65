// SPDX-License-Identifier: Apache-2.0
// core/graph: a graph as text. Deterministic, for people and golden tests; nobody parses it.
#include <charconv>
#include <cstring>

#include "core/graph/graph.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr int64_t kShownElements = 8;  // constants up to this many elements show their values

std::string number(double value) {
  char buffer[32];
  auto end = static_cast<double>(static_cast<float>(value)) == value
                 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr
                 : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

template <class T, class F>
std::string listed(const std::vector<T>& items, F&& text) {
  std::string out = "[";
  for (const T& item : items) out += (out.size() > 1 ? "," : "") + text(item);
  return out + ']';
}

template <class T>
std::string element(const Blob& blob, int64_t k) {
  T value;
  std::memcpy(&value, blob.data + k * sizeof(T), sizeof(T));
  if constexpr (std::is_floating_point_v<T>) return number(static_cast<double>(value));
  else return std::to_string(value);
}

std::string string_element(const Blob& blob, int64_t k, int64_t count) {
  auto end = [&](int64_t i) {
    uint64_t value = 0;
    if (i >= 0) std::memcpy(&value, blob.data + i * 8, 8);
    return value;
  };
  const auto* text = reinterpret_cast<const char*>(blob.data) + count * 8;
  return quote(std::string_view(text + end(k - 1), end(k) - end(k - 1)));
}

// Narrow floats and packed types show the size of their bytes only.
bool shows_values(int32_t dtype) { return (dtype >= OPTIMA_F32 && dtype <= OPTIMA_BOOL) || (dtype >= OPTIMA_F64 && dtype <= OPTIMA_U64); }

std::string element(int32_t dtype, const Blob& blob, int64_t k, int64_t count) {
  switch (dtype) {
    case OPTIMA_F32: return element<float>(blob, k);
    case OPTIMA_F64: return element<double>(blob, k);
    case OPTIMA_I8: return element<int8_t>(blob, k);
    case OPTIMA_U8: case OPTIMA_BOOL: return element<uint8_t>(blob, k);
    case OPTIMA_I16: return element<int16_t>(blob, k);
    case OPTIMA_U16: return element<uint16_t>(blob, k);
    case OPTIMA_I32: return element<int32_t>(blob, k);
    case OPTIMA_U32: return element<uint32_t>(blob, k);
    case OPTIMA_I64: return element<int64_t>(blob, k);
    case OPTIMA_U64: return element<uint64_t>(blob, k);
    case OPTIMA_STRING: return string_element(blob, k, count);
    default: return "";
  }
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    out_ = cat("model ", quote(graph_.model_name), "\n");
    for (const auto& [domain, version] : graph_.contents.opsets)
      line(0, cat("opset ", domain.empty() ? "ai.onnx" : domain, " ", version));
    print_graph(0, 0, "graph");
    for (const Folded& f : graph_.folded) line(0, cat("folded ", f.name, ": ", f.op_type, " (", f.reason, ")"));
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  void print_graph(uint32_t index, int depth, const std::string& title) {
    const image::Graph& g = graph_.contents.graphs[index];
    line(depth, cat(title, " ", quote(g.name), " (", typed(g, g.inputs), ") -> (", typed(g, g.outputs), ")"));
    for (const image::Capture& c : g.captures) line(depth + 1, cat("capture ", g.values[c.inner].name));
    for (const image::Value& v : g.values)
      if (v.constant != OPTIMA_NONE) line(depth + 1, cat("const ", v.name, ": ", constant(v.constant)));
    for (const image::Node& n : g.nodes) print_node(g, n, depth + 1);
  }

  void print_node(const image::Graph& g, const image::Node& n, int depth) {
    const std::string op = n.domain.empty() ? n.op_type : n.domain + '.' + n.op_type;
    line(depth, cat(n.name, ": ", op, "-", n.since_version, "(", names(g, n.inputs), ")", attrs(n), n.flags & OPTIMA_NODE_ROUNDS_TO_BYTES ? " rounds to bytes" : "", " -> ", typed(g, n.outputs)));
    for (const image::Attr& a : n.attrs)
      if (holds_body(a))
        for (size_t k = 0; k < a.refs.size(); ++k)
          print_graph(a.refs[k], depth + 1, a.refs.size() > 1 ? cat(a.name, "[", k, "]") : a.name);
  }

  static std::string name(const image::Graph& g, uint32_t v) { return v == OPTIMA_NONE ? "_" : g.values[v].name; }
  static std::string names(const image::Graph& g, const std::vector<uint32_t>& values) {
    std::string out;
    for (uint32_t v : values) out += (out.empty() ? "" : ", ") + name(g, v);
    return out;
  }
  static std::string typed(const image::Graph& g, const std::vector<uint32_t>& values) {
    std::string out;
    for (uint32_t v : values) {
      out += (out.empty() ? "" : ", ") + name(g, v);
      if (v != OPTIMA_NONE) out += ": " + type_text(g.values[v]);
    }
    return out;
  }

  // {axis=1, keepdims=1*}: a star marks the schema's default.
  std::string attrs(const image::Node& n) const {
    std::string out;
    for (const image::Attr& a : n.attrs) {
      if (holds_body(a)) continue;
      out += (out.empty() ? " {" : ", ") + a.name + '=' + attr(a);
      if (a.flags & OPTIMA_ATTR_IS_DEFAULT) out += '*';
    }
    return out.empty() ? out : out + '}';
  }
  std::string attr(const image::Attr& a) const {
    switch (a.type) {
      case OPTIMA_ATTR_INT: return std::to_string(a.i);
      case OPTIMA_ATTR_FLOAT: return number(a.f);
      case OPTIMA_ATTR_STRING: case OPTIMA_ATTR_TYPE: return quote(a.s);
      case OPTIMA_ATTR_INTS: return listed(a.ints, [](int64_t i) { return std::to_string(i); });
      case OPTIMA_ATTR_FLOATS: return listed(a.floats, number);
      case OPTIMA_ATTR_STRINGS: case OPTIMA_ATTR_TYPES: return listed(a.strings, [](const std::string& s) { return quote(s); });
      case OPTIMA_ATTR_TENSOR: return constant(a.refs[0]);
      default: return listed(a.refs, [this](uint32_t c) { return constant(c); });
    }
  }

  std::string constant(uint32_t index) const {
    const image::Constant& c = graph_.contents.constants[index];
    const Blob& blob = graph_.blobs[c.blob];
    int64_t count = 1;
    for (int64_t d : c.dims) count *= d;
    std::string out = short_dtype_name(c.dtype) + listed(c.dims, [](int64_t d) { return std::to_string(d); });
    if (count > kShownElements || !shows_values(c.dtype)) return cat(out, " ", blob.size, " bytes");
    out += " {";
    for (int64_t k = 0; k < count; ++k) out += (k ? "," : "") + element(c.dtype, blob, k, count);
    return out + '}';
  }

  const Graph& graph_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

}  // namespace optima
