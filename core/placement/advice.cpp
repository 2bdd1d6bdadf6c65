// SPDX-License-Identifier: Apache-2.0
#include "core/placement/advice.hpp"

#include <algorithm>
#include <set>

#include "core/support/table.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

// Full names of devices worth asking that are no candidates.
std::vector<DeviceName> not_asked(const Candidates& candidates, const PlacementRequest& request) {
  std::vector<DeviceName> out;
  for (Backend* plugin : request.plugins) {
    std::vector<DeviceName> of_plugin;
    const auto add = [&](const std::string& kind, uint32_t slot) {
      const DeviceName name{plugin->manifest().id, kind, slot};
      if (!plugin->manifest().find_kind(kind) || candidates.find(name) != OPTIMA_NONE) return;
      if (std::find(of_plugin.begin(), of_plugin.end(), name) == of_plugin.end()) of_plugin.push_back(name);
    };
    if (const auto present = request.answers->devices(*plugin, nullptr); present.ok())
      for (const DeviceInfo& info : *present) add(info.kind, 0);
    for (size_t d = 0; d < candidates.devices.size(); ++d)
      if (const TargetDevice& target = candidates.devices[d].target; candidates.plugins[d] && plugin->manifest().find_kind(target.kind))
        if (const DeviceKind* kind = plugin->manifest().find_kind(target.kind); kind->is_virtual || kind->device_class == "cpu")
          add(target.kind, target.slot);
    out.insert(out.end(), of_plugin.begin(), of_plugin.end());
  }
  return out;
}

}  // namespace

Advice::Advice(const Graph& graph, const Candidates& candidates, const Capability& capability, const PlacementRequest& request)
    : graph_(graph), candidates_(candidates), request_(request) {
  add_named(capability);
  ask_others();
  std::stable_sort(offers_.begin(), offers_.end(), [](const Offer& a, const Offer& b) { return a.only_when_named < b.only_when_named; });
}

void Advice::add_named(const Capability& capability) {
  for (uint32_t d = 0; d < candidates_.devices.size(); ++d) {
    if (!candidates_.plugins[d] || (candidates_.free >> d & 1)) continue;
    Offer offer{candidates_.devices[d].name, candidates_.plugins[d]->manifest().only_when_named, {}};
    for (const uint64_t yes : capability.yes) offer.takes.push_back(yes >> d & 1);
    offers_.push_back(std::move(offer));
  }
}

void Advice::ask_others() {
  PlacementRequest question;
  question.candidates = not_asked(candidates_, request_);
  question.plugins = request_.plugins;
  question.plugin_order = request_.plugin_order;
  question.settings = request_.settings;
  question.compile_refusals = request_.compile_refusals;
  question.plan_only = request_.plan_only;
  question.answers = request_.answers;
  if (question.candidates.empty()) return;
  const Result<Candidates> others = find_candidates(graph_, question);  // advice that cannot be had is none
  if (!others.ok()) return;
  const Result<Capability> said = ask_all(graph_, pack(graph_), *others, question);
  if (!said.ok()) return;
  for (uint32_t d = 0; d < others->devices.size(); ++d) {
    Offer offer{others->devices[d].name, others->plugins[d]->manifest().only_when_named, {}};
    for (const uint64_t yes : said->yes) offer.takes.push_back(yes >> d & 1);
    offers_.push_back(std::move(offer));
  }
}

std::vector<std::string> Advice::takers(uint32_t node) const {
  std::vector<std::string> out;
  for (const Offer& offer : offers_)
    if (offer.takes[node]) out.push_back(offer.name);
  return out;
}

std::string Advice::device_for(const std::vector<uint32_t>& refused) const {
  const Offer* best = nullptr;
  size_t most = 0;
  for (const Offer& offer : offers_) {
    if (!offer.takes[refused[0]] || (best && offer.only_when_named && !best->only_when_named)) continue;
    const auto count = static_cast<size_t>(std::count_if(refused.begin(), refused.end(), [&](uint32_t n) { return offer.takes[n]; }));
    if (count > most) best = &offer, most = count;
  }
  if (!best) return "";
  const std::string them = refused.size() == 1 ? "it" : most == refused.size() ? cat("all ", most, " of them") : cat("it and ", most - 1, " of the others");
  return cat("; ", best->name, best->only_when_named ? " takes " : " would take ", them, best->only_when_named ? " when named (" : " (",
             option_for(*best, refused), ")");
}

std::string Advice::option_for(const Offer& offer, const std::vector<uint32_t>& refused) const {
  const auto& nodes = graph_.main().nodes;
  if (offer.only_when_named) {  // as a candidate it might draw the whole model along
    std::set<std::string_view> types;
    for (uint32_t n : refused) types.insert(nodes[n].op_type);
    const bool by_type = refused.size() > 1 && types.size() == 1;
    return cat("--pin '", by_type ? cat("op:", nodes[refused[0]].op_type) : nodes[refused[0]].name, "=", offer.name, "'");
  }
  std::vector<std::string> names;
  for (size_t d = 0; d < candidates_.devices.size(); ++d)
    if (candidates_.free >> d & 1) names.push_back(candidates_.devices[d].name);
  names.push_back(offer.name);
  return cat("--device ", join(names, ","));
}

std::string sizes_wanted(const Graph& graph, const PlacementRequest& request) {
  if (request.sizes_of_model) return *request.sizes_of_model;
  std::vector<std::string> dims, shapes;
  for (uint32_t v : graph.main().inputs) {
    const image::Value& input = graph.main().values[v];
    if (!input.dims) continue;
    std::vector<std::string> sizes;
    bool unnamed = false;
    for (const image::Dim& dim : *input.dims) {
      sizes.push_back(dim.value >= 0 ? cat(dim.value) : "N");
      if (dim.value >= 0) continue;
      const std::string option = cat("--dim ", dim.symbol, "=N");
      if (dim.symbol.empty()) unnamed = true;
      else if (std::find(dims.begin(), dims.end(), option) == dims.end()) dims.push_back(option);
    }
    if (unnamed) shapes.push_back(cat("--shape ", input.name, "=", join(sizes, ",")));
  }
  dims.insert(dims.end(), shapes.begin(), shapes.end());
  return dims.empty() ? "" : cat("; fixed sizes would help: ", join_few(dims));
}

}  // namespace optima::detail
