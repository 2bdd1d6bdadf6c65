// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/compiler: a plan in the making: tensors without places, steps with the texts of their kernels.
#pragma once

#include <functional>
#include <map>

#include "shader.hpp"
#include "weights.hpp"

namespace spirv_plugin {

/// One way to do a step, before its kernel is compiled.
struct Way {
  Shader shader;
  std::array<uint32_t, 3> groups{1, 1, 1};
};

/// What a step costs, for its time estimate.
struct Work {
  uint64_t flops = 0, bytes = 0;
};

struct DraftStep {
  std::string name;
  uint32_t node = OPTIMA_NONE;
  std::vector<Way> ways;  ///< all bind the same tensors in the same order
  Work work;
};

struct DraftTensor {
  std::string name;
  Element element;
  uint64_t bytes;
  Place place = Place::Arena;
  uint64_t offset = 0;
  size_t piece = 0;  ///< of the weights
};

class Draft {
 public:
  Tensor add(std::string name, Element element, std::vector<int64_t> dims);
  /// A constant of the device's own elements, made when the weights are written; equal ones are kept once.
  Tensor add_weight(std::string name, Element element, std::vector<int64_t> dims, Weights::Maker make);
  void add_step(DraftStep step) { steps_.push_back(std::move(step)); }

  const std::vector<DraftStep>& steps() const { return steps_; }
  const DraftTensor& tensor(uint32_t id) const { return tensors_[id]; }
  const Weights& weights() const { return weights_; }
  Weights& weights() { return weights_; }

  /// Once the weights are written: tensors with places and steps with what they wait for; kernels are numbered by `kernel_of(step, way)`. Tensors of
  /// `inputs` hold their data before the first step, those of `outputs` until after the last. `guarded`: every step has one tensor more, the guard's.
  /// `block`: bytes of a buffer, of whose multiples no tensor reaches over one unless it is larger: the runtime may divide there.
  Plan placed(std::vector<PortPlan> inputs, std::vector<PortPlan> outputs, bool guarded, uint64_t block, const std::function<uint32_t(size_t, size_t)>& kernel_of) const;

 private:
  std::vector<DraftTensor> tensors_;
  std::vector<DraftStep> steps_;
  Weights weights_;
};

}  // namespace spirv_plugin
