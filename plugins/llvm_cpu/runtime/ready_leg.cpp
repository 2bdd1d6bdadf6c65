// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see ready_leg.hpp.
#include "plugins/llvm_cpu/runtime/ready_leg.hpp"

#include <cstring>

#include "plugins/llvm_cpu/runtime/subnormals.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

/// Of those that came after one leg.
constexpr size_t kMostFollowers = 64;

/// The type and dims of a value of a stretch.
reference::Tensor typed(const optima_graph& graph, uint32_t value) {
  reference::Tensor t;
  if (value == OPTIMA_NONE) return t;
  const GraphView view{&graph};
  t.dtype = view.stored_dtype(value), t.dims = view.dims(value);
  t.size = reference::bytes_of(t.dtype, t.elements());
  return t;
}

}  // namespace

ReadyLeg::ReadyLeg(std::unique_ptr<Leg> leg, Way way, const FittedProgram& program, Engine& engine)
    : program_(program), engine_(engine), leg_(std::move(leg)), way_(std::move(way)), followers_(kMostFollowers) {
  if (!leg_->stretch) return;
  const Draft& draft = leg_->draft;
  constants_ = program.constants().pack(draft, *leg_->stretch);
  rows_.resize(draft.specs.size()), calls_.resize(draft.specs.size()), code_.resize(draft.specs.size());
  for (uint32_t k = 0; k < draft.specs.size(); ++k) find_code(k);
  steps_ = std::make_unique<Steps>(draft.plan, code_of_steps(), constants_.at, engine);
}

void ReadyLeg::find_code(uint32_t k) {
  const KernelSpec& spec = leg_->draft.specs[k];
  if (spec.entry == kReferenceEntry) {
    calls_[k] = std::make_unique<Call>(call(spec));
    code_[k] = {run_call, calls_[k].get()};
    return;
  }
  FittedProgram::Code c = program_.code(spec);
  rows_[k] = std::move(c.row);
  code_[k] = {c.kernel, rows_[k].data(), sums_products(std::string_view(spec.entry).substr(2))};
}

std::vector<StepCode> ReadyLeg::code_of_steps() const {
  std::vector<StepCode> out;
  for (const Plan::Step& step : leg_->draft.plan.steps) out.push_back(code_[step.kernel]);
  return out;
}

bool ReadyLeg::move(const Way& way) {
  Moved moved;
  if (!program_.fitter().move(*leg_, way.given, moved)) return false;
  way_ = way;
  followers_.outlive_keys();
  if (!steps_) return true;
  const Draft& draft = leg_->draft;
  for (const uint32_t s : moved.steps) find_code(draft.plan.steps[s].kernel);
  for (uint32_t k = 0; k < calls_.size(); ++k)
    if (calls_[k]) find_code(k);  // shapes of operands
  for (const uint32_t k : moved.constants) program_.constants().pack_again(draft, *leg_->stretch, k, constants_);
  std::vector<StepCode> code = code_of_steps();
  if (!steps_->follow_plan(code, constants_.at)) steps_ = std::make_unique<Steps>(draft.plan, std::move(code), constants_.at, engine_);
  return true;
}

ReadyLeg::Call ReadyLeg::call(const KernelSpec& spec) const {
  const optima_graph& graph = leg_->stretch->graph();
  Call out{&graph, optima_get_node(graph.image, static_cast<uint32_t>(spec.literals[0])), {}, {}, &engine_};
  for (uint32_t k = 0; k < out.node->inputs.count; ++k) out.inputs.push_back(typed(graph, optima_input(graph.image, out.node, k)));
  for (uint32_t k = 0; k < out.node->outputs.count; ++k) out.outputs.push_back(typed(graph, optima_output(graph.image, out.node, k)));
  return out;
}

void ReadyLeg::run_call(void* const* args, int64_t, int64_t, char*) {
  const Call& call = *static_cast<const Call*>(args[-1]);
  if (call.engine->has_failed()) return;
  try {
    std::vector<reference::Tensor> inputs = call.inputs;
    for (size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].dtype != OPTIMA_UNDEFINED) inputs[k].data = args[k];
    const std::vector<reference::Tensor> made = reference::evaluate(*call.graph, *call.node, inputs);
    for (size_t k = 0; k < call.outputs.size(); ++k) {
      const reference::Tensor& want = call.outputs[k];
      if (want.dtype == OPTIMA_UNDEFINED || want.size == 0) continue;
      if (k >= made.size() || made[k].size != want.size)
        throw sdk::Error(OPTIMA_INTERNAL, "output " + std::to_string(k) + " has another size than was planned", call.node->id);
      std::memcpy(args[inputs.size() + k], made[k].data, want.size);
    }
  } catch (...) {
    call.engine->fail(std::current_exception());
  }
}

}  // namespace optima::llvm_cpu
