// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see context.hpp.
#include "plugins/llvm_cpu/runtime/context.hpp"

#include "plugins/llvm_cpu/runtime/subnormals.hpp"

namespace optima::llvm_cpu {
namespace {

void check(const Plan::Tensor& want, const sdk::Tensor& have) {
  if (have.dtype() != want.dtype || have.size() < want.dense_bytes())
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "tensor " + want.name + " has " + std::to_string(have.size()) + " bytes of dtype " + std::to_string(have.dtype()) +
                                                  ", wanted " + std::to_string(want.dense_bytes()) + " of dtype " + std::to_string(want.dtype));
  if (!have.dense()) throw sdk::Error(OPTIMA_UNSUPPORTED, "tensor " + want.name + " is strided, wanted a dense one");
}

std::vector<StepCode> code_of(const LoadedProgram& program) {
  std::vector<StepCode> out;
  for (const Plan::Step& step : program.plan().steps) out.push_back({program.kernel(step.kernel), nullptr, sums_products(program.plan().kernels[step.kernel])});
  return out;
}

std::vector<char*> constants_of(const LoadedProgram& program) {
  std::vector<char*> out;
  for (uint32_t k = 0; k < program.plan().constants.size(); ++k) out.push_back(program.constant(k));
  return out;
}

}  // namespace

RunContext::RunContext(const LoadedProgram& program, uint64_t cores, int threads)
    : program_(program), in_(program.plan().inputs.size()), out_(program.plan().outputs.size()), engine_(threads, cores, program.host()),
      steps_(program.plan(), code_of(program), constants_of(program), engine_) {
  engine_.reserve(program.plan().arena_bytes, program.plan().scratch_bytes);
}

void RunContext::execute(const sdk::Tensors& in, const sdk::OutTensors& out) {
  const Plan& plan = program_.plan();
  if (in.size() != plan.inputs.size() || out.size() != plan.outputs.size())
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, std::to_string(in.size()) + " inputs and " + std::to_string(out.size()) + " outputs given, wanted " +
                                                  std::to_string(plan.inputs.size()) + " and " + std::to_string(plan.outputs.size()));
  for (size_t i = 0; i < in.size(); ++i) check(plan.inputs[i], in[i]);
  for (size_t i = 0; i < out.size(); ++i) check(plan.outputs[i], out[i]);
  for (size_t i = 0; i < in.size(); ++i) in_[i] = const_cast<char*>(in[i].data<char>());
  for (size_t i = 0; i < out.size(); ++i) out_[i] = out[i].data<char>();
  steps_.bind(in_, out_);
  engine_.run(steps_);
}

void RunContext::execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) {
  engine_.within(control, [&] { execute(in, out); });
}

void RunContext::profile(bool on) {
  events_.clear();
  if (!on) return engine_.observe({});
  engine_.observe([this](size_t step, uint64_t start, uint64_t duration) { events_.push_back({&program_.plan().steps[step], start, duration}); });
}

void RunContext::read_profile(const sdk::EventSink& add) { give_events(events_, add); }

void give_events(std::vector<StepEvent>& events, const sdk::EventSink& add) {
  for (const StepEvent& e : events) add(e.step->label, e.start_ns, e.duration_ns, e.step->node_ids.empty() ? OPTIMA_NONE : e.step->node_ids[0]);
  events.clear();
}

}  // namespace optima::llvm_cpu
