// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: the compiler half: check() by the table, compile() = lower, compile kernels, look at what they need, write. Vulkan is asked for devices only.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "fit.hpp"
#include "glsl.hpp"
#include "info.hpp"
#include "kernels.hpp"
#include "lowering.hpp"
#include "optima/plugin/checksum.hpp"
#include "optima/plugin/folder.hpp"
#include "optima/plugin/plugin.hpp"
#include "optima/plugin/record.hpp"
#include "optima/plugin/sha256.hpp"
#include "runtime/gpu.hpp"

namespace spirv_plugin {
namespace {

/// Of the GPU to compile for: the user's file, else what all of its kind have.
Limits limits_for(const sdk::Device& device, const sdk::Options& options) {
  std::string file(options.string("spirv.limits", ""));
  if (file.empty()) file = device.attributes().string("limits", "");
  return file.empty() ? least_limits(device.kind()) : limits_at(file);
}

/// Who asks for halves says that the GPU has them; where it runs that is looked at.
Element floats_of(const sdk::Options& options, Limits& limits) {
  if (options.string("spirv.precision", "f32") != "f16") return Element::F32;
  limits.features.insert("storageBuffer16BitAccess");
  if (limits.product_tile_f16) limits.product_tile = limits.product_tile_f16;
  if (limits.register_tile_f16) limits.register_tile = limits.register_tile_f16;
  return Element::F16;
}

bool allows_winograd(const sdk::Options& options) { return options.boolean("spirv.winograd", true); }

/// Texts of all ways, each once, and which of them a step's way is.
struct Texts {
  std::vector<std::string> all;
  std::vector<std::vector<uint32_t>> of;  ///< by step and way
};

Texts texts_of(const Draft& draft, bool guarded) {
  Texts out;
  std::map<std::string, uint32_t> known;
  for (const DraftStep& step : draft.steps()) {
    out.of.emplace_back();
    for (const Way& way : step.ways) {
      const auto [at, is_new] = known.emplace(way.shader.text(guarded), static_cast<uint32_t>(out.all.size()));
      if (is_new) out.all.push_back(at->first);
      out.of.back().push_back(at->second);
    }
  }
  return out;
}

std::string generator() { return std::string(kInfo.id) + " " + std::string(kInfo.version) + ", " + tools(); }

std::string hash_of(const optima_graph& graph) { return graph.flags & OPTIMA_GRAPH_SHA256 ? sdk::hex_text(graph.sha256, sizeof graph.sha256) : std::string(); }

std::string bytes_of(const Module& m) { return {reinterpret_cast<const char*>(m.words.data()), m.words.size() * sizeof(uint32_t)}; }

/// Leaves each module once: texts may differ and be one kernel. Which of those that are left each was.
std::vector<uint32_t> merge_equal(std::vector<Module>& modules) {
  std::vector<uint32_t> out;
  std::map<std::vector<uint32_t>, uint32_t> known;
  std::vector<Module> left;
  for (Module& m : modules) {
    const auto [at, is_new] = known.emplace(m.words, static_cast<uint32_t>(left.size()));
    if (is_new) left.push_back(std::move(m));
    out.push_back(at->second);
  }
  modules = std::move(left);
  return out;
}

/// Before kernels are compiled: each step runs within the limits, as its texts have it. Throws UNSUPPORTED.
void require_fits(const Draft& draft, const Limits& limits) {
  for (const DraftStep& step : draft.steps())
    if (const std::string why = lacking(draft, step, limits); !why.empty()) throw sdk::Error(OPTIMA_UNSUPPORTED, "kernel of " + step.name + " " + why, step.node);
}

/// The last way of a step must run on every GPU that fits the limits.
void require_plain_way(const Plan& plan, const Limits& limits) {
  for (const StepPlan& step : plan.steps) {
    if (const std::string why = missing(plan.kernels[step.ways.back().kernel].needs, limits); !why.empty()) throw sdk::Error(OPTIMA_UNSUPPORTED, "kernel of " + step.name + " " + why, step.node);
  }
}

/// What the steps of some nodes take by the target's rates, and what their tensors take of its memory.
optima_cost cost_of(const Draft& draft, const Limits& limits, uint32_t node) {
  double us = 0;
  uint64_t bytes = draft.weights().most();
  for (const DraftStep& s : draft.steps()) {
    us += limits.launch_us + std::max(static_cast<double>(s.work.flops) / limits.gflops, static_cast<double>(s.work.bytes) / limits.gbytes) / 1e3;
    for (const uint32_t t : s.ways[0].shader.written()) bytes += draft.tensor(s.ways[0].shader.tensors()[t]).bytes;
  }
  return {sizeof(optima_cost), node, us, bytes, 0, 0};
}

/// How many a compile may use.
unsigned threads_of(const sdk::Options& options) {
  const auto asked = static_cast<unsigned>(std::max<int64_t>(0, options.integer(OPTIMA_OPTION_THREADS, 0)));
  return asked ? asked : std::max(1u, std::thread::hardware_concurrency());
}

/// Kernels compiled by threads of their own.
class Kernels {
 public:
  Kernels(const std::vector<std::string>& texts, KernelCache cache, unsigned threads) : count_(texts.size()), cache_(std::move(cache)) {
    modules_ = std::async(std::launch::async, [this, &texts, threads] {
      return compile_all(texts, threads, cache_, [this](size_t k) {
        done_ = k;
        if (stop_) throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
      });
    });
  }
  /// Nobody waits for what a cancelled compile began but for the kernels in work.
  ~Kernels() { stop_ = true; }
  /// `progress` is told now and then, on this thread, of the share that is done.
  std::vector<Module> wait(const std::function<void(double)>& progress) {
    constexpr std::chrono::milliseconds kTick(20);
    while (modules_.wait_for(kTick) != std::future_status::ready) progress(static_cast<double>(done_) / static_cast<double>(std::max<size_t>(1, count_)));
    return modules_.get();
  }

