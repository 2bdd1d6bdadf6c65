// SPDX-License-Identifier: Apache-2.0
// reference: runs a node, a graph, a body. Knows the table, not the operators.
#include <algorithm>
#include <new>

#include "optima/plugin/reads.hpp"
#include "reference/ops/table.hpp"

namespace optima::reference {
namespace {

std::string label(const optima_graph& graph, const optima_node& node) {
  const std::string_view name = view(optima_string(graph.image, &node.name)), op = view(optima_string(graph.image, &node.op_type));
  return std::string(op) + " node '" + std::string(name) + "'";
}

std::string type_refusal(const char* side, uint32_t k, int32_t dtype, TypeSet set) {
  if (dtype >= 0 && dtype < 64 && (set >> dtype & 1)) return {};
  std::string wanted;
  for (int32_t d = 0; d < 64; ++d)
    if (set >> d & 1) wanted += (wanted.empty() ? "" : " ") + dtype_name(d);
  return std::string(side) + " " + std::to_string(k) + " is " + dtype_name(dtype) + ", must be one of: " + wanted;
}

std::string mixed_types(const Row& row, uint32_t k, int32_t dtype, int32_t& first) {
  if (!(row.sig.same >> std::min(k, 31u) & 1)) return {};
  if (first == OPTIMA_UNDEFINED) first = dtype;
  if (dtype == first) return {};
  return "input " + std::to_string(k) + " is " + dtype_name(dtype) + ", must be " + dtype_name(first) + " as the others";
}

/// The types of inputs as they are; -1 stands for an absent one.
std::string refuse_types(const Row& row, const std::vector<int32_t>& dtypes) {
  int32_t first = OPTIMA_UNDEFINED;
  for (uint32_t k = 0; k < dtypes.size(); ++k) {
    if (dtypes[k] < 0) continue;
    std::string why = type_refusal("input", k, dtypes[k], type_at(row.sig.in, k));
    if (why.empty()) why = mixed_types(row, k, dtypes[k], first);
    if (!why.empty()) return why;
  }
  return {};
}

std::string no_row(const optima_graph& graph, const optima_node& node) {
  const std::string_view domain = view(optima_string(graph.image, &node.domain)), op = view(optima_string(graph.image, &node.op_type));
  bool known = false;
  std::string versions;
  for (const Row& row : table())
    if (domain.empty() && row.sig.name == op) known = true, versions = std::to_string(row.sig.first) + ".." + std::to_string(row.sig.last);
  if (known) return "operator " + std::string(op) + " has version " + std::to_string(node.since_version) + ", must be " + versions;
  return "operator " + (domain.empty() ? "" : std::string(domain) + "::") + std::string(op) + " has no reference evaluator";
}

template <class F>  // f(body graph) -> refusal
std::string each_body(const optima_graph& graph, const optima_node& node, F&& f) {
  for (uint32_t k = 0; k < node.attrs.count; ++k) {
    const optima_attr* a = optima_get_attr(graph.image, node.attrs.first + k);
    if (a->type != OPTIMA_ATTR_GRAPH) continue;
    const optima_image_graph* body = optima_get_graph(graph.image, a->ref);
    for (uint32_t n = 0; n < body->nodes.count; ++n) {
      std::string why = f(*optima_get_node(graph.image, body->nodes.first + n));
      if (!why.empty()) return why;
    }
  }
  return {};
}

void check_input(const Tensor& t, uint32_t k) {
  const auto what = [&] { return "input " + std::to_string(k); };
  if (t.dtype == OPTIMA_UNDEFINED) return;
  if (t.dims.size() > 64) throw Error(OPTIMA_INVALID_ARGUMENT, what() + " has rank " + std::to_string(t.dims.size()) + ", must be 64 or less");
  const int64_t n = t.elements();
  if (!t.data && t.size) throw Error(OPTIMA_INVALID_ARGUMENT, what() + " has no data");
  const uint64_t wanted = t.dtype == OPTIMA_STRING ? std::max<uint64_t>(t.size, static_cast<uint64_t>(n) * 8) : bytes_of(t.dtype, n);
  if (t.size != wanted)
    throw Error(OPTIMA_INVALID_ARGUMENT, what() + " has " + std::to_string(t.size) + " bytes, must be " + std::to_string(wanted));
}

void check_inputs(const Row& row, const std::vector<Tensor>& inputs) {
  std::vector<int32_t> dtypes;
  dtypes.reserve(inputs.size());
  for (uint32_t k = 0; k < inputs.size(); ++k) {
    check_input(inputs[k], k);
    dtypes.push_back(inputs[k].dtype == OPTIMA_UNDEFINED ? -1 : inputs[k].dtype);
  }
  const std::string why = refuse_types(row, dtypes);
  if (!why.empty()) unsupported(why);
}

std::string declared_dims(const optima_graph& graph, const optima_value& v) {
  Dims dims;
  for (uint32_t d = 0; d < v.dims.count; ++d) dims.push_back(optima_get_dim(graph.image, v.dims.first + d)->value);
  return show(dims);
}

/// How a tensor differs from what the graph says about the value; empty when it does not.
std::string misfit(const optima_graph& graph, uint32_t value, const Tensor& t) {
  const optima_value* v = optima_get_value(graph.image, value);
  if (v->dtype != OPTIMA_UNDEFINED && v->dtype != t.dtype) return "is " + dtype_name(t.dtype) + ", the graph says " + dtype_name(v->dtype);
  bool fits = v->rank < 0 || v->rank == static_cast<int32_t>(t.dims.size());
  for (uint32_t d = 0; fits && d < v->dims.count; ++d) {
    const int64_t dim = optima_get_dim(graph.image, v->dims.first + d)->value;
    fits = dim < 0 || dim == t.dims[d];
  }
  return fits ? "" : "has shape " + show(t.dims) + ", the graph says " + declared_dims(graph, *v);
}

/// What the graph says about an output must be true: a backend sizes its buffers by it.
void check_output(const optima_graph& graph, const optima_node& node, uint32_t k, const Tensor& t) {
  if (t.dtype == OPTIMA_UNDEFINED) invalid("output " + std::to_string(k) + " is not made by this operator");
  const std::string why = misfit(graph, optima_output(graph.image, &node, k), t);
  if (!why.empty()) invalid("output " + std::to_string(k) + " " + why);
}

/// The values of one graph while it runs; a value nobody reads any more is dropped.
class Values {
 public:
  Values(const optima_graph& graph, const optima_image_graph& g) : graph_(graph), g_(g), now_(g.values.count), readers_(g.values.count, 0) {
    for (uint32_t n = 0; n < g.nodes.count; ++n) sdk::each_read(graph, *node(n), [&](uint32_t v) { ++readers_[at(v)]; });
    for (uint32_t k = 0; k < g.outputs.count; ++k) ++readers_[at(*optima_get_index(graph.image, g.outputs.first + k))];
  }

