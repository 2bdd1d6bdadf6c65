// SPDX-License-Identifier: Apache-2.0
// core/cost: how much work a node is, from its operator and its static shapes. Knows ONNX operators by class; no plugin, no device.
#pragma once

#include "core/graph/graph.hpp"

namespace optima {

/// Work of one run of a node.
struct Work {
  double flops = 0;  ///< additions, multiplications and comparisons; a transcendental function counts as ten
  double bytes = 0;  ///< read and written, weights included
  bool exact = true; ///< false: a size is not known before running and counted as 1

  friend bool operator==(const Work&, const Work&) = default;
};

/// Of a node of contents.graphs[graph_index]. Operators without a row of their own count one operation per element of the largest
/// tensor they touch. A body counts once: its trips are not known. Views (Reshape, Flatten, ...) move nothing.
Work work_of(const Graph& graph, const image::Node& node, uint32_t graph_index = 0);

/// Rates for sharing out measured times: only their ratio counts. A processor of ten operations per byte moved.
inline constexpr double kTypicalGflops = 100, kTypicalGbytes = 10;

/// The roofline model (S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009): microseconds of the slower of computing and moving
/// bytes. A rate of 0 leaves its half out.
double roofline_us(const Work& work, double gflops, double gbytes_per_s);

}  // namespace optima
