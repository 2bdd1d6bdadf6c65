// SPDX-License-Identifier: Apache-2.0
#include "core/session/precisions.hpp"

#include <algorithm>

#include "core/support/text.hpp"

namespace optima {
namespace {

Result<PrecisionOption> parse_one(const std::string& word) {
  PrecisionOption out;
  const size_t at = word.rfind('=');
  Result<Precision> precision = precision_named(at == std::string::npos ? word : word.substr(at + 1));
  if (!precision.ok()) return precision.status().within("--precision");
  out.precision = *precision;
  if (at == std::string::npos) return out;
  Result<DeviceName> device = parse_device(word.substr(0, at));
  if (!device.ok()) return usage_error(cat("--precision: ", device.status().message()));
  out.device = std::move(*device);
  return out;
}

bool is_of(const PrecisionOption& option, const PlanDevice& device) {
  const Result<DeviceName> full = parse_device(device.full_name);
  return option.device && full.ok() && option.device->fits(*full);
}

/// The option for nodes on a device, or the one for all; null when there is none.
const PrecisionOption* option_for(const std::vector<PrecisionOption>& options, const PlanDevice* device) {
  const PrecisionOption* all = nullptr;
  for (const PrecisionOption& option : options) {
    if (device && is_of(option, *device)) return &option;
    if (!option.device) all = &option;
  }
  return all;
}

ChosenPrecision choose(const PrecisionWish& wish, const PrecisionOption* option) {
  const bool named = wish.precision && wish.rank != Wish::kEveryRank;
  if (!named && option) return {option->precision, option->source};
  return wish.precision ? ChosenPrecision{*wish.precision, wish.source} : ChosenPrecision{};
}

}  // namespace

Result<std::vector<PrecisionOption>> parse_precisions(const std::vector<std::string>& words) {
  std::vector<PrecisionOption> out;
  for (const std::string& word : words) {
    OPTIMA_ASSIGN(PrecisionOption option, parse_one(word));
    for (const PrecisionOption& other : out)
      if (other.device == option.device)
        return usage_error(cat("--precision is given twice for ", option.device ? option.device->text() : "all nodes"));
    out.push_back(std::move(option));
  }
  return out;
}

std::map<uint32_t, ChosenPrecision> choose_precisions(const Graph& graph, const Resolved& wishes, const std::vector<PrecisionOption>& options,
                                                      const Plan* plan) {
  std::map<uint32_t, const PlanDevice*> device_of;
  if (plan)
    for (const PlacedNode& node : plan->nodes) device_of[node.node_id] = &plan->devices[node.device];
  std::map<uint32_t, ChosenPrecision> out;
  for (const image::Node& node : graph.main().nodes) {
    const auto device = device_of.find(node.id);
    const PrecisionWish wish = node.id < wishes.precision_by_node_id.size() ? wishes.precision_by_node_id[node.id] : PrecisionWish();
    out[node.id] = choose(wish, option_for(options, device == device_of.end() ? nullptr : device->second));
  }
  return out;
}

std::set<uint32_t> nodes_to_fill(const std::map<uint32_t, ChosenPrecision>& chosen, const Plan& plan,
                                 const std::function<const Manifest*(const std::string&)>& note_of) {
  std::vector<bool> wants_all;
  for (const PlanDevice& device : plan.devices) {
    const Manifest* note = is_host(device) ? nullptr : note_of(device.plugin);
    const DeviceKind* kind = note ? note->find_kind(device.target.kind) : nullptr;
    wants_all.push_back(kind && kind->quantizes_all);
  }
  std::set<uint32_t> out;
  for (const PlacedNode& node : plan.nodes)
    if (const auto wanted = chosen.find(node.node_id); wanted != chosen.end() && needs_data(wanted->second.precision) && wants_all[node.device]) out.insert(node.node_id);
  return out;
}

std::set<uint32_t> nodes_to_widen(const std::set<uint32_t>& filled, const Plan& plan, const std::function<const Manifest*(const std::string&)>& note_of) {
  const auto has_wide_codes = [](const OperatorRow& row) {
    return row.domain.empty() && row.op == "QuantizeLinear" && !row.outputs.empty() && (row.outputs[0] >> OPTIMA_U16 & 1) != 0;
  };
  std::set<uint32_t> out;
  for (const PlacedNode& node : plan.nodes) {
    if (!filled.count(node.node_id)) continue;
    const Manifest* note = note_of(plan.devices[node.device].plugin);
    if (note && std::any_of(note->operators.begin(), note->operators.end(), has_wide_codes)) out.insert(node.node_id);
  }
  return out;
}

std::vector<std::string> idle_options(const std::vector<PrecisionOption>& options, const Plan& plan) {
  std::vector<std::string> out;
  for (const PrecisionOption& option : options) {
    if (!option.device) continue;
    const auto there = [&](const PlacedNode& node) { return is_of(option, plan.devices[node.device]); };
    if (std::none_of(plan.nodes.begin(), plan.nodes.end(), there))
      out.push_back(cat("no node is on ", option.device->text(), ", so --precision ", option.device->text(), "=", name_of(option.precision), " has no effect"));
  }
  return out;
}

}  // namespace optima
