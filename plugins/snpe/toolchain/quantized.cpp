// SPDX-License-Identifier: Apache-2.0
#include "toolchain/quantized.hpp"

#include <algorithm>

#include "optima/plugin/float_graph.hpp"

namespace snpe_plugin {
namespace {

void add_given(const sdk::CompileRequest& request, Quantized& out) {
  const sdk::Calibration given = request.calibration();
  const sdk::Graph graph = request.graph();
  for (uint32_t k = 0; k < graph.value_count(); ++k) {
    const sdk::Value v = graph.value(k);
    const std::optional<sdk::Encoding> e = given.encoding(v);
    if (!e || e->scales.empty()) continue;  // floats have no scales
    out.codes.push_back({std::string(v.name()), v.is_constant(), e->dtype, e->axis, e->block, {e->scales.begin(), e->scales.end()},
                         {e->zero_points.begin(), e->zero_points.end()}});
  }
  std::sort(out.codes.begin(), out.codes.end(), [](const Quantized::Codes& a, const Quantized::Codes& b) { return a.value < b.value; });
}

void add_samples(const sdk::CompileRequest& request, Quantized& out) {
  const sdk::Calibration given = request.calibration();
  out.samples = given.samples();
  out.read = [given, graph = request.graph()](uint32_t sample, uint32_t input) {
    const sdk::Calibration::Sample s = given.read(sample, graph.input(input));
    return std::string(static_cast<const char*>(s.data), s.size);
  };
}

}  // namespace

std::unique_ptr<Quantized> quantized_of(const sdk::CompileRequest& request, const sdk::Host& host) {
  const optima_graph* raw = request.raw().graph;
  auto out = std::make_unique<Quantized>();
  const sdk::FloatGraph floats(raw);
  out->in_graph = floats.held_codes();
  if (out->in_graph) {
    out->codes = floats.codes();
    out->write_float = [raw, host](const std::string& folder) {
      sdk::FloatGraph same(raw);
      host.graph_to_onnx(sdk::Graph(same.raw()), folder);
    };
  } else if (request.calibration()) {
    add_given(request, *out);
  }
  if (request.calibration()) add_samples(request, *out);
  if (!out->in_graph && out->codes.empty() && out->samples == 0) return nullptr;
  return out;
}

}  // namespace snpe_plugin
