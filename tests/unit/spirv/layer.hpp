// SPDX-License-Identifier: Apache-2.0
// tests: the layer of faults_layer.c between plugins/spirv and the driver.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/unit/spirv/faults.h"

namespace optima::spirv_test {

/// The layer in the loader's way, for the life of this.
class Layer {
 public:
  /// `separate`: the GPU has memory of its own.
  explicit Layer(bool separate = false) {
    ::setenv("VK_LAYER_PATH", FAULTS_FOLDER, 1);
    ::setenv("VK_INSTANCE_LAYERS", "VK_LAYER_OPTIMA_faults", 1);
    void* library = ::dlopen(FAULTS_LAYER, RTLD_NOW);
    REQUIRE_MESSAGE(library, ::dlerror());
    told_ = static_cast<faults*>(::dlsym(library, "optima_faults"));
    *told_ = {};
    told_->separate = separate;
  }
  ~Layer() {
    *told_ = {};
    ::unsetenv("VK_INSTANCE_LAYERS");
    ::unsetenv("VK_LAYER_PATH");
  }
  Layer(const Layer&) = delete;
  faults& told() { return *told_; }

 private:
  faults* told_;
};

}  // namespace optima::spirv_test
