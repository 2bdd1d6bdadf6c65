// SPDX-License-Identifier: Apache-2.0
// Models in text with weights from a seed, run and observed by the reference.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/onnx_io/onnx_io.hpp"
#include "core/quantize/quantize.hpp"
#include "core/support/text.hpp"
#include "reference/reference.hpp"

namespace optima::test {

using Numbers = std::vector<float>;

/// Normal numbers, the same for the same seed.
inline Numbers normal(size_t count, uint32_t seed, float deviation = 1) {
  std::mt19937 random(seed);
  Numbers out(count);
  for (float& x : out) {
    // Twelve even ones: no library's own normal distribution.
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random()) / 4294967296.0;
    x = static_cast<float>(sum) * deviation;
  }
  return out;
}

/// "float[2,3] w = {...}".
inline std::string tensor(const std::string& name, const std::vector<int64_t>& dims, const Numbers& numbers) {
  std::vector<std::string> sizes, values;
  for (int64_t d : dims) sizes.push_back(std::to_string(d));
  for (float x : numbers) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(x));
    values.emplace_back(text);
  }
  return cat("float", dims.empty() ? "" : cat("[", join(sizes, ","), "]"), " ", name, " = {", join(values), "}");
}
inline std::string tensor(const std::string& name, const std::vector<int64_t>& dims, uint32_t seed, float deviation = 0.2f) {
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  return tensor(name, dims, normal(count, seed, deviation));
}

/// A model of one graph: "float[1,3] x", "float[1,4] y", its constants and its nodes.
inline Graph model(const std::string& inputs, const std::string& outputs, const std::vector<std::string>& constants, const std::string& nodes) {
  const std::string text = cat("<ir_version: 10, opset_import: [\"\" : 21]> g (", inputs, ") => (", outputs, ") <", join(constants), "> {", nodes, "}");
  Result<Graph> graph = onnx_io::load_text(text, "model");
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  return *graph;
}

inline reference::Tensor as_reference(const image::Value& value, const Numbers& numbers) {
  std::vector<int64_t> dims;
  for (const image::Dim& d : *value.dims) dims.push_back(d.value);
  void* to = nullptr;
  reference::Tensor out = reference::Tensor::make(OPTIMA_F32, dims, &to);
  REQUIRE(out.size == numbers.size() * sizeof(float));
  std::memcpy(to, numbers.data(), out.size);
  return out;
}

/// Every f32 value of the main graph by name, for inputs in order.
inline std::map<std::string, Tensor> values_of(const Graph& graph, const std::vector<Numbers>& inputs) {
  const PackedGraph packed = pack(graph);
  std::map<std::string, Tensor> out;
  const auto keep = [&](uint32_t v, const reference::Tensor& t) {
    if (t.dtype != OPTIMA_F32) return;
    Result<Tensor> made = Tensor::make(t.dtype, t.dims);
    REQUIRE(made.ok());
    if (t.size) std::memcpy(made->data, t.data, t.size);
    out[graph.main().values[v].name] = *made;
  };
  std::vector<reference::Tensor> given;
  for (size_t k = 0; k < inputs.size(); ++k) given.push_back(as_reference(graph.main().values[graph.main().inputs[k]], inputs[k]));
  for (size_t k = 0; k < given.size(); ++k) keep(graph.main().inputs[k], given[k]);
  const std::vector<reference::Tensor> answers = reference::run(packed.raw, given, keep);
  for (size_t k = 0; k < answers.size(); ++k) keep(graph.main().outputs[k], answers[k]);
  return out;
}

inline Numbers answer(const Graph& graph, const std::vector<Numbers>& inputs) {
  const std::map<std::string, Tensor> values = values_of(graph, inputs);
  const Tensor& t = values.at(graph.main().values[graph.main().outputs[0]].name);
  return {t.as<float>().begin(), t.as<float>().end()};
}

/// Signal to noise of b as an approximation of a, in dB.
inline double snr(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double signal = 0, noise = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    signal += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    noise += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return 10 * std::log10(signal / noise);
}

inline QuantizePlan planned(const Graph& graph, const QuantizeOptions& options = {}) {
  Result<QuantizePlan> plan = plan_quantization(graph, options);
  REQUIRE_MESSAGE(plan.ok(), plan.status().message());
  return *plan;
}

using Feeds = std::vector<std::vector<Numbers>>;  // by sample, by input

inline Feeds samples_of(size_t elements, size_t count = 8, float deviation = 1) {
  Feeds out;
  for (uint32_t s = 0; s < count; ++s) out.push_back({normal(elements, 1000 + s, deviation)});
  return out;
}

inline Observations observed(const QuantizePlan& plan, const Feeds& feeds) {
  Observations seen(plan.taps);
  for (const std::vector<Numbers>& feed : feeds) {
    const std::map<std::string, Tensor> values = values_of(plan.graph, feed);
    ++seen.samples;
    for (size_t t = 0; t < plan.taps.size(); ++t) {
      const Status added = seen.add(t, values.at(plan.taps[t].value), cat("sample ", seen.samples));
      REQUIRE_MESSAGE(added.ok(), added.message());
    }
  }
  return seen;
}

inline Quantized quantized(const Graph& graph, const Feeds& feeds, const QuantizeOptions& options = {}) {
  const QuantizePlan plan = planned(graph, options);
  Result<Quantized> out = quantize_graph(plan, observed(plan, feeds), options);
  REQUIRE_MESSAGE(out.ok(), out.status().message());
  CHECK(verify(out->graph).message() == "");
  return *out;
}

/// SNR of a quantized model's answers to one more sample.
inline double quality(const Graph& graph, const Graph& codes, size_t elements, float deviation = 1) {
  const std::vector<Numbers> feed{normal(elements, 77, deviation)};
  return snr(answer(graph, feed), answer(codes, feed));
}

/// Names of the values that a QuantizeLinear reads, in order.
inline std::vector<std::string> coded_values(const Graph& graph) {
  std::vector<std::string> out;
  for (const image::Node& n : graph.main().nodes)
    if (n.op_type == "QuantizeLinear") out.push_back(graph.main().values[n.inputs[0]].name);
  return out;
}

inline size_t count_of(const Graph& graph, const std::string& op) {
  size_t count = 0;
  for (const image::Node& n : graph.main().nodes) count += n.op_type == op;
  return count;
}

inline const image::Node& node_named(const Graph& graph, const std::string& name) {
  for (const image::Node& n : graph.main().nodes)
    if (n.name == name) return n;
  FAIL("no node " << name);
  return graph.main().nodes[0];
}

/// Bytes of a constant by name.
inline std::vector<int8_t> bytes_of(const Graph& graph, const std::string& name) {
  for (const image::Value& v : graph.main().values)
    if (v.name == name && v.constant != OPTIMA_NONE) {
      const Blob& blob = graph.blobs[graph.contents.constants[v.constant].blob];
      std::vector<int8_t> out(blob.size);
      std::memcpy(out.data(), blob.data, blob.size);
      return out;
    }
  FAIL("no constant " << name);
  return {};
}

}  // namespace optima::test
