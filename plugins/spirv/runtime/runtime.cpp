// SPDX-License-Identifier: Apache-2.0
// plugins/spirv: the runtime half: which artifacts run here, and loading them. Compiles nothing.
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <thread>

#include "device_memory.hpp"
#include "info.hpp"
#include "optima/plugin/folder.hpp"
#include "optima/plugin/record.hpp"
#include "plan/describe.hpp"
#include "program.hpp"

namespace spirv_plugin {
namespace {

std::string listed(const std::vector<GpuInfo>& gpus) {
  std::string out;
  for (const GpuInfo& g : gpus) out += (out.empty() ? "'" : ", '") + g.name + "' (" + g.uuid + ")";
  return out.empty() ? "none" : out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// The `ordinal`-th of the kind; VULKAN is any. `named`: its UUID or a part of its name, in letters of either case. Throws WRONG_DEVICE.
const GpuInfo& picked(const std::vector<GpuInfo>& gpus, std::string_view kind, uint32_t ordinal, const std::string& named) {
  uint32_t left = ordinal;
  for (const GpuInfo& g : gpus) {
    if (kind != "VULKAN" && kind != g.kind) continue;
    if (!named.empty() && g.uuid != lower(named) && lower(g.name).find(lower(named)) == std::string::npos) continue;
    if (left-- == 0) return g;
  }
  throw sdk::Error(OPTIMA_WRONG_DEVICE, "no GPU " + std::string(kind) + ":" + std::to_string(ordinal) + (named.empty() ? "" : " called '" + named + "'") + " is here, found " + listed(gpus));
}

/// The plan, its file checked against the record. Throws RECOMPILE, CORRUPT.
std::optional<Plan> plan_of(const sdk::Artifact& artifact) {
  sdk::require_format(artifact, kFormat);
  std::string target;
  std::vector<sdk::RecordedFile> files = sdk::read_record(artifact.compat(), {{"target", &target}});
  const std::string name = std::string(artifact.stem()) + ".meta";
  for (sdk::RecordedFile& f : files) sdk::name_stem(f.name, artifact);
  if (files.size() != 1 || files[0].name != name) throw sdk::Error(OPTIMA_CORRUPT, "compat record names no file '" + name + "'");
  if (!sdk::verify_file(artifact, files[0])) return std::nullopt;
  const sdk::Elements<char> bytes(*artifact.file(name));
  return read_plan({bytes.data(), bytes.size()});
}

/// How many threads a load may use: those asked for, else the processors of this process.
unsigned threads_of(const sdk::Options& options) {
  if (const int64_t asked = options.integer(OPTIMA_OPTION_THREADS, 0); asked > 0) return static_cast<unsigned>(std::min<int64_t>(asked, UINT32_MAX));
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : std::max(1u, std::thread::hardware_concurrency());
}

/// The limits to go by: the GPU's own, less what the user says it lacks. Throws INVALID_ARGUMENT.
Limits limits_of(const GpuInfo& gpu, const sdk::Options& options) {
  const std::string file(options.string("spirv.pretend", ""));
  return file.empty() ? gpu.limits : lesser(gpu.limits, limits_at(file));
}

/// What of the GPU is not used: by the option, else by the environment, else by what is known of its driver. Throws INVALID_ARGUMENT.
Quirks quirks_of(const GpuInfo& gpu, std::string_view option) {
  constexpr const char* kVariable = "OPTIMA_SPIRV_QUIRKS";
  const DriverInfo driver{gpu.vendor, gpu.device, gpu.driver_id, gpu.driver_version};
  if (!option.empty()) return quirks_of(driver, option, "option spirv.quirks");
  const char* variable = std::getenv(kVariable);
  return quirks_of(driver, variable ? variable : "", kVariable);
}

void require_runs(const Plan& plan, const GpuInfo& gpu, const Limits& limits) {
  for (const StepPlan& step : plan.steps) {
    std::string why;
    if (!way_of(plan, step, limits, why)) throw sdk::Error(OPTIMA_WRONG_DEVICE, "kernel of " + step.name + " " + why + " (GPU '" + gpu.name + "')");
  }
}

class SpirvRuntime : public sdk::Plugin, public sdk::Runtime, public sdk::Profiler, public sdk::Stoppable, public sdk::Async, public sdk::Memory, public sdk::Describer {
 public:
  explicit SpirvRuntime(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string& why_none) override {
    return present([this] { return vulkan(); }, true, why_none);
  }

  std::optional<std::string> describe(std::string_view name, const optima_blob& file) override {
    const sdk::Elements<char> bytes(file);
    return described(name, {bytes.data(), bytes.size()});
  }

  void alloc(optima_tensor& tensor, uint32_t /*alignment: the driver's is larger*/) override { memory_.alloc(vulkan(), tensor); }
  void release(const optima_tensor& tensor) override { memory_.release(tensor); }
  void import(const optima_tensor& foreign, optima_tensor& imported) override { memory_.import(vulkan(), foreign, imported); }
  void copy(const optima_tensor& from, optima_tensor& to) override { memory_.copy(from, to); }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device& device) override {
    return sdk::compatibility_of([&] {
      const std::optional<Plan> plan = plan_of(artifact);
      const GpuInfo gpu = gpu_for(device, "", "");
      if (plan) require_runs(*plan, gpu, gpu.limits);
    });
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device& device, const sdk::Options& options) override {
    const sdk::Progress progress = artifact.progress();
    progress(0, "reading");
    std::optional<Plan> plan = plan_of(artifact);
    if (!plan) throw sdk::Error(OPTIMA_CORRUPT, "meta file has no bytes");
    const GpuInfo gpu = gpu_for(device, std::string(options.string("spirv.device", "")), options.string("spirv.quirks", ""));
    for (const auto& [name, why] : gpu.quirks) host_.log(OPTIMA_LOG_INFO, "spirv", "of GPU '" + gpu.name + "' " + name + " is not used: " + why);
    const Limits limits = limits_of(gpu, options);
    require_runs(*plan, gpu, limits);
    progress(0.2, "kernels");
    return std::make_unique<LoadedProgram>(vulkan(), gpu, limits, std::move(*plan), artifact, host_, threads_of(options));
  }

 private:
  /// With what is not to be used of it taken away.
  GpuInfo gpu_for(const sdk::Device& device, const std::string& named, std::string_view quirks) {
    try {
      GpuInfo gpu = picked(vulkan()->gpus(), device.kind(), device.ordinal(), named);
      gpu.quirks = quirks_of(gpu, quirks);
      for (const auto& [name, why] : gpu.quirks) gpu.limits.features.erase(name);
      return gpu;
    } catch (const sdk::Error& e) {
      if (e.code == OPTIMA_DEPENDENCY) throw sdk::Error(OPTIMA_WRONG_DEVICE, e.text);
      throw;
    }
  }

  std::shared_ptr<Vulkan> vulkan() {
    const std::lock_guard lock(mutex_);
    if (!vulkan_) vulkan_ = Vulkan::open();
    return vulkan_;
  }

  sdk::Host host_;
  std::mutex mutex_;
  std::shared_ptr<Vulkan> vulkan_;
  DeviceMemory memory_;
};

}  // namespace
}  // namespace spirv_plugin

OPTIMA_PLUGIN(spirv_plugin::SpirvRuntime, spirv_plugin::kInfo)
