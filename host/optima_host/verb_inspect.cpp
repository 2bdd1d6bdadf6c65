// SPDX-License-Identifier: Apache-2.0
// host: `inspect`: what is in a model or a package.
#include <filesystem>
#include <functional>
#include <map>

#include "core/package/reader.hpp"
#include "core/session/describe.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "host/optima_host/inspect_shapes.hpp"
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

Findings found_shapes(ShapesFound shapes) { return {std::move(shapes.text), std::move(shapes.json)}; }

Result<Findings> inspect_model(const std::string& path, const Arguments& arguments) {
  OPTIMA_ASSIGN(const onnx_io::ImportOptions import, import_options(arguments));
  OPTIMA_ASSIGN(const Graph graph, onnx_io::load_model(path, import));
  if (arguments.has("shapes")) return found_shapes(shapes_of(graph));
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
    const auto texts = package.texts.find(name);
    const bool is_text = texts != package.texts.end();
    const std::string_view dtype = dtype_name(is_text ? OPTIMA_STRING : t->dtype);
    out.text += cat("  ", name, "  ", dtype, " ", shape, is_text ? cat(", codes of ", texts->second.size(), " texts") : "", "\n");
    out.json[key].push_back({{"name", name}, {"dtype", dtype}, {"shape", shape}});
    if (is_text) out.json[key].back()["texts"] = texts->second.size();
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

/// The plugins, looked for when they are wanted; null when that fails, which is no reason not to say the rest.
using Plugins = std::function<const Registry*()>;

/// What plugins say of a subgraph's files; those of which none says anything are left out. A plugin that is not here says nothing.
Result<Json> described(const Plugins& plugins, const PackageReader& reader, const PackageSubgraph& s) {
  Json files = Json::array();
  for (const PackageFile& f : s.files) {
    const Registry* registry = plugins();
    if (!registry) break;
    OPTIMA_ASSIGN(const Blob bytes, reader.artifact(s.index, f.name));
    OPTIMA_ASSIGN(std::optional<Json> said, describe_file(*registry, f.name, bytes, s.plugin));
    if (said) files.push_back({{"file", f.name}, {"description", std::move(*said)}});
  }
  return files;
}

/// The one-line form, for lists: what is neither list nor object.
std::string in_short(const Json& description) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : description.items())
    if (!value.is_object() && !value.is_array()) parts.push_back(cat(plain_line(key), " ", value.is_string() ? plain_line(value.get<std::string>()) : to_line(value)));
  return join(parts);
}

Status add_files(Findings& out, const Plugins& plugins, const PackageReader& reader) {
  const Package& package = reader.package();
  for (size_t k = 0; k < package.variants[0].subgraphs.size(); ++k) {
    const PackageSubgraph& s = package.variants[0].subgraphs[k];
    OPTIMA_ASSIGN(Json files, described(plugins, reader, s));
    for (const Json& f : files) out.text += cat("Subgraph_", s.index, "/", f.at("file").get<std::string>(), ": ", in_short(f.at("description")), "\n");
    if (!files.empty()) out.json["subgraphs"][k]["described"] = std::move(files);
  }
  return {};
}

Result<Findings> inspect_package(const std::string& path, const Arguments& arguments, const Plugins& plugins) {
  OPTIMA_ASSIGN(const PackageReader reader, PackageReader::open(path));
  const Package& package = reader.package();
  if (arguments.has("shapes")) return found_shapes(shapes_of(package));
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
  OPTIMA_RETURN_IF_ERROR(add_files(out, plugins, reader));
  return out;
}

/// Subgraph_<i> of a package: every file, with all that its plugin says of it.
Result<Findings> inspect_subgraph(const PackageReader& reader, const PackageSubgraph& s, const Plugins& plugins) {
  Findings out;
  out.fact("subgraph", s.index, std::to_string(s.index));
  out.fact("device", s.device);
  out.fact("plugin", cat(s.plugin, " ", s.plugin_version));
  out.fact("format", s.format_id);
  OPTIMA_ASSIGN(const Json files, described(plugins, reader, s));
  out.json["files"] = Json::array();
  for (const PackageFile& f : s.files) {
    Json text = Json::object();
    text[f.name] = human_bytes(f.size);
    out.json["files"].push_back({{"file", f.name}, {"bytes", f.size}});
    for (const Json& d : files) {
      if (d.at("file") != f.name) continue;
      text[f.name] = d.at("description");
      out.json["files"].back()["description"] = d.at("description");
    }
    out.text += description_text(text);
  }
  return out;
}

Result<Findings> inspect_folder(const std::string& path, const Arguments& arguments, const Plugins& plugins) {
  const std::filesystem::path folder = std::filesystem::path(path).lexically_normal();
  const std::filesystem::path sub = folder.has_filename() ? folder : folder.parent_path();  // "Subgraph_0/" as "Subgraph_0"
  std::error_code ignored;
  if (!sub.filename().string().starts_with("Subgraph_") || std::filesystem::exists(sub / "model.meta", ignored)) return inspect_package(path, arguments, plugins);
  OPTIMA_ASSIGN(const PackageReader reader, PackageReader::open((sub / "..").string()));
  for (const PackageSubgraph& s : reader.package().variants[0].subgraphs)
    if (cat("Subgraph_", s.index) == sub.filename().string() && s.flow.empty()) return inspect_subgraph(reader, s, plugins);
  return invalid_input(cat(quote(path), ": the package beside it has no such subgraph"));
}

/// A file that is no model may be one that a plugin knows. Without any the model's own error stands.
Result<Findings> inspect_file(const std::string& path, const Arguments& arguments, const Plugins& plugins) {
  Result<Findings> model = inspect_model(path, arguments);
  if (model.ok()) return model;
  const Result<Blob> bytes = map_file(path);
  const Registry* registry = bytes.ok() ? plugins() : nullptr;
  if (!registry) return model;
  OPTIMA_ASSIGN(const std::optional<Json> said, describe_file(*registry, std::filesystem::path(path).filename().string(), *bytes));
  if (!said) return model;
  return Findings{description_text(*said), *said};
}

}  // namespace

Status inspect_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("inspect", "Says what is in a model (inputs, outputs, opsets, operators, weights), a package (subgraphs, files, hashes), one of its "
                      "subgraphs, or a file that a plugin knows.");
  arguments.positional("PATH", true, "an ONNX file, a package folder, a Subgraph_<i> of one, or a plugin's file")
      .flag("shapes", "of a model or a package instead: its tensors' shapes with the sizes that may come, and which subgraphs are planned at run time");
  declare_import(arguments);
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  const std::string path = expand_home(arguments.text("PATH"));
  std::error_code ignored;
  const Plugins plugins = [&]() -> const Registry* {
    const Result<Registry*> registry = console.session().registry();
    return registry.ok() ? *registry : nullptr;
  };
  Result<Findings> found = std::filesystem::is_directory(path, ignored) ? inspect_folder(path, arguments, plugins) : inspect_file(path, arguments, plugins);
  if (!found.ok()) return found.status();
  console.print(found->text);
  console.print_json(found->json);
  return {};
}

}  // namespace optima::host
