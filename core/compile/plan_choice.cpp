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
    OPTIMA_RETURN_IF_ERROR(plan(root_, 0));
    return std::move(out_);
  }

 private:
  // Devices and nodes of a plan, then those of the plans of its bodies, which list devices of their own.
  Status plan(const JsonReader& at, int depth) {
    constexpr int kDeepest = 64;
    if (depth == kDeepest) return invalid_input(cat(at.place(), ": bodies inside bodies, wanted at most ", kDeepest, " deep"));
    std::vector<Device> devices;
    OPTIMA_ASSIGN(const auto listed, at.array("devices"));
    for (const JsonReader& one : listed) OPTIMA_RETURN_IF_ERROR(device(one, devices));
    OPTIMA_ASSIGN(const auto nodes, at.array("nodes"));
    for (const JsonReader& one : nodes) OPTIMA_RETURN_IF_ERROR(node(one, devices));
    if (!at.has("bodies")) return {};
    OPTIMA_ASSIGN(const auto bodies, at.array("bodies"));
    for (const JsonReader& one : bodies) {
      OPTIMA_ASSIGN(const JsonReader inside, one.object("plan"));
      OPTIMA_RETURN_IF_ERROR(plan(inside, depth + 1));
    }
    return {};
  }

  struct Device {
    std::string name;  // as the nodes call it
    DeviceName device;
    bool host = false;
  };

  Status device(const JsonReader& at, std::vector<Device>& devices) {
    DeviceSettings settings;
    OPTIMA_ASSIGN(std::string name, at.string("name"));
    OPTIMA_ASSIGN(const std::string full_name, at.string("full_name"));
    if (full_name == kHostDevice) {
      devices.push_back({std::move(name), {}, true});
      return {};
    }
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
    devices.push_back({std::move(name), settings.name, false});
    for (const DeviceSettings& known : out_.settings)
      if (known.name == settings.name) return {};  // of a plan around it
    if (!only_named) out_.candidates.push_back(settings.name);
    out_.settings.push_back(std::move(settings));
    return {};
  }

  Status node(const JsonReader& at, const std::vector<Device>& devices) {
    OPTIMA_ASSIGN(std::string name, at.string("name"));
    OPTIMA_ASSIGN(const std::string device, at.string("device"));
    if (!seen_.insert(name).second) return invalid_input(cat(at.place(), ": node ", quote(name), " appears twice"));
    std::vector<std::string> names;
    for (const Device& d : devices) {
      names.push_back(d.name);
      if (d.name != device && (d.host || d.device.text() != device)) continue;
      out_.nodes.push_back({std::move(name), d.device, d.host});
      return {};
    }
    return invalid_input(cat(at.place(), ": node ", quote(name), " is on ", quote(device), ", which is not among the plan's devices: ", join(names)));
  }

  JsonReader root_;
  PlanChoice out_;
  std::unordered_set<std::string> seen_;
};

Wish wish_of(const PlanChoice::Entry& entry, const std::string& path) {
  Wish wish;
  wish.source = quote(path);
  wish.host = entry.host;
  wish.hard = !entry.host;
  if (!entry.host) wish.devices = {entry.device};
  return wish;
}

}  // namespace

Result<PlanChoice> read_plan_choice(const std::string& path) {
  OPTIMA_ASSIGN(const Json json, read_json(path));
  return ChoiceReader(JsonReader(json, path), path).run();
}

Result<Resolved> resolve(const PlanChoice& choice, const Graph& graph) {
  if (choice.model_hash != graph.model_hash)
    return invalid_input(cat(quote(choice.path), " is a plan of another model: found hash ", choice.model_hash, ", wanted ", graph.model_hash));
  Resolved out;
  std::unordered_map<std::string_view, const PlanChoice::Entry*> entries;
  for (const PlanChoice::Entry& entry : choice.nodes) entries.emplace(entry.node, &entry);
  std::vector<std::string> names;
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& node : g.nodes) {
      names.push_back(node.name);
      const auto at = entries.find(node.name);
      if (at == entries.end() && &g == &graph.main())
        return invalid_input(cat(quote(choice.path), ": node ", quote(node.name), " of the model is not in the plan, which lists ", choice.nodes.size(),
                                 " nodes; was it made with other --shape, --dim, --inputs or --outputs"));
      if (at == entries.end()) continue;
      if (out.by_node_id.size() <= node.id) out.by_node_id.resize(size_t{node.id} + 1);
      out.by_node_id[node.id] = wish_of(*at->second, choice.path);
      entries.erase(at);
    }
  for (const PlanChoice::Entry& entry : choice.nodes)
    if (entries.count(entry.node))
      return invalid_input(cat(quote(choice.path), ": no node ", quote(entry.node), " in the model", nearest_hint(entry.node, names)));
  return out;
}

namespace {

// `given`: what the node around is asked for, which nodes that the plan does not list share.
void add_bodies(const Graph& graph, const Resolved& wishes, const image::Node& holder, const std::string& given,
                std::map<std::string, std::string, std::less<>>& out) {
  for_each_body(holder, [&](uint32_t body) {
    for (const image::Node& inner : graph.contents.graphs[body].nodes) {
      const Wish* own = inner.id < wishes.by_node_id.size() && !wishes.by_node_id[inner.id].source.empty() ? &wishes.by_node_id[inner.id] : nullptr;
      out[inner.name] = own ? own->text() : given;
      add_bodies(graph, wishes, inner, out[inner.name], out);
    }
  });
}

}  // namespace

Result<std::string> allocation_from(const PlanChoice& choice, const Graph& graph) {
  OPTIMA_ASSIGN(const Resolved wishes, resolve(choice, graph));
  std::map<std::string, std::string, std::less<>> devices;
  for (const image::Node& node : graph.main().nodes) {
    devices[node.name] = wishes.by_node_id[node.id].text();
    add_bodies(graph, wishes, node, devices[node.name], devices);
  }
  return compact_allocation(graph, devices);
}

}  // namespace optima
