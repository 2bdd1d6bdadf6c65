// SPDX-License-Identifier: Apache-2.0
#include "core/placement/candidates.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/backend/rank.hpp"
#include "core/backend/refused.hpp"
#include "core/placement/other_servers.hpp"
#include "core/split/split.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

struct Server {
  Backend* plugin = nullptr;
  std::string rule;
};

// In which order plugins are taken for a plain name: named ones last, then as the registry orders them.
auto rank(const Manifest& m, const std::vector<std::string>& order) { return std::tuple(m.only_when_named, rank_of(m, order)); }

class Finder {
 public:
  explicit Finder(const PlacementRequest& request) : request_(request) {}

  Result<Candidates> run(const Graph& graph) {
    if (request_.plugins.empty()) return plugin_error(cat("no usable compiler plugin, wanted at least one", refused_hint(request_.refused, "is one")));
    for (const DeviceName& name : request_.candidates) OPTIMA_RETURN_IF_ERROR(add(name, "--device", true));
    if (request_.require_device) {
      OPTIMA_RETURN_IF_ERROR(add(*request_.require_device, "--require-device", true));
      out_.required = Wish{{*request_.require_device}, true, "--require-device", UINT32_MAX};
    }
    bool any_free = false;
    for (const image::Graph& g : graph.contents.graphs)
      for (const image::Node& node : g.nodes) {
        const Wish* wish = node.id < request_.wishes.size() ? &request_.wishes[node.id] : nullptr;
        any_free |= &g == &graph.main() && (!wish || wish->devices.empty());
        if (!wish) continue;
        for (const DeviceName& name : wish->devices) OPTIMA_RETURN_IF_ERROR(add(name, wish->source, false));
      }
    if (any_free && request_.candidates.empty() && !request_.require_device) OPTIMA_RETURN_IF_ERROR(add_present());
    settle_names();
    return std::move(out_);
  }

 private:
  std::string kinds_served() const {
    std::vector<std::string> shown;
    for (const Backend* plugin : request_.plugins)
      for (const DeviceKind& kind : plugin->manifest().devices) shown.push_back(cat(kind.kind, " (", plugin->manifest().id, ")"));
    return join(shown);
  }

  // The sentence of a plugin that knows the kind and cannot use it here; ok when none does.
  static Status refusal(Backend& plugin, const std::string& kind) {
    for (const RefusedKind& r : plugin.refused_kinds())
      if (r.kind == kind) return plugin_error(cat("kind ", quote(kind), " cannot be used: ", r.why, " (says plugin ", quote(plugin.manifest().id), ")"));
    return {};
  }

  Result<Server> server_by_name(const DeviceName& name) const {
    std::vector<std::string> ids;
    for (Backend* plugin : request_.plugins) {
      const Manifest& manifest = plugin->manifest();
      ids.push_back(manifest.id);
      if (manifest.id != name.plugin) continue;
      if (manifest.find_kind(name.kind)) return Server{plugin, "named"};
      OPTIMA_RETURN_IF_ERROR(refusal(*plugin, name.kind));
      std::vector<std::string> kinds;
      for (const DeviceKind& kind : manifest.devices) kinds.push_back(kind.kind);
      return invalid_input(cat("plugin ", quote(name.plugin), " does not serve kind ", quote(name.kind), ", it serves ", join(kinds)));
    }
    const auto refused = of_plugin(request_.refused, name.plugin);
    if (!refused.empty()) return plugin_error(cat("no usable plugin ", quote(name.plugin), ", found ", join(ids), refused_hint(refused, "is one")));
    return invalid_input(cat("no plugin ", quote(name.plugin), ", found ", join(ids), nearest_hint(name.plugin, ids)));
  }

  std::vector<Backend*> serving_kind(const std::string& kind) const {
    std::vector<Backend*> out;
    for (const bool only_named : {false, true})
      for (Backend* plugin : request_.plugins)
        if (plugin->manifest().only_when_named == only_named && plugin->manifest().find_kind(kind)) out.push_back(plugin);
    return out;
  }

