// SPDX-License-Identifier: Apache-2.0
#include "core/compile/plan_choice.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "core/placement/plan_json.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

class ChoiceReader {
 public:
  ChoiceReader(const JsonReader& root, std::string path) : root_(root) { out_.path = std::move(path); }

  Result<PlanChoice> run() {
    OPTIMA_ASSIGN(const int64_t format, root_.integer("format"));
    if (format < 1 || format > kPlacementFormat)
      return invalid_input(cat(root_.place(), ": format: found ", format, ", wanted 1 to ", kPlacementFormat));
    OPTIMA_ASSIGN(const JsonReader model, root_.object("model"));
    OPTIMA_ASSIGN(out_.model_hash, model.string("hash"));
    OPTIMA_ASSIGN(const auto devices, root_.array("devices"));
    for (const JsonReader& at : devices) OPTIMA_RETURN_IF_ERROR(device(at));
    OPTIMA_ASSIGN(const auto nodes, root_.array("nodes"));
    for (const JsonReader& at : nodes) OPTIMA_RETURN_IF_ERROR(node(at));
    return std::move(out_);
  }

 private:
  Status device(const JsonReader& at) {
    DeviceSettings settings;
    OPTIMA_ASSIGN(std::string name, at.string("name"));
    OPTIMA_ASSIGN(const std::string full_name, at.string("full_name"));
    Result<DeviceName> parsed = parse_device(full_name);
    if (!parsed.ok()) return parsed.status().within(cat(at.place(), ".full_name"));
    settings.name = *parsed;
    OPTIMA_ASSIGN(const JsonReader attributes, at.object("attributes"));
    for (const auto& [key, value] : attributes.json().items()) {
      OPTIMA_ASSIGN(settings.attributes[key], attributes.string(key));
    }
    OPTIMA_ASSIGN(const int64_t limit, at.integer("memory_limit"));
    settings.memory_limit = static_cast<uint64_t>(limit);
    OPTIMA_ASSIGN(const bool only_named, at.boolean("only_named"));
    if (!only_named) out_.candidates.push_back(settings.name);
    names_.push_back(std::move(name));
    out_.settings.push_back(std::move(settings));
    return {};
  }

  Status node(const JsonReader& at) {
    OPTIMA_ASSIGN(std::string name, at.string("name"));
    OPTIMA_ASSIGN(const std::string device, at.string("device"));
    if (!seen_.insert(name).second) return invalid_input(cat(at.place(), ": node ", quote(name), " appears twice"));
    for (size_t d = 0; d < names_.size(); ++d)
      if (names_[d] == device || out_.settings[d].name.text() == device) {
        out_.nodes.push_back({std::move(name), out_.settings[d].name});
        return {};
      }
    return invalid_input(cat(at.place(), ": node ", quote(name), " is on ", quote(device), ", which is not among the plan's devices: ", join(names_)));
  }

  JsonReader root_;
  PlanChoice out_;
  std::vector<std::string> names_;  // of settings, as the nodes call them
  std::unordered_set<std::string> seen_;
};

}  // namespace

Result<PlanChoice> read_plan_choice(const std::string& path) {
  OPTIMA_ASSIGN(const Json json, read_json(path));
  return ChoiceReader(JsonReader(json, path), path).run();
}

Result<Resolved> resolve(const PlanChoice& choice, const Graph& graph) {
  if (choice.model_hash != graph.model_hash)
    return invalid_input(cat(quote(choice.path), " is a plan of another model: found hash ", choice.model_hash, ", wanted ", graph.model_hash));
  Resolved out;
  std::unordered_map<std::string_view, const DeviceName*> devices;
  for (const PlanChoice::Entry& entry : choice.nodes) devices.emplace(entry.node, &entry.device);
  for (const image::Node& node : graph.main().nodes) {
    const auto at = devices.find(node.name);
    if (at == devices.end())
      return invalid_input(cat(quote(choice.path), ": node ", quote(node.name), " of the model is not in the plan, which lists ", choice.nodes.size(),
                               " nodes; was it made with other --shape, --dim, --inputs or --outputs"));
    if (out.by_node_id.size() <= node.id) out.by_node_id.resize(size_t{node.id} + 1);
    out.by_node_id[node.id] = Wish{{*at->second}, true, quote(choice.path)};
    devices.erase(at);
  }
  for (const PlanChoice::Entry& entry : choice.nodes) {
    if (!devices.count(entry.node)) continue;
    std::vector<std::string> names;
    for (const image::Node& node : graph.main().nodes) names.push_back(node.name);
    return invalid_input(cat(quote(choice.path), ": no node ", quote(entry.node), " in the model", nearest_hint(entry.node, names)));
  }
  return out;
}

namespace {

void add_bodies(const Graph& graph, const image::Node& holder, const std::string& device, std::map<std::string, std::string, std::less<>>& out) {
  for_each_body(holder, [&](uint32_t body) {
    for (const image::Node& inner : graph.contents.graphs[body].nodes) {
      out[inner.name] = device;
      add_bodies(graph, inner, device, out);
    }
  });
}

}  // namespace

Result<std::string> allocation_from(const PlanChoice& choice, const Graph& graph) {
  OPTIMA_ASSIGN(const Resolved wishes, resolve(choice, graph));
  std::map<std::string, std::string, std::less<>> devices;
  for (const image::Node& node : graph.main().nodes) {
    devices[node.name] = wishes.by_node_id[node.id].text();
    add_bodies(graph, node, devices[node.name], devices);
  }
  return compact_allocation(graph, devices);
}

}  // namespace optima
