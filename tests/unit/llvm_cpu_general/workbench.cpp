// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_general: see workbench.hpp.
#include "tests/unit/llvm_cpu_general/workbench.hpp"

#include <dlfcn.h>

#include <cstring>

#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"

namespace llvm_cpu_test {
namespace {

cpu::Target target_of(const std::string& name, const std::string& features) {
  cpu::Target t = cpu::make_target("X64", "", name, features);
  t.amx = t.amx && cpu::has_feature("amx-int8");  // asks the system for it
  if (t.bf16 == cpu::Bf16::Tiles) t.bf16 = cpu::Bf16::Dots;
  return t;
}

constexpr size_t kHeader = 64;

/// The bytes of a constant before they are packed.
std::string_view source(const cpu::Draft& d, const seam::Model& model, const cpu::Plan::Constant& c) {
  if (c.weight.empty()) return std::string_view(d.constants).substr(c.offset, c.size);
  for (const auto& [name, index] : d.weights) {
    if (name != c.weight) continue;
    const optima_blob& blob = model.blobs[optima_get_constant(model.raw.image, index)->blob];
    return std::string_view(static_cast<const char*>(blob.data), blob.size).substr(c.offset, c.size);
  }
  throw std::runtime_error("constant " + c.weight + " is not there");
}

Lines packed(const cpu::Draft& d, const seam::Model& model, const cpu::Plan::Constant& c) {
  const std::string_view from = source(d, model, c);
  std::vector<float> scale;
  if (c.scale != UINT32_MAX) {
    const std::string_view s = source(d, model, d.plan.constants[c.scale]);
    scale.resize(s.size() / sizeof(float));
    std::memcpy(scale.data(), s.data(), s.size());
  }
  Lines out(c.packed_bytes + cpu::kSlack);
  for (int64_t p = 0; p < cpu::pack_parts(c.pack); ++p)
    cpu::pack_part(c.pack, p, from.data(), from.size(), scale.empty() ? nullptr : scale.data(), out.data());
  return out;
}

}  // namespace

Workbench::Workbench(const std::string& cpu, const std::string& features, bool many_sizes)
    : target_(target_of(cpu, features)), builder_(target_, cpu::Linker::find("", folder_.path()), folder_.path(), OPTIMA_BINARY_DIR "/llvm_cpu_test_cache", 2, [](double) {}) {
  target_.many_sizes = many_sizes;
}

cpu::Draft Workbench::plan(const seam::Model& model, const std::function<bool(const cpu::KernelSpec&)>& is_bad) const {
  cpu::PlannerOptions options;
  options.is_bad = is_bad;
  return cpu::plan_graph({&model.raw}, target_, options);
}

void Workbench::build(const std::vector<cpu::KernelSpec>& specs) { builder_.build(specs); }

KernelFunction Workbench::function(const cpu::KernelSpec& spec) {
  const cpu::Kernel& kernel = builder_.kernel(spec);
  KernelFunction& f = opened_[kernel.name];
  if (f) return f;
  void* handle = dlopen(folder_.file(kernel.name, kernel.bytes).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  void* symbol = dlsym(handle, "kernel");
  std::memcpy(&f, &symbol, sizeof f);
  return f;
}

Execution::Execution(const cpu::Draft& draft, const seam::Model& model, const Tensors& inputs)
    : draft_(draft), arena_(draft.plan.arena_bytes + cpu::kSlack), scratch_(draft.plan.scratch_bytes + kHeader + cpu::kSlack) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs_.emplace_back(draft.plan.inputs[i].bytes + cpu::kSlack);
    if (inputs[i].size) std::memcpy(inputs_.back().data(), inputs[i].data, inputs[i].size);
  }
  for (const auto& t : draft.plan.outputs) outputs_.emplace_back(t.bytes + cpu::kSlack);
  for (const auto& c : draft.plan.constants) constants_.push_back(packed(draft, model, c));
}

bool Execution::same_as(const Execution& other) const {
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (output(i) != other.output(i)) return false;
  return arena_.view(draft_.plan.arena_bytes) == other.arena_.view(draft_.plan.arena_bytes);
}

void Execution::run(size_t s, KernelFunction kernel, std::vector<int64_t> row, int parts) {
  const cpu::Plan::Step& step = draft_.plan.steps[s];
  std::vector<void*> args{row.data()};
  for (const cpu::Plan::Arg& a : step.args) {
    char* base = a.kind == cpu::Plan::Arg::Arena      ? arena_.data()
                 : a.kind == cpu::Plan::Arg::Constant ? constants_[a.index].data()
                 : a.kind == cpu::Plan::Arg::Input    ? inputs_[a.index].data()
                 : a.kind == cpu::Plan::Arg::Output   ? outputs_[a.index].data()
                                                      : nullptr;
    args.push_back(base ? base + a.offset : nullptr);
  }
  for (int p = 0; p < parts; ++p) {
    char* scratch = scratch_.data() + kHeader;
    reinterpret_cast<uint64_t*>(scratch - kHeader)[0] = s + 1;
    kernel(args.data() + 1, step.pieces() * p / parts, step.pieces() * (p + 1) / parts, scratch);
  }
}

Tensors inputs_of(const seam::Model& model, int64_t nan_step) {
  Compiled c;
  c.model.reset(const_cast<seam::Model*>(&model));
  Tensors in = random_inputs(c);
  static_cast<void>(c.model.release());
  for (const auto& t : in)
    for (int64_t i = nan_step / 2; nan_step && t.dtype == OPTIMA_F32 && i < t.elements(); i += nan_step) static_cast<float*>(const_cast<void*>(t.data))[i] = NAN;
  return in;
}

Workbench& workbench(const std::string& cpu, const std::string& features) {
  static std::map<std::string, Workbench> benches;
  return benches.try_emplace(cpu + " " + features, cpu, features).first->second;
}

Table::Table(const std::vector<cpu::KernelSpec>& specs) {
  for (const cpu::KernelSpec& spec : specs)
    if (!find(spec)) kernels_.push_back(cpu::general(spec, cpu::sizes(spec)));
}

const cpu::KernelSpec* Table::find(const cpu::KernelSpec& literal) const {
  for (const cpu::KernelSpec& k : kernels_)
    if (cpu::matches(k, literal)) return &k;
  return nullptr;
}

}  // namespace llvm_cpu_test
