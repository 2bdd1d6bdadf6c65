// SPDX-License-Identifier: Apache-2.0
// reference/call: attributes, inputs and outputs of the node being run.
#include "reference/call.hpp"

#include <cstring>

namespace optima::reference {

std::string Call::op() const { return std::string(view(optima_string(graph.image, &node.op_type))); }

const Tensor& Call::in(uint32_t k) const {
  if (const Tensor* t = maybe(k)) return *t;
  invalid("input " + std::to_string(k) + " is missing");
}

const Tensor* Call::maybe(uint32_t k) const {
  return k < inputs_.size() && inputs_[k].dtype != OPTIMA_UNDEFINED ? &inputs_[k] : nullptr;
}

void Call::out(uint32_t k, Tensor t) {
  if (k < outputs_.size() && wants(k)) outputs_[k] = std::move(t);
}

Dims Call::ints(uint32_t k) const {
  if (!known(k)) throw Wanted{k};
  return load<int64_t>(in(k));
}

std::vector<double> Call::numbers(uint32_t k) const {
  if (!known(k)) throw Wanted{k};
  return load<double>(in(k));
}

int64_t Call::scalar(uint32_t k, const char* what) const {
  if (!known(k)) throw Wanted{k};
  return scalar_int(in(k), what);
}

const optima_attr* Call::find(const char* name, int32_t type) const {
  const optima_attr* a = optima_find_attr(graph.image, &node, name);
  if (a && a->type != type)
    invalid(std::string("attribute ") + name + " has type " + std::to_string(a->type) + ", must be " + std::to_string(type));
  return a;
}

int64_t Call::integer(const char* name, int64_t otherwise) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_INT);
  return a ? a->i : otherwise;
}

double Call::real(const char* name, double otherwise) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_FLOAT);
  return a ? a->f : otherwise;
}

std::string Call::text(const char* name, const char* otherwise) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_STRING);
  return a ? std::string(view(optima_string(graph.image, &a->s))) : otherwise;
}

std::optional<Dims> Call::integers(const char* name) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_INTS);
  if (!a) return std::nullopt;
  Dims out;
  for (uint32_t k = 0; k < a->list.count; ++k) out.push_back(*optima_get_int(graph.image, a->list.first + k));
  return out;
}

std::optional<std::vector<double>> Call::reals(const char* name) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_FLOATS);
  if (!a) return std::nullopt;
  std::vector<double> out;
  for (uint32_t k = 0; k < a->list.count; ++k) out.push_back(*optima_get_float(graph.image, a->list.first + k));
  return out;
}

std::optional<std::vector<std::string>> Call::texts(const char* name) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_STRINGS);
  if (!a) return std::nullopt;
  std::vector<std::string> out;
  for (uint32_t k = 0; k < a->list.count; ++k)
    out.emplace_back(view(optima_string(graph.image, optima_get_text(graph.image, a->list.first + k))));
  return out;
}

std::optional<Tensor> Call::tensor(const char* name) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_TENSOR);
  if (!a) return std::nullopt;
  return constant(graph, a->ref);
}

uint32_t Call::body(const char* name) const {
  const optima_attr* a = find(name, OPTIMA_ATTR_GRAPH);
  if (!a) invalid(std::string("attribute ") + name + " is missing");
  return a->ref;
}

Tensor constant(const optima_graph& graph, uint32_t index) {
  const optima_constant* c = optima_get_constant(graph.image, index);
  if (c->blob >= graph.blob_count) invalid("constant " + std::to_string(index) + " has no blob");
  const optima_blob* blob = optima_get_blob(&graph, c->blob);
  if (!blob->data && blob->size) throw Error(OPTIMA_IO, "constant " + std::to_string(index) + " is not mapped");
  Tensor t;
  t.dtype = c->dtype;
  for (uint32_t k = 0; k < c->dims.count; ++k) t.dims.push_back(*optima_get_int(graph.image, c->dims.first + k));
  t.data = blob->data;
  t.size = blob->size;
  if (reinterpret_cast<uintptr_t>(t.data) % 16 == 0 || t.size == 0) return t;
  void* copy = nullptr;
  const Tensor owned = Tensor::make(OPTIMA_U8, {static_cast<int64_t>(t.size)}, &copy);
  std::memcpy(copy, t.data, t.size);
  t.keeper = owned.keeper;
  t.data = owned.data;
  return t;
}

}  // namespace optima::reference
