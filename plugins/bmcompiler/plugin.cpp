// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: SOPHON's TPUs through the seam.
#include "optima/plugin/plugin.hpp"

#include "artifact.hpp"
#include "bmodel/bmodel.hpp"
#include "build.hpp"
#include "info.hpp"
#include "program.hpp"
#include "query.hpp"
#include "task.hpp"

namespace bmcompiler_plugin {
namespace {

bool ends_with(std::string_view text, std::string_view end) { return text.size() >= end.size() && text.substr(text.size() - end.size()) == end; }

/// Without optima.memory/1, optima.async/1 and optima.cost/1: a model runs in a process of its own, on host memory, one call at a time, and an
/// emulator's times say nothing of a device's.
class Bmcompiler : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public sdk::Describer, public sdk::Stoppable, public sdk::Profiler {
 public:
  explicit Bmcompiler(const sdk::Init& init) : host_(init.host), tools_(init), bmnet_(init.options.string("bmcompiler.bmnet", "")) {}

  std::vector<sdk::PresentDevice> devices(std::string& why_none) override { return present_devices(tools_, why_none); }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    const Chip& chip = chip_of(request.device(), request.options());
    const JudgeAtBatches judge(request.graph(), chip, float_mode(chip, request.options()), batches_of(request.options(), chip));
    for (const sdk::Node& n : request.nodes()) report(judge(n));
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    build(tools_, bmnet_, host_, request, sink, progress);
  }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device& device) override {
    return sdk::compatibility_of([&] { verify(artifact, device); });
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device& device, const sdk::Options& options) override {
    const Record record = verify(artifact, device);
    return load_program(tools_, std::string(host_.plugin_dir()), host_, artifact, record, device, options);
  }

  std::optional<std::string> describe(std::string_view name, const optima_blob& file) override {
    if (!ends_with(name, ".bmodel")) return std::nullopt;
    const sdk::Elements<uint8_t> bytes(file);
    return bmcompiler_plugin::describe(read_bmodel({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }

 private:
  sdk::Host host_;
  Tools tools_;
  std::string bmnet_;
};

}  // namespace
}  // namespace bmcompiler_plugin

OPTIMA_PLUGIN(bmcompiler_plugin::Bmcompiler, bmcompiler_plugin::kInfo)
