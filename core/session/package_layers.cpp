// SPDX-License-Identifier: Apache-2.0
// Layers of a package: what crosses its subgraphs, and its answers. The rest is inside artifacts.
#include <algorithm>
#include <limits>
#include <set>

#include "core/quantize/encodings.hpp"
#include "core/runtime/request.hpp"
#include "core/session/error_sums.hpp"
#include "core/session/layers.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr std::string_view kCodes = "/q", kReals = "/dq";

/// The package's encodings; none when it was not quantized by `compile --precision`.
Result<Encodings> encodings_of(const LoadedModel& package) {
  const Result<Blob> file = package.reader().file("encodings.json");
  if (!file.ok()) return Encodings();
  return parse_encodings({reinterpret_cast<const char*>(file->data), file->size}, "encodings.json");
}

/// "x/q" and "x/dq" are values x of the float model.
std::string source_name(std::string_view name) {
  for (const std::string_view suffix : {kReals, kCodes})
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  return std::string(name);
}

/// As reals; empty for what no encoding tells.
std::vector<float> reals_of(const Tensor& tensor, const Encodings& encodings) {
  if (tensor.dtype == OPTIMA_F32) {
    const auto values = tensor.as<float>();
    return {values.begin(), values.end()};
  }
  const auto known = encodings.activations.find(source_name(tensor.name));
  if (!tensor.name.ends_with(kCodes) || known == encodings.activations.end() || known->second.scale.size() != 1) return {};
  const double scale = known->second.scale[0], zero = known->second.zero_point.empty() ? 0 : known->second.zero_point[0];
  std::vector<float> out(tensor.size / (tensor.dtype == OPTIMA_U16 || tensor.dtype == OPTIMA_I16 ? 2 : 1));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>((element_as_double(tensor, i) - zero) * scale);
  return out;
}

Graph with_values(Graph graph, const std::set<std::string>& names) {
  image::Graph& main = graph.main();
  for (uint32_t v = 0; v < main.values.size(); ++v)
    if (names.count(main.values[v].name) && main.values[v].constant == OPTIMA_NONE && main.values[v].dtype == OPTIMA_F32 &&
        std::find(main.outputs.begin(), main.outputs.end(), v) == main.outputs.end())
      main.outputs.push_back(v);
  return graph;
}

struct Layer {
  LayerFigures figures;
  detail::ErrorSums sums;
};

/// Adds what one run gave.
void add(const Tensor& got, const std::vector<Tensor>& wanted, const Encodings& encodings, std::vector<Layer>& layers) {
  const std::string name = source_name(got.name);
  const auto reference = std::find_if(wanted.begin(), wanted.end(), [&](const Tensor& t) { return t.name == name && t.dtype == OPTIMA_F32; });
  if (reference == wanted.end()) return;
  const std::vector<float> reals = reals_of(got, encodings);
  if (reals.size() != reference->size / sizeof(float)) return;
  auto layer = std::find_if(layers.begin(), layers.end(), [&](const Layer& l) { return l.figures.value == name; });
  if (layer == layers.end()) {
    layers.emplace_back().figures.value = name;
    layer = layers.end() - 1;
  }
  layer->sums.add(reals, reference->as<float>());
}

Result<std::vector<Tensor>> run_package(Request& request, const std::vector<Tensor>& inputs) {
  for (const Tensor& tensor : inputs) {
    OPTIMA_ASSIGN(const size_t index, request.input_index(tensor.name));
    OPTIMA_RETURN_IF_ERROR(request.set_input(index, tensor));
  }
  OPTIMA_RETURN_IF_ERROR(request.run());
  OPTIMA_ASSIGN(std::vector<Tensor> out, request.cuts());
  for (size_t i = 0; i < request.model().outputs().size(); ++i) {
    OPTIMA_ASSIGN(Tensor tensor, request.output(i));
    tensor.name = request.model().outputs()[i].name;
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace

Result<std::vector<LayerFigures>> compare_package_layers(const Graph& wanted, const LoadedModel& package, const LayersRequest& request, Registry& registry) {
  OPTIMA_ASSIGN(const Encodings encodings, encodings_of(package));
  std::set<std::string> names;
  for (const PackageTensor& tensor : package.package().tensors) names.insert(source_name(tensor.name));
  OPTIMA_ASSIGN(GraphRunner runner, GraphRunner::make(with_values(wanted, names), request.runner, registry));
  OPTIMA_ASSIGN(const std::unique_ptr<Request> run, Request::create(package));
  std::vector<Layer> layers;
  for (uint64_t s = 0; s < request.samples; ++s) {
    if (request.runner.cancelled && *request.runner.cancelled) return cancelled();
    if (request.progress) request.progress(static_cast<double>(s) / static_cast<double>(request.samples), cat("sample ", s + 1, " of ", request.samples));
    OPTIMA_ASSIGN(const std::vector<Tensor> inputs, request.read(s));
    OPTIMA_ASSIGN(const std::vector<Tensor> expected, runner.run(inputs));
    OPTIMA_ASSIGN(const std::vector<Tensor> got, run_package(*run, inputs));
    for (const Tensor& tensor : got) add(tensor, expected, encodings, layers);
  }
  if (layers.empty()) return invalid_input("model and package have no value in common, wanted the model that the package was made of");
  std::vector<LayerFigures> out;
  for (Layer& layer : layers) {
    layer.figures.accumulated = layer.sums.figures();
    out.push_back(std::move(layer.figures));
  }
  return out;
}

}  // namespace optima
