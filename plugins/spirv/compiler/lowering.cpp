// SPDX-License-Identifier: Apache-2.0
#include "lowering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plan/half.hpp"

namespace spirv_plugin {
namespace {

template <class T>
std::vector<double> widened(const sdk::Constant& c) {
  const sdk::Elements<T> all = c.as<T>();
  return {all.begin(), all.end()};
}

int32_t saturated(double v) { return v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN : static_cast<int32_t>(v); }

Bytes bytes_of_floats(std::vector<float> values, Element element) {
  if (element == Element::F32) return Bytes(std::move(values));
  std::vector<uint16_t> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), half_bits);
  return Bytes(std::move(halves));
}

/// A constant as the device has it.
Bytes device_bytes(const sdk::Constant& c, Element element) {
  if (element == Element::F32 && c.dtype() == OPTIMA_F32) return Bytes(c.as<float>());
  const std::vector<double> all = reals_of(c);
  if (element != Element::I32) return bytes_of_floats({all.begin(), all.end()}, element);
  std::vector<int32_t> out(all.size());
  std::transform(all.begin(), all.end(), out.begin(), saturated);
  return Bytes(std::move(out));
}

bool is_whole(int32_t dtype) { return element_of(dtype) == Element::I32; }

constexpr int64_t kMostElements = int64_t{1} << 31;

/// What the rows cannot say of an operand: nothing when it lies on the device.
std::string wrong_operand(const sdk::Value& v, const std::string& what, bool is_read) {
  if (v.elements() >= kMostElements) return what + " has " + std::to_string(v.elements()) + " elements, wanted fewer than 2^31";
  if (!is_read || !v.is_constant() || (v.dtype() != OPTIMA_I64)) return "";
  for (const int64_t n : integers_of(v.constant()))
    if (n > INT32_MAX || n < INT32_MIN) return what + " has " + std::to_string(n) + ", wanted numbers of 32 bits: GPUs have no longer ones";
  return "";
}

}  // namespace

Element element_of(int32_t dtype) { return (kFloats | sdk::types(OPTIMA_F64)) >> dtype & 1 ? Element::F32 : Element::I32; }

std::vector<double> reals_of(const sdk::Constant& c) {
  switch (c.dtype()) {
    case OPTIMA_F32: return widened<float>(c);
    case OPTIMA_F16: {
      const sdk::Elements<uint16_t> all = c.as<uint16_t>();
      std::vector<double> out;
      for (const uint16_t h : all) out.push_back(half_value(h));
      return out;
    }
    case OPTIMA_BF16: {
      const sdk::Elements<uint16_t> all = c.as<uint16_t>();
      std::vector<double> out;
      for (const uint16_t b : all) out.push_back(brain_value(b));
      return out;
    }
    case OPTIMA_F64: return widened<double>(c);
    case OPTIMA_I64: return widened<int64_t>(c);
    case OPTIMA_I32: return widened<int32_t>(c);
    case OPTIMA_I16: return widened<int16_t>(c);
    case OPTIMA_U16: return widened<uint16_t>(c);
    case OPTIMA_I8: return widened<int8_t>(c);
    case OPTIMA_U8:
    case OPTIMA_BOOL: return widened<uint8_t>(c);
    default: throw sdk::Error(OPTIMA_UNSUPPORTED, "constant is " + sdk::dtype_name(c.dtype()) + ", which kernels do not read");
  }
}

std::vector<int64_t> integers_of(const sdk::Constant& c) {
  if (c.dtype() == OPTIMA_I64) {
    const sdk::Elements<int64_t> all = c.as<int64_t>();
    return {all.begin(), all.end()};
  }
  const std::vector<double> all = reals_of(c);
  return {all.begin(), all.end()};
}

const std::vector<Row>& all_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (const Family& family : families()) all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return rows;
}

const Row* row_of(const sdk::Node& node) {
  for (const Row& r : all_rows())
    if (r.op.name == node.op() && r.op.domain == node.domain() && sdk::judge(r.op, node).yes()) return &r;
  return nullptr;
}

