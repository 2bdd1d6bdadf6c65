// SPDX-License-Identifier: Apache-2.0
// tests: what the tests of plugins/spirv share: both halves of the plugin, and the messages of Vulkan's validation layers.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/support/seam_run.hpp"
#include "tests/support/temp_folder.hpp"

namespace optima::spirv_test {

inline const optima_device kGpu = seam::device("VULKAN");

/// Vulkan's validation with its check of synchronization, for this process from here on: what it says goes to a file. Made before Vulkan is first
/// opened; the layers are those of the Khronos group, named in the environment as their manual has it.
class Validation {
 public:
  Validation() : log_(folder_ / "messages.txt") {
    std::ofstream(folder_ / "vk_layer_settings.txt") << "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n"
                                                     << "khronos_validation.report_flags = error,warn,perf\n"
                                                     << "khronos_validation.log_filename = " << log_ << "\n"
                                                     << "khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT\n";
    ::setenv("VK_LAYER_SETTINGS_PATH", folder_.path().c_str(), 1);
    ::setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 1);
  }
  ~Validation() {
    ::unsetenv("VK_INSTANCE_LAYERS");
    ::unsetenv("VK_LAYER_SETTINGS_PATH");
  }
  /// All that was said so far.
  std::string messages() const {
    std::ifstream in(log_);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }

 private:
  test::TempFolder folder_;
  std::string log_;
};

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
