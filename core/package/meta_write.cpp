// SPDX-License-Identifier: Apache-2.0
// core/package: Package -> the text of model.meta. Knows no files.
#include <algorithm>

#include "core/package/meta_hash.hpp"
#include "core/package/package.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/door.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

Json shape_json(const PackageTensor& t) {
  if (t.unranked) return nullptr;
  Json out = Json::array();
  for (size_t i = 0; i < t.shape.size(); ++i) {
    if (t.shape[i] >= 0) out.push_back(t.shape[i]);
    else if (i < t.symbols.size() && !t.symbols[i].empty()) out.push_back(t.symbols[i]);
    else out.push_back(nullptr);
  }
  return out;
}

Json strings_json(const std::map<std::string, std::string>& map) {
  Json out = Json::object();
  for (const auto& [key, value] : map) append_member(out, key, value);
  return out;
}

std::string to_hex_digits(const std::vector<std::byte>& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += digits[static_cast<unsigned>(b) >> 4];
    out += digits[static_cast<unsigned>(b) & 15];
  }
  return out;
}

Json values_json(const Package& package, const std::vector<std::string>& names) {
  Json out = Json::array();
  for (const std::string& name : names) {
    Json value = {{"name", name}};
    if (const PackageTensor* t = package.find_tensor(name)) {
      value["dtype"] = dtype_name(t->dtype);
      value["shape"] = shape_json(*t);
    }
    out.push_back(std::move(value));
  }
  return out;
}

Json target_json(const TargetDevice& target) {
  return {{"kind", target.kind}, {"slot", target.slot}, {"attributes", strings_json(target.attributes)}, {"memory_limit", target.memory_limit}};
}

Json pass_json(const std::vector<PassThrough>& passes) {
  Json out = Json::array();
  for (const PassThrough& p : passes)
    out.push_back(p.weight.empty() ? Json{{"output", p.output}, {"input", p.input}} : Json{{"output", p.output}, {"weight", p.weight}});
  return out;
}

Json tensors_json(const std::vector<PackageTensor>& tensors) {
  Json out = Json::object();
  for (const PackageTensor& t : tensors) {
    Json one = {{"dtype", dtype_name(t.dtype)}, {"shape", shape_json(t)}, {"attr", t.attr}};
    if (!t.door.is_usual()) one["door"] = door_to_json(t.door);
    append_member(out, t.name, std::move(one));
  }
  return out;
}

Json input_json(const FlowInput& in) {
  if (!in.tensor.empty()) return in.tensor;
  if (in.weight.empty()) return nullptr;
  return {{"weight", in.weight}, {"dtype", dtype_name(in.dtype)}, {"shape", in.shape}};
}

Json flow_json(const FlowNode& node) {
  Json inputs = Json::array(), outputs = Json::array(), bodies = Json::array();
  for (const FlowInput& in : node.inputs) inputs.push_back(input_json(in));
  for (const std::string& name : node.outputs) outputs.push_back(name.empty() ? Json(nullptr) : Json(name));
  for (const FlowBody& b : node.bodies)
    bodies.push_back({{"name", b.name}, {"inputs", b.inputs}, {"captures", b.captures}, {"outputs", b.outputs}, {"tensors", tensors_json(b.tensors)},
                      {"first", b.first}, {"count", b.count}, {"pass_through", pass_json(b.pass_through)}});
  Json out = {{"name", node.name}, {"op", node.op}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
  for (const auto& [key, scans] : {std::pair("scan_inputs", &node.scan_inputs), std::pair("scan_outputs", &node.scan_outputs)}) {
    out[key] = Json::array();
    for (const FlowScan& s : *scans) out[key].push_back({{"axis", s.axis}, {"backward", s.backward}});
  }
  out["bodies"] = std::move(bodies);
  return out;
}

Json driven_json(const PackageSubgraph& s) {
  Json flow = Json::array();
  for (const FlowNode& node : s.flow) flow.push_back(flow_json(node));
  return {{"index", s.index}, {"device", s.device}, {"inputs", s.inputs}, {"outputs", s.outputs}, {"flow", std::move(flow)}};
}

Json subgraph_json(const PackageSubgraph& s) {
  if (!s.flow.empty()) return driven_json(s);
  Json files = Json::array(), weights = Json::array(), meta = Json::object();
  for (const PackageFile& f : s.files) files.push_back({{"name", f.name}, {"size", f.size}, {"sha256", f.sha256}});
  for (const auto& [name, sha] : s.weights) weights.push_back({{"name", name}, {"sha256", sha}});
  for (const auto& [key, value] : s.meta) meta[key] = value;
  return {{"index", s.index}, {"device", s.device},
          {"plugin", {{"id", s.plugin}, {"version", s.plugin_version}, {"build", s.plugin_build}}},
          {"target", target_json(s.target)}, {"format_id", s.format_id}, {"stem", s.stem},
          {"files", std::move(files)}, {"weights", std::move(weights)}, {"inputs", s.inputs}, {"outputs", s.outputs},
          {"compat", {{"record", to_hex_digits(s.compat_record)}, {"text", s.compat_text}}}, {"meta", std::move(meta)}};
}

Json variant_json(const PackageVariant& v, int64_t format) {
  Json targets = Json::array(), subgraphs = Json::array();
  for (const PackageSubgraph& s : v.subgraphs) {
    if (s.flow.empty() && std::find(targets.begin(), targets.end(), Json(s.device)) == targets.end()) targets.push_back(s.device);
    subgraphs.push_back(subgraph_json(s));
  }
  Json out = {{"targets", std::move(targets)}, {"shapes", Json::object()}};
  if (format > 1) out["main"] = v.main;
  out["subgraphs"] = std::move(subgraphs);
  out["pass_through"] = pass_json(v.pass_through);
  return out;
}

bool has_doors(const std::vector<PackageTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const PackageTensor& t) { return !t.door.is_usual(); });
}

