// SPDX-License-Identifier: Apache-2.0
#include "core/compile/write_package.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/compile/scopes.hpp"
#include "core/compile/self_test.hpp"
#include "core/flow/node.hpp"
#include "core/placement/placement.hpp"
#include "core/plan/plan_json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "optima/plugin/meta_keys.hpp"

namespace optima::detail {
namespace {

PackageTensor tensor_of(const image::Value& value, std::string_view attr) {
  PackageTensor t;
  t.name = value.name;
  t.dtype = value.dtype;
  t.attr = attr;
  t.unranked = !value.dims.has_value();
  if (value.dims)
    for (const image::Dim& d : *value.dims) {
      t.shape.push_back(d.value);
      t.symbols.push_back(d.symbol);
    }
  return t;
}

/// How far answers of a model may lie from the reference's, which rounds behind every node and to nothing that a model merely allows, where a device rounds once for several; null: as
/// far as those of f32.
const char* share_of_rounding(const Graph& graph) {
  bool halves = false;
  for (const image::Graph& g : graph.contents.graphs) {
    for (const image::Node& n : g.nodes)
      if (n.flags & OPTIMA_NODE_ROUNDS_TO_BYTES) return "0.05";
    for (const image::Value& v : g.values) {
      if (v.dtype == OPTIMA_BF16) return "0.05";
      halves = halves || v.dtype == OPTIMA_F16;
    }
  }
  return halves ? "0.01" : nullptr;
}

/// Unless the plugin says more.
void allow(const char* share, std::vector<std::pair<std::string, std::string>>& meta) {
  if (!share) return;
  const auto said = std::find_if(meta.begin(), meta.end(), [](const auto& m) { return m.first == sdk::kMetaTolerance; });
  if (said == meta.end()) meta.emplace_back(sdk::kMetaTolerance, share);
  else if (!(std::strtod(said->second.c_str(), nullptr) >= std::strtod(share, nullptr))) said->second = share;
}

/// Fills Package from a plan, one member a function.
class Description {
 public:
  Description(const CompileRequest& request, const Planned& planned, const Registry& registry, BuildResult& built, PackageWriter& writer)
      : request_(request), planned_(planned), registry_(registry), built_(built), writer_(writer), scopes_(scopes_of(planned)),
        numbered_(numbered(scopes_)), rounding_(share_of_rounding(planned.graph)) {}

  Result<Package> make() {
    package_.model_name = planned_.graph.model_name;
    package_.model_hash = planned_.graph.model_hash;
    package_.options = registry_.public_options(request_.options);
    package_.tools["optima"] = OPTIMA_VERSION;
    PackageVariant& variant = package_.variants.emplace_back();
    variant.main = static_cast<uint32_t>(planned_.plan.subgraphs.size());
    for (uint32_t i = 0; i < numbered_.size(); ++i) OPTIMA_RETURN_IF_ERROR(add_subgraph(i));
    const image::Graph& main = planned_.graph.main();
    package_.inputs = names_of(main, main.inputs);
    package_.outputs = names_of(main, main.outputs);
    package_.tensors = tensors_of(scopes_[0]);
    package_.sizes = planned_.graph.sizes;
    for (const auto* ends : {&package_.inputs, &package_.outputs})  // a graph that is watched has other outputs than the model
      for (const std::string& name : *ends)
        if (const auto texts = planned_.graph.texts.find(name); texts != planned_.graph.texts.end()) package_.texts.insert(*texts);
    OPTIMA_ASSIGN(variant.pass_through, pass_through_of(scopes_[0]));
    return std::move(package_);
  }

 private:
  static std::vector<std::string> names_of(const image::Graph& graph, const std::vector<uint32_t>& values) {
    std::vector<std::string> out;
    for (const uint32_t v : values) out.push_back(graph.values[v].name);
    return out;
  }

