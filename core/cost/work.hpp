// SPDX-License-Identifier: Apache-2.0
// core/cost: how much work a node is, from its operator and its static shapes. Knows ONNX operators by class; no plugin, no device.
#pragma once

#include <optional>
#include <string_view>

#include "core/graph/graph.hpp"

namespace optima {

/// What a node's multiplications are of. Half: f16 or bf16. Int8: both operands are codes of 8 bits or fewer.
enum class Arithmetic : uint8_t { Float, Half, Int8 };
/// "float", "half", "int8", as plans have it.
std::string_view name_of(Arithmetic arithmetic);
std::optional<Arithmetic> arithmetic_named(std::string_view name);

/// Work of one run of a node.
struct Work {
  double flops = 0;  ///< additions, multiplications and comparisons; a transcendental function counts as ten
  double bytes = 0;  ///< read and written, weights included
  bool exact = true; ///< false: a size is not known before running and stands as assumed_size() has it
  Arithmetic arithmetic = Arithmetic::Float;  ///< of convolutions and matrix products; others count as Float

  friend bool operator==(const Work&, const Work&) = default;
};

/// Of a node of contents.graphs[graph_index]. Operators without a row of their own count one operation per element of the largest
/// tensor they touch. A body counts once: its trips are not known. Views (Reshape, Flatten, ...) move nothing.
Work work_of(const Graph& graph, const image::Node& node, uint32_t graph_index = 0);

/// Of every node of the main graph, quantized units as backends run them: an operator that reads a DequantizeLinear reads the codes, one that only
/// QuantizeLinear nodes read writes codes, and those nodes themselves are part of it and cost nothing. A QuantizeLinear of a value that others read, too,
/// and one of a graph's input are work of their own, as is a DequantizeLinear that makes a graph's output.
std::vector<Work> works_of(const Graph& graph);

/// Rates for sharing out measured times: only their ratio counts. A processor of ten operations per byte moved.
inline constexpr double kTypicalGflops = 100, kTypicalGbytes = 10;

/// The roofline model (S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009): microseconds of the slower of computing and moving
/// bytes. A rate of 0 leaves its half out.
double roofline_us(const Work& work, double gflops, double gbytes_per_s);

/// What a device computes and moves at best; 0 = not known. Of a rate that is not known: f16 and bf16 as f32, int8 kInt8Factor times as fast.
struct Rates {
  double gflops = 0;         ///< of f32, 1e9 operations per second
  double gflops_half = 0;    ///< of products of f16 and bf16
  double gops_int8 = 0;      ///< of products of 8-bit codes
  double gbytes_per_s = 0;
};
/// Bytes in a vector register over floats in it: what dot products of bytes (VNNI, sdot) give on CPUs, measured 4.0 on Zen 4 and Sapphire Rapids.
inline constexpr double kInt8Factor = 4;
/// The rate that counts for this arithmetic.
double compute_rate(const Rates& rates, Arithmetic arithmetic);
double roofline_us(const Work& work, const Rates& rates);
/// Of a device of which nothing is known: kTypicalGflops, kTypicalGbytes.
inline constexpr Rates kTypicalRates{kTypicalGflops, 0, 0, kTypicalGbytes};

}  // namespace optima
