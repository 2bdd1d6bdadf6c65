// SPDX-License-Identifier: Apache-2.0
// host: `quantize`: a model and representative data become a QDQ model, encodings, or both.
#include <algorithm>
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"
#include "core/quantize/tpu_names.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/quantize_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

namespace fs = std::filesystem;

/// A file of -o; without a format it is an ONNX file.
struct Output {
  std::string path;
  std::optional<EncodingsFormat> format;
};

Result<std::vector<Output>> outputs_of(const Arguments& arguments) {
  std::vector<Output> out;
  std::optional<EncodingsFormat> format;
  if (arguments.has("format")) {
    const Result<EncodingsFormat> named = encodings_format(arguments.text("format"));
    if (!named.ok()) return named.status().within("--format");
    format = *named;
  }
  for (const std::string& given : arguments.texts("out")) {
    const std::string path = expand_home(given), suffix = fs::path(path).extension().string();
    if (suffix != ".onnx" && suffix != ".json" && !format)
      return usage_error(cat("-o: found ", quote(given), ", wanted a name that ends in .onnx or .json, or --format for encodings"));
    out.push_back({path, suffix == ".onnx" ? std::nullopt : format ? format : EncodingsFormat::Optima});
  }
  if (out.empty()) return usage_error("'quantize' wants -o FILE: q.onnx for the model, or encodings.json; repeats");
  return out;
}

/// Everything as text first, so that a format that cannot say the encodings leaves nothing behind.
Status write_outputs(const std::vector<Output>& outputs, const Graph& graph, const Encodings& encodings) {
  std::vector<std::string> texts;
  for (const Output& output : outputs) {
    texts.emplace_back();
    if (!output.format) continue;
    const bool table = output.format == EncodingsFormat::TpuTable;
    OPTIMA_ASSIGN(texts.back(), write_encodings(table ? with_tpu_names(encodings, graph) : encodings, *output.format));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path path = fs::absolute(outputs[i].path);
    if (!outputs[i].format) OPTIMA_RETURN_IF_ERROR(onnx_io::write_onnx_file(graph, path.parent_path().string(), path.stem().string()));
    else OPTIMA_RETURN_IF_ERROR(write_file(path.string(), texts[i]));
  }
  return {};
}

/// Nodes by what they are computed in.
std::map<std::string, size_t> count_precisions(const Rewriting& rewriting) {
  std::map<std::string, size_t> out;
  for (const auto& [id, node] : rewriting.precisions) ++out[node.precision];
  return out;
}

void print(const Console& console, const Planned& made, const Encodings& encodings, const std::vector<Output>& outputs) {
  std::vector<std::string> counts;
  for (const auto& [precision, count] : count_precisions(made.rewriting)) counts.push_back(cat(count, " nodes ", precision));
  console.print(cat("quantized ", quote(made.graph.model_name), ": ", join(counts), "; encodings of ", encodings.activations.size(), " activations and ",
                    encodings.weights.size(), " weights", encodings.samples ? cat(", from ", encodings.samples, " samples") : "", "\n"));
  for (const std::string& note : made.rewriting.notes) console.print(cat("note: ", note, "\n"));
  Json files = Json::array(), left = Json::array();
  for (const Output& output : outputs) {
    console.print(cat(output.format ? "encodings: " : "model: ", output.path, "\n"));
    files.push_back(output.path);
  }
  for (const LeftFloat& node : encodings.left_float) left.push_back({{"node", node.node}, {"why", node.why}});
  console.print_json({{"model", made.graph.model_name}, {"nodes", count_precisions(made.rewriting)}, {"activations", encodings.activations.size()},
                      {"weights", encodings.weights.size()}, {"samples", encodings.samples}, {"left_float", std::move(left)},
                      {"notes", made.rewriting.notes}, {"files", std::move(files)}});
}

}  // namespace

Status quantize_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("quantize",
                      "Runs a float model over representative data on the devices of this machine, chooses ranges, and writes the model with "
                      "QuantizeLinear and DequantizeLinear nodes, or its encodings.");
  arguments.positional("MODEL", true, "an ONNX file")
      .list("out,o", "FILE", "q.onnx: the QDQ model; encodings.json: the encodings; repeats")
      .option("format", "F", "of encodings: optima (default), aimet-0.6, aimet-1.0 or tpu")
      .option("threads", "N", "most threads of one subgraph while the model is watched (default: all)");
  declare_quantization(arguments);
  declare_import(arguments);
  declare_placement(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const std::vector<Output> outputs, outputs_of(arguments));
  OPTIMA_ASSIGN(QuantizeSettings settings, quantize_settings(console, arguments));
  OPTIMA_ASSIGN(settings.threads, arguments.integer("threads", 0, 1, 4096));
  if (settings.precisions.empty()) settings.precisions.push_back({std::nullopt, Precision::Int8, "default"});
  settings.on_devices = false;
  settings.smooth = std::none_of(outputs.begin(), outputs.end(), [](const Output& out) { return out.format && *out.format != EncodingsFormat::Optima; });
  OPTIMA_ASSIGN(const PlanRequest request, plan_request(console, arguments));
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  Progress progress(console.progress());
  settings.progress = [&](double fraction, std::string_view stage) { progress.report(fraction, stage); };
  OPTIMA_ASSIGN(Planned made, load_source(request, *registry, settings.progress));
  const Result<Encodings> encodings = quantize_model(request, made, settings, *registry);
  progress.clear();
  OPTIMA_RETURN_IF_ERROR(encodings.status());
  OPTIMA_RETURN_IF_ERROR(write_outputs(outputs, made.graph, *encodings));
  print(console, made, *encodings, outputs);
  return {};
}

}  // namespace optima::host
