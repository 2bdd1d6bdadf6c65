// SPDX-License-Identifier: Apache-2.0
// host: `plugins`, `devices`, `ops`: what was found in the plugin folders.
#include <map>

#include "core/backend/refused.hpp"
#include "core/graph/graph.hpp"
#include "core/support/json_value.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

std::string roles(const Manifest& m) { return m.compiler && m.runtime ? "compiler+runtime" : m.compiler ? "compiler" : "runtime"; }

std::string kinds(const Manifest& m) {
  std::vector<std::string> out;
  for (const DeviceKind& k : m.devices) out.push_back(k.kind);
  return out.empty() ? "-" : join(out, " ");
}

Json plugin_json(const PluginFile& f) {
  Json j{{"path", f.path}};
  if (!f.refusal.ok()) j["refused"] = f.refusal.message();
  const Manifest& m = f.manifest;
  if (m.id.empty()) return j;
  j["id"] = m.id, j["vendor"] = m.vendor, j["version"] = m.version, j["build"] = m.build_id;
  j["roles"] = Json::array();
  if (m.compiler) j["roles"].push_back("compiler");
  if (m.runtime) j["roles"].push_back("runtime");
  j["devices"] = Json::array();
  for (const DeviceKind& k : m.devices)
    j["devices"].push_back({{"kind", k.kind}, {"class", k.device_class}, {"virtual", k.is_virtual}, {"quantizes", k.quantizes_all ? "all" : "products"}});
  j["operators"] = m.operators.size();
  j["only_when_named"] = m.only_when_named;
  return j;
}

void print_refused(const Console& console, const Registry& registry) {
  std::string refused;
  for (const PluginFile& f : registry.files())
    if (!f.refusal.ok()) refused += cat("  ", f.path, ": ", f.refusal.message(), "\n");
  if (!refused.empty()) console.print("refused:\n" + refused);
}

void print_plugins(const Console& console, const Registry& registry) {
  std::vector<std::vector<std::string>> good = {{"plugin", "version", "roles", "devices", "operators", "file"}};
  for (const PluginFile& f : registry.files())
    if (const Manifest& m = f.manifest; f.refusal.ok())
      good.push_back({cat(m.id, m.only_when_named ? " (only when named)" : ""), m.version, roles(m), kinds(m), cat(m.operators.size()), f.path});
  console.print(good.size() == 1 ? "no usable plugin\n" : table(good));
  print_refused(console, registry);
}

Json refused_json(const Registry& registry) {
  Json out = Json::array();
  for (const PluginFile& f : registry.files())
    if (!f.refusal.ok()) out.push_back({{"path", f.path}, {"reason", f.refusal.message()}});
  return out;
}

// Distinct plugins of both roles, by id.
std::vector<Backend*> all_plugins(const Registry& registry) {
  std::vector<Backend*> out = registry.runtimes();
  for (Backend* c : registry.compilers()) {
    const auto same = [&](Backend* p) { return p->manifest().id == c->manifest().id; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(c);
  }
  return out;
}

struct DeviceRows {
  std::vector<std::vector<std::string>> rows = {{"device", "plugin", "class", "what"}};
  Json json = Json::array(), refused_json = Json::array(), remarks_json = Json::array();
  std::string remarks, refused;
  std::map<std::string, std::string> served_by;  // kind -> the plugin that its short name means

  void print(const Console& console) const {
    if (!refused.empty()) console.print("refused kinds:\n" + refused);
    if (!remarks.empty()) console.print("remarks:\n" + remarks);
  }
  void refuse(const std::string& kind, const std::string& plugin, const std::string& device_class, const std::string& why) {
    refused += cat("  ", kind, " (", plugin, "): ", why, "\n");
    refused_json.push_back({{"kind", kind}, {"plugin", plugin}, {"class", device_class}, {"reason", why}});
  }

  // failed: the plugin could not be asked; else it has nothing here.
  void remark(const std::string& plugin, const std::string& why, bool failed) {
    remarks += cat("  ", plugin, ": ", why, "\n");
    remarks_json.push_back({{"plugin", plugin}, {"reason", why}, {"failed", failed}});
  }

  // The short name goes to the first plugin in order of preference that serves the kind; the others' devices need the full form.
  void add(const std::string& plugin, const std::string& kind, const std::string& index, const std::string& device_class,
           const std::string& what, bool present) {
    const auto first = served_by.find(kind);
    const std::string plain = cat(kind, ":", index), full = cat(plugin, "/", plain);
    const std::string& name = first == served_by.end() || first->second == plugin ? plain : full;
    rows.push_back({name, plugin, device_class, what});
    json.push_back({{"device", name}, {"full_name", full}, {"plugin", plugin}, {"class", device_class}, {"description", what}, {"present", present}});
  }
  bool empty() const { return rows.size() == 1; }
};

void add_devices(Backend& plugin, DeviceRows& rows) {
  const Manifest& m = plugin.manifest();
  std::string why_none;
  const Result<std::vector<DeviceInfo>> present = plugin.devices(&why_none);
  if (!present.ok()) rows.remark(m.id, present.status().message(), true);
  else if (!why_none.empty()) rows.remark(m.id, why_none, false);
  std::vector<std::string> seen;
  if (present.ok())
    for (const DeviceInfo& d : *present) {
      seen.push_back(d.kind);
      rows.add(m.id, d.kind, std::to_string(d.ordinal), d.device_class, d.arch + (d.driver.empty() ? "" : ", " + d.driver), true);
    }
  for (const RefusedKind& r : plugin.refused_kinds()) rows.refuse(r.kind, m.id, r.device_class, r.why);
  for (const DeviceKind& k : m.devices)
    if (k.is_virtual && std::find(seen.begin(), seen.end(), k.kind) == seen.end())
      rows.add(m.id, k.kind, "*", k.device_class, "compile only: any index, not on this machine", false);
}

DeviceRows device_rows(const Registry& registry) {
  DeviceRows out;
  for (const bool only_when_named : {false, true})
    for (Backend* p : registry.compilers().empty() ? registry.runtimes() : registry.compilers())
      if (p->manifest().only_when_named == only_when_named)
        for (const DeviceKind& k : p->manifest().devices) out.served_by.emplace(k.kind, p->manifest().id);
  for (Backend* p : all_plugins(registry)) add_devices(*p, out);
  return out;
}

std::string types_text(const std::vector<uint64_t>& sets) {
  std::vector<std::string> positions;
  for (const uint64_t set : sets) {
    std::vector<std::string> names;
    for (int d = 1; d < 64; ++d)
      if (set >> d & 1) names.push_back(short_dtype_name(d));
    positions.push_back(join(names, " "));
  }
  return join(positions, " | ");
}

}  // namespace

