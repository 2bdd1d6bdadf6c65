// SPDX-License-Identifier: Apache-2.0
#include "blob.hpp"

#include <chrono>
#include <fstream>
#include <future>
#include <openvino/op/util/multi_subgraph_base.hpp>

#include "folder.hpp"
#include "layers.hpp"
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

void same_ports(const ov::Model& model, const sdk::Graph& graph) {
  if (model.inputs().size() == graph.input_count() && model.outputs().size() == graph.output_count()) return;
  throw sdk::Error(OPTIMA_INTERNAL, "OpenVINO read " + std::to_string(model.inputs().size()) + " inputs and " + std::to_string(model.outputs().size()) +
                                        " outputs, the subgraph has " + std::to_string(graph.input_count()) + " and " + std::to_string(graph.output_count()));
}

/// One call into OpenVINO, on a thread of its own so that this one can go on telling and asking.
template <class F>
auto watched(const sdk::Progress& progress, double fraction, std::string_view stage, F&& work) {
  progress(fraction, stage);
  auto result = std::async(std::launch::async, [&] { return guarded(OPTIMA_TOOL_FAILED, "OpenVINO does not compile this subgraph", work); });
  while (result.wait_for(std::chrono::milliseconds(500)) == std::future_status::timeout) progress(fraction, stage);
  return result.get();
}

}  // namespace

ov::AnyMap coding_of(const std::string& device) {
  if (device != "CPU") return {};
  return {{ov::cache_encryption_callbacks.name(), ov::EncryptionCallbacks{[](const std::string& text) { return without_counters(text); },
                                                                          [](const std::string& text) { return text; }}}};
}

void make_blob(Engine& engine, const sdk::Host& host, const sdk::Graph& graph, const BlobJob& job, const std::string& path, const sdk::Progress& progress) {
  for (uint32_t k = 0; k < graph.size(); ++k)
    if (const std::string lacks = missing_operands(graph[k]); !lacks.empty()) throw sdk::Error(OPTIMA_INVALID_GRAPH, lacks, graph[k].id());
  const Folder folder(host.temp_dir());
  progress(0.0, "writing ONNX");
  host.graph_to_onnx(graph, folder.path());
  const std::shared_ptr<ov::Model> model = watched(progress, 0.1, "translating", [&] { return engine.core().read_model(folder.path() + "/model.onnx"); });
  same_ports(*model, graph);
  mark_names(*model);
  ov::AnyMap properties = coding_of(job.device);
  properties[ov::hint::inference_precision.name()] = ov::element::Type(job.precision);
  ov::CompiledModel compiled = watched(progress, 0.3, "compiling", [&] { return engine.core().compile_model(model, job.device, properties); });
  watched(progress, 0.8, "writing the blob", [&] {
    std::ofstream file(path, std::ios::binary);
    compiled.export_model(file);
    if (!file.flush()) throw sdk::Error(OPTIMA_IO, "blob cannot be written");
  });
  progress(0.9, "summing up");
}

}  // namespace openvino_plugin
