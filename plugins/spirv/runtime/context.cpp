// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "convert.hpp"
#include "optima/plugin/fits.hpp"

namespace spirv_plugin {
namespace {

uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

/// What is written before is seen behind, by kernels, copies and, at the end, the processor.
void barrier(const VolkDeviceTable& f, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags reads) {
  const VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, wrote, reads};
  f.vkCmdPipelineBarrier(commands, from, to, 0, 1, &all, 0, nullptr, 0, nullptr);
}

constexpr VkPipelineStageFlags kKernel = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kCopy = VK_PIPELINE_STAGE_TRANSFER_BIT, kProcessor = VK_PIPELINE_STAGE_HOST_BIT;
constexpr VkAccessFlags kKernelReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

/// Work of one submit, as near to it as steps allow. Drivers end what runs for long (amdgpu after 2 s), and a cancelled run ends between two.
constexpr double kPartSeconds = 0.1;
/// Far below what a GPU of its sort does: parts then only come out short.
double seconds_of(const StepPlan& step, const GpuInfo& gpu) {
  const double flops = gpu.is_software ? 1e10 : gpu.is_unified ? 5e10 : 1e12, bytes = gpu.is_software ? 5e9 : gpu.is_unified ? 1e10 : 1e11;
  return static_cast<double>(step.flops) / flops + static_cast<double>(step.bytes) / bytes;
}

}  // namespace

/// All that a context has on the GPU, made for one Resident.
class RunContext::Recorded {
 public:
  Recorded(const Plan& plan, std::shared_ptr<Resident> resident, bool timed)
      : plan_(plan), resident_(std::move(resident)), gpu_(*resident_->gpu()), queue_(gpu_.next_queue()), timed_(timed) {
    try {
      arena_ = Spread(resident_->gpu(), Buffer::Where::Device, plan.arena_bytes, regions_of(plan, Place::Arena), resident_->buffer_bytes(), "activations");
      place_ports();
      make_pools();
      record();
    } catch (...) {
      free();
      throw;
    }
  }
  ~Recorded() { free(); }
  Recorded(const Recorded&) = delete;

  const std::shared_ptr<Resident>& resident() const { return resident_; }
  bool timed() const { return timed_; }
  size_t parts() const { return parts_.size(); }
  /// Indices outside of their buffers in the last run; 0 of kernels without a guard.
  uint32_t violations() const {
    uint32_t n = 0;
    if (plan_.guard == OPTIMA_NONE) return n;
    std::memcpy(&n, download_.count() ? download_.at(guard_).data : of(plan_.guard).data, sizeof n);
    return n;
  }
  char* input(size_t k) const { return upload_.count() ? upload_.at(in_[k]).data : of(plan_.inputs[k].tensor).data; }
  const char* output(size_t k) const { return download_.count() ? download_.at(out_[k]).data : of(plan_.outputs[k].tensor).data; }

  void submit(size_t part) {
    const VkFence fence = parts_[part].fence;
    gpu_.require(f().vkResetFences(gpu_.device(), 1, &fence), "starting kernels");
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, info.commandBufferCount = 1, info.pCommandBuffers = &parts_[part].commands;
    const std::lock_guard lock(queue_.mutex);
    gpu_.require(f().vkQueueSubmit(queue_.handle, 1, &info, fence), "starting kernels on GPU '" + gpu_.info().name + "'");
  }
  void wait(size_t part) {
    constexpr uint64_t kForever = UINT64_MAX;
    gpu_.require(f().vkWaitForFences(gpu_.device(), 1, &parts_[part].fence, VK_TRUE, kForever), "kernels on GPU '" + gpu_.info().name + "'");
  }
  /// Begin and end of each step, in ns of the GPU's clock from the first on.
  std::vector<std::pair<uint64_t, uint64_t>> times() {
    std::vector<uint64_t> raw(2 * plan_.steps.size());
    if (!queries_) return {};
    gpu_.require(f().vkGetQueryPoolResults(gpu_.device(), queries_, 0, static_cast<uint32_t>(raw.size()), raw.size() * 8, raw.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT), "reading times");
    VkPhysicalDeviceProperties p{};
    vkGetPhysicalDeviceProperties(gpu_.info().handle, &p);
    const auto ns = [&](uint64_t t) { return static_cast<uint64_t>(static_cast<double>(t - raw[0]) * static_cast<double>(p.limits.timestampPeriod)); };
    std::vector<std::pair<uint64_t, uint64_t>> out;
    for (size_t k = 0; k < plan_.steps.size(); ++k) out.emplace_back(ns(raw[2 * k]), ns(raw[2 * k + 1]));
    return out;
  }

