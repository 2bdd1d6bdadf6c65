// SPDX-License-Identifier: Apache-2.0
#include "core/compile/submodels.hpp"

#include <algorithm>
#include <set>

#include "core/package/staging.hpp"
#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

/// Writes the files of one folder and gathers what graph_infos.json says of them.
class Emitter {
 public:
  Emitter(const CompileRequest& request, const Planned& planned, const Registry& registry, const std::string& folder, const ProgressReport& progress)
      : request_(request), planned_(planned), registry_(registry), folder_(folder), progress_(progress), main_(planned.graph.main()) {}

  Status run() {
    for (const BodyPlan& body : planned_.plan.bodies)
      OPTIMA_RETURN_IF_ERROR(check_body(body.plan, planned_.plan.nodes[body.node], cat(planned_.plan.nodes[body.node].name, "/", body.name)));
    for (const uint32_t v : main_.inputs) OPTIMA_RETURN_IF_ERROR(describe(main_.values[v], "input"));
    for (const Subgraph& subgraph : planned_.plan.subgraphs) OPTIMA_RETURN_IF_ERROR(add_subgraph(subgraph));
    OPTIMA_RETURN_IF_ERROR(add_constant_outputs());
    return write_file(folder_ + "/graph_infos.json", to_text(document()));
  }

 private:
  Status add_subgraph(const Subgraph& subgraph) {
    if (request_.cancelled && *request_.cancelled) return cancelled();
    const PlanDevice& device = planned_.plan.devices[subgraph.device];
    const Graph piece = extract(planned_.graph, subgraph.run_nodes(), subgraph.inputs, subgraph.outputs);
    for (const uint32_t v : piece.main().outputs) {
      const image::Value& value = piece.main().values[v];
      OPTIMA_RETURN_IF_ERROR(describe(value, attr_of(value.name)));
    }
    const bool on_cpu = class_of(device) == "cpu";
    if (!on_cpu) OPTIMA_RETURN_IF_ERROR(check_static(piece.main(), device));
    return add_graph(piece, on_cpu);
  }

  // A node that the host drives becomes a cpu graph with its bodies whole: the format has no bodies. So nothing in them may be meant for
  // another device.
  Status check_body(const Plan& plan, const PlacedNode& holder, const std::string& path) const {
    for (const PlacedNode& node : plan.nodes)
      if (const PlanDevice& device = plan.devices[node.device]; class_of(device) != "cpu")
        return invalid_input(cat("node ", quote(node.name), " (", node.op_type, ") runs on ", device.name, " in body ", quote(path), " of ",
                                 quote(holder.name), " (", holder.op_type, "), which the host drives: a folder of submodels has no bodies; allocate ",
                                 quote(holder.name), " to a device that takes it whole, or the nodes inside to devices of class cpu"));
    for (const BodyPlan& body : plan.bodies)
      OPTIMA_RETURN_IF_ERROR(check_body(body.plan, holder, cat(plan.nodes[body.node].name, "/", body.name)));
    return {};
  }

  // An output that is a constant needs a graph that produces it.
  Status add_constant_outputs() {
    Graph rest = compact(planned_.graph, {});
    image::Graph& main = rest.main();
    main.inputs.clear();
    std::erase_if(main.outputs, [&](uint32_t v) { return main.values[v].constant == OPTIMA_NONE; });
    std::sort(main.outputs.begin(), main.outputs.end());
    main.outputs.erase(std::unique(main.outputs.begin(), main.outputs.end()), main.outputs.end());
    if (main.outputs.empty()) return {};
    for (const uint32_t v : main.outputs) OPTIMA_RETURN_IF_ERROR(describe(main.values[v], "output"));
    return add_graph(rest, true);
  }

  Status add_graph(const Graph& piece, bool on_cpu) {
    const std::string stem = cat("graph_", graphs_.size());
    if (progress_) progress_(static_cast<double>(graphs_.size()) / static_cast<double>(planned_.plan.subgraphs.size() + 1), stem);
    OPTIMA_RETURN_IF_ERROR(onnx_io::write_onnx_file(piece, folder_, stem).within(stem));
    Json entry = {{"device", on_cpu ? "cpu" : "tpu"},
                  {"inputs", names(piece.main(), piece.main().inputs)},
                  {"outputs", names(piece.main(), piece.main().outputs)},
                  {"model_info", {{"model_path", stem + ".onnx"}}}};
    if (!on_cpu) entry["context_dir"] = cat("graph_ir_", graphs_.size());
    graphs_.push_back(std::move(entry));
    return {};
  }

