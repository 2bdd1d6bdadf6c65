// SPDX-License-Identifier: Apache-2.0
#include "lower.hpp"

#include <algorithm>
#include <limits>

namespace bmcompiler_plugin::top {
namespace {

constexpr int64_t kExact = 1 << 24;  // every integer up to here is a float

[[noreturn]] void unsupported(const std::string& text) { throw sdk::Error(OPTIMA_UNSUPPORTED, text); }

std::string shown(const sdk::Value& v) { return "'" + std::string(v.name()) + "'"; }

sdk::Constant constant_of(const sdk::Value& v) {
  if (!v || !v.is_constant()) unsupported((v ? "operand " + shown(v) : std::string("operand")) + " is computed, wanted a constant");
  return v.constant();
}

template <class To, class From>
std::vector<To> converted(const sdk::Constant& c) {
  const auto elements = c.as<From>();
  return std::vector<To>(elements.begin(), elements.begin() + c.elements());
}

template <class To>
std::vector<To> numbers(const sdk::Constant& c, const sdk::Value& v) {
  switch (c.dtype()) {
    case OPTIMA_F32: return converted<To, float>(c);
    case OPTIMA_F64: return converted<To, double>(c);
    case OPTIMA_I64: return converted<To, int64_t>(c);
    case OPTIMA_I32: return converted<To, int32_t>(c);
    case OPTIMA_I16: return converted<To, int16_t>(c);
    case OPTIMA_U16: return converted<To, uint16_t>(c);
    case OPTIMA_I8: return converted<To, int8_t>(c);
    case OPTIMA_U8:
    case OPTIMA_BOOL: return converted<To, uint8_t>(c);
    default: unsupported("constant " + shown(v) + " is of " + sdk::dtype_name(c.dtype()) + ", wanted f32 or integers");
  }
}

bool is_integer(int32_t dtype) { return dtype == OPTIMA_I16 || dtype == OPTIMA_U16 || dtype == OPTIMA_I32 || dtype == OPTIMA_I64; }

/// What no family has a form for: types, open and empty shapes.
std::string bad_value(const sdk::Value& v) {
  const bool codes = v.dtype() == OPTIMA_U8 || v.dtype() == OPTIMA_I8;  // at the border, and bits: tier 1 has them nowhere else
  if (v.dtype() != OPTIMA_F32 && v.dtype() != OPTIMA_BOOL && !is_integer(v.dtype()) && !codes)
    return "value " + shown(v) + " is of " + sdk::dtype_name(v.dtype()) + ", wanted f32, bool, i8, u8, i16, u16, i32 or i64";
  if (!v.is_static()) return "value " + shown(v) + " has a dim that is not known";
  if (v.elements() == 0) return "value " + shown(v) + " has no elements";
  if (v.rank() > 8) return "value " + shown(v) + " has rank " + std::to_string(v.rank()) + ", wanted 8 or less";
  return {};
}

std::string bad_values(const sdk::Node& node) {
  for (uint32_t k = 0; k < node.input_count(); ++k)
    if (const sdk::Value v = node.input(k); v && !v.is_constant())
      if (std::string why = bad_value(v); !why.empty()) return why;
  for (uint32_t k = 0; k < node.output_count(); ++k)
    if (const sdk::Value v = node.output(k); v)
      if (std::string why = bad_value(v); !why.empty()) return why;
  return {};
}

/// An output that is an argument in another shape stays zeros there, where the file has other operators.
bool shows_no_views(const Chip& chip) { return chip.name == "bm1688" || chip.name == "cv186x"; }

/// What a value is in another shape.
Value base_of(const Module& module, Value v) {
  for (auto o = module.operations().rbegin(); o != module.operations().rend(); ++o)
    if ((o->op == "Reshape" || o->op == "Squeeze" || o->op == "Unsqueeze" || o->op == "Flatten") && o->results[0].id == v.id) v = o->operands[0];
  return v;
}

/// Locations of what a module got since it had `before` operators.
void note_since(const Module& module, size_t before, std::set<std::string>& out) {
  for (size_t k = before; k < module.operations().size(); ++k) {
    const Operation& o = module.operations()[k];
    if (o.op != "Weight" && o.op != "Input" && !o.results.empty() && o.results[0].id != 0) out.insert(module.name(o.results[0]));
  }
}

std::string spoken(const sdk::Node& node) { return "\"" + std::string(node.name()) + "\" (" + std::string(node.op()) + "): "; }

/// cv183x's tools join a sum that they take for a bias with the product in front of it, also where both operands of the product are computed:
/// the answer is 0.1 of its size off. No node alone shows that, so compiling refuses the sum.
class Biases {
 public:
  explicit Biases(const Chip& chip) : looks_(chip.name == "cv183x") {}
  /// Nodes in the graph's order.
  void look(const sdk::Node& node) {
    if (!looks_) return;
    if (node.op() == "MatMul" && !node.input(0).is_constant() && !node.input(1).is_constant()) products_.insert(node.output(0).index());
    if (node.op() != "Add") return;
    for (const uint32_t k : {0u, 1u}) {
      const sdk::Value product = node.input(k), other = node.input(1 - k);
      if (products_.count(product.index()) && !other.is_constant() && other.elements() < product.elements())
        throw sdk::Error(OPTIMA_UNSUPPORTED, spoken(node) + "a smaller computed tensor behind a product of two computed tensors comes out wrong on cv183x (0.1 of its size)", node.id());
    }
  }

