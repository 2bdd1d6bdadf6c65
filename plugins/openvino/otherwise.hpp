// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: what OpenVINO would take and compute otherwise than ONNX says. Knows no OpenVINO.
#pragma once

#include <string>

#include "optima/plugin/graph.hpp"

namespace openvino_plugin {

/// Empty, or the sentence that refuses the node: OpenVINO 2026.4 translates it, or a node in its bodies, silently without one of
/// its attributes or inputs (found by running the ONNX node tests, tests/conformance/openvino_test.cpp), or goes wrong where a
/// tensor has no elements: a branch of If whose result is an empty constant gives one element of uninitialised memory, a Loop
/// without a trip and Unique of nothing give what they gave the time before, Gather and LSTM of a fixed empty shape divide by
/// zero (tests/meaning/empty_test.cpp). `mend()` puts others right.
std::string computed_otherwise(const optima::sdk::Node& node);

}  // namespace openvino_plugin