sdk::Verdict verdict_of(const sdk::Node& node) {
  static const std::vector<sdk::Op> table = [] {
    std::vector<sdk::Op> all;
    for (const Row& r : all_rows()) all.push_back(r.op);
    return all;
  }();
  sdk::Verdict v = sdk::judge({table.data(), table.size()}, node);
  if (!v.yes()) return v;
  const auto no = [&](std::string why) { return sdk::Verdict::refused(node, OPTIMA_REASON_OTHER, std::move(why)); };
  if (node.raw().graph != 0) return no("node is in a body, which no kernel enters");
  const Row& row = *row_of(node);
  for (uint32_t k = 0; k < node.input_count(); ++k)
    if (node.input(k))
      if (std::string why = wrong_operand(node.input(k), "input " + std::to_string(k), !(row.op.const_inputs >> k & 1)); !why.empty()) return no(std::move(why));
  for (uint32_t k = 0; k < node.output_count(); ++k)
    if (node.output(k))
      if (std::string why = wrong_operand(node.output(k), "output " + std::to_string(k), false); !why.empty()) return no(std::move(why));
  if (row.refuse)
    if (std::string why = row.refuse(node); !why.empty()) return no(std::move(why));
  return v;
}

std::string scalar_literal(const sdk::Value& value) {
  if (!value.is_constant() || value.elements() != 1) return "";
  const double v = reals_of(value.constant())[0];
  return is_whole(value.dtype()) ? literal(static_cast<int64_t>(v)) : literal(v);
}

std::string wrapped(int32_t dtype, const std::string& value) {
  switch (dtype) {
    case OPTIMA_BOOL: return "((" + value + ")!=0?1:0)";
    case OPTIMA_U8: return "((" + value + ")&255)";
    case OPTIMA_U16: return "((" + value + ")&65535)";
    case OPTIMA_I8: return "bitfieldExtract(" + value + ",0,8)";
    case OPTIMA_I16: return "bitfieldExtract(" + value + ",0,16)";
    default: return value;
  }
}

Scaling scaling_of(const sdk::Node& node) {
  const std::vector<double> scale = reals_of(node.input(1).constant()), shift = reals_of(node.input(2).constant()), mean = reals_of(node.input(3).constant()),
                            variance = reals_of(node.input(4).constant());
  Scaling out;
  for (size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + node.real("epsilon", 1e-5));
    out.factor.push_back(factor), out.summand.push_back(shift[c] - mean[c] * factor);
  }
  return out;
}

Element Lowering::lying(int32_t dtype) const { return element_of(dtype) == Element::I32 ? Element::I32 : floats_; }

Tensor Lowering::read(const sdk::Value& value) {
  const auto known = tensors_.find(value.index());
  if (known != tensors_.end()) return known->second;
  if (const auto elements = known_.find(value.index()); elements != known_.end())
    return tensors_.emplace(value.index(), weight(std::string(value.name()), value.shape(), [all = elements->second] { return *all; })).first->second;
  const Element element = lying(value.dtype());
  const Tensor t = value.is_constant() ? draft_.add_weight(std::string(value.name()), element, value.shape(), [c = value.constant(), element] { return device_bytes(c, element); })
                                       : draft_.add(std::string(value.name()), element, value.shape());
  return tensors_.emplace(value.index(), t).first->second;
}

std::shared_ptr<const Floats> Lowering::known(const sdk::Value& value) const {
  if (value.is_constant()) return std::make_shared<const Floats>(value.constant());
  const auto elements = known_.find(value.index());
  return elements == known_.end() ? nullptr : std::make_shared<const Floats>(elements->second);
}

Tensor Lowering::made(const sdk::Value& value) {
  return tensors_.emplace(value.index(), draft_.add(std::string(value.name()), lying(value.dtype()), value.shape())).first->second;
}

void Lowering::made_as(const sdk::Value& value, const Tensor& tensor) {
  Tensor t = tensor;
  t.dims = value.shape();
  tensors_.emplace(value.index(), std::move(t));
}

void Lowering::same(const sdk::Value& out, const sdk::Value& in) {
  Tensor t = read(in);
  t.dims = out.shape();
  tensors_.emplace(out.index(), std::move(t));
}

