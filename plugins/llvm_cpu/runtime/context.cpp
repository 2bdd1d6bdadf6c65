// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see context.hpp.
#include "plugins/llvm_cpu/runtime/context.hpp"

#include <algorithm>

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kHeader = 64;  // before each thread's scratch: see compiler/op.hpp

/// Work of a part that repays handing it to another thread, in multiply-adds or elements.
constexpr int64_t kLeastWork = 20000;

int parts_of(const Plan::Step& s, int threads) {
  if (threads == 1) return 1;
  const int64_t by_work = std::max<int64_t>(1, s.work / kLeastWork), by_grain = std::max<int64_t>(1, s.units / s.grain);
  return static_cast<int>(std::min({s.units, by_work, by_grain, int64_t{threads} * 2, int64_t{Team::kMostParts}}));
}

void check(const Plan::Tensor& want, const sdk::Tensor& have) {
  if (have.dtype() != want.dtype || have.size() < want.dense_bytes())
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "tensor " + want.name + " has " + std::to_string(have.size()) + " bytes of dtype " + std::to_string(have.dtype()) +
                                                  ", wanted " + std::to_string(want.dense_bytes()) + " of dtype " + std::to_string(want.dtype));
  if (!have.dense()) throw sdk::Error(OPTIMA_UNSUPPORTED, "tensor " + want.name + " is strided, wanted a dense one");
}

}  // namespace

RunContext::RunContext(const LoadedProgram& program, uint64_t cores, int threads)
    : program_(program), arena_(program.plan().arena_bytes + kSlack),
      scratch_stride_((program.plan().scratch_bytes + kHeader + kSlack + 4095) / 4096 * 4096),
      team_(threads, {}, cores) {
  scratch_ = Memory(scratch_stride_ * static_cast<uint64_t>(team_.size()));
  args_.resize(program.plan().steps.size());
  for (size_t s = 0; s < args_.size(); ++s) add_step(s);
  team_.start();
  if (team_.size() < threads)
    program.host().log(OPTIMA_LOG_WARN, "llvm_cpu", "the system gave " + std::to_string(team_.size()) + " of " + std::to_string(threads) + " threads");
}

char* RunContext::scratch(int thread) const { return scratch_.data() + static_cast<uint64_t>(thread) * scratch_stride_ + kHeader; }

void RunContext::add_step(size_t s) {
  const Plan::Step& step = program_.plan().steps[s];
  args_[s].resize(step.args.size());
  for (size_t a = 0; a < step.args.size(); ++a) {
    const Plan::Arg& arg = step.args[a];
    void** where = &args_[s][a];
    if (arg.kind == Plan::Arg::Arena) *where = arena_.data() + arg.offset;
    if (arg.kind == Plan::Arg::Constant) *where = program_.constant(arg.index) + arg.offset;
    if (arg.kind == Plan::Arg::Input || arg.kind == Plan::Arg::Output) patches_.push_back({where, arg.index, arg.offset, arg.kind == Plan::Arg::Output});
  }
  const int parts = parts_of(step, team_.size());
  const KernelFunction kernel = program_.kernel(step.kernel);
  void* const* args = args_[s].data();
  const int64_t units = step.units;
  team_.add([this, kernel, args, units, parts, s](int part, int thread) {
    if (is_stopped(thread)) return;
    char* mine = scratch(thread);
    *reinterpret_cast<uint64_t*>(mine - kHeader) = run_ << 24 | s;
    kernel(args, units * part / parts, units * (part + 1) / parts, mine);
  }, parts);
}

void RunContext::execute(const sdk::Tensors& in, const sdk::OutTensors& out) {
  const Plan& plan = program_.plan();
  if (in.size() != plan.inputs.size() || out.size() != plan.outputs.size())
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, std::to_string(in.size()) + " inputs and " + std::to_string(out.size()) + " outputs given, wanted " +
                                                  std::to_string(plan.inputs.size()) + " and " + std::to_string(plan.outputs.size()));
  for (size_t i = 0; i < in.size(); ++i) check(plan.inputs[i], in[i]);
  for (size_t i = 0; i < out.size(); ++i) check(plan.outputs[i], out[i]);
  for (const Patch& p : patches_) {
    char* base = p.output ? out[p.index].data<char>() : const_cast<char*>(in[p.index].data<char>());
    *p.where = base ? base + p.offset : nullptr;
  }
  ++run_;
  team_.run();
}

// Helpers only follow: the control is asked by one thread.
bool RunContext::is_stopped(int thread) {
  if (thread == 0 && control_ && (control_->cancelled() || control_->is_late())) stop_.store(true, std::memory_order_relaxed);
  return stop_.load(std::memory_order_relaxed);
}

void RunContext::execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) {
  stop_ = false;
  control_ = &control;
  try {
    // before and after as well: of a small net the helpers may take all parts, and then nobody asks in between
    if (!is_stopped(0)) execute(in, out);
    is_stopped(0);
  } catch (...) {
    control_ = nullptr;
    throw;
  }
  control_ = nullptr;
  if (!stop_.exchange(false)) return;
  if (control.is_late() && !control.cancelled()) throw sdk::Error(OPTIMA_TIMEOUT, "past its deadline");
  throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
}

void RunContext::profile(bool on) {
  events_.clear();
  if (!on) return team_.observe({});
  team_.observe([this](size_t step, uint64_t start, uint64_t duration) { events_.push_back({step, start, duration}); });
}

void RunContext::read_profile(const sdk::EventSink& add) {
  for (const Event& e : events_) {
    const Plan::Step& step = program_.plan().steps[e.step];
    add(step.label, e.start_ns, e.duration_ns, step.node_ids.empty() ? OPTIMA_NONE : step.node_ids[0]);
  }
  events_.clear();
}

}  // namespace optima::llvm_cpu
