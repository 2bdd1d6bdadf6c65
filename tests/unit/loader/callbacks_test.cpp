// SPDX-License-Identifier: Apache-2.0
// Host callbacks are [any]: a plugin may call them from several threads during one call. The thread sanitizer looks at these.
#include <set>

#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const TargetDevice kTrial{"TRIAL", 0, {}, 0};

TrialHost threaded(OptionValues options = {}) {
  options["trial.init"] = "threads";
  return TrialHost(std::move(options));
}

Backend::Artifact artifact() {
  Backend::Artifact a;
  a.format_id = "trial.bin/1";
  a.stem = "s";
  a.compat_record.resize(2);
  return a;
}

std::set<uint32_t> sixteen(uint32_t first) {
  std::set<uint32_t> out;
  for (uint32_t k = 0; k < 16; ++k) out.insert(first + k);
  return out;
}

}  // namespace

TEST_CASE("devices, costs, types and compatibility texts that come from many threads are all taken") {
  TrialHost host = threaded();
  const auto devices = host.plugin->devices(nullptr);
  REQUIRE_MESSAGE(devices.ok(), devices.status().message());
  std::set<uint32_t> ordinals, nodes;
  for (const DeviceInfo& d : *devices) ordinals.insert(d.ordinal);
  CHECK(ordinals == sixteen(0));

  const SampleGraph graph(image::pack(identities(1, {2}, OPTIMA_F32, "Custom")));
  const uint32_t asked[] = {11};
  const auto costs = host.plugin->estimate(graph.raw, asked, kTrial);
  REQUIRE(costs.ok());
  for (const NodeCost& c : *costs) nodes.insert(c.node);
  CHECK(costs->size() == 16);
  CHECK(nodes == sixteen(11));

  const auto types = host.plugin->infer(graph.raw, 0);
  REQUIRE(types.ok());
  CHECK(types->at(0).dims->size() == 2);
  const auto fits = host.plugin->check_artifact(artifact(), kTrial);
  REQUIRE(fits.ok());
  CHECK(fits->text == "fine");
}

TEST_CASE("bindings and events that come from many threads are all taken") {
  TrialHost host = threaded();
  const auto program = host.plugin->load(artifact(), kTrial, {.threads = 1});
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  std::set<std::string> names;
  for (const Binding& b : (*program)->bindings()) names.insert(b.name);
  CHECK(names.size() == 17);
  const auto context = (*program)->create_context();
  REQUIRE(context.ok());
  const auto events = (*context)->read_profile();
  REQUIRE(events.ok());
  std::set<uint32_t> nodes;
  for (const PluginEvent& e : *events) nodes.insert(e.node);
  CHECK(nodes == sixteen(11));
}

TEST_CASE("progress reaches the host one call at a time, and failures of many threads leave one whole sentence") {
  TrialHost host = threaded({{"trial.act", "threads"}});
  const TempFolder folder;
  const SampleGraph graph(image::pack(identities(1)));
  std::vector<std::string> stages;  // no lock of its own
  CompileJob job;
  job.graph = &graph.raw;
  job.device = kTrial;
  job.stem = "s";
  job.folder = folder.path();
  job.progress = [&](double, std::string_view stage) { stages.emplace_back(stage); };
  const auto done = host.plugin->compile(job);
  REQUIRE(std::holds_alternative<Compiled>(done));
  CHECK(std::get<Compiled>(done).meta.size() == 17);
  CHECK(stages.size() == 18);
  host.set({{"trial.init", "threads"}, {"trial.act", "threads fail"}});
  const auto failed = host.plugin->compile(job);
  REQUIRE(std::holds_alternative<CompileFailure>(failed));
  CHECK(std::get<CompileFailure>(failed).status.message() == "plugin 'trial': compile: blob 4711 is not known");
}
