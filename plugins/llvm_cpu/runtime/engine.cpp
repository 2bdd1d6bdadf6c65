// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see engine.hpp.
#include "plugins/llvm_cpu/runtime/engine.hpp"

#include <algorithm>
#include <optional>

#include "plugins/llvm_cpu/runtime/subnormals.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kHeader = 64;  // before each thread's scratch: see compiler/op.hpp

/// What the header before scratch tells of an index, in the words of the reference.
std::exception_ptr outside(const Plan::Step& step, const uint64_t* header) {
  const auto index = static_cast<int64_t>(header[3]), size = static_cast<int64_t>(header[4]);
  const std::string where = step.label.empty() ? "" : step.label + ": ";
  return std::make_exception_ptr(sdk::Error(OPTIMA_INVALID_ARGUMENT, where + "an index is " + std::to_string(index) + ", must be within " + std::to_string(size),
                                            step.node_ids.empty() ? OPTIMA_NONE : step.node_ids[0]));
}

}  // namespace

Steps::Steps(const Plan& plan, std::vector<StepCode> code, const std::vector<char*>& constants, Engine& engine)
    : plan_(plan), engine_(engine), args_(plan.steps.size()) {
  for (size_t s = 0; s < args_.size(); ++s) {
    runs_.push_back({code[s], cut_of(plan.steps[s], engine_.team_.size())});
    args_[s].resize(plan.steps[s].args.size() + 1);
  }
  for (size_t s = 0; s < args_.size(); ++s) add(s, constants);
}

Steps::~Steps() { engine_.team_.forget(list_); }

/// Sets what stays, and notes what does not.
void Steps::point(size_t s, const std::vector<char*>& constants) {
  const Plan::Step& step = plan_.steps[s];
  args_[s][0] = runs_[s].code.ahead;
  for (size_t a = 0; a < step.args.size(); ++a) {
    const Plan::Arg& arg = step.args[a];
    void** where = &args_[s][a + 1];
    if (arg.kind == Plan::Arg::Arena) arena_.push_back({where, 0, arg.offset});
    if (arg.kind == Plan::Arg::Constant) *where = constants[arg.index] + arg.offset;
    if (arg.kind == Plan::Arg::Input) inputs_.push_back({where, arg.index, arg.offset});
    if (arg.kind == Plan::Arg::Output) outputs_.push_back({where, arg.index, arg.offset});
  }
}

void Steps::add(size_t s, const std::vector<char*>& constants) {
  point(s, constants);
  const Run& run = runs_[s];
  void* const* args = args_[s].data() + 1;
  list_.add([this, &run, args, s](int part, int thread) {
    if (engine_.is_stopped(thread)) return;
    std::optional<NoSubnormals> zeros;
    if (run.code.no_subnormals) zeros.emplace();
    char* mine = engine_.scratch(thread);
    auto* header = reinterpret_cast<uint64_t*>(mine - kHeader);
    header[0] = engine_.run_ << 24 | s, header[2] = 0;
    run.code.kernel(args, run.cut.begin(part), run.cut.begin(part + 1), mine);
    if (header[2] != 0) engine_.fail(outside(plan_.steps[s], header));
  }, run.cut.parts, run.cut.turns);
}

bool Steps::follow_plan(const std::vector<StepCode>& code, const std::vector<char*>& constants) {
  std::vector<Cut> cuts;
  for (size_t s = 0; s < runs_.size(); ++s) {
    cuts.push_back(cut_of(plan_.steps[s], engine_.team_.size()));
    if (cuts[s].parts != runs_[s].cut.parts || cuts[s].turns != runs_[s].cut.turns) return false;
  }
  inputs_.clear(), outputs_.clear(), arena_.clear();
  arena_at_ = nullptr;
  for (size_t s = 0; s < runs_.size(); ++s) {
    runs_[s].code = code[s], runs_[s].cut = cuts[s];
    point(s, constants);
  }
  return true;
}

void Steps::bind(const std::vector<char*>& inputs, const std::vector<char*>& outputs) {
  const auto set = [](const std::vector<Patch>& patches, const std::vector<char*>& bases) {
    for (const Patch& p : patches) *p.where = bases[p.index] ? bases[p.index] + p.offset : nullptr;
  };
  set(inputs_, inputs), set(outputs_, outputs);
}

void Steps::follow_arena() {
  if (arena_at_ == engine_.arena_.data()) return;
  arena_at_ = engine_.arena_.data();
  for (const Patch& p : arena_) *p.where = engine_.arena_.data() + p.offset;
}

Engine::Engine(int threads, uint64_t cores, sdk::Host host) : team_(threads, {}, cores) {
  team_.start();
  if (team_.size() < threads)
    host.log(OPTIMA_LOG_WARN, "llvm_cpu", "the system gave " + std::to_string(team_.size()) + " of " + std::to_string(threads) + " threads");
}

void Engine::reserve(uint64_t arena_bytes, uint64_t scratch_bytes) {
  if (!arena_.data() || arena_bytes > arena_bytes_) {
    if (arena_bytes_) arena_bytes += arena_bytes / 4;  // what grows once grows again, and new memory is slow at first
    arena_ = Memory();  // first: never both
    arena_bytes_ = 0;
    arena_ = Memory(arena_bytes + kSlack);
    arena_bytes_ = arena_bytes;
  }
  const uint64_t stride = (scratch_bytes + kHeader + kSlack + 4095) / 4096 * 4096;
  if (stride <= scratch_stride_) return;
  scratch_ = Memory();
  scratch_stride_ = 0;
  scratch_ = Memory(stride * static_cast<uint64_t>(team_.size()));
  scratch_stride_ = stride;
}

char* Engine::scratch(int thread) const { return scratch_.data() + static_cast<uint64_t>(thread) * scratch_stride_ + kHeader; }

void Engine::run(Steps& steps) {
  reserve(steps.plan_.arena_bytes, steps.plan_.scratch_bytes);
  steps.follow_arena();
  ++run_;
  failing_ = false;
  team_.run(steps.list_);
  if (!failing_) return;
  std::exception_ptr why = std::move(failure_);
  failure_ = nullptr;
  std::rethrow_exception(why);
}

void Engine::fail(std::exception_ptr why) {
  if (!failing_.exchange(true)) failure_ = std::move(why);
}

void Engine::begin(const sdk::RunControl& control) {
  stop_ = false;
  control_ = &control;
}

void Engine::end() {
  const sdk::RunControl& control = *control_;
  control_ = nullptr;
  if (!stop_.exchange(false)) return;
  if (control.is_late() && !control.cancelled()) throw sdk::Error(OPTIMA_TIMEOUT, "past its deadline");
  throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
}

// Helpers only follow: the control is asked by one thread.
bool Engine::is_stopped(int thread) {
  if (thread == 0 && control_ && (control_->cancelled() || control_->is_late())) stop_.store(true, std::memory_order_relaxed);
  return stop_.load(std::memory_order_relaxed);
}

}  // namespace optima::llvm_cpu