  // Plugins come ordered (user's order, priority, id), so the first that serves the kind is the one; the rule says which of
  // these decided.
  Result<Server> server_by_kind(const DeviceName& name) const {
    const std::vector<Backend*> serving = serving_kind(name.kind);
    if (serving.empty())
      for (Backend* plugin : request_.plugins) OPTIMA_RETURN_IF_ERROR(refusal(*plugin, name.kind));
    const auto refused = claiming(request_.refused, name.kind);
    if (serving.empty())
      return Status(refused.empty() ? StatusKind::InvalidInput : StatusKind::Plugin,
                    cat("no plugin serves kind ", quote(name.kind), ", found ", kinds_served(), refused_hint(refused)));
    for (const PluginFile* file : refused)
      if (rank(file->manifest, request_.plugin_order) < rank(serving[0]->manifest(), request_.plugin_order)) warn_of(*file);
    return Server{serving[0], rule_for(serving, name.kind)};
  }

  // A file that might have served; what the user left out he knows of.
  void warn_of(const PluginFile& file) const {
    if (request_.warn && !file.unwanted) request_.warn(refused_note(file));
  }

  std::string rule_for(const std::vector<Backend*>& serving, const std::string& kind) const {
    if (serving.size() == 1) return cat("the only plugin for ", kind);
    const Manifest &first = serving[0]->manifest(), &second = serving[1]->manifest();
    if (!first.only_when_named && second.only_when_named) return cat("the only plugin for ", kind, " that need not be named");
    if (std::find(request_.plugin_order.begin(), request_.plugin_order.end(), first.id) != request_.plugin_order.end())
      return cat("before ", second.id, " in the order of plugins");
    if (first.priority != second.priority) return cat("priority ", first.priority, " over ", second.id, "'s ", second.priority);
    return cat("before ", second.id, " by name, both of priority ", first.priority);
  }

  // A kind that exists only as hardware needs that hardware here; a virtual one may be compiled for anywhere.
  Status check_slot(const DeviceName& name, Backend& plugin) const {
    const DeviceKind* kind = plugin.manifest().find_kind(name.kind);
    if (kind->is_virtual || kind->device_class == "cpu") return {};
    std::string why_none;
    Result<std::vector<DeviceInfo>> present = request_.answers->devices(plugin, &why_none);
    if (!present.ok()) return present.status().within(cat("plugin ", quote(plugin.manifest().id), " cannot list its devices"));
    std::vector<std::string> found;
    for (const DeviceInfo& info : *present)
      if (info.kind == name.kind) found.push_back(cat(name.kind, ":", found.size()));
    if (name.index < found.size()) return {};
    OPTIMA_RETURN_IF_ERROR(refusal(plugin, name.kind));
    return invalid_input(cat("plugin ", quote(plugin.manifest().id), " has no such device, found ", found.empty() ? "none" : join(found),
                             why_none.empty() ? "" : ": ", why_none));
  }

  Status add(const DeviceName& name, const std::string& who, bool free) {
    for (const auto& [known, index] : out_.resolved)
      if (known == name) return make_free(index, free);
    Result<Server> server = name.plugin.empty() ? server_by_kind(name) : server_by_name(name);
    const std::string asked = cat("device ", quote(name.text()), " (asked by ", who, ")");
    if (!server.ok()) return server.status().within(asked);
    const std::string full_name = DeviceName{server->plugin->manifest().id, name.kind, name.index}.text();
    for (uint32_t d = 0; d < out_.devices.size(); ++d)
      if (out_.devices[d].full_name == full_name) {
        out_.resolved.emplace_back(name, d);
        return make_free(d, free);
      }
    if (const Status absent = check_slot(name, *server->plugin); !absent.ok())
      return Status(absent.kind(), cat(absent.message(), other_servers_hint(request_.plugins, server->plugin->manifest().id, name))).within(asked);
    if (out_.devices.size() >= kMostDevices) return invalid_input(cat(asked, ": is one too many, wanted at most ", kMostDevices, " devices"));
    const auto index = static_cast<uint32_t>(out_.devices.size());
    out_.resolved.emplace_back(name, index);
    out_.devices.push_back({"", full_name, server->plugin->manifest().id, server->rule, true, target(name, *server->plugin),
                            server->plugin->manifest().limits});
    out_.plugins.push_back(server->plugin);
    return make_free(index, free);
  }

  Status make_free(uint32_t device, bool free) {
    if (!free) return {};
    out_.free |= uint64_t{1} << device;
    out_.devices[device].only_named = false;
    return {};
  }