 private:
  struct Part {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
  };
  const VolkDeviceTable& f() const { return gpu_.f(); }

  /// Where a tensor lies.
  Spread::Place of(uint32_t tensor) const {
    const TensorPlan& t = plan_.tensors[tensor];
    return t.place == Place::Arena ? arena_.at(t.offset) : resident_->weights().at(t.offset);
  }

  /// Ports go through buffers that the processor sees where it does not see the arena.
  void place_ports() {
    if (arena_.is_seen()) return;
    std::vector<Region> regions;
    const auto place = [&](const std::vector<PortPlan>& ports, std::vector<uint64_t>& at) {
      uint64_t size = 0;
      regions.clear();
      for (const PortPlan& p : ports) {
        at.push_back(size), regions.push_back({size, plan_.tensors[p.tensor].bytes});
        size += (regions.back().bytes + kAlignment - 1) / kAlignment * kAlignment;
      }
      return size;
    };
    const uint64_t in = place(plan_.inputs, in_);
    upload_ = Spread(resident_->gpu(), Buffer::Where::Upload, in, regions, resident_->buffer_bytes(), "inputs");
    guard_ = place(plan_.outputs, out_);
    regions.push_back({guard_, kAlignment});
    download_ = Spread(resident_->gpu(), Buffer::Where::Download, guard_ + kAlignment, regions, resident_->buffer_bytes(), "outputs");
  }

