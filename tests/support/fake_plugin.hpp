// SPDX-License-Identifier: Apache-2.0
// tests/support: a plugin without a file, and graphs built by hand, for tests of placement.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/loader/registry.hpp"

namespace optima::test {

/// Takes the operators of its note; `verdicts` overrides by node id. Everything that runs or compiles is out of reach.
class FakePlugin : public Backend {
 public:
  FakePlugin(std::string id, std::vector<std::string> kinds, std::vector<std::string> ops) {
    manifest_.id = std::move(id);
    manifest_.compiler = true;
    for (std::string& kind : kinds) manifest_.devices.push_back({std::move(kind), "cpu", true});
    for (std::string& op : ops) manifest_.operators.push_back(row(std::move(op)));
  }
  static OperatorRow row(std::string op) {
    OperatorRow row;
    row.op = std::move(op);
    row.since_max = 99;
    row.inputs = row.outputs = {~uint64_t{0}};
    return row;
  }

  Manifest manifest_;
  std::map<uint32_t, Verdict> verdicts;  ///< by node id
  std::set<uint32_t> silent;             ///< node ids it gives no verdict for
  std::vector<Verdict> extra;            ///< said besides
  Status failure;                        ///< of check
  std::vector<DeviceInfo> present;
  std::vector<RefusedKind> refused;
  int checks = 0;
  std::vector<uint32_t> asked;           ///< by the last check

  void refuse(uint32_t id, uint32_t reason, std::string text) { verdicts[id] = {id, OPTIMA_VERDICT_UNSUPPORTED, reason, OPTIMA_NONE, "", "", "", std::move(text)}; }
  void group(uint32_t number, std::initializer_list<uint32_t> ids) {
    for (uint32_t id : ids) verdicts[id] = {id, OPTIMA_VERDICT_ONLY_IN_GROUP, OPTIMA_REASON_OTHER, number, "", "", "", "only as a pattern"};
  }

  const Manifest& manifest() const override { return manifest_; }
  const std::string& path() const override { return path_; }
  Result<std::vector<DeviceInfo>> devices(std::string*) override { return present; }
  std::vector<RefusedKind> refused_kinds() override { return refused; }
  Result<Answers> ask(const optima_graph&, std::span<const uint32_t> nodes, const TargetDevice&) override {
    ++checks;
    asked.assign(nodes.begin(), nodes.end());
    if (!failure.ok()) return failure;
    std::vector<Verdict> out;
    for (uint32_t id : nodes) {
      if (silent.count(id)) continue;
      const auto said = verdicts.find(id);
      out.push_back(said != verdicts.end() ? said->second : Verdict{id, OPTIMA_VERDICT_SUPPORTED, OPTIMA_REASON_NONE, OPTIMA_NONE, "", "", "", ""});
    }
    out.insert(out.end(), extra.begin(), extra.end());
    return Answers(std::move(out));
  }
  std::variant<Compiled, CompileFailure> compile(const CompileJob&) override { return CompileFailure{plugin_error("a fake compiles nothing")}; }
  bool has_schema() override { return false; }
  Result<std::vector<image::Value>> infer(const optima_graph&, uint32_t) override { return plugin_error("a fake infers nothing"); }
  Result<Compatibility> check_artifact(const Artifact&, const TargetDevice&) override { return plugin_error("a fake runs nothing"); }
  Result<std::unique_ptr<LoadedProgram>> load(Artifact, const TargetDevice&, const LoadJob&) override { return plugin_error("a fake runs nothing"); }

 private:
  std::string path_ = "/nowhere";
};

/// f32[4] everywhere. Node ids start at 100 so that nobody mistakes them for indices.
class GraphBuilder {
 public:
  GraphBuilder() {
    graph.model_name = "tiny";
    graph.model_hash = std::string(64, 'a');
    graph.contents.graphs.emplace_back();
    graph.contents.graphs[0].name = "main";
    graph.contents.opsets = {{"", 21}};
  }

  uint32_t value(const std::string& name, uint32_t in_graph = 0, std::vector<image::Dim> dims = {{4, ""}}) {
    auto& values = graph.contents.graphs[in_graph].values;
    image::Value v;
    v.name = name;
    v.dtype = OPTIMA_F32;
    v.dims = std::move(dims);
    values.push_back(std::move(v));
    return static_cast<uint32_t>(values.size() - 1);
  }
  uint32_t input(const std::string& name) {
    const uint32_t v = value(name);
    graph.main().inputs.push_back(v);
    return v;
  }
  uint32_t constant(const std::string& name) {
    const uint32_t v = value(name);
    const std::vector<float> ones(4, 1.0f);
    graph.blobs.push_back(Blob::copy(ones.data(), 16));
    graph.contents.constants.push_back({OPTIMA_F32, {4}, static_cast<uint32_t>(graph.blobs.size() - 1)});
    graph.main().values[v].constant = static_cast<uint32_t>(graph.contents.constants.size() - 1);
    return v;
  }
  /// One output, called after the node with "_out".
  uint32_t node(const std::string& name, const std::string& op, std::vector<uint32_t> inputs, uint32_t in_graph = 0) {
    const uint32_t out = value(name + "_out", in_graph);
    image::Node n;
    n.name = name;
    n.op_type = op;
    n.id = 100 + next_id_++;
    n.inputs = std::move(inputs);
    n.outputs = {out};
    graph.origins.resize(n.id + 1);
    graph.origins[n.id] = {name, 21};
    graph.contents.graphs[in_graph].nodes.push_back(std::move(n));
    return out;
  }
  void output(uint32_t value) { graph.main().outputs.push_back(value); }
  /// A body of the last node of the main graph that captures the outer values.
  uint32_t body(const std::string& name, std::vector<uint32_t> captured) {
    const auto index = static_cast<uint32_t>(graph.contents.graphs.size());
    graph.contents.graphs.emplace_back();
    graph.contents.graphs[index].name = name;
    for (uint32_t outer : captured) {
      const uint32_t inner = value(cat_name(name, outer), index);
      graph.contents.graphs[index].captures.push_back({outer, inner});
    }
    image::Attr attr;
    attr.name = name;
    attr.type = OPTIMA_ATTR_GRAPH;
    attr.refs = {index};
    graph.main().nodes.back().attrs.push_back(std::move(attr));
    return index;
  }
  uint32_t id_of(const std::string& name) const {
    for (const image::Graph& g : graph.contents.graphs)
      for (const image::Node& n : g.nodes)
        if (n.name == name) return n.id;
    return OPTIMA_NONE;
  }

  Graph graph;

 private:
  static std::string cat_name(const std::string& name, uint32_t v) { return name + "/captured_" + std::to_string(v); }
  uint32_t next_id_ = 0;
};

}  // namespace optima::test
