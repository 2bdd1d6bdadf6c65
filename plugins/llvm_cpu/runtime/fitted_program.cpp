// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see fitted_program.hpp.
#include "plugins/llvm_cpu/runtime/fitted_program.hpp"

#include <algorithm>
#include <cstring>

#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"
#include "plugins/llvm_cpu/runtime/files.hpp"
#include "plugins/llvm_cpu/runtime/fitted_context.hpp"
#include "plugins/llvm_cpu/runtime/in_place.hpp"
#include "plugins/llvm_cpu/runtime/memory.hpp"
#include "plugins/llvm_cpu/runtime/processors.hpp"
#include "plugins/llvm_cpu/runtime/program.hpp"

namespace optima::llvm_cpu {
namespace {

std::unique_ptr<reference::GraphFile> read_graph(const sdk::Artifact& artifact, const sdk::Host& host) {
  return read_file(artifact, ".graph", [&](const optima_blob& file) {
    auto loaded = reference::read_graph_file(artifact, file, &host);
    const optima_image_graph& entry = *optima_get_graph(loaded->image.image(), 0);
    for (uint32_t n = 0; n < entry.nodes.count; ++n) {
      const optima_node& node = *optima_get_node(loaded->image.image(), entry.nodes.first + n);
      if (const std::string why = reference::why_not(loaded->graph, node); !why.empty()) throw sdk::Error(OPTIMA_CORRUPT, "artifact has a node this build does not run: " + why, node.id);
    }
    return loaded;
  });
}

/// Whether a value may have this shape: it has its rank, where it says one, and its fixed dims.
bool takes_shape(const sdk::Value& value, const std::vector<int64_t>& dims) {
  if (!value.ranked()) return true;
  bool fits = value.rank() == static_cast<int32_t>(dims.size());
  for (uint32_t d = 0; fits && d < dims.size(); ++d) fits = value.dim(d) < 0 || value.dim(d) == dims[d];
  return fits;
}

/// Why inputs cannot have these shapes; empty = they can.
std::string why_not_inputs(const sdk::Graph& graph, const std::vector<std::vector<int64_t>>& shapes) {
  if (shapes.size() != graph.input_count()) return std::to_string(shapes.size()) + " inputs, wanted " + std::to_string(graph.input_count());
  for (uint32_t k = 0; k < graph.input_count(); ++k)
    if (const sdk::Value v = graph.input(k); !takes_shape(v, shapes[k])) return "input " + std::string(v.name()) + " of shape " + to_text(shapes[k]) + ", wanted " + to_text(v.shape());
  return {};
}

/// The one that is_built_in() knows: units are pieces of kCopyPiece bytes.
void copy_bytes(void* const* args, int64_t u0, int64_t u1, char*) {
  const int64_t bytes = *static_cast<const int64_t*>(args[-1]), from = u0 * k::kCopyPiece, to = std::min(bytes, u1 * k::kCopyPiece);
  if (to > from && args[0] != args[1]) std::memcpy(static_cast<char*>(args[1]) + from, static_cast<const char*>(args[0]) + from, static_cast<size_t>(to - from));
}

}  // namespace

FittedProgram::FittedProgram(FitFile file, const sdk::Artifact& artifact, sdk::Host host, int threads)
    : file_(std::move(file)), host_(host), threads_(threads), loaded_(read_graph(artifact, host)), table_(file_.kernels), stem_(artifact.stem()) {
  missing_features(file_.features);  // asks the system for what needs its leave
  const sdk::Progress progress = artifact.progress();
  for (const FitFile::Kernel& k : file_.kernels) {
    progress(static_cast<double>(kernels_.size()) / static_cast<double>(file_.kernels.size()), "opening kernels");
    kernels_.push_back(open_kernel(artifact, k.file, host_));
  }
  fitter_ = std::make_unique<Fitter>(loaded_->graph, file_.target, file_.winograd, [this](const KernelSpec& spec) { return table_.find(spec).has_value(); });
  constants_ = std::make_unique<Constants>(static_cast<uint32_t>(loaded_->blobs.size()), threads_);
  plan_first();
}

/// Weights are packed now and not in the first run: as they are wanted at the sizes that were planned first when it was compiled.
void FittedProgram::plan_first() {
  if (file_.first.empty()) return;
  const std::unique_ptr<Leg> leg = plan_ahead(file_.first);
  if (leg->stretch) told_ = nodes_by_reference(leg->draft);  // the compiler told of them
  for (const auto& shapes : file_.also) plan_ahead(shapes);
}

/// The plan for inputs of these shapes, after its weights have been packed.
std::unique_ptr<Leg> FittedProgram::plan_ahead(const std::vector<std::vector<int64_t>>& shapes) const {
  const std::string wrong = "file " + stem_ + ".meta: sizes to plan first: ";
  if (const std::string why = why_not_inputs(sdk::Graph(&loaded_->graph), shapes); !why.empty()) throw sdk::Error(OPTIMA_CORRUPT, wrong + why);
  std::unique_ptr<Leg> leg;
  try {
    leg = fitter_->first(shapes);
  } catch (const sdk::Error& e) {
    throw sdk::Error(OPTIMA_CORRUPT, wrong + e.text);
  }
  if (leg->stretch) constants_->pack(leg->draft, *leg->stretch);
  return leg;
}

void FittedProgram::tell_of(const Leg& leg) const {
  std::set<uint32_t> fresh;
  {
    const std::lock_guard lock(telling_);
    for (const uint32_t id : nodes_by_reference(leg.draft))
      if (told_.insert(id).second) fresh.insert(id);
  }
  if (fresh.empty()) return;
  host_.log(OPTIMA_LOG_WARN, "llvm_cpu", "subgraph '" + stem_ + "' came to sizes for which it has no kernels for " + std::to_string(fresh.size()) +
                                             " nodes: the reference, which is slow, computes " + names_of(loaded_->graph, fresh));
}

FittedProgram::Code FittedProgram::code(const KernelSpec& spec) const {
  if (const auto k = table_.find(spec)) return {kernels_[*k], row(file_.kernels[*k].spec, spec)};
  if (is_built_in(spec)) return {copy_bytes, {spec.literals.at(0)}};
  throw sdk::Error(OPTIMA_INTERNAL, "no kernel computes " + spec.entry);
}

/// f(binding) of a value of the graph.
template <class F>
void FittedProgram::bind(uint32_t value, F f) const {
  const sdk::Value v(&loaded_->graph, value);
  const std::vector<int64_t> shape = v.shape();
  sdk::Binding b{v.name(), v.dtype(), sdk::Span<const int64_t>(shape.data(), shape.size())};
  b.unranked = !v.ranked(), b.alignment = kCallerAlignment;
  f(b);
}

void FittedProgram::bindings(const sdk::BindingSink& add) const {
  const std::vector<uint32_t> places = in_place(loaded_->graph);
  for (const uint32_t v : fitter_->inputs()) bind(v, [&](const sdk::Binding& b) { add.input(b); });
  for (size_t k = 0; k < places.size(); ++k)
    bind(fitter_->outputs()[k], [&](sdk::Binding& b) {
      b.alias = places[k];
      add.output(b);
    });
}

std::unique_ptr<sdk::Context> FittedProgram::context() { return std::make_unique<FittedContext>(*this, 0, threads_); }

std::unique_ptr<sdk::Context> FittedProgram::context_with(const sdk::Options& options) {
  const ContextCores on = context_cores(options, threads_);
  return std::make_unique<FittedContext>(*this, on.cores, on.threads);
}

}  // namespace optima::llvm_cpu
