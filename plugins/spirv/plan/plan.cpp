// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <nlohmann/json.hpp>

#include "optima/plugin/meta_json.hpp"

namespace spirv_plugin {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Requirements& r) {
  return {{"spirv", r.spirv}, {"features", r.features}, {"extensions", r.extensions}, {"local", r.local}, {"shared_bytes", r.shared_bytes}, {"storage_buffers", r.storage_buffers}};
}

Json json_of(const KernelPlan& k) {
  Json out{{"file", k.file}, {"size", k.size}, {"sum", k.sum}};
  if (!k.sha256.empty()) out["sha256"] = k.sha256;
  out["needs"] = json_of(k.needs);
  return out;
}

Json json_of(const PortPlan& p) {
  Json out{{"name", p.name}, {"type", sdk::dtype_name(p.dtype)}, {"dims", p.dims}, {"tensor", p.tensor}};
  if (p.indices) out["indices"] = {p.indices->low, p.indices->high};
  return out;
}

Json json_of(const TensorPlan& t) {
  return {{"name", t.name}, {"element", name_of(t.element)}, {"place", t.place == Place::Arena ? "arena" : "weights"}, {"offset", t.offset}, {"bytes", t.bytes}};
}

Json json_of(const StepPlan& s) {
  Json ways = Json::array();
  for (const Launch& w : s.ways) ways.push_back({{"kernel", w.kernel}, {"groups", w.groups}});
  return {{"name", s.name}, {"node", s.node}, {"tensors", s.tensors}, {"written", s.written}, {"ways", ways}, {"after", s.after}, {"flops", s.flops}, {"bytes", s.bytes}};
}

uint64_t number(const Json& object, const char* key, uint64_t most) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (at == object.end()) sdk::bad_meta("has no '" + std::string(key) + "'");
  if (!at->is_number_unsigned() || at->get<uint64_t>() > most) sdk::bad_meta("has '" + std::string(key) + "' that is no number up to " + std::to_string(most));
  return at->get<uint64_t>();
}

constexpr uint64_t kMostBytes = uint64_t{1} << 47;

/// 64 hexadecimal digits; empty where an older compiler wrote none.
std::string hash(const Json& object, const char* key) {
  const std::string text = sdk::meta_text_or_none(object, key);
  if (object.contains(key) && (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != text.npos)) sdk::bad_meta("has " + std::string(key) + " " + sdk::shown(text) + ", wanted 64 hexadecimal digits");
  return text;
}

/// Numbers below `end`.
std::vector<uint32_t> numbers(const Json& object, const char* key, uint64_t end) {
  std::vector<uint32_t> out;
  for (const Json& one : sdk::meta_list(object, key)) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() >= end) sdk::bad_meta("has a number in '" + std::string(key) + "' that is not below " + std::to_string(end));
    out.push_back(one.get<uint32_t>());
  }
  return out;
}

std::array<uint32_t, 3> three(const Json& object, const char* key) {
  const std::vector<uint32_t> all = numbers(object, key, UINT32_MAX);
  if (all.size() != 3) sdk::bad_meta("has '" + std::string(key) + "' without three numbers");
  return {all[0], all[1], all[2]};
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> out;
  for (const Json& one : sdk::meta_list(object, key)) {
    if (!one.is_string()) sdk::bad_meta("has an entry of '" + std::string(key) + "' that is no text");
    out.push_back(one.get<std::string>());
  }
  return out;
}

class Reading {
 public:
  explicit Reading(std::string_view text) : all_(sdk::parse_meta<Json>(text, kMetaFormat)) {}
  static constexpr const char* kMetaFormat = "optima.spirv.meta/1";

  Plan run() {
    out_.target = sdk::meta_text(all_, "target");
    out_.generator = sdk::meta_text_or_none(all_, "generator"), out_.graph = hash(all_, "graph");
    out_.arena_bytes = number(all_, "arena_bytes", kMostBytes), out_.weights_bytes = number(all_, "weights_bytes", kMostBytes);
    out_.weights_sum = number(all_, "weights_sum", UINT64_MAX);
    for (const Json& one : sdk::meta_list(all_, "tensors")) out_.tensors.push_back(tensor(one));
    out_.inputs = ports("inputs"), out_.outputs = ports("outputs");
    for (const Json& one : sdk::meta_list(all_, "kernels")) out_.kernels.push_back(kernel(one));
    for (const Json& one : sdk::meta_list(all_, "steps")) out_.steps.push_back(step(one));
    if (all_.contains("guard")) {
      if (out_.tensors.empty()) sdk::bad_meta("has a guard without a tensor");
      out_.guard = static_cast<uint32_t>(number(all_, "guard", out_.tensors.size() - 1));
      if (out_.tensors[out_.guard].place != Place::Arena) sdk::bad_meta("has a guard among the weights");
    }
    return std::move(out_);
  }

 private:
  TensorPlan tensor(const Json& one) {
    TensorPlan t;
    t.name = sdk::meta_text(one, "name");
    const std::string element = sdk::meta_text(one, "element"), place = sdk::meta_text(one, "place");
    if (element == "f32") t.element = Element::F32;
    else if (element == "i32") t.element = Element::I32;
    else if (element == "f16") t.element = Element::F16;
    else sdk::bad_meta("has element " + sdk::shown(element) + ", wanted f32, i32 or f16");
    if (place != "arena" && place != "weights") sdk::bad_meta("has place " + sdk::shown(place) + ", wanted arena or weights");
    t.place = place == "arena" ? Place::Arena : Place::Weights;
    t.offset = number(one, "offset", kMostBytes), t.bytes = number(one, "bytes", kMostBytes);
    const uint64_t whole = t.place == Place::Arena ? out_.arena_bytes : out_.weights_bytes;
    if (t.offset % kAlignment != 0 || t.bytes % 4 != 0 || t.bytes == 0 || t.offset > whole || t.bytes > whole - t.offset)
      sdk::bad_meta("has " + sdk::shown(t.name) + " outside of its " + place);
    return t;
  }

