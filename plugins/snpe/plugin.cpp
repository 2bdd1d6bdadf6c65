// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: Qualcomm's Hexagon, Adreno and the CPU runtime of SNPE through the seam.
#include "optima/plugin/plugin.hpp"

#include "artifact.hpp"
#include "build.hpp"
#include "dlc/describe.hpp"
#include "info.hpp"
#include "program.hpp"
#include "query.hpp"

namespace snpe_plugin {
namespace {

/// Without optima.memory/1, optima.async/1 and optima.cost/1: the tools run in a process of their own, on host memory, one call at a time,
/// and an emulator's times say nothing of a device's.
class Snpe : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public sdk::Describer, public sdk::Stoppable, public sdk::Profiler {
 public:
  explicit Snpe(const sdk::Init& init) : host_(init.host), tools_(init), answers_(init.host.cache_dir()) {}

  /// Kinds that the tools run here; on this machine's processor, those of the wheels by emulation.
  std::vector<sdk::PresentDevice> devices(std::string& why_none) override {
    std::vector<sdk::PresentDevice> out;
    const Toolchain* tools = tools_.find(why_none);
    if (!tools) return out;
    for (const sdk::DeviceKind& kind : kDevices) {
      const std::string why = tools->cannot_run(std::string(kind.kind));
      if (why.empty()) out.push_back(present(kind, tools->facts()));
      else why_none += (why_none.empty() ? "" : "; ") + why;
    }
    return out;
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Verdict& v : ask(tools_, host_, answers_, request)) report(v);
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    build(tools_.get(), host_, request, sink, progress);
  }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device& device) override {
    return sdk::compatibility_of([&] { verify(artifact, device); });
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device& device, const sdk::Options& options) override {
    const Record record = verify(artifact, device);
    return load_program(tools_.get(), host_, artifact, record, device, options);
  }

  std::optional<std::string> describe(std::string_view name, const optima_blob& file) override {
    const sdk::Elements<uint8_t> bytes(file);
    return describe_file(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

 private:
  static sdk::PresentDevice present(const sdk::DeviceKind& kind, const Facts& facts) {
    sdk::PresentDevice d;
    d.device_class = kind.device_class == "npu" ? OPTIMA_CLASS_NPU : kind.device_class == "gpu" ? OPTIMA_CLASS_GPU : OPTIMA_CLASS_CPU;
    d.kind = kind.kind;
    d.id = "snpe-" + std::string(kind.kind);
    d.arch = facts.route == "wheels" ? "emulator" : "SNPE";
    d.driver = facts.version;
    return d;
  }

  sdk::Host host_;
  Tools tools_;
  Answers answers_;
};

}  // namespace
}  // namespace snpe_plugin

OPTIMA_PLUGIN(snpe_plugin::Snpe, snpe_plugin::kInfo)
