// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see fitted_program.hpp.
#include "plugins/llvm_cpu/runtime/fitted_program.hpp"

#include <algorithm>
#include <cstring>

#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"
#include "plugins/llvm_cpu/runtime/fitted_context.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"
#include "plugins/llvm_cpu/runtime/program.hpp"

namespace optima::llvm_cpu {
namespace {

std::unique_ptr<reference::GraphFile> read_graph(const sdk::Artifact& artifact, const sdk::Host& host) {
  const std::string name = std::string(artifact.stem()) + ".graph";
  const optima_blob* file = artifact.file(name);
  if (!file) throw sdk::Error(OPTIMA_CORRUPT, "file " + name + " is missing");
  auto loaded = reference::read_graph_file(artifact, *file, &host);
  const optima_image_graph& entry = *optima_get_graph(loaded->image.image(), 0);
  for (uint32_t n = 0; n < entry.nodes.count; ++n) {
    const optima_node& node = *optima_get_node(loaded->image.image(), entry.nodes.first + n);
    if (const std::string why = reference::why_not(loaded->graph, node); !why.empty()) throw sdk::Error(OPTIMA_CORRUPT, "artifact has a node this build does not run: " + why, node.id);
  }
  return loaded;
}

/// The one that is_built_in() knows: units are pieces of kCopyPiece bytes.
void copy_bytes(void* const* args, int64_t u0, int64_t u1, char*) {
  const int64_t bytes = *static_cast<const int64_t*>(args[-1]), from = u0 * k::kCopyPiece, to = std::min(bytes, u1 * k::kCopyPiece);
  if (to > from) std::memcpy(static_cast<char*>(args[1]) + from, static_cast<const char*>(args[0]) + from, static_cast<size_t>(to - from));
}

}  // namespace

FittedProgram::FittedProgram(FitFile file, const sdk::Artifact& artifact, sdk::Host host, int threads)
    : file_(std::move(file)), host_(host), threads_(threads), loaded_(read_graph(artifact, host)), table_(file_.kernels) {
  missing_features(file_.features);  // asks the system for what needs its leave
  const sdk::Progress progress = artifact.progress();
  for (const FitFile::Kernel& k : file_.kernels) {
    progress(static_cast<double>(kernels_.size()) / static_cast<double>(file_.kernels.size()), "opening kernels");
    kernels_.push_back(open_kernel(artifact, k.file, host_));
  }
  fitter_ = std::make_unique<Fitter>(loaded_->graph, file_.target, file_.winograd, [this](const KernelSpec& spec) { return table_.find(spec).has_value(); });
  constants_ = std::make_unique<Constants>(static_cast<uint32_t>(loaded_->blobs.size()), threads_);
}

FittedProgram::Code FittedProgram::code(const KernelSpec& spec) const {
  if (const auto k = table_.find(spec)) return {kernels_[*k], row(file_.kernels[*k].spec, spec)};
  if (is_built_in(spec)) return {copy_bytes, {spec.literals.at(0)}};
  throw sdk::Error(OPTIMA_INTERNAL, "no kernel computes " + spec.entry);
}

void FittedProgram::put(const sdk::BindingSink& add, uint32_t value, bool is_input) const {
  const sdk::Value v(&loaded_->graph, value);
  const std::vector<int64_t> shape = v.shape();
  sdk::Binding b{v.name(), v.dtype(), sdk::Span<const int64_t>(shape.data(), shape.size())};
  b.unranked = !v.ranked();
  if (is_input) add.input(b);
  else add.output(b);
}

void FittedProgram::bindings(const sdk::BindingSink& add) const {
  for (const uint32_t v : fitter_->inputs()) put(add, v, true);
  for (const uint32_t v : fitter_->outputs()) put(add, v, false);
}

std::unique_ptr<sdk::Context> FittedProgram::context() { return std::make_unique<FittedContext>(*this, 0, threads_); }

std::unique_ptr<sdk::Context> FittedProgram::context_with(const sdk::Options& options) {
  const auto cores = static_cast<uint64_t>(options.integer(OPTIMA_OPTION_CORES, 0));
  if (cores == 0) return context();
  const int usable = count_of(cores, allowed_processors());
  if (usable == 0) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, OPTIMA_OPTION_CORES " names no processor that this process may run on");
  return std::make_unique<FittedContext>(*this, cores, std::min(threads_, usable));
}

}  // namespace optima::llvm_cpu