  std::vector<PortPlan> ports(const char* key) {
    std::vector<PortPlan> out;
    for (const Json& one : sdk::meta_list(all_, key)) {
      PortPlan p;
      p.name = sdk::meta_text(one, "name");
      p.dtype = sdk::meta_dtype(one, "type", p.name);
      p.dims = sdk::meta_dims(one, p.name, p.dtype);
      if (out_.tensors.empty()) sdk::bad_meta("has " + sdk::shown(p.name) + " without a tensor");
      p.tensor = static_cast<uint32_t>(number(one, "tensor", out_.tensors.size() - 1));
      const TensorPlan& t = out_.tensors[p.tensor];
      if (t.place != Place::Arena || static_cast<uint64_t>(elements_of(p.dims)) * size_of(t.element) > t.bytes) sdk::bad_meta("has " + sdk::shown(p.name) + " in a tensor that does not hold it");
      if (one.contains("indices")) p.indices = indices(one, t);
      out.push_back(std::move(p));
    }
    return out;
  }

  static Range indices(const Json& one, const TensorPlan& t) {
    const Json& two = sdk::meta_list(one, "indices");
    if (two.size() != 2 || !two[0].is_number_integer() || !two[1].is_number_integer() || t.element != Element::I32) sdk::bad_meta("has 'indices' without two whole numbers, or of a tensor that has none");
    return {two[0].get<int64_t>(), two[1].get<int64_t>()};
  }

  KernelPlan kernel(const Json& one) {
    KernelPlan k;
    k.file = sdk::meta_file_name(one, "file");
    k.size = number(one, "size", kMostBytes), k.sum = number(one, "sum", UINT64_MAX), k.sha256 = hash(one, "sha256");
    const Json& needs = sdk::meta_member(one, "needs", Json::value_t::object, "an object");
    k.needs.spirv = static_cast<uint32_t>(number(needs, "spirv", UINT32_MAX));
    k.needs.features = texts(needs, "features"), k.needs.extensions = texts(needs, "extensions");
    k.needs.local = three(needs, "local");
    k.needs.shared_bytes = static_cast<uint32_t>(number(needs, "shared_bytes", UINT32_MAX));
    k.needs.storage_buffers = static_cast<uint32_t>(number(needs, "storage_buffers", 64));
    return k;
  }

  StepPlan step(const Json& one) {
    StepPlan s;
    s.name = sdk::meta_text(one, "name");
    s.node = static_cast<uint32_t>(number(one, "node", UINT32_MAX));
    s.tensors = numbers(one, "tensors", out_.tensors.size());
    s.written = numbers(one, "written", s.tensors.size());
    s.after = numbers(one, "after", out_.steps.size());
    s.flops = number(one, "flops", UINT64_MAX), s.bytes = number(one, "bytes", UINT64_MAX);
    for (const uint32_t w : s.written)
      if (out_.tensors[s.tensors[w]].place != Place::Arena) sdk::bad_meta("has step " + sdk::shown(s.name) + " that writes a weight");
    for (const Json& way : sdk::meta_list(one, "ways")) {
      if (out_.kernels.empty()) sdk::bad_meta("has step " + sdk::shown(s.name) + " without a kernel");
      Launch l{static_cast<uint32_t>(number(way, "kernel", out_.kernels.size() - 1)), three(way, "groups")};
      if (out_.kernels[l.kernel].needs.storage_buffers > s.tensors.size()) sdk::bad_meta("has step " + sdk::shown(s.name) + " with fewer tensors than its kernel binds");
      if (l.groups[0] == 0 || l.groups[1] == 0 || l.groups[2] == 0) sdk::bad_meta("has step " + sdk::shown(s.name) + " without a workgroup");
      s.ways.push_back(l);
    }
    if (s.ways.empty()) sdk::bad_meta("has step " + sdk::shown(s.name) + " without a kernel");
    return s;
  }

  Json all_;
  Plan out_;
};

}  // namespace

std::string write_plan(const Plan& plan) {
  const auto list = [](const auto& items) {
    Json all = Json::array();
    for (const auto& one : items) all.push_back(json_of(one));
    return all;
  };
  Json all = {{"format", Reading::kMetaFormat}};
  if (!plan.generator.empty()) all["generator"] = plan.generator;
  if (!plan.graph.empty()) all["graph"] = plan.graph;
  all.update({{"target", plan.target},           {"arena_bytes", plan.arena_bytes}, {"weights_bytes", plan.weights_bytes}, {"weights_sum", plan.weights_sum}, {"tensors", list(plan.tensors)},
              {"inputs", list(plan.inputs)},     {"outputs", list(plan.outputs)},   {"kernels", list(plan.kernels)},       {"steps", list(plan.steps)}});
  if (plan.guard != OPTIMA_NONE) all["guard"] = plan.guard;
  return sdk::write_meta(all);
}

Plan read_plan(std::string_view text) { return Reading(text).run(); }

}  // namespace spirv_plugin
