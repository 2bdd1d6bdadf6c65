// SPDX-License-Identifier: Apache-2.0
// optima/plugin/graph.hpp: read-only views over a verified graph image. Two or three words each, valid for the call.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <type_traits>

#include "optima/image/member.hpp"
#include "optima/plugin/error.hpp"

namespace optima::sdk {
inline namespace v0_1 {

class Node;
class Graph;

/// Copies a blob's bytes to `to` (b.size bytes), through its descriptor when it is not mapped. IO when neither works.
inline void read_blob(const optima_blob& b, void* to) {
  if (b.data || b.size == 0) {
    if (b.size) std::memcpy(to, b.data, b.size);
    return;
  }
  if (b.fd < 0) throw Error(OPTIMA_IO, "blob has neither data nor a file");
  for (uint64_t done = 0; done < b.size;) {
    const ssize_t n = ::pread(b.fd, static_cast<char*>(to) + done, b.size - done, static_cast<off_t>(b.file_offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(OPTIMA_IO, n < 0 ? std::string("blob cannot be read: ") + std::strerror(errno) : "blob's file is too short");
    done += static_cast<uint64_t>(n);
  }
}

/// The elements of a blob, copied only when they are not aligned for T or not mapped. Lives as long as the blob.
template <class T>
class Elements {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Elements(const optima_blob& b) : data_(static_cast<const T*>(b.data)), size_(b.size / sizeof(T)) {
    if (b.data && reinterpret_cast<uintptr_t>(b.data) % alignof(T) == 0) return;
    copy_ = std::make_unique<T[]>(b.size / sizeof(T) + 1);
    read_blob(b, copy_.get());
    data_ = copy_.get();
  }
  const T& operator[](size_t i) const { return data_[i]; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool copied() const { return copy_ != nullptr; }

 private:
  const T* data_;
  size_t size_;
  std::unique_ptr<T[]> copy_;
};

/// A constant of the graph: a type, a shape, and bytes beside the image. False when absent.
class Constant {
 public:
  Constant() = default;
  Constant(const optima_graph* graph, uint32_t index) : graph_(graph), raw_(optima_get_constant(graph->image, index)) {}
  explicit operator bool() const { return raw_ != nullptr; }
  const optima_constant& raw() const { return *raw_; }
  /// A member of raw() that came after 0.1, as member(&optima_constant::x); zero where the host is older than it.
  template <class M>
  M member(M optima_constant::*which) const { return image::member(graph_->image->constants, raw_, which); }
  int32_t dtype() const { return raw_->dtype; }
  int32_t rank() const { return raw_->rank; }
  int64_t dim(uint32_t k) const { return *optima_get_int(graph_->image, raw_->dims.first + k); }
  std::vector<int64_t> shape() const {
    std::vector<int64_t> s;
    for (uint32_t k = 0; k < raw_->dims.count; ++k) s.push_back(dim(k));
    return s;
  }
  /// The verifier bounds the product.
  int64_t elements() const {
    int64_t n = 1;
    for (uint32_t k = 0; k < raw_->dims.count; ++k) n *= dim(k);
    return n;
  }
  /// For Sink::use_weight.
  uint32_t blob_index() const { return raw_->blob; }
  const optima_blob& blob() const { return *optima_get_blob(graph_, raw_->blob); }
  /// The elements as T, which must be as wide as dtype() (INVALID_ARGUMENT otherwise). Not for packed types and strings.
  template <class T>
  Elements<T> as() const {
    if (optima_dtype_bits(dtype()) != sizeof(T) * 8)
      throw Error(OPTIMA_INVALID_ARGUMENT, "constant of dtype " + std::to_string(dtype()) + " read as elements of " + std::to_string(sizeof(T)) + " bytes");
    return Elements<T>(blob());
  }

 private:
  const optima_graph* graph_ = nullptr;
  const optima_constant* raw_ = nullptr;
};

/// A value of one graph. False when absent (an optional operand that was left out).
class Value {
 public:
  Value() = default;
  Value(const optima_graph* graph, uint32_t index)
      : graph_(graph), raw_(index == OPTIMA_NONE ? nullptr : optima_get_value(graph->image, index)), index_(index) {}
  explicit operator bool() const { return raw_ != nullptr; }
  const optima_value& raw() const { return *raw_; }
  /// A member of raw() that came after 0.1, as member(&optima_value::x); zero where the host is older than it.
  template <class M>
  M member(M optima_value::*which) const { return image::member(graph_->image->values, raw_, which); }
  /// Number in the image; calibration asks by it.
  uint32_t index() const { return index_; }
  std::string_view name() const { return view(optima_string(graph_->image, &raw_->name)); }
  uint32_t kind() const { return raw_->kind; }
  int32_t dtype() const { return raw_->dtype; }
  int32_t rank() const { return raw_->rank; }  ///< -1 = unranked
  bool ranked() const { return raw_->rank >= 0; }
  int64_t dim(uint32_t k) const { return raw_dim(k).value; }  ///< -1 = not known
  std::string_view symbol(uint32_t k) const { return view(optima_string(graph_->image, &raw_dim(k).symbol)); }
  bool is_static() const {
    for (uint32_t k = 0; k < raw_->dims.count; ++k)
      if (dim(k) < 0) return false;
    return ranked();
  }
  /// One entry per dim, -1 where not known; empty for scalars and for unranked values.
  std::vector<int64_t> shape() const {
    std::vector<int64_t> s;
    for (uint32_t k = 0; k < raw_->dims.count; ++k) s.push_back(dim(k));
    return s;
  }
  /// -1 when the shape is not static.
  int64_t elements() const {
    if (!is_static()) return -1;
    int64_t n = 1;
    for (uint32_t k = 0; k < raw_->dims.count; ++k) n *= dim(k);
    return n;
  }
  /// Bytes when dense; 0 when the shape is not static or the type has no fixed width.
  uint64_t bytes() const { return is_static() ? (static_cast<uint64_t>(elements()) * optima_dtype_bits(dtype()) + 7) / 8 : 0; }
  bool is_constant() const { return raw_->constant != OPTIMA_NONE; }
  Constant constant() const { return is_constant() ? Constant(graph_, raw_->constant) : Constant(); }
  /// The node that makes it; false for graph inputs, captures and constants.
  Node producer() const;

 private:
  const optima_dim& raw_dim(uint32_t k) const { return *optima_get_dim(graph_->image, raw_->dims.first + k); }
  const optima_graph* graph_ = nullptr;
  const optima_value* raw_ = nullptr;
  uint32_t index_ = OPTIMA_NONE;
};

/// One attribute. False when the node has none of that name and type.
class Attr {
 public:
  Attr() = default;
  Attr(const optima_graph* graph, const optima_attr* raw) : graph_(graph), raw_(raw) {}
  explicit operator bool() const { return raw_ != nullptr; }
  const optima_attr& raw() const { return *raw_; }
  /// A member of raw() that came after 0.1, as member(&optima_attr::x); zero where the host is older than it.
  template <class M>
  M member(M optima_attr::*which) const { return image::member(graph_->image->attrs, raw_, which); }
  std::string_view name() const { return view(optima_string(graph_->image, &raw_->name)); }
  int32_t type() const { return raw_->type; }
  /// The schema's default, not written in the model.
  bool is_default() const { return raw_->flags & OPTIMA_ATTR_IS_DEFAULT; }
  int64_t integer() const { return raw_->i; }
  double real() const { return raw_->f; }
  std::string_view string() const { return view(optima_string(graph_->image, &raw_->s)); }
  Constant tensor() const { return Constant(graph_, raw_->ref); }
  Graph body() const;
  /// Entries of a list attribute.
  uint32_t size() const { return raw_->list.count; }
  int64_t integer(uint32_t k) const { return *optima_get_int(graph_->image, raw_->list.first + k); }
  double real(uint32_t k) const { return *optima_get_float(graph_->image, raw_->list.first + k); }
  std::string_view string(uint32_t k) const {
    return view(optima_string(graph_->image, optima_get_text(graph_->image, raw_->list.first + k)));
  }
  Constant tensor(uint32_t k) const { return Constant(graph_, ref(k)); }
  Graph body(uint32_t k) const;

 private:
  uint32_t ref(uint32_t k) const { return *optima_get_index(graph_->image, raw_->list.first + k); }
  const optima_graph* graph_ = nullptr;
  const optima_attr* raw_ = nullptr;
};

/// A node. False when absent.
class Node {
 public:
  Node() = default;
  Node(const optima_graph* graph, const optima_node* raw) : graph_(graph), raw_(raw) {}
  explicit operator bool() const { return raw_ != nullptr; }
  const optima_node& raw() const { return *raw_; }
  /// A member of raw() that came after 0.1, as member(&optima_node::x); zero where the host is older than it.
  template <class M>
  M member(M optima_node::*which) const { return image::member(graph_->image->nodes, raw_, which); }
  const optima_graph* graph() const { return graph_; }
  uint32_t id() const { return raw_->id; }
  std::string_view name() const { return view(optima_string(graph_->image, &raw_->name)); }
  std::string_view op() const { return view(optima_string(graph_->image, &raw_->op_type)); }
  std::string_view domain() const { return view(optima_string(graph_->image, &raw_->domain)); }  ///< "" = ai.onnx
  int32_t since_version() const { return raw_->since_version; }

  /// The model allows input 0 of this product to be rounded to 8 bits, in blocks as input 1 has them.
  bool rounds_to_bytes() const { return raw_->flags & OPTIMA_NODE_ROUNDS_TO_BYTES; }

  uint32_t input_count() const { return raw_->inputs.count; }
  uint32_t output_count() const { return raw_->outputs.count; }
  /// Absent operands and those past the end are false.
  Value input(uint32_t k) const { return Value(graph_, optima_input(graph_->image, raw_, k)); }
  Value output(uint32_t k) const { return Value(graph_, optima_output(graph_->image, raw_, k)); }

  uint32_t attr_count() const { return raw_->attrs.count; }
  Attr attr(uint32_t k) const { return Attr(graph_, optima_get_attr(graph_->image, raw_->attrs.first + k)); }
  /// By name and OPTIMA_ATTR_* type.
  Attr attr(const char* name, int32_t type) const {
    const optima_attr* a = optima_find_attr(graph_->image, raw_, name);
    return a && a->type == type ? Attr(graph_, a) : Attr();
  }
  bool has(const char* name) const { return optima_find_attr(graph_->image, raw_, name) != nullptr; }
  int64_t integer(const char* name, int64_t otherwise) const {
    const Attr a = attr(name, OPTIMA_ATTR_INT);
    return a ? a.integer() : otherwise;
  }
  double real(const char* name, double otherwise) const {
    const Attr a = attr(name, OPTIMA_ATTR_FLOAT);
    return a ? a.real() : otherwise;
  }
  std::string_view string(const char* name, std::string_view otherwise) const {
    const Attr a = attr(name, OPTIMA_ATTR_STRING);
    return a ? a.string() : otherwise;
  }
  std::vector<int64_t> integers(const char* name, std::vector<int64_t> otherwise = {}) const {
    return all<int64_t>(attr(name, OPTIMA_ATTR_INTS), std::move(otherwise), [](const Attr& a, uint32_t k) { return a.integer(k); });
  }
  std::vector<double> reals(const char* name, std::vector<double> otherwise = {}) const {
    return all<double>(attr(name, OPTIMA_ATTR_FLOATS), std::move(otherwise), [](const Attr& a, uint32_t k) { return a.real(k); });
  }
  std::vector<std::string_view> strings(const char* name) const {
    return all<std::string_view>(attr(name, OPTIMA_ATTR_STRINGS), {}, [](const Attr& a, uint32_t k) { return a.string(k); });
  }
  /// False when there is none.
  Constant tensor(const char* name) const {
    const Attr a = attr(name, OPTIMA_ATTR_TENSOR);
    return a ? a.tensor() : Constant();
  }
  std::vector<Constant> tensors(const char* name) const {
    return all<Constant>(attr(name, OPTIMA_ATTR_TENSORS), {}, [](const Attr& a, uint32_t k) { return a.tensor(k); });
  }
  /// The graph in attribute `name`; INVALID_GRAPH when there is none.
  Graph body(const char* name) const;

 private:
  template <class T, class F>
  static std::vector<T> all(const Attr& a, std::vector<T> otherwise, F one) {
    if (!a) return otherwise;
    std::vector<T> out;
    for (uint32_t k = 0; k < a.size(); ++k) out.push_back(one(a, k));
    return out;
  }
  const optima_graph* graph_ = nullptr;
  const optima_node* raw_ = nullptr;
};

/// Graph 0 of the image, or a body. Nodes stand in an order in which every value is produced before it is used.
class Graph {
 public:
  explicit Graph(const optima_graph* raw, uint32_t index = 0) : raw_(raw), graph_(optima_get_graph(raw->image, index)) {}
  const optima_graph* raw() const { return raw_; }
  const optima_image* image() const { return raw_->image; }
  const optima_image_graph& entry() const { return *graph_; }
  /// A member of entry() that came after 0.1, as member(&optima_image_graph::x); zero where the host is older than it.
  template <class M>
  M member(M optima_image_graph::*which) const { return image::member(image()->graphs, graph_, which); }
  std::string_view name() const { return view(optima_string(image(), &graph_->name)); }

  uint32_t size() const { return graph_->nodes.count; }
  Node operator[](uint32_t k) const { return Node(raw_, optima_get_node(image(), graph_->nodes.first + k)); }
  uint32_t value_count() const { return graph_->values.count; }
  Value value(uint32_t k) const { return Value(raw_, graph_->values.first + k); }
  uint32_t input_count() const { return graph_->inputs.count; }
  Value input(uint32_t k) const { return Value(raw_, *optima_get_index(image(), graph_->inputs.first + k)); }
  uint32_t output_count() const { return graph_->outputs.count; }
  Value output(uint32_t k) const { return Value(raw_, *optima_get_index(image(), graph_->outputs.first + k)); }

  /// What a body reads from the graph its node is in.
  uint32_t capture_count() const { return graph_->captures.count; }
  Value captured(uint32_t k) const { return Value(raw_, capture(k).outer); }  ///< value of the outer graph
  Value capture_of(uint32_t k) const { return Value(raw_, capture(k).inner); }  ///< the same value inside
  /// The node that holds this body; false for graph 0.
  Node owner() const {
    return graph_->parent_node == OPTIMA_NONE ? Node() : Node(raw_, optima_get_node(image(), graph_->parent_node));
  }

  uint32_t opset_count() const { return image()->opsets.count; }
  /// 0 when the model does not import the domain.
  int64_t opset(std::string_view domain) const {
    for (uint32_t k = 0; k < image()->opsets.count; ++k)
      if (view(optima_string(image(), &optima_get_opset(image(), k)->domain)) == domain) return optima_get_opset(image(), k)->version;
    return 0;
  }

 private:
  const optima_capture& capture(uint32_t k) const { return *optima_get_capture(image(), graph_->captures.first + k); }
  const optima_graph* raw_;
  const optima_image_graph* graph_;
};

inline Node Value::producer() const {
  return raw_->producer == OPTIMA_NONE ? Node() : Node(graph_, optima_get_node(graph_->image, raw_->producer));
}
inline Graph Attr::body() const { return Graph(graph_, raw_->ref); }
inline Graph Attr::body(uint32_t k) const { return Graph(graph_, ref(k)); }
inline Graph Node::body(const char* name) const {
  const Attr a = attr(name, OPTIMA_ATTR_GRAPH);
  if (!a) throw Error(OPTIMA_INVALID_GRAPH, "attribute '" + std::string(name) + "' is missing, wanted a graph", id());
  return a.body();
}

}  // namespace v0_1
}  // namespace optima::sdk