Status plugins_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("plugins", "Lists every plugin file found, and what was refused and why.");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const Registry* registry, console.session().registry());
  print_plugins(console, *registry);
  Json list = Json::array();
  for (const PluginFile& f : registry->files()) list.push_back(plugin_json(f));
  const DeviceRows rows = device_rows(*registry);
  if (!rows.empty()) console.print("\n" + table(rows.rows));
  rows.print(console);
  console.print_json(Json{{"plugins", list}, {"devices", rows.json}, {"refused_kinds", rows.refused_json}, {"remarks", rows.remarks_json}});
  return {};
}

Status devices_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("devices", "Lists the devices that the plugins serve: present on this machine, or to compile for.");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const Registry* registry, console.session().registry());
  const DeviceRows rows = device_rows(*registry);
  console.print(rows.empty() ? "no device\n" : table(rows.rows));
  rows.print(console);
  print_refused(console, *registry);
  console.print_json(Json{{"devices", rows.json}, {"refused_kinds", rows.refused_json}, {"remarks", rows.remarks_json}, {"refused_files", refused_json(*registry)}});
  return {};
}

Status ops_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("ops", "Lists the operators a plugin declares in its manifest, read without loading it.");
  arguments.positional("PLUGIN", true, "a plugin id");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const Registry* registry, console.session().registry());
  const std::string id = arguments.text("PLUGIN");
  Backend* plugin = registry->compiler(id);
  if (!plugin) {
    std::vector<std::string> ids;
    for (Backend* p : registry->compilers()) ids.push_back(p->manifest().id);
    const auto refused = of_plugin(refused_files(registry->files(), &Manifest::compiler), id);
    const std::string hint = refused.empty() ? nearest_hint(id, ids) : refused_hint(refused, "is one");
    return {refused.empty() ? StatusKind::InvalidInput : StatusKind::Plugin,
            cat("no compiler plugin ", quote(id), ", found ", ids.empty() ? "none" : join(ids), hint)};
  }
  std::vector<std::vector<std::string>> rows = {{"operator", "versions", "rank", "inputs", "note"}};
  Json list = Json::array();
  for (const OperatorRow& r : plugin->manifest().operators) {
    const std::string name = r.domain.empty() ? r.op : r.domain + "::" + r.op;
    rows.push_back({name, cat(r.since_min, "-", r.since_max), cat(r.rank_min, "-", r.rank_max), types_text(r.inputs), r.note});
    list.push_back({{"domain", r.domain}, {"op", r.op}, {"since_version", {r.since_min, r.since_max}}, {"rank", {r.rank_min, r.rank_max}},
                    {"inputs", types_text(r.inputs)}, {"static_shape", r.static_shape}, {"note", r.note}});
  }
  console.print(table(rows));
  console.print_json(Json{{"plugin", id}, {"operators", list}});
  return {};
}

}  // namespace optima::host