 private:
  bool looks_;
  std::set<uint32_t> products_;  // values
};

void write(Lowering& to, const sdk::Node& node) {
  if (const std::string why = cannot_lower(node, to.chip()); !why.empty()) throw sdk::Error(OPTIMA_UNSUPPORTED, spoken(node) + why, node.id());
  try {
    find_row(node.domain(), node.op())->write(to, node);
  } catch (const sdk::Error& e) {
    if (e.node != OPTIMA_NONE) throw;
    throw sdk::Error(e.code, spoken(node) + e.text, node.id());
  }
}

}  // namespace

std::vector<int64_t> dims_of(const sdk::Value& v) {
  std::vector<int64_t> dims = v.shape();
  if (dims.empty()) dims.push_back(1);
  return dims;
}

bool has_integers(const sdk::Node& node) {
  static constexpr std::string_view kCount[] = {"ArgMax", "ArgMin", "TopK"}, kRead[] = {"Cast", "CastLike", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"};
  static constexpr std::string_view kAlways[] = {"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "IsInf", "IsNaN"};  // whatever is read: the greatest f32 is an infinity of 16 bits
  const auto among = [&](const auto& names) { return std::find(std::begin(names), std::end(names), node.op()) != std::end(names); };
  if (among(kAlways)) return true;
  if (node.output_count() > 0 && node.output(0) && is_integer(node.output(0).dtype())) return !among(kCount);
  for (uint32_t k = 0; among(kRead) && k < node.input_count(); ++k)
    if (const sdk::Value v = node.input(k); v && !v.is_constant() && is_integer(v.dtype())) return true;
  return false;
}

std::string wants_floats(const sdk::Node& node) {
  for (uint32_t k = 0; k < node.input_count() + node.output_count(); ++k) {
    const sdk::Value v = k < node.input_count() ? node.input(k) : node.output(k - node.input_count());
    if (v && v.dtype() != OPTIMA_F32) return "value " + shown(v) + " is of " + sdk::dtype_name(v.dtype()) + ", wanted f32: these chips compute " + std::string(node.op()) + " with floats";
  }
  return {};
}

Lowering::Lowering(const sdk::Graph& graph, const Chip& chip) : chip_(chip), module_("subgraph") {
  for (uint32_t k = 0; k < graph.value_count(); ++k) module_.unique(std::string(graph.value(k).name()));  // so that no name in between takes one
  for (uint32_t k = 0; k < graph.size(); ++k)
    for (uint32_t i = 0; i < graph[k].input_count(); ++i)
      if (graph[k].input(i)) ++readers_[graph[k].input(i).index()];
  for (uint32_t k = 0; k < graph.output_count(); ++k) ++readers_[graph.output(k).index()];
}

Value Lowering::own(const sdk::Node& node, uint32_t k) {
  const sdk::Value v = node.input(k);
  const Value x = read(v);
  return readers_[v.index()] > 1 || views_.count(v.index()) != 0 ? copied(node, x, dims_of(v)) : x;
}

Value Lowering::copied(const sdk::Node& node, Value v, const std::vector<int64_t>& dims) {
  if (chip_.name != "bm1684") return v;
  const Attributes least = Attributes().f64("const_val", std::numeric_limits<float>::lowest()).flag("is_scalar", false);  // a copy as such is dropped
  return between(node, "copy", dims, "MaxConst", {v}, least);
}

Value Lowering::read(const sdk::Value& v) {
  if (!v) return module_.none();
  if (const auto known = values_.find(v.index()); known != values_.end()) return known->second;
  const sdk::Constant c = constant_of(v);
  if (is_integer(c.dtype()))
    for (const int64_t n : integers(v))
      if (n > kExact || n < -kExact) unsupported("constant " + shown(v) + " holds " + std::to_string(n) + ", wanted integers up to 16777216, that floats hold");
  std::vector<int64_t> dims = c.shape();
  if (dims.empty()) dims.push_back(1);
  const Value made = module_.weight(std::string(v.name()), dims, floats(v));
  left_.insert(made.id);
  return values_[v.index()] = made;
}

Value Lowering::reshaped(Value v, const std::vector<int64_t>& dims, const std::string& name) {
  return module_.op("Reshape", {v}, Attributes().i64s("shape", dims).i64("flatten_start_dim", -1), {module_.unique(name), dims});
}

std::vector<int64_t> Lowering::integers(const sdk::Value& v) { return numbers<int64_t>(constant_of(v), v); }
std::vector<float> Lowering::floats(const sdk::Value& v) { return numbers<float>(constant_of(v), v); }

Result Lowering::result(const sdk::Node& node, uint32_t k) {
  const sdk::Value v = node.output(k);
  if (!v) return {"", {}, "none"};
  return {std::string(v.name()), dims_of(v)};
}

std::string Lowering::inner(const sdk::Node& node, std::string_view what) {
  uint32_t k = 0;
  while (k < node.output_count() && !node.output(k)) ++k;
  const std::string name = k < node.output_count() ? std::string(node.output(k).name()) : std::string(node.name());
  return module_.unique(name + "/" + std::string(what));
}

void Lowering::set(const sdk::Node& node, uint32_t k, Value v) {
  const sdk::Value out = node.output(k);
  if (!out) return;
  values_[out.index()] = v;
  static constexpr std::string_view kViews[] = {"Cast", "CastLike", "Dropout", "Flatten", "Identity", "Pow", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"};
  if (std::find(std::begin(kViews), std::end(kViews), node.op()) != std::end(kViews)) views_.insert(out.index());
}

void Lowering::emit(const sdk::Node& node, std::string_view op, const std::vector<Value>& operands, const Attributes& attributes) {
  set(node, 0, module_.op(op, operands, attributes, result(node)));
}

Value Lowering::between(const sdk::Node& node, std::string_view what, const std::vector<int64_t>& dims, std::string_view op,
                        const std::vector<Value>& operands, const Attributes& attributes) {
  return module_.op(op, operands, attributes, Result{inner(node, what), dims});
}

Port Lowering::enter(const sdk::Value& v) {
  if (const std::string why = bad_value(v); !why.empty()) unsupported("input: " + why);
  const Value made = module_.input({std::string(v.name()), dims_of(v)});
  left_.insert(made.id);
  values_[v.index()] = made;
  return {std::string(v.name()), OPTIMA_F32};
}

bool Lowering::is_argument(Value v) const {
  return std::any_of(module_.operations().begin(), module_.operations().end(),
                     [&](const Operation& o) { return o.op == "Input" && o.results[0].id == v.id; });
}

Port Lowering::leave(const sdk::Value& v) {
  Value out = read(v);
  if (!left_.insert(out.id).second || (shows_no_views(chip_) && is_argument(base_of(module_, out)))) {  // an argument, a weight, or an output by another name: the tools want an operator's result of its own
    Value& last = copies_.try_emplace(out.id, out).first->second;  // each copies the one before: of two alike the tools keep one
    last = module_.op("Tile", {last}, Attributes().i64s("tile", std::vector<int64_t>(dims_of(v).size(), 1)),
                      {module_.unique(module_.name(out) + "/copy"), dims_of(v)});  // what else copies, the tools drop
    out = last;
  }
  module_.output(out);
  return {module_.name(out), OPTIMA_F32};
}

std::map<std::string, std::string> Lowering::renamed(const sdk::Graph& graph) const {
  std::map<std::string, std::string> out;
  for (const auto& [index, v] : values_)
    if (const std::string name(graph.value(index).name()); v.id != 0 && module_.name(v) != name) out.emplace(name, module_.name(v));
  return out;
}

const Row* find_row(std::string_view domain, std::string_view op) {
  if (!domain.empty()) return nullptr;
  for (const auto family : {convolutions, pools, pointwise, moves, reductions, scans, bits, losses, positions, indexing, products, attentions, norms, recurrent, resizing, border_codes})
    for (const Row& row : family())
      if (row.op == op) return &row;
  return nullptr;
}

std::string cannot_lower(const sdk::Node& node, const Chip& chip) {
  const Row* row = find_row(node.domain(), node.op());
  if (!row) return "these chips' tools have no form of this operator";
  if (std::string why = bad_values(node); !why.empty()) return why;
  if (row->refuses)
    if (std::string why = row->refuses(node, chip); !why.empty()) return why;
  return limit_of(node, chip);
}

Lowered lower(const sdk::Graph& graph, const Chip& chip) {
  Lowering to(graph, chip);
  std::vector<Port> inputs, outputs;
  for (uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(to.enter(graph.input(k)));
  std::set<std::string> integers;
  Biases biases(chip);
  for (uint32_t k = 0; k < graph.size(); ++k) {
    const size_t before = to.module().operations().size();
    biases.look(graph[k]);
    write(to, graph[k]);
    if (has_integers(graph[k])) note_since(to.module(), before, integers);
  }
  for (uint32_t k = 0; k < graph.output_count(); ++k) {
    const size_t before = to.module().operations().size();
    outputs.push_back(to.leave(graph.output(k)));
    if (is_integer(graph.output(k).dtype())) note_since(to.module(), before, integers);  // a copy of it
  }
  std::map<std::string, std::string> locations = to.renamed(graph);
  return {std::move(to.module()), std::move(inputs), std::move(outputs), std::move(locations), std::move(integers)};
}

}  // namespace bmcompiler_plugin::top