  void make_pools() {
    const auto steps = static_cast<uint32_t>(plan_.steps.size());
    uint32_t buffers = 0;
    for (const StepPlan& s : plan_.steps) buffers += static_cast<uint32_t>(s.tensors.size());
    if (steps > 0) {
      const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, std::max(buffers, 1u)};
      const VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, steps, 1, &size};
      gpu_.require(f().vkCreateDescriptorPool(gpu_.device(), &pool, nullptr, &sets_), "making a pool of descriptors");
    }
    const VkCommandPoolCreateInfo commands{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, gpu_.family()};
    gpu_.require(f().vkCreateCommandPool(gpu_.device(), &commands, nullptr, &commands_), "making a pool of commands");
    if (timed_ && steps > 0 && gpu_.has_clock()) {
      const VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0, VK_QUERY_TYPE_TIMESTAMP, 2 * steps, 0};
      gpu_.require(f().vkCreateQueryPool(gpu_.device(), &queries, nullptr, &queries_), "making a pool of times");
    }
  }

  VkDescriptorSet set_of(const StepPlan& step, const Resident::Step& kernel) {
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, sets_, 1, &kernel.set};
    gpu_.require(f().vkAllocateDescriptorSets(gpu_.device(), &allocate, &set), "making descriptors");
    std::vector<VkDescriptorBufferInfo> buffers;
    for (const uint32_t t : step.tensors) {
      const Spread::Place at = of(t);
      buffers.push_back({at.buffer, at.offset, plan_.tensors[t].bytes});
    }
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, write.dstSet = set, write.descriptorCount = static_cast<uint32_t>(buffers.size());
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, write.pBufferInfo = buffers.data();
    f().vkUpdateDescriptorSets(gpu_.device(), 1, &write, 0, nullptr);
    return set;
  }

  VkCommandBuffer begin() {
    Part part;
    const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, commands_, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    gpu_.require(f().vkAllocateCommandBuffers(gpu_.device(), &allocate, &part.commands), "making commands");
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
    gpu_.require(f().vkCreateFence(gpu_.device(), &fence, nullptr, &part.fence), "making a fence");
    parts_.push_back(part);
    const VkCommandBufferBeginInfo start{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
    gpu_.require(f().vkBeginCommandBuffer(part.commands, &start), "recording commands");
    return part.commands;
  }
  void end(VkCommandBuffer commands) { gpu_.require(f().vkEndCommandBuffer(commands), "recording commands"); }

  void record() {
    VkCommandBuffer commands = begin();
    if (queries_) f().vkCmdResetQueryPool(commands, queries_, 0, static_cast<uint32_t>(2 * plan_.steps.size()));
    copy_in(commands);
    clear_guard(commands);
    size_t settled = 0;  // steps ahead of the last barrier
    double seconds = 0;
    for (size_t k = 0; k < plan_.steps.size(); ++k) {
      const StepPlan& step = plan_.steps[k];
      const Resident::Step& kernel = resident_->step(k);
      if (seconds > kPartSeconds) {
        end(commands);
        commands = begin(), seconds = 0;
      }
      if (std::any_of(step.after.begin(), step.after.end(), [&](uint32_t before) { return before >= settled; })) {
        barrier(f(), commands, kKernel, VK_ACCESS_SHADER_WRITE_BIT, kKernel, kKernelReads);
        settled = k;
      }
      const VkDescriptorSet set = set_of(step, kernel);
      f().vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
      f().vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set, 0, nullptr);
      if (queries_) f().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries_, static_cast<uint32_t>(2 * k));
      f().vkCmdDispatch(commands, kernel.groups[0], kernel.groups[1], kernel.groups[2]);
      if (queries_) f().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, static_cast<uint32_t>(2 * k + 1));
      seconds += seconds_of(step, gpu_.info());
    }
    copy_out(commands);
    end(commands);
  }

  void clear_guard(VkCommandBuffer commands) {
    if (plan_.guard == OPTIMA_NONE) return;
    const Spread::Place guard = of(plan_.guard);
    f().vkCmdFillBuffer(commands, guard.buffer, guard.offset, 4, 0);
    barrier(f(), commands, kCopy, VK_ACCESS_TRANSFER_WRITE_BIT, kKernel, kKernelReads);
  }

  void copy(VkCommandBuffer commands, const Spread::Place& from, const Spread::Place& to, uint64_t bytes) {
    const VkBufferCopy piece{from.offset, to.offset, bytes};
    f().vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &piece);
  }

  void copy_in(VkCommandBuffer commands) {
    if (!upload_.count()) return;
    for (size_t k = 0; k < plan_.inputs.size(); ++k) copy(commands, upload_.at(in_[k]), of(plan_.inputs[k].tensor), plan_.tensors[plan_.inputs[k].tensor].bytes);
    barrier(f(), commands, kCopy, VK_ACCESS_TRANSFER_WRITE_BIT, kKernel | kCopy, kKernelReads | VK_ACCESS_TRANSFER_READ_BIT);
  }

  void copy_out(VkCommandBuffer commands) {
    if (!download_.count()) return barrier(f(), commands, kKernel, VK_ACCESS_SHADER_WRITE_BIT, kProcessor, VK_ACCESS_HOST_READ_BIT);
    barrier(f(), commands, kKernel, VK_ACCESS_SHADER_WRITE_BIT, kCopy, VK_ACCESS_TRANSFER_READ_BIT);
    for (size_t k = 0; k < plan_.outputs.size(); ++k) copy(commands, of(plan_.outputs[k].tensor), download_.at(out_[k]), plan_.tensors[plan_.outputs[k].tensor].bytes);
    if (plan_.guard != OPTIMA_NONE) copy(commands, of(plan_.guard), download_.at(guard_), 4);
    barrier(f(), commands, kCopy, VK_ACCESS_TRANSFER_WRITE_BIT, kProcessor, VK_ACCESS_HOST_READ_BIT);
  }

  void free() noexcept {
    if (!parts_.empty()) {  // after an error something may still run
      const std::lock_guard lock(queue_.mutex);
      (void)f().vkQueueWaitIdle(queue_.handle);
    }
    for (const Part& p : parts_)
      if (p.fence) f().vkDestroyFence(gpu_.device(), p.fence, nullptr);
    if (queries_) f().vkDestroyQueryPool(gpu_.device(), queries_, nullptr);
    if (commands_) f().vkDestroyCommandPool(gpu_.device(), commands_, nullptr);
    if (sets_) f().vkDestroyDescriptorPool(gpu_.device(), sets_, nullptr);
  }

  const Plan& plan_;
  std::shared_ptr<Resident> resident_;
  Gpu& gpu_;
  Gpu::Queue& queue_;
  bool timed_;
  Spread arena_, upload_, download_;
  std::vector<uint64_t> in_, out_;  // offsets of ports in upload_ and download_
  uint64_t guard_ = 0;              // offset of the guard's number in download_
  VkDescriptorPool sets_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::vector<Part> parts_;
};

