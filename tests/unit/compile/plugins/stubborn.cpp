// SPDX-License-Identifier: Apache-2.0
// tests: says yes to all of its note, refuses an operator while it compiles, and tells its licence key to everybody who listens.
#include <fstream>

#include "optima/plugin/plugin.hpp"

namespace {

namespace sdk = optima::sdk;

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = PLUGIN_ID, i.vendor = "Tests", i.version = "1", i.build_id = "1";
  return i;
}
constexpr sdk::Info kInfo = info();

std::string_view option(const sdk::Options& options, const char* key) { return options.string(std::string(PLUGIN_ID ".") + key, ""); }

class Stubborn : public sdk::Plugin, public sdk::Compiler {
 public:
  explicit Stubborn(const sdk::Init& init) : log_(init.host, PLUGIN_ID) {}

  std::vector<sdk::PresentDevice> devices(std::string&) override { return {}; }

  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    if (const std::string file(option(request.options(), "log")); !file.empty()) std::ofstream(file, std::ios::app) << "check " PLUGIN_ID "\n";
    for (const sdk::Node& node : request.nodes()) report(sdk::Verdict::supported(node));
  }

  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    const std::string key(option(request.options(), "key"));
    if (const std::string file(option(request.options(), "log")); !file.empty()) std::ofstream(file + "2", std::ios::app) << "compile " PLUGIN_ID "\n";
    refuse_all(request.graph(), option(request.options(), "refuse"), sink);
    log_.warn("the key is " + key);
    progress(0.1, "with key " + key);
    refuse_in(request.graph(), option(request.options(), "refuse"), key);
    sink.format("stubborn/1");
    sink.file(request.stem() + ".bin", "stubborn");
    sink.meta("licence", key);
    tell(request, sink);
    sink.compat("1", "for " + key);
  }

 private:
  // "*Relu": every Relu at once.
  static void refuse_all(const sdk::Graph& graph, std::string_view op, const sdk::Sink& sink) {
    std::vector<sdk::Verdict> all;
    for (uint32_t n = 0; n < graph.size(); ++n)
      if ("*" + std::string(graph[n].op()) == op) all.push_back(sdk::Verdict::refused(graph[n], OPTIMA_REASON_LAYOUT, "no room for " + std::string(graph[n].name())));
    if (!all.empty()) sink.refuse({all.data(), all.size()});
  }
  // The calibration of each input: its encoding, and the first element in each sample.
  static void tell(const sdk::CompileRequest& request, const sdk::Sink& sink) {
    const sdk::Calibration calibration = request.calibration();
    for (uint32_t k = 0; calibration && k < request.graph().input_count(); ++k) {
      const sdk::Value input = request.graph().input(k);
      std::string text;
      if (const auto e = calibration.encoding(input)) text = "scale " + std::to_string(e->scales[0]) + " zero point " + std::to_string(e->zero_points[0]);
      for (uint32_t sample = 0; sample < calibration.samples(); ++sample) {
        const sdk::Calibration::Sample read = calibration.read(sample, input);
        text += "; " + std::to_string(*static_cast<const float*>(read.data)) + " of " + std::to_string(read.shape.size()) + " dims, ";
        text += std::to_string(read.size) + " bytes";
      }
      sink.meta("calibration of " + std::string(input.name()), text);
    }
  }
  static void refuse_in(const sdk::Graph& graph, std::string_view op, const std::string& key) {
    for (uint32_t n = 0; n < graph.size(); ++n) {
      const sdk::Node node = graph[n];
      if ("!" + std::string(node.op()) == op) throw sdk::Error(OPTIMA_TOOL_FAILED, "the tool said no");
      if (node.op() == op) throw sdk::Error(OPTIMA_UNSUPPORTED, "no " + std::string(op) + " for '" + key + "'", node.id());
      if (node.op() != "If") continue;
      for (const char* branch : {"then_branch", "else_branch"}) refuse_in(node.body(branch), op, key);
    }
  }

  sdk::Log log_;
};

}  // namespace

OPTIMA_PLUGIN(Stubborn, kInfo)
