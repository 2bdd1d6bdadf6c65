// SPDX-License-Identifier: Apache-2.0
#include "pipelines.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

#include "plan/helpers.hpp"

namespace spirv_plugin {
namespace {

VkPipeline made(const Gpu& gpu, VkPipelineCache cache, const PipelineOrder& order) {
  const std::vector<uint32_t> words = words_of(*order.module);
  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, code.codeSize = words.size() * sizeof(uint32_t), code.pCode = words.data();
  VkShaderModule shader = VK_NULL_HANDLE;
  const std::string what = "making the kernel of " + order.step + " on GPU '" + gpu.info().name + "'";
  gpu.require(gpu.f().vkCreateShaderModule(gpu.device(), &code, nullptr, &shader), what);
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, info.layout = order.layout;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT, info.stage.module = shader, info.stage.pName = "main";
  VkPipeline out = VK_NULL_HANDLE;
  const VkResult result = gpu.f().vkCreateComputePipelines(gpu.device(), cache, 1, &info, nullptr, &out);
  gpu.f().vkDestroyShaderModule(gpu.device(), shader, nullptr);
  gpu.require(result, what);
  if (!out) throw sdk::Error(OPTIMA_DEVICE, what + ": the driver made none and gave no reason");
  return out;
}

}  // namespace

std::vector<uint32_t> words_of(const sdk::KeptBlob& module) {
  std::vector<uint32_t> out(module.size() / sizeof(uint32_t));
  sdk::read_blob(module.blob(), out.data());
  return out;
}

std::vector<VkPipeline> make_pipelines(const Gpu& gpu, VkPipelineCache cache, const std::vector<PipelineOrder>& orders, unsigned threads) {
  constexpr size_t kMostThreads = 16;  // a driver's compiler takes memory for each
  std::vector<VkPipeline> out(orders.size(), VK_NULL_HANDLE);
  std::vector<std::exception_ptr> errors(orders.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  // Whatever is ahead of one that fails was begun before and ends: the first error in order is always among those seen.
  const auto work = [&](const std::atomic<bool>& stop) {
    for (size_t k; !stop && !failed && (k = next++) < orders.size();) {
      try {
        out[k] = made(gpu, cache, orders[k]);
      } catch (...) {
        errors[k] = std::current_exception();
        failed = true;
      }
    }
  };
  {
    std::optional<Helpers> helpers;
    try {
      helpers.emplace(std::min({kMostThreads, size_t{std::max(1u, threads)}, std::max<size_t>(1, orders.size())}) - 1, work);
    } catch (const std::system_error&) {  // no thread is left: this one does it all
    }
    const std::atomic<bool> never{false};
    work(never);
  }
  const auto error = std::find_if(errors.begin(), errors.end(), [](const std::exception_ptr& e) { return e != nullptr; });
  if (error == errors.end()) return out;
  for (const VkPipeline p : out)
    if (p) gpu.f().vkDestroyPipeline(gpu.device(), p, nullptr);
  std::rethrow_exception(*error);
}

}  // namespace spirv_plugin
