// SPDX-License-Identifier: Apache-2.0
// host: `calibrate-costs`.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/compile/compile.hpp"
#include "core/cost/device_costs.hpp"
#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/output.hpp"
#include "core/support/owned_folder.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"
#include "host/optima_host/write_costs.hpp"
#include "host/run_verbs/run_verb.hpp"

namespace optima::host {
namespace {

/// One package to measure.
struct Sample {
  std::string label;
  Json allocation;
  std::string package = {};
  Plan plan = {};
  PackageTimes best = {};  ///< the least of all rounds, each subgraph for itself
  std::vector<double> whole = {};  ///< by round
};

/// The devices in turn, `first` before the others.
Json preference(const std::vector<std::string>& devices, size_t first) {
  Json out = Json::array();
  for (size_t i = 0; i < devices.size(); ++i) out.push_back(devices[(first + i) % devices.size()]);
  return out;
}

/// All that each device takes on it alone, then the nodes in blocks on the devices in turn, from each start: with every node at the
/// edge of one subgraph and in the middle of another.
std::vector<Sample> samples_of(const Plan& plan, const std::vector<std::string>& devices, size_t blocks) {
  std::vector<Sample> out;
  for (size_t d = 0; d < devices.size(); ++d) out.push_back({cat(devices[d], " as far as it goes"), {{"*", preference(devices, d)}}});
  for (size_t start = 0; start < devices.size(); ++start) {
    Json allocation = Json::object();
    for (size_t n = 0; n < plan.nodes.size(); ++n)
      if (!is_host(plan.devices[plan.nodes[n].device]))
        append_member(allocation, plan.nodes[n].name, preference(devices, (n * blocks / plan.nodes.size() + start) % devices.size()));
    out.push_back({cat(blocks, " blocks, from ", devices[start]), std::move(allocation)});
  }
  return out;
}

Status compile_sample(Sample& sample, size_t index, const PlanRequest& base, const ScratchFolder& scratch, Session& session, Registry& registry) {
  CompileRequest request;
  request.plan = base;
  request.plan.name = cat("sample_", index);
  request.plan.allocation = cat(scratch.path(), "/", request.plan.name, ".json");
  request.out = cat(scratch.path(), "/packages");
  request.options = session.options();
  request.cancelled = &Session::cancelled();
  OPTIMA_RETURN_IF_ERROR(write_file(request.plan.allocation, to_text(sample.allocation)));
  OPTIMA_ASSIGN(Compilation done, compile_model(request, registry));
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

Status measure(Sample& sample, RuntimeContext& context, int64_t repeat) {
  RunOptions options;
  options.package = sample.package;
  options.repeat = repeat;
  options.cancelled = [] { return Session::cancelled().load(); };
  Json measured;
  RunPrinter printer;
  printer.document = [&](const Json& document) { measured = document; };
  OPTIMA_RETURN_IF_ERROR(bench_package(context, options, printer));
  OPTIMA_ASSIGN(const PackageTimes times, read_times(sample.plan, measured, sample.label));
  keep_least(times, sample.best);
  sample.whole.push_back(times.whole);
  return {};
}

void print(const Session& session, const std::vector<Sample>& samples, const MeasuredCosts& costs) {
  std::vector<std::vector<std::string>> rows = {{"package", "subgraphs", "least", "most of the rounds"}};
  for (const Sample& s : samples)
    rows.push_back({s.label, cat(s.plan.subgraphs.size()), human_time(*std::min_element(s.whole.begin(), s.whole.end())),
                    human_time(*std::max_element(s.whole.begin(), s.whole.end()))});
  session.print(table(rows));
  std::vector<std::string_view> names;
  for (const PlacedNode& node : samples[0].plan.nodes) names.push_back(node.name);
  Json devices = Json::object();
  for (const MeasuredDevice& device : costs.devices) {
    const DeviceCosts fitted = device_costs({&device}, names);
    session.print(cat(device.name.text(), ": ", fitted.fit.empty() ? "too few subgraphs of different nodes for a fit" : fitted.fit, "\n"));
    devices[device.name.text()] = {{"launch_us", std::max(0.0, fitted.launch_us)}, {"us_per_byte_in", fitted.us_per_byte_in},
                                   {"us_per_byte_out", fitted.us_per_byte_out}, {"subgraphs", device.runs.size()}};
  }
  session.print_json({{"devices", std::move(devices)}});
}

Result<std::vector<std::string>> device_names(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlanDevice& device : plan.devices)
    if (!is_host(device) && !device.only_named) out.push_back(device.full_name);
  if (out.size() < 2) return invalid_input(cat("only ", join(out), " is asked about this model, wanted two devices or more (--device A,B)"));
  return out;
}

}  // namespace

Status calibrate_costs_verb(Session& session, const std::vector<std::string>& words) {
  Arguments arguments("calibrate-costs",
                      "Measures a model whole and in blocks on the devices of this machine: what nodes, launches and cuts take, for --costs.");
  arguments.positional("MODEL", true, "an ONNX file")
      .option("o,o", "FILE", "the costs file to write")
      .list("device", "DEV", "only these devices, in order of preference; repeats, takes commas")
      .option("blocks", "N", "blocks that the nodes are cut into, on the devices in turn (default 6)")
      .option("rounds", "N", "measurements of every package, in turns; the least counts (default 3)")
      .option("repeat", "N", "runs of each measurement; their median counts (default 50)")
      .list("option", "PLUGIN.KEY=VALUE", "a plugin's option; repeats");
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(session, arguments, words));
  if (!go) return {};
  if (!arguments.has("o")) return usage_error("'calibrate-costs' wants -o FILE: the costs file to write");
  OPTIMA_ASSIGN(const std::string out, session.output_path(arguments, "o"));
  OPTIMA_ASSIGN(const int64_t blocks, arguments.integer("blocks", 6, 2, 10000));
  OPTIMA_ASSIGN(const int64_t rounds, arguments.integer("rounds", 3, 1, 1000));
  OPTIMA_ASSIGN(const int64_t repeat, arguments.integer("repeat", 50, 1, 1000000));
  OPTIMA_ASSIGN(PlanRequest request, plan_request(session, arguments));
  request.objective = "parts";
  OPTIMA_ASSIGN(Registry* registry, session.registry());
  OPTIMA_ASSIGN(const Planned planned, plan_model(request, *registry));
  OPTIMA_ASSIGN(const std::vector<std::string> devices, device_names(planned.plan));
  OPTIMA_ASSIGN(const ScratchFolder scratch, ScratchFolder::make("costs"));
  std::vector<Sample> samples = samples_of(planned.plan, devices, static_cast<size_t>(blocks));
  for (size_t i = 0; i < samples.size(); ++i) OPTIMA_RETURN_IF_ERROR(compile_sample(samples[i], i, request, scratch, session, *registry));
  RuntimeContext context(borrow_plugins(*registry));
  for (int64_t round = 0; round < rounds; ++round)
    for (Sample& sample : samples) OPTIMA_RETURN_IF_ERROR(measure(sample, context, repeat));
  MeasuredCosts costs{planned.plan.model_name, planned.plan.model_hash, {}};
  for (const Sample& sample : samples) add_measured(costs, measured_costs(sample.plan, sample.best.subgraphs, sample.best.loop));
  OPTIMA_RETURN_IF_ERROR(write_output(out, costs_text(costs)));
  print(session, samples, costs);
  return {};
}

}  // namespace optima::host
