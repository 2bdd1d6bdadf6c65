// SPDX-License-Identifier: Apache-2.0
// tests: the small net that tests of plugins/spirv run, compiled, loaded, and forged.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/passes/pipeline.hpp"
#include "optima/plugin/record.hpp"
#include "tests/support/forged_meta.hpp"
#include "tests/unit/spirv/harness.hpp"

namespace optima::spirv_test {

inline std::string numbers(int count) {
  std::string all;
  for (int k = 0; k < count; ++k) all += (k ? "," : "") + std::to_string(0.01 * ((k * 37) % 41 - 20));
  return all;
}

/// A convolution, an activation, a product and a softmax: several kernels that wait for each other.
inline const char* const kNet =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1,3,8,8] x) => (float[1,10] y) <float[4,3,3,3] w = {%W}, float[144,10] m = {%M}, int64[2] s = {1,144}> "
    "{ a = Conv(x, w) b = Relu(a) c = Reshape(b, s) d = MatMul(c, m) y = Softmax(d) }";

/// A graph from its text, as the host would hand it to the plugin.
struct TextNet {
  Graph graph;
  PackedGraph packed;
  explicit TextNet(const std::string& text) : graph(made(text)), packed(pack(graph, true)) {}
  static Graph made(const std::string& text) {
    Result<Graph> g = onnx_io::load_text(text, "net");
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    Result<Graph> passed = passes::run_passes(std::move(*g));
    REQUIRE(passed.ok());
    return std::move(*passed);
  }
};

struct Net : TextNet {
  Net() : Net(test::replaced(test::replaced(kNet, "%W", numbers(108)), "%M", numbers(1440))) {}
  using TextNet::TextNet;
};

inline reference::Tensor input(float from = 0) {
  void* data = nullptr;
  reference::Tensor t = reference::Tensor::make(OPTIMA_F32, {1, 3, 8, 8}, &data);
  for (int k = 0; k < 192; ++k) static_cast<float*>(data)[k] = from + static_cast<float>(k % 7) - 3;
  return t;
}

inline std::vector<float> floats(const reference::Tensor& t) {
  const auto* p = static_cast<const float*>(t.data);
  return {p, p + t.size / sizeof(float)};
}

/// The largest difference; infinite where a difference is no number.
inline double apart(const reference::Tensor& a, const reference::Tensor& b) {
  const std::vector<float> one = floats(a), other = floats(b);
  REQUIRE(one.size() == other.size());
  double most = 0;
  for (size_t k = 0; k < one.size(); ++k) {
    const double difference = std::fabs(static_cast<double>(one[k]) - other[k]);
    most = std::isnan(difference) ? HUGE_VAL : std::max(most, difference);
  }
  return most;
}

inline seam::MemorySink& compiled(Halves& halves, const Net& net, seam::MemorySink& sink, const std::vector<optima_option>& options = {}) {
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, options) == OPTIMA_OK, status.message);
  return sink;
}

/// The net's artifact, loaded.
struct Loaded {
  seam::MemorySink sink;
  std::optional<seam::Artifact> artifact;
  std::optional<seam::Program> program;
  Loaded(Halves& halves, const Net& net) {
    artifact.emplace(compiled(halves, net, sink), nullptr);
    program.emplace(*halves.runtime, *artifact, kGpu);
    REQUIRE_MESSAGE(program->raw, program->status.message);
  }
};

/// The artifact with another .meta file, its record made right again.
inline void forge(seam::MemorySink& sink, const std::string& meta) {
  sink.files.at("subgraph_0.meta") = meta;
  sink.compat = sdk::write_record({{"target", "VULKAN"}}, {sdk::record_bytes("*.meta", meta)});
}

inline std::string load_error(Halves& halves, const seam::MemorySink& sink, int32_t& code, const std::vector<optima_option>& options = {}) {
  const seam::Artifact artifact(sink, nullptr);
  const seam::Program program(*halves.runtime, artifact, kGpu, options);
  code = program.code;
  return program.status.message;
}

}  // namespace optima::spirv_test
