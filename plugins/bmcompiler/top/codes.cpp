// SPDX-License-Identifier: Apache-2.0
// Codes at a module's border, where they are the numbers that they are, in floats: x = (code - zero point) * scale and back. Between them the
// graph is in floats (sdk::FloatGraph). Who stores what comes out rounds it to the nearest, of two to the even one.
#include "chain.hpp"

namespace bmcompiler_plugin::top {
namespace of_codes {

double zero_of(const sdk::Node& node) { return node.input(2) ? static_cast<double>(Lowering::integers(node.input(2)).at(0)) : 0; }
double scale_of(const sdk::Node& node) { return Lowering::floats(node.input(1)).at(0); }

void write_dequantize(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const Value from_zero = c.add(to.read(node.input(0)), -zero_of(node));
  c.last().mul(from_zero, scale_of(node));
}

/// The bounds are those of the type.
void write_quantize(Lowering& to, const sdk::Node& node) {
  Chain c(to, node);
  const bool is_signed = node.output(0).dtype() == OPTIMA_I8;
  const Value steps = c.add(c.mul(to.read(node.input(0)), 1 / scale_of(node)), zero_of(node)), above = c.least(steps, is_signed ? -128 : 0);
  c.last().most(above, is_signed ? 127 : 255);
}

constexpr Row kRows[] = {
    {"DequantizeLinear", nullptr, write_dequantize},
    {"QuantizeLinear", nullptr, write_quantize},
};

}  // namespace of_codes

sdk::Span<const Row> border_codes() { return of_codes::kRows; }

}  // namespace bmcompiler_plugin::top
