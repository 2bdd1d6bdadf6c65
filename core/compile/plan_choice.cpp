// SPDX-License-Identifier: Apache-2.0
#include "core/compile/plan_choice.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/plan/plan_json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

// "conv is the only candidate (as in 'plan.json')", once however often a plan is followed.
std::string as_in(const std::string& sentence, const std::string& path) {
  const size_t at = sentence.rfind(" (as in '");
  return cat(at != std::string::npos && sentence.ends_with("')") ? sentence.substr(0, at) : sentence, " (as in ", quote(path), ")");
}

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
    std::map<int64_t, Part> parts;
    if (at.has("subgraphs")) OPTIMA_RETURN_IF_ERROR(subgraphs(at, parts));
    OPTIMA_ASSIGN(const auto nodes, at.array("nodes"));
    const size_t first = out_.nodes.size();
    for (const JsonReader& one : nodes) OPTIMA_RETURN_IF_ERROR(node(one, devices, parts));
    add_clones(first, devices, parts);
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

  struct Part {
    std::string device;
    std::vector<int64_t> clones;  // indices of the plan's nodes
  };

  static Status subgraphs(const JsonReader& at, std::map<int64_t, Part>& parts) {
    OPTIMA_ASSIGN(const auto listed, at.array("subgraphs"));
    for (const JsonReader& one : listed) {
      OPTIMA_ASSIGN(const int64_t index, one.integer("index"));
      Part& part = parts[index];
      OPTIMA_ASSIGN(part.device, one.string("device"));
      if (!one.has("clones")) continue;
      OPTIMA_ASSIGN(const auto clones, one.array("clones"));
      for (const JsonReader& clone : clones) {
        OPTIMA_ASSIGN(const int64_t node, clone.integer("node"));
        part.clones.push_back(node);
      }
    }
    return {};
  }

  // Devices of a node's clones, each once; `first`: of the plan's nodes among all.
  void add_clones(size_t first, const std::vector<Device>& devices, const std::map<int64_t, Part>& parts) {
    for (const auto& [index, part] : parts)
      for (const int64_t node : part.clones) {
        const size_t at = first + static_cast<size_t>(node);
        if (node < 0 || at >= out_.nodes.size() || copied_.count(at)) continue;
        for (const Device& d : devices)
          if (d.name == part.device && !d.host) add_clone(out_.nodes[at], d.device);
      }
  }
  static void add_clone(PlanChoice::Entry& entry, const DeviceName& device) {
    std::vector<DeviceName>& clones = entry.kept.clones;
    if (device != entry.device && std::find(clones.begin(), clones.end(), device) == clones.end()) clones.push_back(device);
  }

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
    OPTIMA_ASSIGN(const auto attributes, at.string_members("attributes"));
    settings.attributes.insert(attributes.begin(), attributes.end());
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

  // The reason of a node whose device nobody edited.
  Status keep(const JsonReader& at, const std::string& device, const std::vector<Device>& devices, const std::map<int64_t, Part>& parts,
              KeptNode& out) const {
    if (!at.has("subgraph") || !at.has("why") || !at.has("sentence")) return {};
    OPTIMA_ASSIGN(const int64_t subgraph, at.integer("subgraph"));
    OPTIMA_ASSIGN(const std::string why, at.string("why"));
    OPTIMA_ASSIGN(const std::string sentence, at.string("sentence"));
    const auto part = parts.find(subgraph);
    if (part == parts.end() || part->second.device != device) return {};
    out.why = why_from(why);
    out.sentence = as_in(sentence, out_.path);
    OPTIMA_ASSIGN(out.asked, at.string_or("asked", ""));
    OPTIMA_ASSIGN(out.as_asked, at.boolean_or("as_asked", true));
    if (!at.has("wanted")) return {};
    OPTIMA_ASSIGN(const std::vector<std::string> wanted, at.strings("wanted"));
    for (const std::string& name : wanted)
      for (const Device& d : devices)
        if (d.name == name && !d.host) out.wanted.push_back(d.device);
    return {};
  }

  Status node(const JsonReader& at, const std::vector<Device>& devices, const std::map<int64_t, Part>& parts) {
    OPTIMA_ASSIGN(std::string name, at.string("name"));
    OPTIMA_ASSIGN(const std::string device, at.string("device"));
    if (!seen_.insert(name).second) return invalid_input(cat(at.place(), ": node ", quote(name), " appears twice"));
    std::vector<std::string> names;
    for (const Device& d : devices) {
      names.push_back(d.name);
      if (d.name != device && (d.host || d.device.text() != device)) continue;
      if (at.has("copied")) copied_.insert(out_.nodes.size());
      PlanChoice::Entry& entry = out_.nodes.emplace_back(PlanChoice::Entry{std::move(name), d.device, d.host, {}});
      return keep(at, device, devices, parts, entry.kept);
    }
    return invalid_input(cat(at.place(), ": node ", quote(name), " is on ", quote(device), ", which is not among the plan's devices: ", join(names)));
  }

  JsonReader root_;
  PlanChoice out_;
  std::set<std::string> seen_;
  std::unordered_set<size_t> copied_;  // entries that quantized units run too: their clones follow from the units
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

std::map<uint32_t, KeptNode> kept_nodes(const PlanChoice& choice, const Graph& graph) {
  std::unordered_map<std::string_view, const KeptNode*> by_name;  // looked up only
  for (const PlanChoice::Entry& entry : choice.nodes) by_name.emplace(entry.node, &entry.kept);
  std::map<uint32_t, KeptNode> out;
  for (const image::Graph& g : graph.contents.graphs)
    for (const image::Node& node : g.nodes)
      if (const auto at = by_name.find(node.name); at != by_name.end()) out.emplace(node.id, *at->second);
  return out;
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
        return invalid_input(cat(quote(choice.path), ": node ", quote(node.name), " of the model is not in the plan, which lists ",
                                 choice.nodes.size(), " nodes; was it made with other --shape, --dim, --inputs or --outputs"));
      if (at == entries.end()) continue;
      if (out.by_node_id.size() <= node.id) out.by_node_id.resize(size_t{node.id} + 1);
      out.by_node_id[node.id] = wish_of(*at->second, choice.path);
      entries.erase(at);
    }
  // Plans that are older than the pass that drops Identity nodes list them.
  for (const Folded& folded : graph.folded)
    if (folded.reason == "identity" && entries.erase(folded.name)) out.folded.push_back(cat(quote(folded.name), " (", folded.reason, ")"));
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
  for (const PlanChoice::Entry& entry : choice.nodes)
    for (const DeviceName& clone : entry.kept.clones) devices[entry.node] += "," + clone.text();
  return compact_allocation(graph, devices);
}

}  // namespace optima