void run_once(Gpu& gpu, const std::function<void(VkCommandBuffer)>& record) {
  const VolkDeviceTable& f = gpu.f();
  const VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, gpu.family()};
  VkCommandPool pool = VK_NULL_HANDLE;
  gpu.require(f.vkCreateCommandPool(gpu.device(), &pool_info, nullptr, &pool), "making a pool of commands");
  struct Freed {
    Gpu& gpu;
    VkCommandPool pool;
    ~Freed() { gpu.f().vkDestroyCommandPool(gpu.device(), pool, nullptr); }
  } freed{gpu, pool};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  gpu.require(f.vkAllocateCommandBuffers(gpu.device(), &allocate, &commands), "making commands");
  const VkCommandBufferBeginInfo start{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, nullptr};
  gpu.require(f.vkBeginCommandBuffer(commands, &start), "recording commands");
  record(commands);
  gpu.require(f.vkEndCommandBuffer(commands), "recording commands");
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, info.commandBufferCount = 1, info.pCommandBuffers = &commands;
  Gpu::Queue& queue = gpu.next_queue();
  const std::lock_guard lock(queue.mutex);
  gpu.require(f.vkQueueSubmit(queue.handle, 1, &info, VK_NULL_HANDLE), "copying to GPU '" + gpu.info().name + "'");
  gpu.require(f.vkQueueWaitIdle(queue.handle), "copying to GPU '" + gpu.info().name + "'");
}

RunContext::RunContext(LoadedProgram& program) : program_(program) { recorded_ = std::make_unique<Recorded>(program.plan(), program.resident(), false); }
RunContext::~RunContext() = default;

void RunContext::execute(const sdk::Tensors& in, const sdk::OutTensors& out) { run(in, out, nullptr); }
void RunContext::execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) { run(in, out, &control); }

void RunContext::require_tensors(const sdk::Tensors& in, const sdk::OutTensors& out) const {
  const Plan& plan = program_.plan();
  sdk::require_counts(in.size(), out.size(), plan.inputs.size(), plan.outputs.size());
  const auto fits = [](const auto& tensor, const PortPlan& p) { sdk::require_fits(tensor, p.name, p.dtype, {p.dims.data(), p.dims.size()}); };
  for (size_t k = 0; k < in.size(); ++k) fits(in[k], plan.inputs[k]);
  for (size_t k = 0; k < out.size(); ++k) fits(out[k], plan.outputs[k]);
}

RunContext::Recorded& RunContext::recorded() {
  if (!recorded_ || recorded_->timed() != timed_ || recorded_->resident()->gpu()->is_lost()) {
    recorded_.reset();
    recorded_ = std::make_unique<Recorded>(program_.plan(), program_.resident(), timed_);
  }
  return *recorded_;
}

void RunContext::take_inputs(const sdk::Tensors& in) {
  const Plan& plan = program_.plan();
  Recorded& work = recorded();
  for (size_t k = 0; k < in.size(); ++k) {
    const PortPlan& p = plan.inputs[k];
    to_device(p.name, p.dtype, in[k].data<void>(), plan.tensors[p.tensor].element, work.input(k), static_cast<size_t>(elements_of(p.dims)));
    if (p.indices) require_indices(p.name, *p.indices, work.input(k), static_cast<size_t>(elements_of(p.dims)));
  }
  began_ = timed_ ? now_ns() : 0;
}

void RunContext::give_outputs(const sdk::OutTensors& out) {
  const Plan& plan = program_.plan();
  Recorded& work = *recorded_;
  if (const uint32_t n = work.violations()) throw sdk::Error(OPTIMA_INTERNAL, "kernels reached outside of their buffers " + std::to_string(n) + " times");
  for (size_t k = 0; k < out.size(); ++k) {
    const PortPlan& p = plan.outputs[k];
    from_device(p.name, p.dtype, out[k].data<void>(), plan.tensors[p.tensor].element, work.output(k), static_cast<size_t>(elements_of(p.dims)));
  }
  if (!timed_) return;
  const auto times = work.times();
  for (uint32_t k = 0; k < times.size(); ++k) events_.push_back({k, began_ + times[k].first, times[k].second - std::min(times[k].first, times[k].second)});
}

void RunContext::forget(const sdk::Error& e) {
  if (e.code == OPTIMA_CANCELLED || e.code == OPTIMA_TIMEOUT || !recorded_) return;  // all that was begun has ended
  recorded_.reset();
}

