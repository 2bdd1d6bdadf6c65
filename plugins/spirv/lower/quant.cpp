// SPDX-License-Identifier: Apache-2.0
// Codes: floats to whole numbers and back by scale and zero point.
#include "codes.hpp"
#include "lines.hpp"

namespace spirv_plugin {
namespace of_quant {

using In = std::vector<std::string>;

constexpr sdk::Types kCodes = sdk::types(OPTIMA_I8, OPTIMA_U8, OPTIMA_I16, OPTIMA_U16);

Work work_of(int64_t elements, uint64_t flops) { return {static_cast<uint64_t>(elements) * flops, static_cast<uint64_t>(elements) * 8}; }

/// Without its numerator as a float, which for whole numbers it is not.
std::string ratio_of(const sdk::Node& node, const std::string& x, const std::string& scale) {
  return (element_of(node.input(0).dtype()) == Element::I32 ? "float(" + x + ")" : x) + "/" + scale;
}

std::string quantize(const sdk::Node& node, const In& in) {
  return code_of(node.output(0).dtype(), ratio_of(node, in[0], in[1]), in.size() > 2 ? in[2] : "");
}
std::string dequantize(const sdk::Node& node, const In& in) {
  const std::string x = in.size() > 2 && !in[2].empty() ? "(" + in[0] + "-" + in[2] + ")" : in[0];
  return "(" + ((element_of(node.input(0).dtype()) == Element::I32 ? "float(" + x + ")" : x) + "*" + in[1]) + ")";
}

/// The index of the scale of element `o`: one for all, by channel of the axis, or by block of it.
std::string scale_index(const sdk::Node& node) {
  const Dims x = node.input(0).shape(), scale = node.input(1).shape();
  const int64_t block = node.integer("block_size", 0);
  if (block == 0 && elements_of(scale) == 1) return "0";
  const Dims behind = strides_of(x), step = strides_of(scale);
  int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(x.size());
  const auto at = static_cast<size_t>(axis);
  if (block == 0) return "o/" + text(behind[at]) + "%" + text(x[at]);
  std::string out;
  for (size_t k = 0; k < x.size(); ++k)
    out += (k ? "+" : "") + std::string("o/") + text(behind[k]) + "%" + text(x[k]) + (k == at ? "/" + text(block) : "") + "*" + text(step[k]);
  return out;
}

/// Where all is constant, the codes' values: computed here once rather than in every run.
bool known_values(Lowering& to, const sdk::Node& node) {
  for (uint32_t k = 0; k < 3; ++k)
    if (node.input(k) && !node.input(k).is_constant()) return false;
  const std::vector<double> x = reals_of(node.input(0).constant()), scale = reals_of(node.input(1).constant());
  const std::vector<double> zero = node.input(2) ? reals_of(node.input(2).constant()) : std::vector<double>(scale.size(), 0.0);
  const Dims dims = node.input(0).shape(), own = node.input(1).shape(), behind = strides_of(dims), step = strides_of(own);
  const int64_t block = node.integer("block_size", 0);
  int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t at = 0;
    if (block != 0)
      for (size_t k = 0; k < dims.size(); ++k) {
        const int64_t c = static_cast<int64_t>(i) / behind[k] % dims[k];
        at += (static_cast<int64_t>(k) == axis ? c / block : c) * step[k];
      }
    else if (scale.size() > 1) at = static_cast<int64_t>(i) / behind[static_cast<size_t>(axis)] % dims[static_cast<size_t>(axis)];
    const auto s = static_cast<size_t>(at);
    out[i] = static_cast<float>(x[i] - zero[s]) * static_cast<float>(scale[s]);
  }
  to.knows(node.output(0), std::move(out));
  return true;
}

void lower_pointwise(Lowering& to, const Group& group) {
  if (!group.tail.empty() || !known_values(to, group.root)) to.pointwise(group);
}

void lower_scaled(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const bool down = node.op() == "QuantizeLinear";
  if (!down && known_values(to, node)) return;
  Shader s(kLocal);
  const bool has_zero = node.input(2) && !all_zero(node.input(2));
  const int x = s.in(to.read(node.input(0))), scale = s.in(to.read(node.input(1))), zero = has_zero ? s.in(to.read(node.input(2))) : -1;
  const Tensor y = to.made(node.output(0));
  const int64_t n = y.elements();
  if (n == 0) return;
  const int out = s.out(y);
  const Grid g = grid(n, kLocal);
  s.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;int c=" + scale_index(node) + ";");
  const In in{s.load(x, "o"), s.load(scale, "c"), has_zero ? s.load(zero, "c") : ""};
  s.line(s.store(out, "o", down ? quantize(node, in) : dequantize(node, in)));
  to.step(group, std::move(s), g.groups, work_of(n, 4));
}

std::string no_scale(const sdk::Node& node) {
  const Dims x = node.input(0).shape(), scale = node.input(1).shape();
  if (node.input(2) && node.input(2).elements() != node.input(1).elements()) return "zero points and scales of two shapes";
  const int64_t block = node.integer("block_size", 0), rank = static_cast<int64_t>(x.size());
  if (block == 0 && elements_of(scale) == 1) return "";
  const int64_t given = node.integer("axis", 1), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return "axis " + text(given) + " of " + text(rank) + " dims";
  if (block == 0) return elements_of(scale) == x[static_cast<size_t>(axis)] ? "" : text(elements_of(scale)) + " scales, wanted " + text(x[static_cast<size_t>(axis)]);
  return block < 0 || scale.size() != x.size() ? "scale of rank " + text(static_cast<int64_t>(scale.size())) + " for blocks, wanted " + text(rank) : "";
}

/// Scale and zero point of all of a tensor, by one workgroup, then its codes.
void lower_dynamic(Lowering& to, const Group& group) {
  constexpr uint32_t kLocal = 64;
  const sdk::Node& node = group.root;
  const Tensor x = to.read(node.input(0)), y = node.output(0) ? to.made(node.output(0)) : to.scratch(node, Element::I32, x.dims);
  const Tensor scale = node.output(1) ? to.made(node.output(1)) : to.scratch(node, Element::F32, {}), zero = node.output(2) ? to.made(node.output(2)) : to.scratch(node, Element::I32, {});
  const int64_t n = x.elements();
  const std::string code = code_of(OPTIMA_U8, "v/d", "z");
  const Fold least{"lo", "float", "0.0", "x", "min(a,b)"}, largest{"hi", "float", "0.0", "x", "max(a,b)"};
  const std::string step = "((hi-lo)/255.0)";
  LineProgram range{lines_along({n}, 0), x, {}, {least, largest}};
  range.values = {{step, scale}, {"(" + step + "==0.0?0:" + code_of(OPTIMA_U8, "-lo/" + step, "") + ")", zero}};
  lower_along(to, group, range, work_of(n, 2));
  if (n == 0) return;
  Shader codes(kLocal);
  const int in = codes.in(x), by = codes.in(scale), offset = codes.in(zero), out = codes.out(y);
  const Grid g = grid(n, kLocal);
  codes.line("int o=" + g.id + ";if(o>=" + text(n) + ")return;float v=" + codes.load(in, "o") + ",d=" + codes.load(by, "0") + ";int z=" + codes.load(offset, "0") + ";");
  codes.line(codes.store(out, "o", "d==0.0?z:" + code));
  to.step(group, std::move(codes), g.groups, work_of(n, 4));
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&) = nullptr) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse;
  return r;
}
/// One scale of rank 0 for all: pointwise, and part of the kernel before or behind.
constexpr Row by_tensor(sdk::Op o, std::string (*expression)(const sdk::Node&, const In&), void (*lower)(Lowering&, const Group&) = nullptr) {
  Row r;
  o.ranks = {sdk::Range{}, sdk::Range{0, 0}, sdk::Range{0, 0}};
  r.op = o, r.expression = expression, r.lower = lower;
  return r;
}
constexpr sdk::Types F = kFloats, Q = kCodes;
constexpr sdk::Op kQuantize = op("QuantizeLinear", 10, 25, {F | sdk::types(OPTIMA_I32), F, Q}, {Q});
constexpr sdk::Op kDequantize = op("DequantizeLinear", 10, 25, {Q | sdk::types(OPTIMA_I32), F, Q | sdk::types(OPTIMA_I32)}, {F});
constexpr Row kRows[] = {
    by_tensor(kQuantize, quantize), row(kQuantize, lower_scaled, no_scale), by_tensor(kDequantize, dequantize, lower_pointwise), row(kDequantize, lower_scaled, no_scale),
    row(op("DynamicQuantizeLinear", 11, 11, {sdk::types(OPTIMA_F32)}, {sdk::types(OPTIMA_U8), sdk::types(OPTIMA_F32), sdk::types(OPTIMA_U8)}), lower_dynamic),
};

}  // namespace of_quant

Family quant_family() { return of_quant::kRows; }

}  // namespace spirv_plugin