  const optima_node* node(uint32_t n) const { return optima_get_node(graph_.image, g_.nodes.first + n); }
  void set(uint32_t value, Tensor t) { now_[at(value)] = std::move(t); }

  Tensor get(uint32_t value) const {
    if (value == OPTIMA_NONE) return {};
    const optima_value* v = optima_get_value(graph_.image, value);
    return v->constant != OPTIMA_NONE ? constant(graph_, v->constant) : now_[at(value)];
  }

  void done(const optima_node& node) {
    const auto drop = [&](uint32_t v) { now_[at(v)] = {}; };
    sdk::each_read(graph_, node, [&](uint32_t v) { if (--readers_[at(v)] == 0) drop(v); });
    sdk::each_output(graph_, node, [&](uint32_t, uint32_t v) { if (readers_[at(v)] == 0) drop(v); });
  }

 private:
  /// Its position in now_ and readers_.
  size_t at(uint32_t value) const { return value - g_.values.first; }

  const optima_graph& graph_;
  const optima_image_graph& g_;
  std::vector<Tensor> now_;
  std::vector<uint32_t> readers_;
};

void step(const optima_graph& graph, Values& values, const optima_node& node, const Foreign& foreign, const Observer& observe) {
  std::vector<Tensor> inputs;
  for (uint32_t k = 0; k < node.inputs.count; ++k) inputs.push_back(values.get(optima_input(graph.image, &node, k)));
  const std::vector<Tensor> outputs = evaluate(graph, node, inputs, [&](uint32_t v) { return values.get(v); }, foreign);
  for (uint32_t k = 0; k < node.outputs.count; ++k) {
    const uint32_t v = optima_output(graph.image, &node, k);
    if (v == OPTIMA_NONE) continue;
    if (observe) observe(v, outputs[k]);
    values.set(v, outputs[k]);
  }
  values.done(node);
}

void check_outputs(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& outputs) {
  for (uint32_t k = 0; k < node.outputs.count; ++k)
    if (optima_output(graph.image, &node, k) != OPTIMA_NONE) check_output(graph, node, k, outputs[k]);
}

std::vector<Tensor> evaluate_foreign(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs, const Foreign& foreign) {
  for (uint32_t k = 0; k < inputs.size(); ++k) check_input(inputs[k], k);
  try {
    std::vector<Tensor> outputs = foreign(graph, node, inputs);
    if (outputs.size() != node.outputs.count)
      invalid("it has " + std::to_string(outputs.size()) + " outputs, the node has " + std::to_string(node.outputs.count));
    check_outputs(graph, node, outputs);
    return outputs;
  } catch (const Error& e) {
    throw ForeignError(e.code, label(graph, node) + ": " + e.text, node.id);
  }
}

}  // namespace

bool can_evaluate(const optima_graph& graph, const optima_node& node) {
  if (!find_row(graph.image, node)) return false;
  return each_body(graph, node, [&](const optima_node& n) { return std::string(can_evaluate(graph, n) ? "" : "no"); }).empty();
}

std::string why_not(const optima_graph& graph, const optima_node& node) {
  const Row* row = find_row(graph.image, node);
  if (!row) return no_row(graph, node);
  std::vector<int32_t> dtypes;
  for (uint32_t k = 0; k < node.inputs.count; ++k) {
    const uint32_t v = optima_input(graph.image, &node, k);
    dtypes.push_back(v == OPTIMA_NONE ? -1 : optima_get_value(graph.image, v)->dtype);
    if (v != OPTIMA_NONE && optima_get_value(graph.image, v)->kind != OPTIMA_KIND_TENSOR) return "input " + std::to_string(k) + " is not a tensor";
  }
  std::string why = refuse_types(*row, dtypes);
  for (uint32_t k = 0; k < node.outputs.count && why.empty(); ++k) {
    const uint32_t v = optima_output(graph.image, &node, k);
    if (v == OPTIMA_NONE) continue;
    const optima_value* value = optima_get_value(graph.image, v);
    why = value->kind != OPTIMA_KIND_TENSOR ? "output " + std::to_string(k) + " is not a tensor"
                                            : type_refusal("output", k, value->dtype, type_at(row->sig.out, k));
  }
  if (why.empty()) why = refuse_attributes(graph, node);
  if (!why.empty()) return why;
  return each_body(graph, node, [&](const optima_node& n) {
    const std::string inner = why_not(graph, n);
    return inner.empty() ? inner : "its body holds a " + label(graph, n) + ": " + inner;
  });
}

std::vector<Tensor> evaluate(const optima_graph& graph, const optima_node& node, const std::vector<Tensor>& inputs, const Lookup& outer,
                             const Foreign& foreign) {
  try {
    const Row* row = find_row(graph.image, node);
    if (!row && foreign && node.domain.size > 0) return evaluate_foreign(graph, node, inputs, foreign);
    if (!row) unsupported(no_row(graph, node));
    check_inputs(*row, inputs);
    Call call(graph, node, inputs, outer, foreign);
    row->run(call);
    std::vector<Tensor> outputs = call.take();
    check_outputs(graph, node, outputs);
    return outputs;
  } catch (const ForeignError&) {
    throw;  // it says the node, and is not this room's
  } catch (const Error& e) {
    if (e.node != OPTIMA_NONE) throw;  // a node of a body has said it
    throw Error(e.code, label(graph, node) + ": " + e.text, node.id);
  } catch (const std::bad_alloc&) {
    throw Error(OPTIMA_MEMORY, label(graph, node) + ": out of memory", node.id);
  } catch (const std::exception& e) {
    throw Error(OPTIMA_INTERNAL, label(graph, node) + ": " + e.what(), node.id);
  }
}

std::vector<Tensor> run_graph(const optima_graph& graph, uint32_t index, const std::vector<Tensor>& inputs, const Lookup& captured,
                              const Foreign& foreign, const Observer& observe) {
  const optima_image* image = graph.image;
  const optima_image_graph& g = *optima_get_graph(image, index);
  if (inputs.size() != g.inputs.count)
    throw Error(OPTIMA_INVALID_ARGUMENT, "a graph of " + std::to_string(g.inputs.count) + " inputs got " + std::to_string(inputs.size()));
  Values values(graph, g);
  for (uint32_t k = 0; k < g.inputs.count; ++k) values.set(*optima_get_index(image, g.inputs.first + k), inputs[k]);
  for (uint32_t k = 0; k < g.captures.count; ++k) {
    const optima_capture* c = optima_get_capture(image, g.captures.first + k);
    if (!captured) throw Error(OPTIMA_INVALID_ARGUMENT, "a body captures outer values and none were given");
    values.set(c->inner, captured(c->outer));
  }
  for (uint32_t n = 0; n < g.nodes.count; ++n) step(graph, values, *values.node(n), foreign, observe);
  std::vector<Tensor> outputs;
  for (uint32_t k = 0; k < g.outputs.count; ++k) outputs.push_back(values.get(*optima_get_index(image, g.outputs.first + k)));
  return outputs;
}

std::vector<Tensor> run(const optima_graph& graph, const std::vector<Tensor>& inputs, const Observer& observe, const Foreign& foreign) {
  const optima_image_graph& g = *optima_get_graph(graph.image, 0);
  for (uint32_t k = 0; k < g.inputs.count && k < inputs.size(); ++k) {
    check_input(inputs[k], k);
    const std::string why = misfit(graph, *optima_get_index(graph.image, g.inputs.first + k), inputs[k]);
    if (!why.empty()) throw Error(OPTIMA_INVALID_ARGUMENT, "input " + std::to_string(k) + " " + why);
  }
  return run_graph(graph, 0, inputs, {}, foreign, observe);
}

}  // namespace optima::reference