  Status add_subgraph(uint32_t index) {
    const PlanScope& scope = scopes_[numbered_[index].scope];
    const Subgraph& subgraph = scope.plan->subgraphs[numbered_[index].position];
    const PlanDevice& device = scope.plan->devices[subgraph.device];
    PackageSubgraph s;
    s.index = index;
    s.device = device.name;
    if (is_host(device)) {
      s.inputs = subgraph.input_names, s.outputs = subgraph.output_names;
      for (const uint32_t n : subgraph.nodes) {
        OPTIMA_ASSIGN(FlowNode node, flow_node(scope, n));
        s.flow.push_back(std::move(node));
      }
    } else {
      OPTIMA_RETURN_IF_ERROR(add_artifact(index, device, s));
    }
    package_.variants[0].subgraphs.push_back(std::move(s));
    return {};
  }

  Status add_artifact(uint32_t index, const PlanDevice& device, PackageSubgraph& s) {
    const Manifest& manifest = registry_.compiler(device.plugin)->manifest();
    BuiltSubgraph& built = built_.subgraphs[index];
    s.plugin = manifest.id, s.plugin_version = manifest.version, s.plugin_build = manifest.build_id;
    s.target = device.target;
    s.format_id = built.compiled.format_id;
    s.stem = cat("subgraph_", index);
    for (std::string& name : built.compiled.files) s.files.push_back({std::move(name), {}, 0});
    for (UsedWeight& w : built.weights) {
      OPTIMA_ASSIGN(std::string stored, writer_.add_weight(w.bytes, w.sha256));
      s.weights.emplace_back(std::move(w.name), std::move(stored));
    }
    s.inputs = std::move(built.inputs), s.outputs = std::move(built.outputs);
    s.compat_record = std::move(built.compiled.compat_record);
    s.compat_text = std::move(built.compiled.compat_text);
    s.meta = std::move(built.compiled.meta);
    allow(rounding_, s.meta);
    package_.tools[manifest.id] = manifest.version;
    return {};
  }

  // ---- nodes that the host drives

  Result<FlowNode> flow_node(const PlanScope& scope, uint32_t n) {
    const image::Graph& g = scope.graph->main();
    const image::Node& node = g.nodes[n];
    FlowNode out;
    const FlowSignature signature = signature_of(node, *flow_op(node));
    out.name = node.name, out.op = node.op_type;
    for (const uint32_t v : node.inputs) {
      OPTIMA_ASSIGN(FlowInput in, flow_input(*scope.graph, v));
      out.inputs.push_back(std::move(in));
    }
    out.inputs.resize(signature.inputs);
    for (const uint32_t v : node.outputs) out.outputs.push_back(v != OPTIMA_NONE && is_read(scope, v) ? g.values[v].name : "");
    FlowScans scans = scans_of(node, signature);
    out.scan_inputs = std::move(scans.inputs), out.scan_outputs = std::move(scans.outputs);
    for (size_t s = 1, b = 0; b < scope.plan->bodies.size(); ++b) {
      const BodyPlan& body = scope.plan->bodies[b];
      while (scopes_[s].plan != &body.plan) ++s;
      if (body.node != n) continue;
      OPTIMA_ASSIGN(FlowBody made, flow_body(scope, scopes_[s], body.name));
      out.bodies.push_back(std::move(made));
    }
    return out;
  }

  Result<FlowInput> flow_input(const Graph& graph, uint32_t v) {
    FlowInput in;
    if (v == OPTIMA_NONE) return in;
    const image::Value& value = graph.main().values[v];
    if (value.constant == OPTIMA_NONE) {
      in.tensor = value.name;
      return in;
    }
    const image::Constant& constant = graph.contents.constants[value.constant];
    OPTIMA_ASSIGN(in.weight, writer_.add_weight(graph.blobs[constant.blob]));
    in.dtype = constant.dtype, in.shape = constant.dims;
    return in;
  }

  Result<FlowBody> flow_body(const PlanScope& around, const PlanScope& scope, const std::string& name) {
    const image::Graph& g = scope.graph->main();
    FlowBody out;
    out.name = name;
    out.inputs = names_of(g, g.inputs), out.outputs = names_of(g, g.outputs);
    out.captures = names_of(around.graph->main(), scope.captured);
    out.tensors = tensors_of(scope);
    out.first = scope.plan->first;
    out.count = static_cast<uint32_t>(scope.plan->subgraphs.size());
    OPTIMA_ASSIGN(out.pass_through, pass_through_of(scope));
    return out;
  }

