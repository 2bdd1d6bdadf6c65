// SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include <charconv>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "context.hpp"
#include "dlc.hpp"
#include "plugins/snpe/soc.hpp"

namespace snpe_plugin {
namespace {

using Json = nlohmann::ordered_json;

bool ends_with(std::string_view name, std::string_view end) { return name.size() > end.size() && name.substr(name.size() - end.size()) == end; }

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : ", ") + one;
  return out;
}

/// One as a number, several as a list.
template <class T>
Json few(const std::vector<T>& all) {
  return all.size() == 1 ? Json(all[0]) : Json(all);
}

/// With the digits that a float has: 0.02, not 0.0199999996.
std::vector<double> shortest(const std::vector<float>& all) {
  std::vector<double> out;
  for (const float f : all) {
    char text[32] = {};
    std::to_chars(text, text + sizeof text - 1, f);
    out.push_back(std::strtod(text, nullptr));
  }
  return out;
}

void add_coding(Json& out, const DlcCoding& c) {
  if (!c.told) out["quantization"] = "not told";
  if (c.scales.empty()) return;
  out["scale"] = few(shortest(c.scales));
  out["offset"] = few(c.offsets);
  if (c.axis >= 0) out["axis"] = c.axis;
  if (c.bits > 0) out["bits"] = c.bits;
}

Json json_of(const DlcTensor& t, bool with_role) {
  Json out = {{"name", t.name}};
  if (with_role) out["role"] = role_name(t.role);
  out["type"] = type_name(t.type);
  out["dims"] = t.dims;
  add_coding(out, t.coding);
  return out;
}

Json ports(const DlcGraph& g, bool (DlcTensor::*is)() const) {
  Json out = Json::array();
  for (const DlcTensor& t : g.tensors)
    if ((t.*is)()) out.push_back(json_of(t, false));
  return out;
}

Json counts(const DlcGraph& g) {
  std::map<std::string, uint64_t> by_type;
  for (const DlcOp& op : g.ops) ++by_type[op.type];
  Json out = Json::array();
  for (const auto& [type, n] : by_type) out.push_back({{"operator", type}, {"nodes", n}});
  return out;
}

Json json_of(const DlcGraph& g) {
  Json nodes = Json::array(), tensors = Json::array();
  for (const DlcOp& op : g.ops) nodes.push_back({{"name", op.name}, {"operator", op.type}, {"inputs", joined(op.inputs)}, {"outputs", joined(op.outputs)}});
  for (const DlcTensor& t : g.tensors) tensors.push_back(json_of(t, true));
  return {{"name", g.name}, {"inputs", ports(g, &DlcTensor::is_input)}, {"outputs", ports(g, &DlcTensor::is_output)}, {"operators", counts(g)},
          {"nodes", std::move(nodes)}, {"tensors", std::move(tensors)}};
}

Json json_of(const Dlc& d) {
  Json out = {{"kind", "DLC"}, {"version", d.version == 0 ? Json("not told") : Json(d.version)}, {"bytes", d.size}};
  for (const auto& [key, value] : d.made_by) out["made by"][key] = value;
  out["parts"] = Json::array();
  for (const Part& p : d.parts) out["parts"].push_back({{"part", p.name}, {"bytes", p.size}});
  if (!d.not_told.empty()) out["not told"] = d.not_told;
  out["graphs"] = Json::array();
  for (const DlcGraph& g : d.graphs) out["graphs"].push_back(json_of(g));
  return out;
}

std::string soc_text(int32_t model) {
  const Soc* soc = find_soc(model);
  return soc ? std::string(soc->name) : "not told";
}

Json json_of(const HexagonContext& c) {
  Json out = {{"kind", "Hexagon context"}, {"tools", c.build},  {"SoC", soc_text(c.soc_model)}, {"SoC number", c.soc_model},
              {"bytes", c.size},           {"code bytes", c.code_size}};
  out["graphs"] = Json::array();
  for (const DlcGraph& g : c.graphs)
    out["graphs"].push_back({{"name", g.name}, {"inputs", ports(g, &DlcTensor::is_input)}, {"outputs", ports(g, &DlcTensor::is_output)}});
  return out;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::optional<std::string> describe_file(std::string_view name, std::string_view bytes) {
  if (ends_with(name, ".dlc")) return text_of(json_of(read_dlc(bytes)));
  if (ends_with(name, ".bin") && is_context(bytes)) return text_of(json_of(read_context(bytes)));
  return std::nullopt;
}

}  // namespace snpe_plugin
