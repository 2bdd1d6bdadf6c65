// SPDX-License-Identifier: Apache-2.0
#include "core/compile/run_reference.hpp"

#include <algorithm>
#include <cstring>

#include "core/support/text.hpp"
#include "reference/reference.hpp"

namespace optima {
namespace {

struct Interrupted {};  // ends the reference's run from its observer

const Tensor* find(const std::vector<Tensor>& tensors, const std::string& name) {
  const auto it = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

TensorInfo info_of(const image::Value& value) {
  TensorInfo out;
  out.name = value.name, out.dtype = value.dtype, out.unranked = !value.dims.has_value();
  for (const image::Dim& d : value.dims.value_or(std::vector<image::Dim>{})) {
    out.shape.push_back(d.value);
    out.symbols.push_back(d.symbol);
  }
  return out;
}

reference::Tensor to_reference(const Tensor& t) {
  reference::Tensor out;
  out.dtype = t.dtype, out.dims = t.shape, out.data = t.data, out.size = t.size, out.keeper = t.keeper;
  return out;
}

Result<Tensor> from_reference(const reference::Tensor& t, const std::string& name) {
  OPTIMA_ASSIGN(Tensor out, Tensor::make(t.dtype, t.dims));
  if (out.size != t.size) return internal_error(cat("reference: ", quote(name), " has ", t.size, " bytes, wanted ", out.size));
  if (t.size) std::memcpy(out.data, t.data, t.size);
  out.name = name;
  return out;
}

std::set<std::string> outputs_of(const image::Graph& graph) {
  std::set<std::string> out;
  for (const uint32_t v : graph.outputs) out.insert(graph.values[v].name);
  return out;
}

/// The wanted values in the graph's order of values; for the outputs, in the order of the outputs.
Result<std::vector<Tensor>> in_order(const image::Graph& graph, const std::set<std::string>& wanted, std::vector<Tensor> found) {
  if (!wanted.empty()) return found;
  std::vector<Tensor> out;
  for (const uint32_t v : graph.outputs) {
    const Tensor* t = find(found, graph.values[v].name);
    if (!t) return internal_error(cat("reference: output ", quote(graph.values[v].name), " was not computed"));
    out.push_back(*t);
  }
  return out;
}

}  // namespace

std::vector<TensorInfo> input_infos(const Graph& graph) {
  std::vector<TensorInfo> out;
  for (const uint32_t v : graph.main().inputs) {
    out.push_back(info_of(graph.main().values[v]));
    out.back().usual = usual_sizes(out.back().symbols, graph.sizes);
    if (const auto texts = graph.texts.find(out.back().name); texts != graph.texts.end()) out.back().texts = &texts->second;
  }
  return out;
}

Result<std::vector<Tensor>> run_reference(const Graph& graph, const std::vector<Tensor>& inputs, const reference::Foreign& foreign,
                                          const std::set<std::string>& wanted, const std::atomic<bool>* cancel) {
  const image::Graph& main = graph.main();
  std::vector<reference::Tensor> given;
  for (const uint32_t v : main.inputs) {
    const Tensor* t = find(inputs, main.values[v].name);
    if (!t) return invalid_input(cat("input ", quote(main.values[v].name), " is missing"));
    OPTIMA_RETURN_IF_ERROR(check_tensor(*t, info_of(main.values[v])));
    given.push_back(to_reference(*t));
  }
  const std::set<std::string> names = wanted.empty() ? outputs_of(main) : wanted;
  std::vector<Tensor> found;
  Status failure;
  const PackedGraph packed = pack(graph);
  try {
    const auto keep = [&](uint32_t value, const reference::Tensor& t) {
      if (cancel && *cancel) throw Interrupted();
      const std::string& name = main.values[value].name;
      if (!failure.ok() || !names.contains(name) || find(found, name)) return;
      if (Result<Tensor> kept = from_reference(t, name); kept.ok()) found.push_back(std::move(*kept));
      else failure = kept.status();
    };
    const std::vector<reference::Tensor> outputs = reference::run(packed.raw, given, keep, foreign);
    for (size_t i = 0; i < outputs.size(); ++i) keep(main.outputs[i], outputs[i]);  // outputs that no node computes
  } catch (const Interrupted&) {
    return cancelled();
  } catch (const reference::ForeignError& e) {
    if (e.code != OPTIMA_UNSUPPORTED) return plugin_error(e.text);
    return placement_error(cat("the reference cannot run this model: ", e.text));
  } catch (const Error& e) {
    return placement_error(cat("the reference cannot run this model: ", e.text));
  }
  if (!failure.ok()) return failure;
  return in_order(main, wanted, std::move(found));
}

}  // namespace optima