Json sizes_json(const SizeRanges& sizes) {
  Json out = Json::object();
  for (const auto& [symbol, r] : sizes) {
    Json one = r.listed.empty() ? Json{{"min", r.min}, {"max", r.max}, {"step", r.step}} : Json{{"values", r.listed}};
    if (r.opt != SizeRange::kNotSaid) one["opt"] = r.opt;
    append_member(out, symbol, std::move(one));
  }
  return out;
}

int64_t format_of(const Package& package) {
  if (!package.texts.empty()) return 5;
  if (!package.sizes.empty()) return 4;
  int64_t format = has_doors(package.tensors) ? 3 : 1;
  for (const PackageVariant& v : package.variants)
    for (const PackageSubgraph& s : v.subgraphs)
      for (const FlowNode& node : s.flow) {
        format = std::max<int64_t>(format, 2);
        for (const FlowBody& body : node.bodies)
          if (has_doors(body.tensors)) format = 3;
      }
  return format;
}

}  // namespace

const PackageTensor* find_tensor(const std::vector<PackageTensor>& tensors, std::string_view name) {
  const auto it = std::lower_bound(tensors.begin(), tensors.end(), name, [](const PackageTensor& t, std::string_view n) { return t.name < n; });
  return it == tensors.end() || it->name != name ? nullptr : &*it;
}
const PackageTensor* Package::find_tensor(std::string_view name) const { return optima::find_tensor(tensors, name); }

std::string artifact_path(uint32_t index, std::string_view name) { return cat("Subgraph_", index, "/", name); }
std::string weight_path(std::string_view sha256) { return cat("weights/", sha256, ".bin"); }

std::string write_meta(const Package& package) {
  const int64_t format = format_of(package);
  Json variants = Json::array(), weights = Json::object(), files = Json::object();
  for (const PackageVariant& v : package.variants) variants.push_back(variant_json(v, format));
  for (const auto& [sha, size] : package.weights) append_member(weights, sha, size);
  for (const auto& [name, f] : package.files) append_member(files, name, {{"size", f.size}, {"sha256", f.sha256}});
  Json root = {{"format", format}, {"sha256", std::string(64, '0')},
               {"model", {{"name", package.model_name}, {"sha256", package.model_hash}}},
               {"inputs", values_json(package, package.inputs)}, {"outputs", values_json(package, package.outputs)},
               {"variants", std::move(variants)}, {"tensors", tensors_json(package.tensors)}, {"weights", std::move(weights)},
               {"files", std::move(files)}, {"options", strings_json(package.options)}, {"tools", strings_json(package.tools)}};
  if (!package.sizes.empty()) root["sizes"] = sizes_json(package.sizes);
  if (!package.texts.empty()) {
    Json texts = Json::object();
    for (const auto& [name, table] : package.texts) append_member(texts, name, table);
    root["texts"] = std::move(texts);
  }
  std::string text = to_text(root);
  const std::string own = to_hex(sha256(text.data(), text.size()));
  return text.replace(meta_hash_at(text), 64, own);
}

}  // namespace optima
