// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see program.hpp.
#include "plugins/llvm_cpu/runtime/program.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "plugins/llvm_cpu/runtime/context.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"
#include "plugins/llvm_cpu/runtime/elf.hpp"
#include "plugins/llvm_cpu/runtime/in_place.hpp"
#include "plugins/llvm_cpu/runtime/memory.hpp"
#include "plugins/llvm_cpu/runtime/pack_all.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr uint64_t kAlign = 64;

[[noreturn]] void corrupt(const std::string& why) { throw sdk::Error(OPTIMA_CORRUPT, why); }

/// Where a constant's source bytes are.
struct Source {
  const char* data;
  uint64_t size;
};

class Sources {
 public:
  Sources(const Plan& plan, const sdk::Artifact& artifact) : artifact_(artifact) {
    if (const optima_blob* file = artifact.file(std::string(artifact.stem()) + ".constants")) file_.emplace(*file);
    for (const Plan::Constant& c : plan.constants)
      if (!c.weight.empty()) weight(c.weight);
  }

  Source of(const Plan::Constant& c) {
    const sdk::Elements<char>* all = c.weight.empty() ? (file_ ? &*file_ : nullptr) : &weight(c.weight);
    const uint64_t size = all ? all->size() : 0;
    if (c.offset > size || c.size > size - c.offset)
      corrupt("constant needs bytes up to " + std::to_string(c.offset + c.size) + " of " + (c.weight.empty() ? "the constants file" : c.weight) + ", which has " + std::to_string(size));
    return {all ? all->data() + c.offset : nullptr, c.size};
  }

 private:
  const sdk::Elements<char>& weight(const std::string& name) {
    for (const auto& [known, bytes] : weights_)
      if (known == name) return *bytes;
    const optima_blob* blob = artifact_.weight(name);
    if (!blob) corrupt("weight " + name + " is missing");
    weights_.emplace_back(name, std::make_unique<sdk::Elements<char>>(*blob));
    return *weights_.back().second;
  }
  const sdk::Artifact& artifact_;
  std::optional<sdk::Elements<char>> file_;
  std::vector<std::pair<std::string, std::unique_ptr<sdk::Elements<char>>>> weights_;
};

}  // namespace

KernelFunction open_kernel(const sdk::Artifact& artifact, const std::string& name, const sdk::Host& host) {
  const optima_blob* blob = artifact.file(name);
  if (!blob) corrupt("kernel file " + name + " is missing");
  const sdk::Elements<char> bytes(*blob);
  if (const std::string why = elf_mistake(bytes.data(), bytes.size()); !why.empty()) corrupt("kernel file " + name + ": " + why);
  const sdk::KeptBlob kept = host.keep(*blob);
  void* handle = dlopen(kept.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) corrupt("kernel file " + name + ": " + std::string(dlerror()));
  void* symbol = dlsym(handle, "kernel");
  if (!symbol) corrupt("kernel file " + name + " has no symbol kernel");
  KernelFunction f;
  std::memcpy(&f, &symbol, sizeof f);
  return f;
}

LoadedProgram::LoadedProgram(Plan plan, const sdk::Artifact& artifact, sdk::Host host, int threads)
    : plan_(std::move(plan)), host_(host), threads_(threads) {
  missing_features(plan_.features);  // asks the system for what needs its leave
  pack_constants(artifact);
  open_kernels(artifact);
}

void LoadedProgram::open_kernels(const sdk::Artifact& artifact) {
  const sdk::Progress progress = artifact.progress();
  for (const std::string& name : plan_.kernels) {
    progress(0.5 + 0.5 * static_cast<double>(kernels_.size()) / static_cast<double>(plan_.kernels.size()), "opening kernels");
    kernels_.push_back(open_kernel(artifact, name, host_));
  }
}

void LoadedProgram::pack_constants(const sdk::Artifact& artifact) {
  const sdk::Progress progress = artifact.progress();
  progress(0, "packing constants");
  Sources sources(plan_, artifact);
  uint64_t end = 0;
  for (const Plan::Constant& c : plan_.constants) {
    offsets_.push_back(end);
    end += (c.packed_bytes + kSlack + kAlign - 1) / kAlign * kAlign;
  }
  constants_ = Memory(end);
  std::vector<PackJob> jobs;
  for (size_t k = 0; k < plan_.constants.size(); ++k) {
    const Plan::Constant& c = plan_.constants[k];
    const Source from = sources.of(c), scale = c.scale == UINT32_MAX ? Source{} : sources.of(plan_.constants[c.scale]);
    jobs.push_back({&c.pack, from.data, from.size, floats_at(scale.data, scale.size), constants_.data() + offsets_[k]});
  }
  pack_all(jobs, threads_, [&] { return progress.cancelled(); });
}

void LoadedProgram::bindings(const sdk::BindingSink& add) const {
  const auto binding = [](const Plan::Tensor& t) {
    sdk::Binding b{t.name, t.dtype, {t.dims.data(), t.dims.size()}};
    b.min_size = t.bytes, b.alignment = kCallerAlignment;
    return b;
  };
  for (const Plan::Tensor& t : plan_.inputs) add.input(binding(t));
  const std::vector<uint32_t> places = in_place(plan_);
  for (size_t k = 0; k < plan_.outputs.size(); ++k) {
    sdk::Binding b = binding(plan_.outputs[k]);
    b.alias = places[k];
    add.output(b);
  }
}

std::unique_ptr<sdk::Context> LoadedProgram::context() { return std::make_unique<RunContext>(*this, 0, threads_); }

std::unique_ptr<sdk::Context> LoadedProgram::context_with(const sdk::Options& options) {
  const ContextCores on = context_cores(options, threads_);
  return std::make_unique<RunContext>(*this, on.cores, on.threads);
}

}  // namespace optima::llvm_cpu
