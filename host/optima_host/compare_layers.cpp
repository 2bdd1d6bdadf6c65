// SPDX-License-Identifier: Apache-2.0
#include "host/optima_host/compare_layers.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/compile/run_reference.hpp"
#include "core/session/layers.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/progress.hpp"
#include "host/optima_host/quantize_options.hpp"

namespace optima::host {
namespace {

std::string number(double value, const char* format) {
  if (std::isinf(value)) return "equal";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

constexpr const char* kOfPackage = "of a package only what crosses its subgraphs and its answers can be seen, the rest is inside artifacts: compare with the "
                                   "QDQ model of 'quantize' for every layer";

/// `seen`: what of the second side could be compared at all; empty = every layer.
void print(const Console& console, const std::string& a, const std::string& b, uint64_t samples, const std::vector<LayerFigures>& layers, const std::string& seen) {
  std::vector<std::vector<std::string>> rows = {{"value", "node", "codes", "saturated", "own snr (dB)", "own cosine", "snr (dB)", "cosine"}};
  for (const LayerFigures& l : layers)
    rows.push_back({quote(l.value), l.node.empty() ? "-" : cat(quote(l.node), " (", l.op, ")"), l.encoding.empty() ? "float" : l.encoding,
                    number(100 * l.saturated, "%.3g %%"), l.own ? number(l.own->snr_db, "%.1f") : "-", l.own ? number(l.own->cosine, "%.6f") : "-",
                    number(l.accumulated.snr_db, "%.1f"), number(l.accumulated.cosine, "%.6f")});
  console.print(cat(table(rows), seen.empty() ? "" : cat("note: ", seen, "\n")));
  Json document = layers_json(layers);
  document["a"] = a, document["b"] = b, document["samples"] = samples;
  if (!seen.empty()) document["note"] = seen;
  console.print_json(document);
}

/// A file as the graph that quantize sees.
Result<Graph> model_of(Console& console, const std::string& path, const CompareOptions& options, Registry& registry) {
  PlanRequest request = console.session().plan_request();
  request.model = path;
  request.import = options.import;
  OPTIMA_ASSIGN(Planned loaded, load_source(request, registry));
  return std::move(loaded.graph);
}

/// One sample of --input, or all of --calib.
Status set_samples(const Arguments& arguments, const Graph& wanted, const InputsFor& given, std::optional<Samples>& samples, LayersRequest& request) {
  const std::vector<TensorInfo> infos = input_infos(wanted);
  if (!arguments.has("calib")) {
    OPTIMA_ASSIGN(std::vector<Tensor> inputs, given(infos));
    request.read = [inputs = std::move(inputs)](uint64_t) -> Result<std::vector<Tensor>> { return inputs; };
    return {};
  }
  for (const char* other : {"input", "image"})
    if (arguments.has(other)) return usage_error(cat("--calib says what the inputs are, found --", other, " with it"));
  OPTIMA_ASSIGN(const SampleOptions options, sample_options(arguments));
  OPTIMA_ASSIGN(samples, Samples::open(expand_home(arguments.text("calib")), infos, options));
  request.samples = samples->count();
  request.read = [&samples](uint64_t s) { return samples->read(s); };
  return {};
}

}  // namespace

Status compare_layers_verb(Console& console, const Arguments& arguments, const CompareOptions& options, const InputsFor& given, Registry& registry) {
  const std::string a = expand_home(arguments.text("A")), b = expand_home(arguments.text("B"));
  std::error_code ignored;
  if (std::filesystem::is_directory(a, ignored)) return usage_error(cat("--layers: found folder ", quote(a), " as A, wanted the float model"));
  OPTIMA_ASSIGN(const Graph wanted, model_of(console, a, options, registry));
  Progress progress(console.progress());
  std::optional<Samples> samples;
  LayersRequest request;
  request.runner.plan = console.session().plan_request();
  request.runner.threads = options.threads;
  request.runner.cancelled = options.cancelled;
  request.runner.note = [&](const std::string& text) { console.note(cat("note: ", text)); };
  request.progress = [&](double fraction, std::string_view stage) { progress.report(fraction, stage); };
  OPTIMA_RETURN_IF_ERROR(set_samples(arguments, wanted, given, samples, request));
  Result<std::vector<LayerFigures>> layers = std::vector<LayerFigures>();
  const bool package = std::filesystem::is_directory(b, ignored);
  if (package) {
    RuntimeContext context(borrow_plugins(registry));
    CompareOptions with_cuts = options;
    with_cuts.at_cuts = true;
    OPTIMA_ASSIGN(const CompareSide side, open_side(context, registry, b, with_cuts));
    if (!side.model) return usage_error(cat("--layers: found output folder ", quote(b), " as B, wanted a package or the QDQ model"));
    layers = compare_package_layers(wanted, *side.model, request, registry);
  } else {
    OPTIMA_ASSIGN(const Graph quantized, model_of(console, b, options, registry));
    layers = compare_layers(wanted, quantized, request, registry);
  }
  progress.clear();
  OPTIMA_RETURN_IF_ERROR(layers.status());
  print(console, a, b, request.samples, *layers, package ? kOfPackage : "");
  return {};
}

}  // namespace optima::host
