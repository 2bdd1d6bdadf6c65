// SPDX-License-Identifier: Apache-2.0
#include "core/compile/write_package.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/compile/self_test.hpp"
#include "core/placement/placement.hpp"
#include "core/placement/plan_json.hpp"
#include "core/support/text.hpp"

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

/// Fills Package from a plan, one member a function.
class Description {
 public:
  Description(const CompileRequest& request, const Planned& planned, const Registry& registry, BuildResult& built, PackageWriter& writer)
      : request_(request), planned_(planned), registry_(registry), built_(built), writer_(writer), main_(planned.graph.main()) {}

  Result<Package> make() {
    package_.model_name = planned_.graph.model_name;
    package_.model_hash = planned_.graph.model_hash;
    package_.options = request_.options;
    package_.tools["optima"] = OPTIMA_VERSION;
    package_.variants.emplace_back();
    for (uint32_t i = 0; i < planned_.plan.subgraphs.size(); ++i) OPTIMA_RETURN_IF_ERROR(add_subgraph(i));
    add_tensors();
    OPTIMA_RETURN_IF_ERROR(add_pass_through());
    return std::move(package_);
  }

 private:
  Status add_subgraph(uint32_t index) {
    const PlanDevice& device = planned_.plan.devices[planned_.plan.subgraphs[index].device];
    const Manifest& manifest = registry_.compiler(device.plugin)->manifest();
    BuiltSubgraph& built = built_.subgraphs[index];
    PackageSubgraph s;
    s.index = index;
    s.device = device.name;
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
    package_.tools[manifest.id] = manifest.version;
    package_.variants[0].subgraphs.push_back(std::move(s));
    return {};
  }

  // Inputs, outputs and what crosses subgraphs; an output that is an input too stays an input.
  void add_tensors() {
    std::map<std::string, PackageTensor> by_name;
    const auto add = [&](uint32_t value, std::string_view attr) {
      const image::Value& v = main_.values[value];
      by_name.try_emplace(v.name, tensor_of(v, attr));
    };
    for (const uint32_t v : main_.inputs) add(v, "input"), package_.inputs.push_back(main_.values[v].name);
    for (const uint32_t v : main_.outputs) add(v, "output"), package_.outputs.push_back(main_.values[v].name);
    for (const Subgraph& s : planned_.plan.subgraphs)
      for (const uint32_t v : s.outputs) add(v, "intermediate");
    for (auto& [name, tensor] : by_name) package_.tensors.push_back(std::move(tensor));
  }

  Status add_pass_through() {
    const Uses uses = uses_of(planned_.graph);
    std::vector<uint32_t> seen;
    for (const uint32_t v : main_.outputs) {
      if (uses.producer[v] != Uses::kNone || std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
      seen.push_back(v);
      PassThrough p{main_.values[v].name, main_.values[v].name, {}};
      if (const uint32_t constant = main_.values[v].constant; constant != OPTIMA_NONE) {
        p.input.clear();
        const uint32_t blob = planned_.graph.contents.constants[constant].blob;
        OPTIMA_ASSIGN(p.weight, writer_.add_weight(planned_.graph.blobs[blob]));
      }
      package_.variants[0].pass_through.push_back(std::move(p));
    }
    return {};
  }

  const CompileRequest& request_;
  const Planned& planned_;
  const Registry& registry_;
  BuildResult& built_;
  PackageWriter& writer_;
  const image::Graph& main_;
  Package package_;
};

}  // namespace

Result<Package> write_package(const CompileRequest& request, const Planned& planned, const Registry& registry, BuildResult built,
                              PackageWriter writer) {
  OPTIMA_ASSIGN(Package package, Description(request, planned, registry, built, writer).make());
  OPTIMA_RETURN_IF_ERROR(writer.add_file("placement.json", to_text(plan_to_json(planned.plan))));
  OPTIMA_RETURN_IF_ERROR(writer.add_file("alloc.json", allocation_of(planned.plan, planned.graph)));
  OPTIMA_RETURN_IF_ERROR(writer.add_file("optima.yaml", effective_config(request.plan.config)));
  if (request.self_test) OPTIMA_RETURN_IF_ERROR(add_self_test(planned.graph, writer));
  return writer.commit(std::move(package));
}

}  // namespace optima::detail
