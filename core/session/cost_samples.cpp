// SPDX-License-Identifier: Apache-2.0
#include "core/session/cost_samples.hpp"

#include <algorithm>

#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/owned_folder.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

/// The devices in turn, `first` before the others.
Json preference(const std::vector<std::string>& devices, size_t first) {
  Json out = Json::array();
  for (size_t i = 0; i < devices.size(); ++i) out.push_back(devices[(first + i) % devices.size()]);
  return out;
}

std::vector<CostSample> samples_of(const Plan& plan, const std::vector<std::string>& devices, size_t blocks) {
  std::vector<CostSample> out;
  for (size_t d = 0; d < devices.size(); ++d) out.push_back({cat(devices[d], " as far as it goes"), to_text(Json{{"*", preference(devices, d)}})});
  for (size_t start = 0; start < devices.size(); ++start) {
    Json allocation = Json::object();
    for (size_t n = 0; n < plan.nodes.size(); ++n)
      if (!is_host(plan.devices[plan.nodes[n].device]))
        append_member(allocation, plan.nodes[n].name, preference(devices, (n * blocks / plan.nodes.size() + start) % devices.size()));
    out.push_back({cat(blocks, " blocks, from ", devices[start]), to_text(allocation)});
  }
  return out;
}

Status compile_sample(CostSample& sample, size_t index, const PlanRequest& base, const ScratchFolder& scratch, Session& session,
                      const std::atomic<bool>* cancelled) {
  CompileRequest request = session.compile_request(base);
  request.plan.name = cat("sample_", index);
  request.plan.allocation = cat(scratch.path(), "/", request.plan.name, ".json");
  request.out = cat(scratch.path(), "/packages");
  request.cancelled = cancelled;
  OPTIMA_RETURN_IF_ERROR(write_file(request.plan.allocation, sample.allocation));
  OPTIMA_ASSIGN(Registry* registry, session.registry());
  OPTIMA_ASSIGN(Compilation done, compile_model(request, *registry));
  sample.package = done.package.folder;
  sample.plan = std::move(done.planned.plan);
  return {};
}

void keep_least(const PackageTimes& round, PackageTimes& best) {
  if (best.subgraphs.empty()) {
    best = round;
    return;
  }
  best.whole = std::min(best.whole, round.whole);
  best.loop = std::min(best.loop, round.loop);
  for (size_t s = 0; s < best.subgraphs.size(); ++s)
    if (round.subgraphs[s].whole < best.subgraphs[s].whole) best.subgraphs[s] = round.subgraphs[s];
}

Result<std::vector<std::string>> device_names(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlanDevice& device : plan.devices)
    if (!is_host(device) && !device.only_named) out.push_back(device.full_name);
  if (out.size() < 2) return invalid_input(cat("only ", join(out), " is asked about this model, wanted two devices or more (--device A,B)"));
  return out;
}

}  // namespace

Result<CostMeasurement> measure_costs(Session& session, PlanRequest request, const CostSettings& settings) {
  request.objective = "parts";
  OPTIMA_ASSIGN(Registry* registry, session.registry());
  OPTIMA_ASSIGN(const Planned planned, plan_model(request, *registry));
  OPTIMA_ASSIGN(const std::vector<std::string> devices, device_names(planned.plan));
  OPTIMA_ASSIGN(const ScratchFolder scratch, ScratchFolder::make("costs"));
  CostMeasurement out{samples_of(planned.plan, devices, settings.blocks), {planned.plan.model_name, planned.plan.model_hash, {}}};
  for (size_t i = 0; i < out.samples.size(); ++i)
    OPTIMA_RETURN_IF_ERROR(compile_sample(out.samples[i], i, request, scratch, session, settings.cancelled));
  for (int64_t round = 0; round < settings.rounds; ++round)
    for (CostSample& sample : out.samples) {
      OPTIMA_ASSIGN(const PackageTimes times, settings.bench(sample));
      keep_least(times, sample.best);
      sample.whole.push_back(times.whole);
    }
  for (const CostSample& sample : out.samples) add_measured(out.costs, measured_costs(sample.plan, sample.best.subgraphs, sample.best.loop));
  return out;
}

}  // namespace optima
