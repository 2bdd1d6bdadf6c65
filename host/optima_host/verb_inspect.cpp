// SPDX-License-Identifier: Apache-2.0
// host: `inspect`: what is in a model or a package.
#include <filesystem>
#include <map>

#include "core/package/reader.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "host/optima_host/model_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

/// Collects text and JSON side by side, so that both say the same.
struct Findings {
  std::string text;
  Json json = Json::object();
  void fact(const std::string& key, const std::string& value) {
    text += cat(key, ": ", value, "\n");
    json[key] = value;
  }
  void fact(const std::string& key, uint64_t number, const std::string& shown) {
    text += cat(key, ": ", shown, "\n");
    json[key] = number;
  }
};

void add_values(Findings& out, const std::string& key, const image::Graph& graph, const std::vector<uint32_t>& values) {
  out.text += key + ":\n";
  out.json[key] = Json::array();
  for (const uint32_t v : values) {
    out.text += cat("  ", graph.values[v].name, "  ", type_text(graph.values[v]), "\n");
    out.json[key].push_back({{"name", graph.values[v].name}, {"type", type_text(graph.values[v])}});
  }
}

void add_histogram(Findings& out, const Graph& graph) {
  std::map<std::string, uint64_t> count;
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& n : g.nodes) ++count[n.domain.empty() ? n.op_type : n.domain + "::" + n.op_type];
  std::vector<std::vector<std::string>> rows = {{"operator", "nodes"}};
  Json json = Json::object();
  for (const auto& [op, n] : count) rows.push_back({op, std::to_string(n)}), json[op] = n;
  out.text += table(rows);
  out.json["operators"] = json;
}

Result<Findings> inspect_model(const std::string& path, const Arguments& arguments) {
  OPTIMA_ASSIGN(const onnx_io::ImportOptions import, import_options(arguments));
  OPTIMA_ASSIGN(const Graph graph, onnx_io::load_model(path, import));
  Findings out;
  out.fact("model", graph.model_name);
  out.fact("sha256", graph.model_hash);
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : graph.contents.opsets) opsets.push_back(cat(domain.empty() ? "ai.onnx" : domain, " ", version));
  out.fact("opsets", join(opsets));
  uint64_t bytes = 0;
  for (const Blob& b : graph.blobs) bytes += b.size;
  out.fact("weights", bytes, human_bytes(bytes));
  add_values(out, "inputs", graph.main(), graph.main().inputs);
  add_values(out, "outputs", graph.main(), graph.main().outputs);
  out.fact("nodes", graph.main().nodes.size(), std::to_string(graph.main().nodes.size()));
  out.fact("bodies", graph.contents.graphs.size() - 1, std::to_string(graph.contents.graphs.size() - 1));
  add_histogram(out, graph);
  return out;
}

void add_tensors(Findings& out, const std::string& key, const Package& package, const std::vector<std::string>& names) {
  out.text += key + ":\n";
  out.json[key] = Json::array();
  for (const std::string& name : names) {
    const PackageTensor* t = package.find_tensor(name);
    const std::string shape = t->unranked ? "?" : shape_text(t->shape);
    out.text += cat("  ", name, "  ", dtype_name(t->dtype), " ", shape, "\n");
    out.json[key].push_back({{"name", name}, {"dtype", dtype_name(t->dtype)}, {"shape", shape}});
  }
}

// "Loop 'loop_3'" for each node that the host drives, with the subgraphs of its bodies.
std::string nodes_of(const PackageSubgraph& s) {
  std::vector<std::string> out;
  for (const FlowNode& node : s.flow) {
    std::vector<std::string> bodies;
    for (const FlowBody& b : node.bodies)
      bodies.push_back(cat(b.name, " = ", b.count == 0   ? "nothing"
                                          : b.count == 1 ? cat("subgraph ", b.first)
                                                         : cat("subgraphs ", b.first, " to ", b.first + b.count - 1)));
    out.push_back(cat(node.op, " ", quote(node.name), " (", join(bodies), ")"));
  }
  return join(out);
}

Json driven_json(const PackageSubgraph& s) {
  Json flow = Json::array();
  for (const FlowNode& node : s.flow) {
    Json bodies = Json::array();
    for (const FlowBody& b : node.bodies) bodies.push_back({{"name", b.name}, {"first", b.first}, {"count", b.count}});
    flow.push_back({{"name", node.name}, {"op", node.op}, {"bodies", std::move(bodies)}});
  }
  return {{"index", s.index}, {"device", s.device}, {"inputs", s.inputs}, {"outputs", s.outputs}, {"flow", std::move(flow)}};
}

void add_subgraphs(Findings& out, const Package& package) {
  std::vector<std::vector<std::string>> rows = {{"subgraph", "device", "plugin", "format", "files", "size", "weights", "inputs", "outputs"}};
  Json list = Json::array();
  for (const PackageSubgraph& s : package.variants[0].subgraphs) {
    if (!s.flow.empty()) {
      rows.push_back({std::to_string(s.index), s.device, "", nodes_of(s), "", "", "", join(s.inputs), join(s.outputs)});
      list.push_back(driven_json(s));
      continue;
    }
    uint64_t size = 0;
    for (const PackageFile& f : s.files) size += f.size;
    rows.push_back({cat(s.index), s.device, cat(s.plugin, " ", s.plugin_version), s.format_id, cat(s.files.size()), human_bytes(size),
                    cat(s.weights.size()), join(s.inputs), join(s.outputs)});
    list.push_back({{"index", s.index}, {"device", s.device}, {"plugin", s.plugin}, {"version", s.plugin_version}, {"build", s.plugin_build},
                    {"format", s.format_id}, {"files", s.files.size()}, {"bytes", size}, {"weights", s.weights.size()}, {"inputs", s.inputs},
                    {"outputs", s.outputs}, {"compat", s.compat_text}});
  }
  out.text += table(rows);
  out.json["subgraphs"] = list;
}

Result<Findings> inspect_package(const std::string& path) {
  OPTIMA_ASSIGN(const Package package, open_package(path));
  Findings out;
  out.fact("package", package.model_name);
  out.fact("package sha256", package.hash);
  out.fact("model sha256", package.model_hash);
  uint64_t bytes = 0;
  for (const auto& [hash, size] : package.weights) bytes += size;
  out.fact("shared weights", bytes, cat(package.weights.size(), " files, ", human_bytes(bytes)));
  for (const auto& [tool, version] : package.tools) out.fact(tool, version);
  add_tensors(out, "inputs", package, package.inputs);
  add_tensors(out, "outputs", package, package.outputs);
  add_subgraphs(out, package);
  return out;
}

}  // namespace

Status inspect_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("inspect", "Says what is in a model (inputs, outputs, opsets, operators, weights) or a package (subgraphs, files, hashes).");
  arguments.positional("PATH", true, "an ONNX file or a package folder");
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  const std::string path = expand_home(arguments.text("PATH"));
  std::error_code ignored;
  Result<Findings> found = std::filesystem::is_directory(path, ignored) ? inspect_package(path) : inspect_model(path, arguments);
  if (!found.ok()) return found.status();
  console.print(found->text);
  console.print_json(found->json);
  return {};
}

}  // namespace optima::host