void RunContext::run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control) {
  require_tensors(in, out);
  take_inputs(in);
  Recorded& work = *recorded_;
  try {
    // One part ahead: the GPU does not wait for the processor, and little is left to do when the run is stopped.
    for (size_t k = 0; k < work.parts(); ++k) {
      work.submit(k);
      if (k == 0) continue;
      work.wait(k - 1);
      if (control && (control->cancelled() || control->is_late())) {
        work.wait(k);
        control->check();
      }
    }
    work.wait(work.parts() - 1);
  } catch (const sdk::Error& e) {
    forget(e);
    throw;
  }
  if (control) control->check();
  give_outputs(out);
}

void RunContext::submit(const sdk::Tensors& in, const sdk::OutTensors& out, sdk::Span<const optima_fence_point> waits, optima_fence_point signal) {
  const auto* fences = program_.host().extension<optima_fence_host>(OPTIMA_EXT_FENCE);
  if (!fences) throw sdk::Error(OPTIMA_UNSUPPORTED, "host has no optima.fence/1, which submit needs");
  if (running_.exchange(true)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "context is still running what was submitted before");
  try {
    require_tensors(in, out);
  } catch (...) {
    running_ = false;
    throw;
  }
  in_ = in.raw(), out_ = out.raw(), signal_ = signal;
  cancelled_ = false, wait_code_ = OPTIMA_OK;
  waits_left_ = static_cast<uint32_t>(waits.size()) + 1;
  for (const optima_fence_point& point : waits)
    fences->notify(program_.host().raw()->self, point, [](void* self, int32_t code) { static_cast<RunContext*>(self)->arrived(code); }, this);
  arrived(OPTIMA_OK);
}

/// The last of the waits, and of submit() itself, starts the run.
void RunContext::arrived(int32_t code) {
  if (code != OPTIMA_OK) wait_code_ = code;
  if (--waits_left_ > 0) return;
  if (wait_code_ != OPTIMA_OK) return finish({wait_code_, "what it waited for failed"});
  if (cancelled_) return finish({OPTIMA_CANCELLED, "cancelled"});
  try {
    begin();
  } catch (const sdk::Error& e) {
    forget(e);
    return finish(e);
  } catch (const std::exception& e) {
    return finish({OPTIMA_INTERNAL, e.what()});
  }
}

void RunContext::begin() {
  take_inputs(sdk::Tensors(in_, static_cast<uint32_t>(program_.plan().inputs.size())));
  part_ = 0;
  for (size_t k = 0; k < std::min<size_t>(2, recorded_->parts()); ++k) recorded_->submit(k);
  program_.completions().add(*this);
}

bool RunContext::advance() {
  try {
    Recorded& work = *recorded_;
    work.wait(part_);
    ++part_;
    if (cancelled_ && part_ < work.parts()) {
      work.wait(part_);
      throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
    }
    if (part_ + 1 < work.parts()) work.submit(part_ + 1);
    if (part_ < work.parts()) return true;
    give_outputs(sdk::OutTensors(out_, static_cast<uint32_t>(program_.plan().outputs.size())));
    finish({OPTIMA_OK, ""});
  } catch (const sdk::Error& e) {
    forget(e);
    finish(e);
  } catch (const std::exception& e) {
    finish({OPTIMA_INTERNAL, e.what()});
  }
  return false;
}

/// The host may submit again from inside the signal, or destroy the context: nothing of this run is touched after it.
void RunContext::finish(const sdk::Error& outcome) {
  const optima_fence_point signal = signal_;
  const sdk::Host host = program_.host();
  const auto* fences = host.extension<optima_fence_host>(OPTIMA_EXT_FENCE);
  running_ = false;
  if (outcome.code == OPTIMA_OK) return fences->signal(host.raw()->self, signal);
  optima_status status{sizeof status, outcome.code, outcome.vendor_code, outcome.node, outcome.flags, nullptr, [](void*, optima_str) {}};
  fences->poison(host.raw()->self, signal, &status, sdk::str(outcome.text));
}

void RunContext::profile(bool on) { timed_ = on; }

void RunContext::read_profile(const sdk::EventSink& add) {
  for (const Event& e : events_) add(program_.plan().steps[e.step].name, e.start_ns, e.duration_ns, program_.plan().steps[e.step].node);
  events_.clear();
}

}  // namespace spirv_plugin
