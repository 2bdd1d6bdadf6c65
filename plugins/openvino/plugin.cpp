// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: OpenVINO's CPU and GPU devices through the seam. Nothing of OpenVINO's C++ crosses it.
#include "optima/plugin/plugin.hpp"

#include "artifact.hpp"
#include "blob.hpp"
#include "engine.hpp"
#include "info.hpp"
#include "program.hpp"
#include "query.hpp"

namespace openvino_plugin {
namespace {

Port port_of(const sdk::Value& v) {
  Port p{std::string(v.name()), v.dtype(), v.ranked(), v.shape(), {}};
  for (uint32_t k = 0; k < p.dims.size(); ++k) p.symbols.emplace_back(v.symbol(k));
  return p;
}

/// Without optima.memory/1: the CPU's buffers are host memory, and no GPU was there to try others on. Without optima.cost/1:
/// OpenVINO estimates neither time nor memory of a model it has not run.
class OpenVino : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public sdk::Async, public sdk::Profiler {
 public:
  explicit OpenVino(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string& why_none) override {
    try {
      return engine_.devices();
    } catch (const sdk::Error& e) {
      why_none = e.text;
      return {};
    }
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Verdict& v : ask(engine_, host_, request)) report(v);
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    const sdk::Graph graph = request.graph();
    const Here here = here_for(request.device());
    Record record{here.openvino, here.device, here.chip, std::string(request.options().string("openvino.precision", "f32"))};
    const std::string blob = sink.path(request.stem() + ".blob");
    make_blob(engine_, host_, graph, {engine_.device_name(request.device()), record.precision, std::string(request.options().string("openvino.cache_dir", ""))}, blob, progress);
    const sdk::Checksum sum = sdk::checksum_of_file(blob);
    record.blob_size = sum.size(), record.blob_sum = sum.value();

    Meta meta;
    for (uint32_t k = 0; k < graph.input_count(); ++k) meta.inputs.push_back(port_of(graph.input(k)));
    for (uint32_t k = 0; k < graph.output_count(); ++k) meta.outputs.push_back(port_of(graph.output(k)));
    const std::string text = meta.write();
    sink.file(request.stem() + ".meta", text);
    record.meta_size = text.size(), record.meta_sum = sdk::checksum_of(text).value();
    sink.format(kFormat);
    sink.compat(record.write(), "OpenVINO " + here.openvino + " for " + (here.chip.empty() ? here.device : here.chip));
  }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device& device) override {
    return sdk::compatibility_of([&] { verify(artifact, present(device)); });
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device& device, const sdk::Options& options) override {
    const sdk::Progress progress = artifact.progress();
    progress(0, "reading");
    const Record record = verify(artifact, present(device));
    progress(0.1, "OpenVINO takes the blob in");
    return import_program(engine_, host_, artifact, record, engine_.device_name(device), options);
  }

 private:
  /// A CPU blob is translated again when it is loaded, so it fits every CPU; a GPU's holds that chip's kernels.
  Here here_for(const sdk::Device& device) {
    if (device.kind() == "X64") return {version(), "CPU", ""};
    const std::string name = engine_.device_name(device);
    return {version(), name.substr(0, name.find('.')), guarded(OPTIMA_DEVICE, name, [&] { return engine_.core().get_property(name, ov::device::full_name); })};
  }

  /// For running: a device that is not here is the wrong one.
  Here present(const sdk::Device& device) {
    try {
      return here_for(device);
    } catch (const sdk::Error& e) {
      throw sdk::Error(OPTIMA_WRONG_DEVICE, e.text);
    }
  }

  sdk::Host host_;
  Engine engine_;
};

}  // namespace
}  // namespace openvino_plugin

OPTIMA_PLUGIN(openvino_plugin::OpenVino, openvino_plugin::kInfo)
