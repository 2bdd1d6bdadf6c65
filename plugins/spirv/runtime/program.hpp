// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/runtime: a loaded artifact: the plan, and what lies on the GPU of it for all contexts.
#pragma once

#include <map>

#include "completions.hpp"
#include "plan/plan.hpp"
#include "spread.hpp"

namespace spirv_plugin {

/// What one logical device holds of a program: weights and pipelines. A device that is lost takes it along; the next execution makes another.
class Resident {
 public:
  /// `modules`: by kernel; `threads`: most that make pipelines. Throws WRONG_DEVICE where no way of a step runs on this GPU, MEMORY, DEVICE.
  Resident(std::shared_ptr<Vulkan> vulkan, const GpuInfo& info, const Limits& limits, const Plan& plan, const std::vector<sdk::KeptBlob>& modules, const sdk::KeptBlob& weights,
           const std::string& cache_folder, unsigned threads);
  ~Resident();
  Resident(const Resident&) = delete;

  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  const Spread& weights() const { return weights_; }
  /// Bytes of a buffer on this GPU.
  uint64_t buffer_bytes() const { return buffer_bytes_; }
  struct Step {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    std::array<uint32_t, 3> groups{};
  };
  const Step& step(size_t k) const { return steps_[k]; }

 private:
  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  const Layout& layout_of(uint32_t bindings);
  void make_steps(const Plan& plan, const std::vector<size_t>& ways, const std::vector<sdk::KeptBlob>& modules, unsigned threads);
  void upload(const Plan& plan, const sdk::KeptBlob& weights);
  void free() noexcept;

  std::shared_ptr<Vulkan> vulkan_;  // before what comes from it
  std::shared_ptr<Gpu> gpu_;
  uint64_t buffer_bytes_;
  Spread weights_;
  std::map<uint32_t, Layout> layouts_;  // by number of bindings
  std::vector<VkPipeline> pipelines_;  // one for each kernel and number of bindings
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<Step> steps_;
};

/// What tensors of a plan take of one of its places.
std::vector<Region> regions_of(const Plan& plan, Place place);

/// The way of a step that this GPU takes: the first whose needs it meets; nothing, with the reason of the last, when it meets none.
std::optional<size_t> way_of(const Plan& plan, const StepPlan& step, const Limits& limits, std::string& why);

class LoadedProgram : public sdk::Program {
 public:
  /// `threads`: most that make pipelines, now and when a lost device is replaced.
  LoadedProgram(std::shared_ptr<Vulkan> vulkan, GpuInfo info, Limits limits, Plan plan, const sdk::Artifact& artifact, const sdk::Host& host, unsigned threads);

  void bindings(const sdk::BindingSink& add) const override;
  std::unique_ptr<sdk::Context> context() override;

  const Plan& plan() const { return plan_; }
  const sdk::Host& host() const { return host_; }
  const GpuInfo& info() const { return info_; }
  /// What lies on the GPU; another one once that is lost. Any thread.
  std::shared_ptr<Resident> resident();
  Completions& completions() { return completions_; }

 private:
  std::shared_ptr<Vulkan> vulkan_;
  GpuInfo info_;
  Limits limits_;
  Plan plan_;
  sdk::Host host_;
  unsigned threads_;
  std::vector<sdk::KeptBlob> modules_;  // by kernel
  sdk::KeptBlob weights_;
  std::mutex mutex_;
  std::shared_ptr<Resident> resident_;
  Completions completions_;  // last: its thread uses all of these
};

}  // namespace spirv_plugin
