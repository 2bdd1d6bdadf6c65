// SPDX-License-Identifier: Apache-2.0
// Operators that make numbers of no tensor: Range, EyeLike, windows of signals.
#include <cmath>
#include <numbers>

#include "elements.hpp"

namespace spirv_plugin {
namespace of_fill {

/// Of the length that the graph says: start and delta may be computed.
void lower_range(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool whole = element_of(node.output(0).dtype()) == Element::I32;
  Elements e{to, group};
  const auto scalar = [&](uint32_t k) {
    const std::string known = scalar_literal(node.input(k));
    return known.empty() ? e.s.load(e.in(node.input(k)), "0") : known;
  };
  const std::string start = scalar(0), delta = scalar(2);
  const int32_t dtype = node.output(0).dtype();
  e.finish([&] { return sum_of(dtype, start, product_of(dtype, whole ? "o" : "float(o)", delta)); });
}
std::string no_range(const sdk::Node& node) {
  for (uint32_t k = 0; k < 3; ++k)
    if (node.input(k).elements() != 1) return "input " + text(k) + " has " + text(node.input(k).elements()) + " elements, wanted one";
  return "";
}

/// Only the dims of the input count.
void lower_eye(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const bool whole = element_of(node.output(0).dtype()) == Element::I32;
  Elements e{to, group};
  e.finish([&] {
    const std::string columns = text(node.output(0).dim(1));
    return "(o%" + columns + "-o/" + columns + "==" + literal(node.integer("k", 0)) + (whole ? "?1:0)" : "?1.0:0.0)");
  });
}
std::string no_matrix(const sdk::Node& node) { return node.output(0).rank() != 2 ? "output of rank " + text(node.output(0).rank()) + ", wanted 2" : ""; }

/// Sums of cosines (F. J. Harris, On the Use of Windows for Harmonic Analysis with the DFT, 1978), with the operators' coefficients.
std::vector<double> coefficients_of(std::string_view name) {
  if (name == "HannWindow") return {0.5, -0.5};
  if (name == "HammingWindow") return {25.0 / 46.0, -21.0 / 46.0};
  return {0.42, -0.5, 0.08};
}

/// A constant: no kernel runs.
void lower_window(Lowering& to, const Group& group) {
  const sdk::Node& node = group.root;
  const int64_t size = node.output(0).elements();
  const double turns = static_cast<double>(node.integer("periodic", 1) ? size : size - 1);
  const std::vector<double> terms = coefficients_of(node.op());
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    double v = 0;
    for (size_t k = 0; k < terms.size(); ++k) v += terms[k] * (turns == 0 ? 1 : std::cos(2 * std::numbers::pi * static_cast<double>(k) * static_cast<double>(i) / turns));
    values.push_back(static_cast<float>(v));
  }
  to.made_as(node.output(0), to.weight(std::string(node.output(0).name()), {size}, values));
}
std::string no_window(const sdk::Node& node) {
  const int64_t size = integers_of(node.input(0).constant())[0];
  return node.output(0).rank() != 1 || node.output(0).dim(0) != size ? "size is " + text(size) + ", the output's is another" : "";
}

constexpr Row row(sdk::Op o, void (*lower)(Lowering&, const Group&), std::string (*refuse)(const sdk::Node&), bool takes_tail, uint32_t buffers = 0) {
  Row r;
  r.op = o, r.lower = lower, r.refuse = refuse, r.takes_tail = takes_tail, r.buffers = buffers;
  return r;
}
constexpr sdk::Types N = kNumbers, X = sdk::types(OPTIMA_I64, OPTIMA_I32);
constexpr Row window(std::string_view name) { return row(op(name, 17, 17, {X}, {kFloats}, 1), lower_window, no_window, false); }
constexpr Row kRows[] = {row(op("Range", 11, 27, {N}, {N}), lower_range, no_range, true, 3), row(op("EyeLike", 9, 22, {kAny}, {kAny}), lower_eye, no_matrix, true, 1), window("HannWindow"),
                         window("HammingWindow"), window("BlackmanWindow")};

}  // namespace of_fill

Family fill_family() { return of_fill::kRows; }

}  // namespace spirv_plugin