 private:
  size_t count_;
  KernelCache cache_;
  std::atomic<size_t> done_{0};
  std::atomic<bool> stop_{false};
  std::future<std::vector<Module>> modules_;  // last: its end waits for the threads
};

class SpirvCompiler : public sdk::Plugin, public sdk::Compiler, public sdk::CostModel {
 public:
  explicit SpirvCompiler(const sdk::Init& init) : kernels_(init.host.cache_dir().empty() ? "" : std::string(init.host.cache_dir()) + "/spirv-kernels") {}

  std::vector<sdk::PresentDevice> devices(std::string& why_none) override { return present(Vulkan::open, false, why_none); }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    const sdk::Options options = request.options();
    Limits limits = limits_for(request.device(), options);
    const Element floats = floats_of(options, limits);
    for (const sdk::Node& node : request.nodes()) report(verdict_within(node, limits, floats, allows_winograd(options)));
  }

  std::vector<optima_cost> estimate(const sdk::CheckRequest& request) override {
    const sdk::Options options = request.options();
    Limits limits = limits_for(request.device(), options);
    const Element floats = floats_of(options, limits);
    std::vector<optima_cost> out;
    for (const sdk::Node& node : request.nodes()) {
      if (!verdict_of(node).yes()) continue;
      Draft draft;
      Lowering to(draft, limits, floats, allows_winograd(options));
      const Group group{node};
      const Row& row = *row_of(node);
      row.lower ? row.lower(to, group) : to.pointwise(group);
      out.push_back(cost_of(draft, limits, node.id()));
    }
    return out;
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    const sdk::Options options = request.options();
    Limits limits = limits_for(request.device(), options);
    const bool guarded = options.boolean("spirv.guard", false);
    progress(0, "planning");
    Lowered lowered = lower_graph(request.graph(), limits, floats_of(options, limits), allows_winograd(options));
    require_fits(lowered.draft, limits);
    const Texts texts = texts_of(lowered.draft, guarded);
    const unsigned threads = threads_of(options);
    const uint64_t block = std::max(kAlignment, limits.buffer_bytes / kAlignment * kAlignment);
    Kernels kernels(texts.all, KernelCache(kernels_), threads);
    Weights& weights = lowered.draft.weights();  // are packed and go to disk while kernels are compiled
    const uint64_t weights_sum = weights.most() > 0 ? weights.write(sink.open(request.stem() + ".weights", weights.most()), threads, block) : 0;
    std::vector<Module> modules = kernels.wait([&](double share) { progress(0.05 + 0.9 * share, "kernels"); });
    const std::vector<uint32_t> which = merge_equal(modules);
    Plan plan = lowered.draft.placed(std::move(lowered.inputs), std::move(lowered.outputs), guarded, block, [&](size_t step, size_t way) { return which[texts.of[step][way]]; });
    plan.target = std::string(request.device().kind()), plan.weights_sum = weights_sum, plan.generator = generator(), plan.graph = hash_of(*request.graph().raw());
    for (size_t k = 0; k < modules.size(); ++k) {
      const std::string bytes = bytes_of(modules[k]);
      const sdk::Checksum sum = sdk::checksum_of(bytes);
      plan.kernels.push_back({"k" + sdk::sum_text(sum.value()) + ".spv", bytes.size(), sum.value(), requirements_of(modules[k].words.data(), modules[k].words.size()), sdk::sha256_text(bytes)});
    }
    if (guarded) ++limits.storage_buffers;  // the guard's own
    require_plain_way(plan, limits);
    if (request.memory_limit() && plan.arena_bytes + plan.weights_bytes > request.memory_limit())
      throw sdk::Error(OPTIMA_MEMORY, "subgraph needs " + std::to_string(plan.arena_bytes) + " bytes of activations and " + std::to_string(plan.weights_bytes) +
                                          " of weights on the GPU, limit is " + std::to_string(request.memory_limit()));
    progress(0.95, "writing");
    write(plan, modules, request, sink);
  }

 private:
  static void write(const Plan& plan, const std::vector<Module>& modules, const sdk::CompileRequest& request, const sdk::Sink& sink) {
    for (size_t k = 0; k < modules.size(); ++k) sink.file(plan.kernels[k].file, bytes_of(modules[k]));
    const std::string text = write_plan(plan);
    sink.file(request.stem() + ".meta", text);
    sink.format(kFormat);
    sink.compat(sdk::write_record({{"target", plan.target}}, {sdk::record_bytes("*.meta", text)}), "SPIR-V for Vulkan 1.1, " + plan.target);
  }

  std::string kernels_;  // folder of the cache; empty = there is none
};

}  // namespace
}  // namespace spirv_plugin

OPTIMA_PLUGIN(spirv_plugin::SpirvCompiler, spirv_plugin::kInfo)
