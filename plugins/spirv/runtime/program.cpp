// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <cstring>

#include "context.hpp"
#include "optima/plugin/record.hpp"
#include "optima/plugin/sha256.hpp"
#include "pipeline_cache.hpp"
#include "pipelines.hpp"

namespace spirv_plugin {
namespace {

/// Throws CORRUPT unless the artifact has the kernel's file as the .meta file says.
void verify_kernel(const sdk::Artifact& artifact, const KernelPlan& k) {
  if (!sdk::verify_file(artifact, {k.file, k.size, k.sum}) || k.sha256.empty()) return;
  const sdk::Elements<char> bytes(*artifact.file(k.file));
  const std::string found = sdk::sha256_text({bytes.data(), bytes.size()});
  if (found != k.sha256) throw sdk::Error(OPTIMA_CORRUPT, "file '" + k.file + "' is not the one that was compiled: its SHA-256 is " + found + ", wanted " + k.sha256);
}

/// Features that the ways taken here want; the words say it, not the .meta file.
std::set<std::string> wanted_features(const Plan& plan, const Limits& limits, const std::vector<sdk::KeptBlob>& modules, std::vector<size_t>& ways) {
  std::set<std::string> out;
  std::map<uint32_t, Requirements> read;
  for (const StepPlan& step : plan.steps) {
    std::string why;
    const std::optional<size_t> way = way_of(plan, step, limits, why);
    if (!way) throw sdk::Error(OPTIMA_WRONG_DEVICE, "kernel of " + step.name + " " + why);
    const uint32_t kernel = step.ways[*way].kernel;
    if (!read.count(kernel)) {
      const std::vector<uint32_t> words = words_of(modules[kernel]);
      const Requirements needs = requirements_of(words.data(), words.size());
      if (why = missing(needs, limits); !why.empty()) throw sdk::Error(OPTIMA_WRONG_DEVICE, "kernel of " + step.name + " " + why);
      if (needs.storage_buffers > step.tensors.size()) throw sdk::Error(OPTIMA_CORRUPT, "kernel of " + step.name + " binds " + std::to_string(needs.storage_buffers) + " buffers, the meta file " + std::to_string(step.tensors.size()));
      out.insert(needs.features.begin(), needs.features.end());
      read.emplace(kernel, needs);
    }
    ways.push_back(*way);
  }
  return out;
}

}  // namespace

std::vector<Region> regions_of(const Plan& plan, Place place) {
  std::vector<Region> out;
  for (const TensorPlan& t : plan.tensors)
    if (t.place == place) out.push_back({t.offset, t.bytes});
  return out;
}

std::optional<size_t> way_of(const Plan& plan, const StepPlan& step, const Limits& limits, std::string& why) {
  for (size_t w = 0; w < step.ways.size(); ++w) {
    const Launch& way = step.ways[w];
    why = missing(plan.kernels[way.kernel].needs, limits);
    if (why.empty()) why = too_many_groups(way.groups, limits);
    if (why.empty() && step.tensors.size() > limits.storage_buffers) why = "needs " + std::to_string(step.tensors.size()) + " storage buffers, this GPU has " + std::to_string(limits.storage_buffers);
    for (size_t k = 0; k < step.tensors.size() && why.empty(); ++k)
      why = too_large_to_bind(plan.tensors[step.tensors[k]].name, plan.tensors[step.tensors[k]].bytes, limits);
    if (why.empty()) return w;
  }
  return std::nullopt;
}

Resident::Resident(std::shared_ptr<Vulkan> vulkan, const GpuInfo& info, const Limits& limits, const Plan& plan, const std::vector<sdk::KeptBlob>& modules, const sdk::KeptBlob& weights,
                   const std::string& cache_folder, unsigned threads)
    : vulkan_(std::move(vulkan)), buffer_bytes_(limits.buffer_bytes) {
  std::vector<size_t> ways;
  const std::set<std::string> features = wanted_features(plan, limits, modules, ways);
  gpu_ = vulkan_->gpu(info, features);
  try {
    if (plan.weights_bytes > 0) upload(plan, weights);
    const PipelineCacheFile file(cache_folder, info);
    if (!info.quirks.count(kPipelineCache)) cache_ = file.open(*gpu_);
    make_steps(plan, ways, modules, threads);
    if (cache_) file.save(*gpu_, cache_);
  } catch (...) {
    free();
    throw;
  }
}

Resident::~Resident() { free(); }

void Resident::free() noexcept {
  const VolkDeviceTable& f = gpu_->f();
  for (const VkPipeline pipeline : pipelines_) f.vkDestroyPipeline(gpu_->device(), pipeline, nullptr);
  for (const auto& [count, layout] : layouts_) {
    if (layout.pipeline) f.vkDestroyPipelineLayout(gpu_->device(), layout.pipeline, nullptr);
    if (layout.set) f.vkDestroyDescriptorSetLayout(gpu_->device(), layout.set, nullptr);
  }
  if (cache_) f.vkDestroyPipelineCache(gpu_->device(), cache_, nullptr);
}

const Resident::Layout& Resident::layout_of(uint32_t bindings) {
  const auto [at, is_new] = layouts_.emplace(bindings, Layout{});
  if (!is_new) return at->second;
  std::vector<VkDescriptorSetLayoutBinding> all;
  for (uint32_t k = 0; k < bindings; ++k) all.push_back({k, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  const VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0, bindings, all.data()};
  gpu_->require(gpu_->f().vkCreateDescriptorSetLayout(gpu_->device(), &set, nullptr, &at->second.set), "making a layout of buffers");
  VkPipelineLayoutCreateInfo pipeline{};
  pipeline.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, pipeline.setLayoutCount = 1, pipeline.pSetLayouts = &at->second.set;
  gpu_->require(gpu_->f().vkCreatePipelineLayout(gpu_->device(), &pipeline, nullptr, &at->second.pipeline), "making a layout of buffers");
  return at->second;
}

/// One pipeline for each kernel and number of bindings.
void Resident::make_steps(const Plan& plan, const std::vector<size_t>& ways, const std::vector<sdk::KeptBlob>& modules, unsigned threads) {
  std::map<std::pair<uint32_t, size_t>, size_t> known;
  std::vector<PipelineOrder> orders;
  std::vector<size_t> order_of;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const StepPlan& step = plan.steps[s];
    const Launch& way = step.ways[ways[s]];
    const Layout& layout = layout_of(static_cast<uint32_t>(step.tensors.size()));
    const auto [at, is_new] = known.emplace(std::pair(way.kernel, step.tensors.size()), orders.size());
    if (is_new) orders.push_back({&modules[way.kernel], layout.pipeline, step.name});
    order_of.push_back(at->second);
    steps_.push_back({VK_NULL_HANDLE, layout.pipeline, layout.set, way.groups});
  }
  pipelines_ = make_pipelines(*gpu_, cache_, orders, threads);
  for (size_t s = 0; s < steps_.size(); ++s) steps_[s].pipeline = pipelines_[order_of[s]];
}

/// Straight into memory that the processor sees, else through a buffer that it sees, a piece at a time.
void Resident::upload(const Plan& plan, const sdk::KeptBlob& weights) {
  const sdk::Elements<char> bytes(weights.blob());
  weights_ = Spread(gpu_, Buffer::Where::Device, bytes.size(), regions_of(plan, Place::Weights), buffer_bytes_, "weights");
  constexpr uint64_t kPiece = uint64_t{64} << 20;
  const bool seen = weights_.is_seen();
  const Buffer stage = seen ? Buffer() : Buffer(gpu_, Buffer::Where::Upload, std::min({kPiece, uint64_t{bytes.size()}, buffer_bytes_}), "staging for weights");
  for (const Region& r : weights_.pieces()) {
    const Spread::Place to = weights_.at(r.offset);
    const uint64_t count = std::min(r.bytes, bytes.size() - std::min<uint64_t>(r.offset, bytes.size()));
    if (seen) std::memcpy(to.data, bytes.data() + r.offset, count);
    for (uint64_t at = 0; !seen && at < count; at += stage.size()) {
      const uint64_t size = std::min(stage.size(), count - at);
      std::memcpy(stage.data(), bytes.data() + r.offset + at, size);
      run_once(*gpu_, [&](VkCommandBuffer commands) {
        const VkBufferCopy piece{0, at, size};
        gpu_->f().vkCmdCopyBuffer(commands, stage.handle(), to.buffer, 1, &piece);
      });
    }
  }
}

LoadedProgram::LoadedProgram(std::shared_ptr<Vulkan> vulkan, GpuInfo info, Limits limits, Plan plan, const sdk::Artifact& artifact, const sdk::Host& host, unsigned threads)
    : vulkan_(std::move(vulkan)), info_(std::move(info)), limits_(std::move(limits)), plan_(std::move(plan)), host_(host), threads_(threads) {
  for (const KernelPlan& k : plan_.kernels) {
    verify_kernel(artifact, k);
    modules_.push_back(host.keep(*artifact.file(k.file)));
  }
  if (plan_.weights_bytes > 0) {
    const std::string name = std::string(artifact.stem()) + ".weights";
    sdk::verify_file(artifact, {name, plan_.weights_bytes, plan_.weights_sum});
    weights_ = host.keep(*artifact.file(name));
  }
  resident();
}

std::shared_ptr<Resident> LoadedProgram::resident() {
  const std::lock_guard lock(mutex_);
  if (!resident_ || resident_->gpu()->is_lost()) resident_ = std::make_shared<Resident>(vulkan_, info_, limits_, plan_, modules_, weights_, std::string(host_.cache_dir()), threads_);
  return resident_;
}

void LoadedProgram::bindings(const sdk::BindingSink& add) const {
  for (const std::vector<PortPlan>* ports : {&plan_.inputs, &plan_.outputs})
    for (const PortPlan& p : *ports) {
      sdk::Binding b{};
      b.name = p.name, b.dtype = p.dtype, b.shape = {p.dims.data(), p.dims.size()}, b.mem_kinds = 1u << OPTIMA_MEM_HOST;
      ports == &plan_.inputs ? add.input(b) : add.output(b);
    }
}

std::unique_ptr<sdk::Context> LoadedProgram::context() { return std::make_unique<RunContext>(*this); }

}  // namespace spirv_plugin
