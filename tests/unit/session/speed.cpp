// SPDX-License-Identifier: Apache-2.0
// What observing a model costs: every value of float32 that an operator gives and that is not just an operator's way to its only reader.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/compile/run_reference.hpp"
#include "core/session/observe_model.hpp"
#include "core/session/session.hpp"

using namespace optima;

namespace {

/// Outputs of nodes, but of those whose only reader becomes one with them.
std::vector<Tap> taps_of(const Graph& graph) {
  const image::Graph& main = graph.main();
  const Uses uses = uses_of(graph);
  std::vector<Tap> out;
  for (const image::Node& node : main.nodes)
    for (const uint32_t v : node.outputs) {
      if (v == OPTIMA_NONE || main.values[v].dtype != OPTIMA_F32 || main.values[v].constant != OPTIMA_NONE) continue;
      const auto& readers = uses.consumers[v];
      const std::string only = readers.size() == 1 ? main.nodes[readers[0]].op_type : "";
      if (only != "Add" && only != "Relu" && only != "Clip" && only != "BatchNormalization") out.push_back({main.values[v].name});
    }
  return out;
}

int fail(const Status& why) { return std::fprintf(stderr, "%s\n", why.message().c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "observe_speed MODEL DATA PLUGINS [THREADS [MEBIBYTES [ONE IN]]]\n"), 2;
  Session session({"observe_speed", "0", ""});
  session.add_plugin_folder(argv[3]);
  Result<Registry*> registry = session.registry();
  if (!registry.ok()) return fail(registry.status());
  PlanRequest plan = session.plan_request();
  plan.model = argv[1];
  Result<Planned> planned = plan_model(plan, **registry);
  if (!planned.ok()) return fail(planned.status());
  const Result<Samples> samples = Samples::open(argv[2], input_infos(planned->graph));
  if (!samples.ok()) return fail(samples.status());
  std::vector<Tap> taps;
  const std::vector<Tap> all = taps_of(planned->graph);
  for (size_t i = 0, step = argc > 6 ? std::strtoul(argv[6], nullptr, 10) : 1; i < all.size(); i += step) taps.push_back(all[all.size() - 1 - i]);
  ObserveRequest request;
  request.plan = plan;
  request.threads = argc > 4 ? std::atoi(argv[4]) : 0;
  if (argc > 5) request.memory = std::strtoull(argv[5], nullptr, 10) << 20;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const auto progress = [&](double fraction, std::string_view stage) {
    std::printf("%6.2f s %5.1f %% %s\n", seconds(), 100 * fraction, std::string(stage).c_str());
  };
  const Result<Observations> seen = observe_model(planned->graph, taps, *samples, request, **registry, progress, [](const std::string& s) { std::puts(s.c_str()); });
  if (!seen.ok()) return fail(seen.status());
  uint64_t elements = 0;
  for (const Tap& tap : taps) elements += seen->find(tap.value)->histogram.count();
  std::printf("%zu values, %llu samples (%s), %.1f million elements, %.2f s\n", taps.size(), static_cast<unsigned long long>(samples->count()), samples->form().c_str(),
              static_cast<double>(elements) / 1e6, seconds());
  return 0;
}
