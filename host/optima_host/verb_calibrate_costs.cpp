// SPDX-License-Identifier: Apache-2.0
// host: `calibrate-costs`.
#include <algorithm>

#include "core/cost/device_costs.hpp"
#include "core/session/cost_samples.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/output.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"
#include "host/optima_host/write_costs.hpp"
#include "host/run_verbs/run_verb.hpp"

namespace optima::host {
namespace {

Result<PackageTimes> bench(const CostSample& sample, RuntimeContext& context, int64_t repeat) {
  RunOptions options;
  options.package = sample.package;
  options.repeat = repeat;
  options.cancelled = &Console::cancelled();
  Json measured;
  RunPrinter printer;
  printer.document = [&](const Json& document) { measured = document; };
  OPTIMA_RETURN_IF_ERROR(bench_package(context, options, printer));
  return read_times(sample.plan, measured, sample.label);
}

void print(const Console& console, const CostMeasurement& measured) {
  const auto& [samples, costs] = measured;
  std::vector<std::vector<std::string>> rows = {{"package", "subgraphs", "least", "most of the rounds"}};
  for (const CostSample& s : samples)
    rows.push_back({s.label, cat(s.plan.subgraphs.size()), human_time(*std::min_element(s.whole.begin(), s.whole.end())),
                    human_time(*std::max_element(s.whole.begin(), s.whole.end()))});
  console.print(table(rows));
  std::vector<std::string_view> names;
  for (const PlacedNode& node : samples[0].plan.nodes) names.push_back(node.name);
  Json devices = Json::object();
  for (const MeasuredDevice& device : costs.devices) {
    const DeviceCosts fitted = device_costs({&device}, names);
    console.print(cat(device.name.text(), ": ", fitted.fit.empty() ? "too few subgraphs of different nodes for a fit" : fitted.fit, "\n"));
    devices[device.name.text()] = {{"launch_us", std::max(0.0, fitted.launch_us)}, {"us_per_byte_in", fitted.us_per_byte_in},
                                   {"us_per_byte_out", fitted.us_per_byte_out}, {"subgraphs", device.runs.size()}};
  }
  console.print_json({{"devices", std::move(devices)}});
}

}  // namespace

Status calibrate_costs_verb(Console& console, const std::vector<std::string>& words) {
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
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  if (!arguments.has("o")) return usage_error("'calibrate-costs' wants -o FILE: the costs file to write");
  OPTIMA_ASSIGN(const std::string out, console.output_path(arguments, "o"));
  OPTIMA_ASSIGN(const int64_t blocks, arguments.integer("blocks", 6, 2, 10000));
  OPTIMA_ASSIGN(const int64_t rounds, arguments.integer("rounds", 3, 1, 1000));
  OPTIMA_ASSIGN(const int64_t repeat, arguments.integer("repeat", 50, 1, 1000000));
  OPTIMA_ASSIGN(PlanRequest request, plan_request(console, arguments));
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  RuntimeContext context(borrow_plugins(*registry));
  CostSettings settings{static_cast<size_t>(blocks), rounds, &Console::cancelled(), {}};
  settings.bench = [&](const CostSample& sample) { return bench(sample, context, repeat); };
  OPTIMA_ASSIGN(const CostMeasurement measured, measure_costs(console.session(), std::move(request), settings));
  OPTIMA_RETURN_IF_ERROR(write_output(out, costs_text(measured.costs)));
  print(console, measured);
  return {};
}

}  // namespace optima::host
