// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/model_options.hpp"

#include "core/support/file.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/load.hpp"
#include "host/optima_host/device_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

/// A single size closes the dim, what is more bounds it.
void say_sizes(const std::string& name, const SizeRange& range, onnx_io::ImportOptions& out) {
  out.dims.erase(name), out.ranges.erase(name);
  if (range.min == range.max) out.dims[name] = range.min;
  else out.ranges[name] = range;
}

/// `dims:` and `shapes:` of the config; what the command line says of a dim or an input wins.
void add_config_sizes(const Config& config, onnx_io::ImportOptions& out) {
  for (const auto& [name, range] : config.dims)
    if (!out.dims.count(name) && !out.ranges.count(name)) say_sizes(name, range, out);
  for (const auto& [name, shape] : config.shapes) out.shapes.emplace(name, shape);
}

}  // namespace

Result<std::pair<std::string, std::string>> name_and_value(const std::string& text, std::string_view option) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return usage_error(cat(option, ": found ", quote(text), ", wanted NAME=VALUE"));
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

void declare_import(Arguments& arguments) {
  arguments.option("name", "NAME", "name of the package (default: the file's stem)")
      .list("shape", "IN=D,D,...", "shape of a model input, e.g. image=1,3,224,224 or image=1x3x224x224; ? for a size that stays open, also where the model "
            "says one; repeats")
      .list("dim", "NAME=SIZES", "an open dimension by its name, e.g. batch=1, or its place, e.g. x.3=320: one size; MIN..MAX[:STEP][@OPT], the sizes that may "
            "come and the one that matters most; or A,B,C, of which the first matters most; repeats")
      .list("inputs", "NAMES", "cut the model: these tensors become its inputs; takes commas")
      .list("outputs", "NAMES", "cut the model: these tensors become its outputs; takes commas");
}

void declare_placement(Arguments& arguments) {
  arguments.option("alloc", "FILE", "allocation, JSON or YAML: which node goes to which device")
      .option("plan", "PLAN", "a plan.json of 'plan -o', edited or not, or a package: every node on the device that it names")
      .list("pin", "NODE=DEV", "one more pin; NODE may be a glob, op:Type or * as in --alloc, over which it wins; repeats")
      .list("device", "DEV", "candidate devices in order of preference, e.g. X64:0,openvino/X64:0 (default: all that are here); repeats")
      .list("support", "FILE", "a manifest without a plugin (JSON): plan for a device that does not exist yet; repeats")
      .option("require-device", "DEV", "every node on DEV, or fail with the reasons (exit code 4)")
      .option("max-subgraphs", "N", "no more subgraphs than N, or fail with the nodes that need them (exit code 4)")
      .option("objective", "parts|latency", "what the split minimises: subgraphs (default), or the estimated time of a run")
      .list("costs", "FILE", "measured costs of 'bench --write-costs' for --objective latency; repeats, a later one wins")
      .list("option", "PLUGIN.KEY=VALUE", "a plugin's option; repeats");
}

void declare_costs(Arguments& arguments) {
  arguments.list("costs", "FILE", "measured costs of 'bench --write-costs': what the plan's nodes take; repeats, a later one wins");
}

Result<CostSources> cost_sources(const Console& console, const Arguments& arguments) {
  CostSources out;
  OPTIMA_ASSIGN(out.costs, measured_costs(console.session().config(), arguments.texts("costs")));
  out.settings = device_settings(console.session().config());
  out.links = link_costs(console.session().config());
  return out;
}

Result<std::map<std::string, std::vector<int64_t>>> shape_options(const Arguments& arguments) {
  std::map<std::string, std::vector<int64_t>> out;
  for (const std::string& text : arguments.texts("shape")) {
    OPTIMA_ASSIGN(auto shape, parse_shape(text));
    out[shape.first] = std::move(shape.second);
  }
  return out;
}

Result<onnx_io::ImportOptions> import_options(const Arguments& arguments) {
  onnx_io::ImportOptions out;
  OPTIMA_ASSIGN(out.shapes, shape_options(arguments));
  for (const std::string& text : arguments.texts("dim")) {
    OPTIMA_ASSIGN(const auto pair, name_and_value(text, "--dim"));
    const Result<SizeRange> range = parse_size_range(pair.second);
    if (!range.ok()) return usage_error(cat("--dim ", pair.first, ": ", range.status().message()));
    say_sizes(pair.first, *range, out);
  }
  out.inputs = arguments.comma_list("inputs");
  out.outputs = arguments.comma_list("outputs");
  return out;
}

Result<PlanRequest> plan_request(Console& console, const Arguments& arguments) {
  PlanRequest out = console.session().plan_request();
  out.model = expand_home(arguments.text("MODEL"));
  out.name = arguments.text("name");
  OPTIMA_ASSIGN(out.import, import_options(arguments));
  add_config_sizes(out.config, out.import);
  out.allocation = expand_home(arguments.text("alloc"));
  if (arguments.has("plan")) {
    for (const char* other : {"alloc", "pin", "device", "require-device"})
      if (arguments.has(other)) return usage_error(cat("--plan says where every node goes, found --", other, " with it"));
    out.plan = plan_path(arguments.text("plan"));
  }
  out.pins = arguments.texts("pin");
  OPTIMA_ASSIGN(const std::vector<DeviceName> devices, device_options(arguments, "device"));
  for (const DeviceName& device : devices) out.devices.push_back(device.text());
  for (const std::string& path : arguments.texts("support")) out.supports.push_back(expand_home(path));
  if (arguments.has("require-device")) {
    OPTIMA_ASSIGN(const DeviceName required, device_option(arguments.text("require-device"), "--require-device"));
    out.require_device = required.text();
  }
  out.objective = arguments.text("objective");
  if (!out.objective.empty() && out.objective != "parts" && out.objective != "latency")
    return usage_error(cat("--objective: found ", quote(out.objective), ", wanted parts or latency"));
  out.costs = arguments.texts("costs");
  OPTIMA_ASSIGN(const int64_t most, arguments.integer("max-subgraphs", 0, 1, UINT32_MAX));
  out.max_subgraphs = static_cast<uint32_t>(most);
  OPTIMA_RETURN_IF_ERROR(console.session().set_options(arguments.texts("option")));
  out.warn = [&console](const std::string& text) { console.warn_once(text); };
  return out;
}

}  // namespace optima::host