  // A tensor's shape, dtype and attr; the first description of a name stays, so an output that is an input too is an input.
  Status describe(const image::Value& value, std::string_view attr) {
    if (value.kind != OPTIMA_KIND_TENSOR || !value.dims)
      return invalid_input(cat("tensor ", quote(value.name), " (", type_text(value), ") crosses submodels, wanted a tensor of known rank"));
    Json shape = Json::array();
    for (const image::Dim& dim : *value.dims) {
      shape.push_back(dim.value);
      dynamic_ = dynamic_ || dim.value < 0;
    }
    if (described_.insert(value.name).second)
      append_member(tensors_, value.name, {{"shape", std::move(shape)}, {"attr", attr}, {"dtype", dtype_name(value.dtype)}});
    return {};
  }

  // A device that is no CPU is compiled for by the shapes in graph_infos.json, which has only numbers: no names tell which sizes are the same. One
  // batch in front of every tensor that has it needs none.
  Status check_static(const image::Graph& piece, const PlanDevice& device) const {
    std::vector<uint32_t> ends = piece.inputs;
    ends.insert(ends.end(), piece.outputs.begin(), piece.outputs.end());
    std::string batch;
    for (const uint32_t v : ends)
      for (const image::Dim& dim : *piece.values[v].dims)
        if (dim.value < 0 && !is_batch(dim, &dim == &piece.values[v].dims->front(), batch))
          return invalid_input(cat("tensor ", quote(piece.values[v].name), " (", type_text(piece.values[v]), ") is at the border of graph_",
                                   graphs_.size(), " on ", device.name, ", wanted a static shape or one batch in front: give --dim or --shape"));
    return {};
  }

  static bool is_batch(const image::Dim& dim, bool is_first, std::string& batch) {
    if (!is_first || dim.symbol.empty() || (!batch.empty() && dim.symbol != batch)) return false;
    batch = dim.symbol;
    return true;
  }

  std::string_view attr_of(const std::string& name) const {
    const auto same = [&](uint32_t v) { return main_.values[v].name == name; };
    return std::any_of(main_.outputs.begin(), main_.outputs.end(), same) ? "output" : "intermediate";
  }

  std::string class_of(const PlanDevice& device) const {
    if (is_host(device)) return "cpu";  // see check_body()
    const Backend* plugin = registry_.compiler(device.plugin);
    for (const auto& support : planned_.supports)
      if (support->manifest().id == device.plugin) plugin = support.get();
    const DeviceKind* kind = plugin ? plugin->manifest().find_kind(device.target.kind) : nullptr;
    return kind ? kind->device_class : "other";
  }

  static Json names(const image::Graph& graph, const std::vector<uint32_t>& values) {
    Json out = Json::array();
    for (const uint32_t v : values) out.push_back(graph.values[v].name);
    return out;
  }

  Json document() const {
    return {{"graph_num", graphs_.size()}, {"platform", "onnx"}, {"dynamic", dynamic_}, {"layout", "NCHW"},
            {"inputs", names(main_, main_.inputs)}, {"outputs", names(main_, main_.outputs)},
            {"graphs", graphs_}, {"tensors", tensors_}};
  }

  const CompileRequest& request_;
  const Planned& planned_;
  const Registry& registry_;
  const std::string& folder_;
  const ProgressReport& progress_;
  const image::Graph& main_;
  Json graphs_ = Json::array(), tensors_ = Json::object();
  std::set<std::string> described_;  // members of tensors_
  bool dynamic_ = false;
};

void note_bodies(Plan& plan) {
  std::vector<std::string> driven;
  for (const BodyPlan& body : plan.bodies)
    if (const std::string name = quote(plan.nodes[body.node].name); driven.empty() || driven.back() != name) driven.push_back(name);
  if (!driven.empty())
    plan.notes.push_back(cat(join(driven), driven.size() == 1 ? " is one cpu graph with its bodies" : " are cpu graphs with their bodies",
                             ": a folder of submodels has no plans of bodies"));
}

}  // namespace

Result<Submodels> emit_submodels(const CompileRequest& request, Registry& registry, const ProgressReport& progress) {
  PlanRequest plan = request.plan;
  plan.plan_only = true;
  Submodels out;
  OPTIMA_ASSIGN(out.planned, plan_model(plan, registry, progress));
  note_bodies(out.planned.plan);
  OPTIMA_ASSIGN(Staging staging, Staging::create({request.out, out.planned.graph.model_name, request.replace},
                                                 {"folder of submodels", "graph_infos.json"}));
  OPTIMA_RETURN_IF_ERROR(Emitter(request, out.planned, registry, staging.folder(), progress).run());
  out.folder = staging.target();
  OPTIMA_RETURN_IF_ERROR(staging.publish());
  return out;
}

}  // namespace optima