  TargetDevice target(const DeviceName& name, const Backend& plugin) const {
    TargetDevice out;
    out.kind = name.kind;
    out.slot = name.index;
    for (const bool full : {false, true})  // what is said of the full name wins
      for (const DeviceSettings& s : request_.settings)
        if (full == !s.name.plugin.empty() && s.name.fits({plugin.manifest().id, name.kind, name.index})) {
          out.attributes = s.attributes;
          out.memory_limit = s.memory_limit;
        }
    return out;
  }

  Status add_present() {
    for (const PluginFile* file : request_.refused)
      if (!file->manifest.only_when_named) warn_of(*file);
    for (Backend* plugin : request_.plugins) {
      if (plugin->manifest().only_when_named) continue;
      std::string why_none;
      Result<std::vector<DeviceInfo>> present = request_.answers->devices(*plugin, &why_none);
      if (!present.ok()) {
        out_.notes.push_back(cat("plugin ", quote(plugin->manifest().id), " cannot list its devices: ", present.status().message()));
        continue;
      }
      std::set<std::string> kinds;
      for (const DeviceInfo& info : *present)
        if (plugin->manifest().find_kind(info.kind) && kinds.insert(info.kind).second) OPTIMA_RETURN_IF_ERROR(add_found(*plugin, info.kind));
    }
    if (out_.free) return {};
    return invalid_input(cat("no plugin has a device on this machine, wanted one by --device or the allocation; kinds served: ", kinds_served()));
  }

  // Under the plain name where that means this plugin, else under the full one.
  Status add_found(Backend& plugin, const std::string& kind) {
    const Manifest& first = serving_kind(kind)[0]->manifest();
    const bool plain = first.id == plugin.manifest().id;
    const size_t known = out_.devices.size();
    OPTIMA_RETURN_IF_ERROR(add({plain ? "" : plugin.manifest().id, kind, 0}, "what is on this machine", true));
    if (out_.devices.size() == known) return {};  // a wish names it
    out_.found |= uint64_t{1} << known;
    if (!plain) out_.devices[known].rule = cat("found here, after ", first.id);
    return {};
  }

  // Short names where they are clear: in this plan, and to whoever reads it later without today's order of plugins. A device that nobody
  // named gets the full name where it needs one, and leaves the others theirs.
  void settle_names() {
    std::map<std::string, size_t> named;
    for (size_t d = 0; d < out_.devices.size(); ++d) named[short_name(d)] += !(out_.found >> d & 1);
    for (size_t d = 0; d < out_.devices.size(); ++d)
      out_.devices[d].name = named[short_name(d)] <= 1 && is_first(d) ? short_name(d) : out_.devices[d].full_name;
  }

  std::string short_name(size_t device) const { return cat(out_.devices[device].target.kind, ":", out_.devices[device].target.slot); }

  bool is_first(size_t device) const {
    std::vector<Backend*> serving = serving_kind(out_.devices[device].target.kind);
    if (!request_.plugin_order.empty())
      std::stable_sort(serving.begin(), serving.end(), [](const Backend* a, const Backend* b) { return rank(a->manifest(), {}) < rank(b->manifest(), {}); });
    return serving[0] == out_.plugins[device];
  }

  const PlacementRequest& request_;
  Candidates out_;
};

}  // namespace

const Limits& Candidates::limits(size_t device) const {
  static const Limits none;
  return plugins[device] ? plugins[device]->manifest().limits : none;
}

std::vector<uint32_t> Candidates::listed(const Wish* wish) const {
  std::vector<uint32_t> out;
  if (!wish || wish->hard) return out;
  for (const DeviceName& name : wish->devices) out.push_back(index_of(name));
  return out;
}

uint32_t Candidates::index_of(const DeviceName& name) const {
  return std::find_if(resolved.begin(), resolved.end(), [&](const auto& known) { return known.first == name; })->second;
}

uint32_t Candidates::find(const DeviceName& full_name) const {
  const std::string text = full_name.text();
  for (uint32_t d = 0; d < devices.size(); ++d)
    if (devices[d].full_name == text) return d;
  return OPTIMA_NONE;
}

Result<Candidates> find_candidates(const Graph& graph, const PlacementRequest& request) { return Finder(request).run(graph); }

}  // namespace optima::detail