Tensor Lowering::in_arena(const sdk::Value& value) {
  const Tensor from = read(value);
  if (draft_.tensor(from.id).place == Place::Arena) return from;
  constexpr uint32_t kLocal = 64;
  const Tensor to = draft_.add(std::string(value.name()), from.element, from.dims);
  if (to.elements() == 0) return to;
  Shader shader(kLocal);
  const int in = shader.in(from), out = shader.out(to);
  const Grid g = grid(to.elements(), kLocal);
  shader.line("int o=" + g.id + ";if(o>=" + std::to_string(to.elements()) + ")return;" + shader.store(out, "o", shader.load(in, "o")));
  std::vector<Way> ways;
  ways.push_back({std::move(shader), g.groups});
  draft_.add_step({std::string(value.name()), OPTIMA_NONE, std::move(ways), {0, static_cast<uint64_t>(to.elements()) * 8}});
  return to;
}

Tensor Lowering::scratch(const sdk::Node& node, Element element, std::vector<int64_t> dims) { return draft_.add(std::string(node.name()) + "/scratch", element, std::move(dims)); }

Tensor Lowering::weight(const std::string& name, std::vector<int64_t> dims, std::vector<float> values) {
  return weight(name, std::move(dims), [values = std::move(values)] { return values; });
}
Tensor Lowering::weight(const std::string& name, std::vector<int64_t> dims, std::vector<int32_t> values) {
  return draft_.add_weight(name, Element::I32, std::move(dims), [values = std::move(values)] { return Bytes(values); });
}
Tensor Lowering::weight(const std::string& name, std::vector<int64_t> dims, std::function<std::vector<float>()> make) {
  return draft_.add_weight(name, floats_, std::move(dims), [make = std::move(make), floats = floats_] { return bytes_of_floats(make(), floats); });
}

std::string Lowering::compute(const std::vector<sdk::Node>& nodes, std::map<uint32_t, std::string> names, const Loaded& loaded) {
  std::string body;
  const std::function<std::string(const sdk::Value&)> operand = [&](const sdk::Value& value) -> std::string {
    if (!value) return "";
    if (const auto own = names.find(value.index()); own != names.end()) return own->second;
    if (std::string text = scalar_literal(value); !text.empty()) return text;
    if (const auto by = decoders_.find(value.index()); by != decoders_.end()) {
      const sdk::Node& node = by->second;
      return row_of(node)->expression(node, {operand(node.input(0)), operand(node.input(1)), operand(node.input(2))});
    }
    return loaded(value.index(), read(value));
  };
  for (const sdk::Node& node : nodes) {
    std::vector<std::string> in;
    const uint32_t read = row_of(node)->operands ? row_of(node)->operands : node.input_count();
    for (uint32_t k = 0; k < read; ++k) in.push_back(operand(node.input(k)));
    const sdk::Value made = node.output(0);
    const std::string name = "t" + std::to_string(names.size());
    body += std::string(type_of(element_of(made.dtype()))) + " " + name + "=" + row_of(node)->expression(node, in) + ";\n";
    names[made.index()] = name;
  }
  return body + "return " + names[nodes.back().output(0).index()] + ";";
}

Lowering::Tail Lowering::tail(Shader& shader, const Group& group) {
  if (group.tail.empty()) return [](const std::string& value, const std::string&) { return value; };
  const sdk::Value begin = group.before_tail().output(0), end = group.end().output(0);
  std::map<uint32_t, int> bound;
  const std::string body = compute(group.tail, {{begin.index(), "v"}}, [&](uint32_t value, const Tensor& t) {
    const auto [at, is_new] = bound.emplace(value, 0);
    if (is_new) at->second = shader.in(t);
    return shader.load(at->second, broadcast_index("o", begin.shape(), t.dims));
  });
  shader.top(std::string(type_of(element_of(end.dtype()))) + " tail(const " + type_of(element_of(begin.dtype())) + " v,const int o){\n" + body + "}");
  return [](const std::string& value, const std::string& index) { return "tail(" + value + "," + index + ")"; };
}

void Lowering::step(const Group& group, std::vector<Way> ways, Work work) {
  draft_.add_step({std::string(group.end().name()), group.root.id(), std::move(ways), work});
}

void Lowering::step(const Group& group, Shader shader, std::array<uint32_t, 3> groups, Work work) {
  std::vector<Way> ways;
  ways.push_back({std::move(shader), groups});
  step(group, std::move(ways), work);
}

}  // namespace spirv_plugin
