// SPDX-License-Identifier: Apache-2.0
// tests: takes a Mul with an Add that reads it, only together, whatever else reads the Mul. The host has to find out which of
// these pairs can move as one.
#include <map>
#include <set>

#include "plugins/reference/program.hpp"
#include "tests/patterns/pattern_info.hpp"

namespace pattern_plugin {
namespace {

class Pattern : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime {
 public:
  explicit Pattern(const sdk::Init& init) : host_(init.host) {}

  std::vector<sdk::PresentDevice> devices(std::string&) override {
    sdk::PresentDevice d;
    d.device_class = OPTIMA_CLASS_NPU;
    d.kind = "PAT", d.id = "pat0", d.arch = "any", d.driver = "pattern 0.1.0";
    return {d};
  }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    const std::map<uint32_t, uint32_t> pairs = find_pairs(request);
    for (const sdk::Node& node : request.nodes()) {
      const auto pair = pairs.find(node.id());
      sdk::Verdict v = sdk::Verdict::refused(node, OPTIMA_REASON_OP, std::string(node.op()) + " is no part of a Mul with an Add behind it");
      if (pair != pairs.end()) v.verdict = OPTIMA_VERDICT_ONLY_IN_GROUP, v.group = pair->second, v.text = "a Mul and an Add together";
      report(v);
    }
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress&) override {
    sink.format(reference_plugin::kFormat);
    sink.file(request.stem() + ".graph", optima::reference::write_graph_file(request.graph(), sink));
    sink.compat("1", "pattern revision 1");
  }

  sdk::Compatibility check_artifact(const sdk::Artifact&, const sdk::Device&) override { return {OPTIMA_COMPAT_OPTIMAL, ""}; }

  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    return reference_plugin::make_program(reference_plugin::read_artifact(artifact, &host_));
  }

 private:
  // Node id -> number of its pair: the id of the Mul.
  static std::map<uint32_t, uint32_t> find_pairs(const sdk::CheckRequest& request) {
    std::map<std::string, uint32_t, std::less<>> products;
    for (const sdk::Node& node : request.nodes())
      if (node.op() == "Mul") products.emplace(std::string(node.output(0).name()), node.id());
    std::map<uint32_t, uint32_t> out;
    for (const sdk::Node& node : request.nodes()) {
      if (node.op() != "Add") continue;
      for (uint32_t k = 0; k < node.input_count(); ++k) {
        const auto product = products.find(node.input(k).name());
        if (product == products.end() || out.count(product->second) || out.count(node.id())) continue;
        out[product->second] = out[node.id()] = product->second;
      }
    }
    return out;
  }

  sdk::Host host_;
};

}  // namespace
}  // namespace pattern_plugin

OPTIMA_PLUGIN(pattern_plugin::Pattern, pattern_plugin::kInfo)
