// SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "optima/plugin/manifest.hpp"

namespace spirv_plugin {
namespace {

using Json = nlohmann::ordered_json;

bool ends_with(std::string_view text, std::string_view end) { return text.size() >= end.size() && text.substr(text.size() - end.size()) == end; }

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out.empty() ? "none" : out;
}

std::string shown(const std::array<uint32_t, 3>& n) { return std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]); }

std::string dims_of(const PortPlan& p) {
  std::string out = sdk::dtype_name(p.dtype) + " ";
  for (size_t k = 0; k < p.dims.size(); ++k) out += (k ? "x" : "") + std::to_string(p.dims[k]);
  return out;
}

Json ports(const std::vector<PortPlan>& all, const Plan& plan) {
  Json out = Json::array();
  for (const PortPlan& p : all) out.push_back({{"name", p.name}, {"type", dims_of(p)}, {"on the GPU", name_of(plan.tensors[p.tensor].element)}});
  return out;
}

Json steps(const Plan& plan) {
  Json out = Json::array();
  for (const StepPlan& s : plan.steps) {
    const Launch& way = s.ways.front();
    out.push_back({{"step", s.name}, {"kernel", plan.kernels[way.kernel].file}, {"workgroups", shown(way.groups)}, {"of", shown(plan.kernels[way.kernel].needs.local)},
                   {"buffers", s.tensors.size()}, {"ways", s.ways.size()}, {"waits for", s.after.size()}, {"Mflop", static_cast<double>(s.flops / 10000) / 100}, {"KiB", s.bytes / 1024}});
  }
  return out;
}

std::string of_plan(const Plan& plan) {
  std::set<std::string> features;
  for (const KernelPlan& k : plan.kernels) features.insert(k.needs.features.begin(), k.needs.features.end());
  Json all = {{"compiled for", plan.target}, {"kernels", plan.kernels.size()},   {"activations", plan.arena_bytes},          {"weights", plan.weights_bytes},
                    {"features", joined({features.begin(), features.end()})},          {"guarded", plan.guard != OPTIMA_NONE},     {"inputs", ports(plan.inputs, plan)},
                    {"outputs", ports(plan.outputs, plan)},                            {"steps", steps(plan)}};
  if (!plan.generator.empty()) all["made by"] = plan.generator;
  if (!plan.graph.empty()) all["subgraph"] = plan.graph;
  return all.dump();
}

std::string of_module(std::string_view bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  const Requirements r = requirements_of(words.data(), words.size());
  const Json all = {{"SPIR-V", std::to_string(r.spirv >> 16) + "." + std::to_string(r.spirv >> 8 & 0xff)}, {"invocations", shown(r.local)}, {"shared bytes", r.shared_bytes},
                    {"storage buffers", r.storage_buffers}, {"features", joined(r.features)}, {"extensions", joined(r.extensions)}, {"words", words.size()}};
  return all.dump();
}

}  // namespace

std::optional<std::string> described(std::string_view name, std::string_view bytes) {
  if (ends_with(name, ".meta") && bytes.substr(0, 80).find("optima.spirv.meta/") != bytes.npos) return of_plan(read_plan(bytes));
  if (ends_with(name, ".spv")) return of_module(bytes);
  return std::nullopt;
}

}  // namespace spirv_plugin