  // ---- tensors of one graph

  static bool is_read(const PlanScope& scope, uint32_t v) {
    const std::vector<uint32_t>& outputs = scope.graph->main().outputs;
    return !scope.uses.consumers[v].empty() || std::find(outputs.begin(), outputs.end(), v) != outputs.end();
  }

  // Inputs, outputs, what crosses subgraphs, and what nodes that the host drives hand to each other; an output that is an input too stays an input.
  static std::vector<PackageTensor> tensors_of(const PlanScope& scope) {
    const image::Graph& g = scope.graph->main();
    std::map<std::string, PackageTensor> by_name;
    const auto add = [&](uint32_t value, std::string_view attr) { by_name.try_emplace(g.values[value].name, tensor_of(g.values[value], attr)); };
    for (const uint32_t v : g.inputs) add(v, "input");
    for (const uint32_t v : g.outputs) add(v, "output");
    for (const Subgraph& s : scope.plan->subgraphs) {
      for (const uint32_t v : s.outputs) add(v, "intermediate");
      if (!is_host(scope.plan->devices[s.device])) continue;
      for (const uint32_t n : s.nodes)
        for (const uint32_t v : g.nodes[n].outputs)
          if (v != OPTIMA_NONE && is_read(scope, v)) add(v, "intermediate");
    }
    for (const CutTensor& cut : scope.plan->cuts) by_name.at(cut.name).door = cut.door;
    std::vector<PackageTensor> out;
    for (auto& [name, tensor] : by_name) out.push_back(std::move(tensor));
    return out;
  }

  Result<std::vector<PassThrough>> pass_through_of(const PlanScope& scope) {
    const image::Graph& g = scope.graph->main();
    std::vector<PassThrough> out;
    std::vector<uint32_t> seen;
    for (const uint32_t v : g.outputs) {
      if (scope.uses.producer[v] != Uses::kNone || std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
      seen.push_back(v);
      PassThrough p{g.values[v].name, g.values[v].name, {}};
      if (const uint32_t constant = g.values[v].constant; constant != OPTIMA_NONE) {
        p.input.clear();
        const uint32_t blob = scope.graph->contents.constants[constant].blob;
        OPTIMA_ASSIGN(p.weight, writer_.add_weight(scope.graph->blobs[blob]));
      }
      out.push_back(std::move(p));
    }
    return out;
  }

  const CompileRequest& request_;
  const Planned& planned_;
  const Registry& registry_;
  BuildResult& built_;
  PackageWriter& writer_;
  const std::vector<PlanScope> scopes_;
  const std::vector<Numbered> numbered_;
  const char* rounding_;  // how far answers may lie from the reference's; null: as far as those of f32
  Package package_;
};

}  // namespace

Result<Package> write_package(const CompileRequest& request, const Planned& planned, const Registry& registry, BuildResult built,
                              PackageWriter writer) {
  OPTIMA_ASSIGN(Package package, Description(request, planned, registry, built, writer).make());
  OPTIMA_RETURN_IF_ERROR(writer.add_file("placement.json", to_text(plan_to_json(planned.plan))));
  OPTIMA_RETURN_IF_ERROR(writer.add_file("alloc.json", allocation_of(planned.plan, planned.graph)));
  for (const auto& [name, text] : planned.rewriting.files) OPTIMA_RETURN_IF_ERROR(writer.add_file(name, text));
  Config config = request.plan.config;
  config.plugin_options = registry.public_options(std::move(config.plugin_options));
  OPTIMA_RETURN_IF_ERROR(writer.add_file("optima.yaml", effective_config(config)));
  if (request.self_test) OPTIMA_RETURN_IF_ERROR(add_self_test(planned.graph, registry, writer, request.cancelled));
  return writer.commit(std::move(package));
}

}  // namespace optima::detail
