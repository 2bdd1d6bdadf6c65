// SPDX-License-Identifier: Apache-2.0
// tests: what the tests of plugins/spirv share: both halves of the plugin, and the messages of Vulkan's validation layers.
#pragma once

#include <doctest/doctest.h>

#include <random>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/support/seam_run.hpp"
#include "tests/unit/spirv/validation.hpp"

namespace optima::spirv_test {

inline const optima_device kGpu = seam::device("VULKAN");

/// The option that makes kernels look at every index.
inline optima_option guarded() {
  optima_option o = seam::option("spirv.guard", "");
  o.type = OPTIMA_OPTION_I64, o.i64 = 1;
  return o;
}

/// Both halves, in one host.
struct Halves {
  seam::Host host;
  std::unique_ptr<seam::Instance> compiler, runtime;
  Halves() {
    host.quiet = true;
    compiler = std::make_unique<seam::Instance>(SPIRV_PLUGIN, host);
    runtime = std::make_unique<seam::Instance>(SPIRV_RT_PLUGIN, host);
  }
};

inline int32_t compile(const seam::Instance& plugin, const optima_graph& graph, seam::MemorySink& sink, seam::Status& status, const std::vector<optima_option>& options = {},
                       const optima_device& device = kGpu) {
  return seam::compile(plugin, graph, device, sink, status, options);
}

/// Compiles, loads and runs: outputs, or what went wrong in `wrong`.
inline std::vector<reference::Tensor> computed(Halves& halves, const optima_graph& graph, const std::vector<reference::Tensor>& inputs, std::string& wrong,
                                               const std::vector<optima_option>& options = {}) {
  seam::MemorySink sink;
  seam::Status status;
  std::vector<reference::Tensor> out;
  if (compile(*halves.compiler, graph, sink, status, options) != OPTIMA_OK) return wrong = "compile: " + status.message, out;
  const seam::Artifact artifact(sink, nullptr);
  const seam::Program program(*halves.runtime, artifact, kGpu);
  if (!program.raw) return wrong = "load: " + program.status.message, out;
  if (seam::run(program, inputs, out, status) != OPTIMA_OK) wrong = "run: " + status.message;
  return out;
}

}  // namespace optima::spirv_test
