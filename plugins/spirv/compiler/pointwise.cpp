// SPDX-License-Identifier: Apache-2.0
// The kernel of a group of pointwise nodes: four neighbours for each invocation where their number allows.
#include "lowering.hpp"

namespace spirv_plugin {
namespace {

constexpr int64_t kWidth = 4;

/// An operand as an invocation of several neighbours reads it.
struct Operand {
  Tensor tensor;
  enum { Once, Together, Each } how;  ///< one element for all of them; neighbours of its own; by an index of their own
};

/// Of neighbours in dims `to`, which begin at a multiple of their number.
Operand operand_for(const Tensor& t, const Dims& to) {
  const size_t ahead = to.size() - t.dims.size();
  const auto own = [&](size_t k) { return k < ahead ? 1 : t.dims[k - ahead]; };
  int64_t repeated = 1, together = 1;  // elements of the last dims that are all repeated, or all its own
  for (size_t k = to.size(); k > 0 && own(k - 1) == 1; --k) repeated *= to[k - 1];
  for (size_t k = to.size(); k > 0 && own(k - 1) == to[k - 1]; --k) together *= to[k - 1];
  return {t, together % kWidth == 0 ? Operand::Together : repeated % kWidth == 0 ? Operand::Once : Operand::Each};
}

std::string name_of_operand(size_t k) { return "p" + std::to_string(k); }
std::string four_of(Element e) { return e == Element::I32 ? "ivec4" : "vec4"; }

/// The kernel in the making: elements are value(OPERANDS), of operands by name_of_operand().
struct Pointwise {
  const Dims& dims;
  const std::vector<Operand>& operands;
  int64_t count;  ///< elements
  Shader s{64};
  Grid g = grid(count, s.local()[0]);

  /// Statements of an invocation of one element.
  void write_one(const Tensor& y) {
    s.line("int o=" + g.id + ";if(o>=" + text(count) + ")return;");
    std::string all;
    for (const Operand& one : operands) all += (all.empty() ? "" : ",") + s.load(s.in(one.tensor), broadcast_index("o", dims, one.tensor.dims));
    s.line(s.store(s.out(y), "o", "value(" + all + ")"));
  }

  /// Statements of an invocation of four.
  void write_four(const Tensor& y) {
    g = grid(count / kWidth, s.local()[0]);
    s.line("int id=" + g.id + ";if(id>=" + text(count / kWidth) + ")return;int o=id*" + text(kWidth) + ";");
    std::array<std::string, kWidth> all;
    for (size_t k = 0; k < operands.size(); ++k)
      for (size_t j = 0; const std::string& one : four(k)) all[j++] += (k ? "," : "") + one;
    std::string values;
    for (const std::string& one : all) values += (values.empty() ? "value(" : ",value(") + one + ")";
    s.line(s.store(s.out(y, kWidth), "id", four_of(y.element) + "(" + values + ")"));
  }

 private:
  /// Loads an operand for four neighbours: their expressions.
  std::array<std::string, kWidth> four(size_t k) {
    const auto& [t, how] = operands[k];
    const std::string name = name_of_operand(k), at = broadcast_index("o", dims, t.dims);
    if (how == Operand::Together) {
      s.line(four_of(t.element) + " " + name + "=" + s.load(s.in(t, kWidth), at == "o" ? "id" : "(" + at + ")/" + text(kWidth)) + ";");
      return {name + ".x", name + ".y", name + ".z", name + ".w"};
    }
    const int in = s.in(t);
    if (how == Operand::Once) {
      s.line(std::string(type_of(t.element)) + " " + name + "=" + s.load(in, at) + ";");
      return {name, name, name, name};
    }
    std::array<std::string, kWidth> out;
    for (int64_t j = 0; j < kWidth; ++j) out[static_cast<size_t>(j)] = s.load(in, broadcast_index("(o+" + text(j) + ")", dims, t.dims));
    return out;
  }
};

}  // namespace

void Lowering::pointwise(const Group& group) {
  std::vector<sdk::Node> nodes{group.root};
  nodes.insert(nodes.end(), group.tail.begin(), group.tail.end());
  const sdk::Value end = group.end().output(0);
  const Dims dims = end.shape();
  std::vector<Operand> operands;
  std::map<uint32_t, size_t> known;  // by value
  const std::string body = compute(nodes, {}, [&](uint32_t value, const Tensor& t) {
    const auto [at, is_new] = known.emplace(value, operands.size());
    if (is_new) operands.push_back(operand_for(t, dims));
    return name_of_operand(at->second);
  });
  const Tensor y = made(end);
  const int64_t n = y.elements();
  if (n == 0) return;
  std::string parameters;
  for (size_t k = 0; k < operands.size(); ++k) parameters += (k ? ",const " : "const ") + std::string(type_of(operands[k].tensor.element)) + " " + name_of_operand(k);
  Pointwise kernel{dims, operands, n};
  kernel.s.top(std::string(type_of(y.element)) + " value(" + parameters + "){\n" + body + "}");
  n % kWidth == 0 ? kernel.write_four(y) : kernel.write_one(y);
  const auto bound = static_cast<uint64_t>(kernel.s.tensors().size());
  step(group, std::move(kernel.s), kernel.g.groups, {static_cast<uint64_t>(n) * nodes.size(), static_cast<uint64_t>(n) * 4 * bound});
}

}  // namespace spirv_plugin
