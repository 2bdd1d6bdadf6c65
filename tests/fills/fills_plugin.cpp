// SPDX-License-Identifier: Apache-2.0
// tests: takes float graphs whole, as a device does that quantizes by the host's encodings, and of graphs with codes no node that makes floats of a
// tensor between two of its nodes.
#include <set>

#include "plugins/reference/program.hpp"
#include "tests/fills/fills_info.hpp"

namespace fills_plugin {
namespace {

class Fills : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime {
 public:
  explicit Fills(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string&) override {
    sdk::PresentDevice d;
    d.device_class = OPTIMA_CLASS_DSP;
    d.kind = "FIL", d.id = "fil0", d.arch = "any", d.driver = "fills 0.1.0";
    return {d};
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    const std::set<std::string> given = given_values(request);
    const bool has_codes = given.size() > 0;
    for (const sdk::Node& node : request.nodes()) {
      sdk::Verdict v = sdk::Verdict::supported(node);
      for (uint32_t k = 0; has_codes && makes_sums(node) && k < node.input_count(); ++k)
        if (const sdk::Value in = node.input(k); in && in.dtype() == OPTIMA_F32 && !in.is_constant() && !given.count(std::string(in.name())))
          v = sdk::Verdict::refused(node, OPTIMA_REASON_QUANT, "input " + std::to_string(k) + " is no code");
      report(v);
    }
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress&) override {
    sink.format(reference_plugin::kFormat);
    sink.file(request.stem() + ".graph", optima::reference::write_graph_file(request.graph(), sink));
    sink.compat("1", "fills revision 1");
  }

  sdk::Compatibility check_artifact(const sdk::Artifact&, const sdk::Device&) override { return {OPTIMA_COMPAT_OPTIMAL, ""}; }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    return reference_plugin::make_program(reference_plugin::read_artifact(artifact, &host_));
  }

 private:
  // What DequantizeLinear gives.
  static std::set<std::string> given_values(const sdk::CheckRequest& request) {
    std::set<std::string> out;
    for (const sdk::Node& node : request.nodes())
      if (node.op() == "DequantizeLinear") out.emplace(node.output(0).name());
    return out;
  }
  // An Add may be summed with what a product has just made.
  static bool makes_sums(const sdk::Node& node) { return node.op() != "QuantizeLinear" && node.op() != "DequantizeLinear" && node.op() != "Add"; }

  sdk::Host host_;
};

}  // namespace
}  // namespace fills_plugin

OPTIMA_PLUGIN(fills_plugin::Fills, fills_plugin::kInfo)
