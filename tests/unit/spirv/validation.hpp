// SPDX-License-Identifier: Apache-2.0
// tests: the messages of Vulkan's validation layers.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/temp_folder.hpp"

namespace optima::spirv_test {

/// Vulkan's validation with its check of synchronization, for this process from here on: what it says goes to a file. Made before Vulkan is first
/// opened; the layers are those of the Khronos group, named in the environment as their manual has it.
class Validation {
 public:
  /// `breaks`: a process that is told of something ends by a signal. For programs that a test runs, each of which writes the file anew.
  explicit Validation(bool breaks = false) : log_(folder_ / "messages.txt") {
    std::ofstream(folder_ / "vk_layer_settings.txt") << "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG" << (breaks ? ",VK_DBG_LAYER_ACTION_BREAK" : "") << "\n"
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

}  // namespace optima::spirv_test
