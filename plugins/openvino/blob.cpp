// SPDX-License-Identifier: Apache-2.0
#include "blob.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <openvino/op/identity.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>

#include "layers.hpp"
#include "mend.hpp"
#include "optima/plugin/folder.hpp"
#include "query.hpp"

namespace openvino_plugin {
namespace {

void mark_names(const ov::Model& model) {
  for (const std::shared_ptr<ov::Node>& op : model.get_ops()) {
    if (op->get_friendly_name() != op->get_name()) op->set_friendly_name(std::string(kMark) + op->get_friendly_name());
    if (const auto* holder = ov::as_type<ov::op::util::MultiSubGraphOp>(op.get()))
      for (const std::shared_ptr<ov::Model>& body : holder->get_functions()) mark_names(*body);
  }
}

std::shared_ptr<ov::op::v0::Parameter> parameter_of(const sdk::Value& v) {
  ov::PartialShape shape = ov::PartialShape::dynamic();
  if (v.ranked()) {
    shape = ov::PartialShape::dynamic(static_cast<int64_t>(v.rank()));
    for (uint32_t d = 0; d < static_cast<uint32_t>(v.rank()); ++d)
      if (v.dim(d) >= 0) shape[d] = v.dim(d);
  }
  auto made = std::make_shared<ov::op::v0::Parameter>(type_of(v.dtype()).value_or(ov::element::dynamic), shape);
  made->set_friendly_name(std::string(v.name()));
  made->output(0).set_names({std::string(v.name())});
  return made;
}

/// The front end drops inputs that none of its operators reads (of CastLike, the type's; of Split, sizes that the outputs' shapes
/// tell): they come back, so that the model has the subgraph's inputs in the subgraph's order.
std::shared_ptr<ov::Model> with_all_inputs(const std::shared_ptr<ov::Model>& model, const sdk::Graph& graph) {
  if (model->inputs().size() == graph.input_count()) return model;
  ov::ParameterVector all;
  for (uint32_t k = 0; k < graph.input_count(); ++k) {
    const std::string name(graph.input(k).name());
    const auto has = [&](const auto& p) { return p->output(0).get_names().count(name) > 0; };
    const ov::ParameterVector& read = model->get_parameters();
    const auto at = std::find_if(read.begin(), read.end(), has);
    all.push_back(at == read.end() ? parameter_of(graph.input(k)) : *at);
  }
  return std::make_shared<ov::Model>(model->get_results(), model->get_sinks(), all, model->get_variables(), model->get_friendly_name());
}

/// An output that is an input as it is (the front end drops what changes nothing) becomes a copy: OpenVINO 2026.4 leaves the
/// caller's output buffer as it was.
void copy_what_passes(ov::Model& model) {
  for (const std::shared_ptr<ov::op::v0::Result>& result : model.get_results()) {
    const ov::Output<ov::Node> from = result->input_value(0);
    if (!ov::is_type<ov::op::v0::Parameter>(from.get_node())) continue;
    const auto copy = std::make_shared<ov::op::v16::Identity>(from);
    copy->set_friendly_name(from.get_node()->get_friendly_name() + "/copy");
    result->input(0).replace_source_output(copy->output(0));
  }
}

void same_outputs(const ov::Model& model, const sdk::Graph& graph) {
  if (model.outputs().size() == graph.output_count()) return;
  throw sdk::Error(OPTIMA_INTERNAL, "OpenVINO read " + std::to_string(model.outputs().size()) + " outputs, the subgraph has " + std::to_string(graph.output_count()));
}

/// One call into OpenVINO, on a thread of its own so that this one can go on telling and asking.
template <class F>
auto watched(const sdk::Progress& progress, double fraction, std::string_view stage, F&& work) {
  progress(fraction, stage);
  auto result = std::async(std::launch::async, [&] { return guarded(OPTIMA_TOOL_FAILED, "OpenVINO does not compile this subgraph", work); });
  while (result.wait_for(std::chrono::milliseconds(500)) == std::future_status::timeout) progress(fraction, stage);
  return result.get();
}

ov::CompiledModel compiled_model(Engine& engine, const std::shared_ptr<ov::Model>& model, const BlobJob& job, ov::AnyMap properties) {
  properties[ov::hint::inference_precision.name()] = ov::element::Type(job.precision);
  if (!job.cache.empty()) properties[ov::cache_dir.name()] = job.cache;
  return engine.core().compile_model(model, job.device, properties);
}

}  // namespace

ov::AnyMap coding_of(const std::string& device, const Switch& final) {
  if (device != "CPU") return {};
  const auto write = [final](const std::string& text) { return !final || *final ? without_counters(text) : text; };
  return {{ov::cache_encryption_callbacks.name(), ov::EncryptionCallbacks{write, [](const std::string& text) { return text; }}}};
}

void make_blob(Engine& engine, const sdk::Host& host, const sdk::Graph& graph, const BlobJob& job, const std::string& path, const sdk::Progress& progress) {
  for (uint32_t k = 0; k < graph.size(); ++k)
    if (const std::string lacks = missing_operands(graph[k]); !lacks.empty()) throw sdk::Error(OPTIMA_INVALID_GRAPH, lacks, graph[k].id());
  const sdk::Folder folder(host.temp_dir(), "onnx");
  progress(0.0, "writing ONNX");
  host.graph_to_onnx(graph, folder.path());
  const auto read = watched(progress, 0.1, "translating", [&] { return engine.core().read_model(folder.path() + "/model.onnx"); });
  const std::shared_ptr<ov::Model> model = with_all_inputs(read, graph);
  same_outputs(*model, graph);
  mend(*model);
  copy_what_passes(*model);
  mark_names(*model);
  const Switch final = std::make_shared<std::atomic<bool>>(false);
  ov::CompiledModel compiled = watched(progress, 0.3, "compiling", [&] { return compiled_model(engine, model, job, coding_of(job.device, final)); });
  if (!job.cache.empty()) sdk::Log(host, "openvino").info(compiled.get_property(ov::loaded_from_cache) ? "subgraph is from the cache" : "subgraph is new to the cache");
  *final = true;
  watched(progress, 0.8, "writing the blob", [&] {
    std::ofstream file(path, std::ios::binary);
    compiled.export_model(file);
    if (!file.flush()) throw sdk::Error(OPTIMA_IO, "blob cannot be written");
  });
  progress(0.9, "summing up");
}

}  // namespace openvino_plugin
