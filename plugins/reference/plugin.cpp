// SPDX-License-Identifier: Apache-2.0
// plugins/reference: the naive evaluators as an ordinary plugin: the oracle, and the fallback of whoever names it.
#include "optima/plugin/plugin.hpp"

#include "info.hpp"
#include "program.hpp"

namespace reference_plugin {
namespace {

class Reference : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public sdk::Profiler {
 public:
  explicit Reference(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string&) override {
    sdk::PresentDevice d;
    d.device_class = OPTIMA_CLASS_CPU;
    d.kind = "REF", d.id = "ref0", d.arch = "any", d.driver = "reference 0.1.0";
    return {d};
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    for (const sdk::Node& node : request.nodes()) report(verdict_of(node));
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    const sdk::Graph graph = request.graph();
    for (uint32_t k = 0; k < graph.size(); ++k)
      if (const sdk::Verdict v = verdict_of(graph[k]); !v.yes()) throw sdk::Error(OPTIMA_UNSUPPORTED, v.text, graph[k].id());
    progress(0.5, "writing");
    sink.format(kFormat);
    sink.file(request.stem() + ".graph", optima::reference::write_graph_file(graph, sink));
    sink.compat("1", "reference revision 1");
  }

  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device&) override {
    if (artifact.format() == kFormat && artifact.file_count() == 1 && !artifact.file(0).data && artifact.file(0).fd < 0) return {OPTIMA_COMPAT_OPTIMAL, ""};
    try {
      (void)make_program(read_artifact(artifact, nullptr));
      return {OPTIMA_COMPAT_OPTIMAL, ""};
    } catch (const sdk::Error& e) {
      return {e.code == OPTIMA_RECOMPILE ? uint32_t{OPTIMA_COMPAT_RECOMPILE} : uint32_t{OPTIMA_COMPAT_CORRUPT}, e.text};
    }
  }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    return make_program(read_artifact(artifact, &host_));
  }

 private:
  sdk::Host host_;
};

}  // namespace
}  // namespace reference_plugin

OPTIMA_PLUGIN(reference_plugin::Reference, reference_plugin::kInfo)
