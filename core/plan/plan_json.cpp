// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_json.hpp"

#include <cmath>

#include "core/plan/question_json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/door.hpp"
#include "optima/abi.h"

namespace optima {
namespace {

constexpr std::pair<const char*, uint64_t Limits::*> kLimitNumbers[] = {
    {"max_subgraphs", &Limits::max_subgraphs}, {"max_nodes", &Limits::max_nodes}, {"max_io", &Limits::max_io}, {"memory", &Limits::memory}};

// Only what is limited.
Json limits_to_json(const Limits& limits) {
  Json out = Json::object();
  for (const auto& [key, value] : kLimitNumbers)
    if (limits.*value) out[key] = limits.*value;
  if (limits.connected_only) out["connected_only"] = true;
  if (!limits.not_first.empty()) out["not_first"] = limits.not_first;
  if (!limits.not_last.empty()) out["not_last"] = limits.not_last;
  return out;
}

Json device_to_json(const PlanDevice& device) {
  Json attributes = Json::object();
  for (const auto& [key, value] : device.target.attributes) attributes[key] = value;
  Json out = {{"name", device.name},
              {"full_name", device.full_name},
              {"plugin", device.plugin},
              {"rule", device.rule},
              {"only_named", device.only_named},
              {"kind", device.target.kind},
              {"slot", device.target.slot},
              {"attributes", std::move(attributes)},
              {"memory_limit", device.target.memory_limit}};
  if (Json limits = limits_to_json(device.limits); !limits.empty()) out["limits"] = std::move(limits);
  return out;
}

Json tensors_to_json(const std::vector<uint32_t>& values, const std::vector<std::string>& names) {
  Json out = Json::array();
  for (size_t i = 0; i < values.size(); ++i) out.push_back({{"name", names[i]}, {"value", values[i]}});
  return out;
}

// Bytes that count against a memory limit: told of the first node of those that move as one.
uint64_t held_by(const Plan& plan, size_t node) {
  if (!plan.question || plan.nodes[node].unit != node) return 0;
  const std::vector<uint64_t>& bytes = plan.question->limits.unit_bytes;
  return bytes.empty() ? 0 : bytes[plan.question->unit_of[node]];
}

Json node_to_json(const Plan& plan, size_t index) {
  const PlacedNode& node = plan.nodes[index];
  Json answers = Json::object();
  for (size_t d = 0; d < node.answers.size(); ++d) {
    const DeviceAnswer& answer = node.answers[d];
    Json& one = answers[plan.devices[d].name];
    one["yes"] = answer.yes;
    if (!answer.reason.empty()) one["reason"] = answer.reason;
    if (!answer.text.empty()) one["text"] = answer.text;
    if (answer.microseconds >= 0) one["microseconds"] = answer.microseconds;
    if (!answer.cost_source.empty()) one["cost_source"] = answer.cost_source;
  }
  Json out = Json::object();  // member by member: a list in braces would be copied, which shows at 100,000 nodes
  out["name"] = node.name;
  out["id"] = node.node_id;
  out["op"] = node.op_type;
  out["device"] = plan.devices[node.device].name;
  out["subgraph"] = plan.first + node.subgraph;
  out["why"] = name_of(node.why);
  out["sentence"] = node.sentence;
  if (!node.quantized_unit.empty()) out["quantized_unit"] = node.quantized_unit;
  if (!node.asked.empty()) {
    out["asked"] = node.asked;
    out["as_asked"] = node.as_asked;
    Json& wanted = out["wanted"] = Json::array();
    for (uint32_t d : node.wanted) wanted.push_back(plan.devices[d].name);
  }
  if (!node.precision.empty()) {
    out["precision"] = node.precision;
    out["precision_why"] = node.precision_why;
  }
  out["flops"] = node.work.flops;
  out["bytes"] = node.work.bytes;
  if (node.work.arithmetic != Arithmetic::Float) out["arithmetic"] = name_of(node.work.arithmetic);
  if (const uint64_t held = held_by(plan, index)) out["held"] = held;
  if (node.unit != index) out["unit"] = node.unit;
  if (!node.copied.empty()) out["copied"] = node.copied;
  if (node.after) out["after"] = *node.after;
  out["answers"] = std::move(answers);
  return out;
}

// Those that take time.
Json links_to_json(const Plan& plan) {
  Json out = Json::array();
  if (!plan.question) return out;
  const CostTable& costs = plan.question->between;
  const size_t devices = plan.devices.size();
  for (size_t link = 0; link < costs.latency.size(); ++link)
    if (link / devices != link % devices && (costs.latency[link] > 0 || costs.per_byte[link] > 0))
      out.push_back({{"from", plan.devices[link / devices].name}, {"to", plan.devices[link % devices].name}, {"latency", costs.latency[link]},
                     {"per_byte", costs.per_byte[link]}});
  return out;
}

Json estimate_to_json(const Plan& plan) {
  const PlanEstimate& e = *plan.estimate;
  Json devices = Json::object();
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    const DeviceTime& time = e.devices[d];
    Json& one = devices[plan.devices[d].name] = {
        {"compute", time.compute}, {"launch", time.launch}, {"each_launch", time.each_launch}, {"transfer", time.transfer}};
    if (time.alone) one["alone"] = *time.alone;
  }
  return {{"microseconds", e.total()}, {"compute", e.compute},          {"launch", e.launch},      {"transfer", e.transfer},
          {"bound", e.bound},          {"devices", std::move(devices)}, {"links", links_to_json(plan)}};
}

Json tensor_to_json(const PlanTensor& tensor) {
  Json out = Json::object();
  out["name"] = tensor.name;
  out["type"] = tensor.type;
  out["value"] = tensor.value;
  out["bytes"] = tensor.bytes;
  if (tensor.from) out["from"] = *tensor.from;
  out["to"] = tensor.to;
  if (tensor.output) out["output"] = true;
  return out;
}

Json clones_to_json(const Plan& plan, const Subgraph& subgraph) {
  Json out = Json::array();
  for (const Clone& clone : subgraph.clones)
    out.push_back({{"node", clone.node}, {"name", plan.nodes[clone.node].name}, {"why", name_of(Why::Cloned)}, {"sentence", clone.sentence}});
  return out;
}

Json cut_to_json(const Plan& plan, const CutTensor& cut) {
  Json to = Json::array();
  for (const uint32_t s : cut.to) to.push_back(plan.first + s);
  Json out = {{"name", cut.name}, {"value", cut.value}, {"from", plan.first + cut.from}, {"to", std::move(to)}, {"bytes", cut.bytes}};
  if (cut.door.is_usual()) return out;
  Json& door = out["door"] = door_to_json(cut.door);
  door["bytes"] = cut.stored_bytes();
  door["conversions_saved"] = cut.conversions_saved();
  return out;
}

// Reads into a Plan; what later parts refer to is read first.
class PlanReader {
 public:
  PlanReader(const JsonReader& root, uint32_t first, int depth) : root_(root), depth_(depth) { plan_.first = first; }

  Result<Plan> run() {
    OPTIMA_RETURN_IF_ERROR(head());
    OPTIMA_RETURN_IF_ERROR(each("devices", [this](const JsonReader& at) { return device(at); }));
    if (root_.has("estimate")) OPTIMA_RETURN_IF_ERROR(estimate());
    OPTIMA_RETURN_IF_ERROR(each("subgraphs", [this](const JsonReader& at) { return subgraph(at); }));
    OPTIMA_RETURN_IF_ERROR(each("nodes", [this](const JsonReader& at) { return node(at); }));
    OPTIMA_RETURN_IF_ERROR(members());
    OPTIMA_RETURN_IF_ERROR(each("cuts", [this](const JsonReader& at) { return cut(at); }));
    if (root_.has("tensors")) OPTIMA_RETURN_IF_ERROR(each("tensors", [this](const JsonReader& at) { return tensor(at); }));
    if (root_.has("question")) OPTIMA_RETURN_IF_ERROR(question());
    OPTIMA_ASSIGN(plan_.notes, root_.strings("notes"));
    next_ = plan_.first + static_cast<uint32_t>(plan_.subgraphs.size());
    if (root_.has("bodies")) OPTIMA_RETURN_IF_ERROR(each("bodies", [this](const JsonReader& at) { return body(at); }));
    return std::move(plan_);
  }

 private:
  static Status error(const JsonReader& at, std::string_view message) { return invalid_input(cat(at.place(), ": ", message)); }

  template <class F>
  Status each(std::string_view key, F&& f) {
    OPTIMA_ASSIGN(const auto items, root_.array(key));
    for (const JsonReader& item : items) OPTIMA_RETURN_IF_ERROR(f(item));
    return {};
  }

  static Status number(const JsonReader& at, std::string_view key, uint64_t below, uint64_t& out) {
    OPTIMA_ASSIGN(const int64_t value, at.integer(key));
    if (value < 0 || static_cast<uint64_t>(value) >= below)
      return error(at, cat(key, ": found ", value, ", wanted 0 or more", below < INT64_MAX ? cat(" and below ", below) : ""));
    out = static_cast<uint64_t>(value);
    return {};
  }
  static Status number(const JsonReader& at, std::string_view key, uint64_t below, uint32_t& out) {
    uint64_t wide = 0;
    OPTIMA_RETURN_IF_ERROR(number(at, key, below, wide));
    out = static_cast<uint32_t>(wide);
    return {};
  }
  static constexpr uint64_t kAny32 = uint64_t{1} << 32, kAny64 = UINT64_MAX;

  Status head() {
    OPTIMA_ASSIGN(const int64_t format, root_.integer("format"));
    if (format < 1 || format > kPlacementFormat) return error(root_, cat("format: found ", format, ", wanted 1 to ", kPlacementFormat));
    OPTIMA_ASSIGN(const JsonReader model, root_.object("model"));
    OPTIMA_ASSIGN(plan_.model_name, model.string("name"));
    OPTIMA_ASSIGN(plan_.model_hash, model.string("hash"));
    OPTIMA_RETURN_IF_ERROR(number(root_, "lower_bound", kAny32, plan_.lower_bound));
    if (root_.has("max_subgraphs")) OPTIMA_RETURN_IF_ERROR(number(root_, "max_subgraphs", kAny32, plan_.max_subgraphs));
    OPTIMA_ASSIGN(plan_.exact, root_.boolean("exact"));
    return number(root_, "bytes", kAny64, plan_.bytes);
  }

  Status device(const JsonReader& at) {
    PlanDevice out;
    OPTIMA_ASSIGN(out.name, at.string("name"));
    OPTIMA_ASSIGN(out.full_name, at.string("full_name"));
    OPTIMA_ASSIGN(out.plugin, at.string("plugin"));
    OPTIMA_ASSIGN(out.rule, at.string("rule"));
    OPTIMA_ASSIGN(out.only_named, at.boolean("only_named"));
    OPTIMA_ASSIGN(out.target.kind, at.string("kind"));
    OPTIMA_RETURN_IF_ERROR(number(at, "slot", kAny32, out.target.slot));
    OPTIMA_RETURN_IF_ERROR(number(at, "memory_limit", kAny64, out.target.memory_limit));
    OPTIMA_ASSIGN(const auto attributes, at.string_members("attributes"));
    out.target.attributes.insert(attributes.begin(), attributes.end());
    if (at.has("limits")) OPTIMA_RETURN_IF_ERROR(limits(at, out.limits));
    if (find_device(out.name) != plan_.devices.size()) return error(at, cat("device ", quote(out.name), " appears twice"));
    plan_.devices.push_back(std::move(out));
    return {};
  }

  static Status limits(const JsonReader& at, Limits& out) {
    OPTIMA_ASSIGN(const JsonReader limits, at.object("limits"));
    for (const auto& [key, value] : kLimitNumbers)
      if (limits.has(key)) OPTIMA_RETURN_IF_ERROR(number(limits, key, kAny64, out.*value));
    OPTIMA_ASSIGN(out.connected_only, limits.boolean_or("connected_only", false));
    for (const auto& [key, list] : {std::pair{"not_first", &out.not_first}, {"not_last", &out.not_last}})
      if (limits.has(key)) {
        OPTIMA_ASSIGN(*list, limits.strings(key));
      }
    return {};
  }

  size_t find_device(std::string_view name) const {
    size_t d = 0;
    while (d < plan_.devices.size() && plan_.devices[d].name != name) ++d;
    return d;
  }
  Status device_of(const JsonReader& at, uint32_t& out) const {
    OPTIMA_ASSIGN(const std::string name, at.string("device"));
    OPTIMA_ASSIGN(out, device_called(at, name));
    return {};
  }
  Result<uint32_t> device_called(const JsonReader& at, const std::string& name) const {
    if (const size_t found = find_device(name); found < plan_.devices.size()) return static_cast<uint32_t>(found);
    std::vector<std::string> names;
    for (const PlanDevice& device : plan_.devices) names.push_back(device.name);
    return error(at, cat("device ", quote(name), " is not among the plan's devices: ", join(names)));
  }

  static Status tensors(const JsonReader& at, std::string_view key, std::vector<uint32_t>& values, std::vector<std::string>& names) {
    OPTIMA_ASSIGN(const auto items, at.array(key));
    for (const JsonReader& item : items) {
      OPTIMA_ASSIGN(std::string name, item.string("name"));
      uint32_t value = 0;
      OPTIMA_RETURN_IF_ERROR(number(item, "value", OPTIMA_NONE, value));
      names.push_back(std::move(name));
      values.push_back(value);
    }
    return {};
  }

  // An amount that is not negative; `fallback` when it is missing.
  static Result<double> amount_or(const JsonReader& at, std::string_view key, double fallback) {
    if (!at.has(key)) return fallback;
    OPTIMA_ASSIGN(const double value, at.number(key));
    if (!std::isfinite(value) || value < 0) return error(at, cat(key, ": found ", value, ", wanted 0 or more"));
    return value;
  }

  Status estimate() {
    OPTIMA_ASSIGN(const JsonReader at, root_.object("estimate"));
    PlanEstimate& out = plan_.estimate.emplace();
    for (const auto& [key, amount] : {std::pair{"compute", &out.compute}, {"launch", &out.launch}, {"transfer", &out.transfer}, {"bound", &out.bound}}) {
      OPTIMA_ASSIGN(*amount, amount_or(at, key, 0));
    }
    OPTIMA_ASSIGN(const JsonReader devices, at.object("devices"));
    for (const PlanDevice& device : plan_.devices) {
      OPTIMA_ASSIGN(const JsonReader one, devices.object(device.name));
      DeviceTime& time = out.devices.emplace_back();
      for (const auto& [key, amount] : {std::pair{"compute", &time.compute}, {"launch", &time.launch}, {"each_launch", &time.each_launch},
                                        {"transfer", &time.transfer}}) {
        OPTIMA_ASSIGN(*amount, amount_or(one, key, 0));
      }
      if (one.has("alone")) {
        OPTIMA_ASSIGN(time.alone, amount_or(one, "alone", 0));
      }
    }
    return {};
  }

  Status subgraph(const JsonReader& at) {
    Subgraph out;
    OPTIMA_RETURN_IF_ERROR(device_of(at, out.device));
    OPTIMA_RETURN_IF_ERROR(tensors(at, "inputs", out.inputs, out.input_names));
    OPTIMA_RETURN_IF_ERROR(tensors(at, "outputs", out.outputs, out.output_names));
    if (at.has("clones")) {
      OPTIMA_ASSIGN(const auto clones, at.array("clones"));
      for (const JsonReader& clone : clones) {
        Clone& made = out.clones.emplace_back();
        OPTIMA_RETURN_IF_ERROR(number(clone, "node", OPTIMA_NONE, made.node));
        OPTIMA_ASSIGN(made.sentence, clone.string("sentence"));
      }
    }
    plan_.subgraphs.push_back(std::move(out));
    return {};
  }

  Status node(const JsonReader& at) {
    PlacedNode out;
    OPTIMA_ASSIGN(out.name, at.string("name"));
    OPTIMA_RETURN_IF_ERROR(number(at, "id", OPTIMA_NONE, out.node_id));
    OPTIMA_ASSIGN(out.op_type, at.string("op"));
    OPTIMA_RETURN_IF_ERROR(device_of(at, out.device));
    OPTIMA_RETURN_IF_ERROR(position(at, "subgraph", out.subgraph));
    if (plan_.subgraphs[out.subgraph].device != out.device)
      return error(at, cat("device ", quote(plan_.devices[out.device].name), " is not that of subgraph ", plan_.first + out.subgraph));
    OPTIMA_ASSIGN(const std::string why, at.string("why"));
    const std::optional<Why> known = why_from(why);
    if (!known) return error(at, cat("why: ", quote(why), " is not known"));
    out.why = *known;
    OPTIMA_ASSIGN(out.sentence, at.string("sentence"));
    OPTIMA_ASSIGN(out.quantized_unit, at.string_or("quantized_unit", ""));
    OPTIMA_ASSIGN(out.precision, at.string_or("precision", ""));
    OPTIMA_ASSIGN(out.precision_why, at.string_or("precision_why", ""));
    OPTIMA_ASSIGN(out.asked, at.string_or("asked", ""));
    OPTIMA_ASSIGN(out.as_asked, at.boolean_or("as_asked", true));
    OPTIMA_RETURN_IF_ERROR(wanted(at, out));
    out.unit = static_cast<uint32_t>(plan_.nodes.size());
    if (at.has("unit")) OPTIMA_RETURN_IF_ERROR(number(at, "unit", plan_.nodes.size(), out.unit));
    OPTIMA_RETURN_IF_ERROR(copied(at, out));
    OPTIMA_RETURN_IF_ERROR(work(at, out.work));
    if (at.has("after")) OPTIMA_RETURN_IF_ERROR(number(at, "after", plan_.nodes.size(), out.after.emplace()));
    OPTIMA_RETURN_IF_ERROR(answers(at, out));
    plan_.subgraphs[out.subgraph].nodes.push_back(static_cast<uint32_t>(plan_.nodes.size()));
    plan_.nodes.push_back(std::move(out));
    return {};
  }

  static Status work(const JsonReader& at, Work& out) {
    OPTIMA_ASSIGN(out.flops, amount_or(at, "flops", 0));
    OPTIMA_ASSIGN(out.bytes, amount_or(at, "bytes", 0));
    OPTIMA_ASSIGN(const std::string arithmetic, at.string_or("arithmetic", std::string(name_of(Arithmetic::Float))));
    const std::optional<Arithmetic> known = arithmetic_named(arithmetic);
    if (!known) return error(at, cat("arithmetic: ", quote(arithmetic), " is not known, wanted float, half or int8"));
    out.arithmetic = *known;
    return {};
  }

  Status wanted(const JsonReader& at, PlacedNode& out) const {
    if (!at.has("wanted")) return {};
    OPTIMA_ASSIGN(const std::vector<std::string> names, at.strings("wanted"));
    for (const std::string& name : names) {
      OPTIMA_ASSIGN(const uint32_t device, device_called(at, name));
      out.wanted.push_back(device);
    }
    return {};
  }

  Status copied(const JsonReader& at, PlacedNode& out) {
    if (!at.has("copied")) return {};
    OPTIMA_ASSIGN(const std::vector<int64_t> units, at.integers("copied"));
    for (int64_t unit : units) {
      if (unit < 0 || unit >= static_cast<int64_t>(OPTIMA_NONE)) return error(at, cat("copied: found ", unit, ", wanted the index of a node"));
      most_copied_ = std::max(most_copied_, static_cast<size_t>(unit));
      out.copied.push_back(static_cast<uint32_t>(unit));
    }
    return {};
  }

  // A subgraph by its number.
  Status position(const JsonReader& at, std::string_view key, uint32_t& out) const {
    OPTIMA_RETURN_IF_ERROR(number(at, key, uint64_t{plan_.first} + plan_.subgraphs.size(), out));
    if (out < plan_.first) return error(at, cat(key, ": found ", out, ", wanted ", plan_.first, " or more"));
    out -= plan_.first;
    return {};
  }

  Status answers(const JsonReader& at, PlacedNode& out) const {
    OPTIMA_ASSIGN(const JsonReader all, at.object("answers"));
    for (const PlanDevice& device : plan_.devices) {
      OPTIMA_ASSIGN(const JsonReader one, all.object(device.name));
      DeviceAnswer answer;
      OPTIMA_ASSIGN(answer.yes, one.boolean("yes"));
      OPTIMA_ASSIGN(answer.reason, one.string_or("reason", ""));
      OPTIMA_ASSIGN(answer.text, one.string_or("text", ""));
      OPTIMA_ASSIGN(answer.microseconds, amount_or(one, "microseconds", -1));
      OPTIMA_ASSIGN(answer.cost_source, one.string_or("cost_source", ""));
      out.answers.push_back(std::move(answer));
    }
    return {};
  }

  Status members() const {
    for (size_t s = 0; s < plan_.subgraphs.size(); ++s)
      if (plan_.subgraphs[s].nodes.empty()) return error(root_, cat("no node is in subgraph ", s));
    if (most_copied_ > 0 && most_copied_ >= plan_.nodes.size())
      return error(root_, cat("a node is copied into unit ", most_copied_, ", wanted one below ", plan_.nodes.size()));
    for (size_t s = 0; s < plan_.subgraphs.size(); ++s)
      for (const Clone& clone : plan_.subgraphs[s].clones)
        if (clone.node >= plan_.nodes.size())
          return error(root_, cat("subgraph ", s, " clones node ", clone.node, ", wanted one below ", plan_.nodes.size()));
    return {};
  }

  Status cut(const JsonReader& at) {
    CutTensor out;
    OPTIMA_ASSIGN(out.name, at.string("name"));
    OPTIMA_RETURN_IF_ERROR(number(at, "value", OPTIMA_NONE, out.value));
    OPTIMA_RETURN_IF_ERROR(position(at, "from", out.from));
    OPTIMA_RETURN_IF_ERROR(number(at, "bytes", kAny64, out.bytes));
    OPTIMA_ASSIGN(const std::vector<int64_t> to, at.integers("to"));
    const int64_t from = int64_t{plan_.first} + out.from, end = int64_t{plan_.first} + static_cast<int64_t>(plan_.subgraphs.size());
    for (int64_t s : to) {
      if (s <= from || s >= end) return error(at, cat("to: found subgraph ", s, ", wanted one behind ", from, " of ", end));
      out.to.push_back(static_cast<uint32_t>(s - plan_.first));
    }
    if (at.has("door")) {
      OPTIMA_ASSIGN(const JsonReader door, at.object("door"));
      OPTIMA_ASSIGN(out.door, door_from_json(door));
    }
    plan_.cuts.push_back(std::move(out));
    return {};
  }

  Status tensor(const JsonReader& at) {
    PlanTensor out;
    OPTIMA_ASSIGN(out.name, at.string("name"));
    OPTIMA_ASSIGN(out.type, at.string("type"));
    OPTIMA_RETURN_IF_ERROR(number(at, "value", OPTIMA_NONE, out.value));
    OPTIMA_RETURN_IF_ERROR(number(at, "bytes", kAny64, out.bytes));
    if (at.has("from")) OPTIMA_RETURN_IF_ERROR(number(at, "from", plan_.nodes.size(), out.from.emplace()));
    OPTIMA_ASSIGN(const std::vector<int64_t> to, at.integers("to"));
    const int64_t first = out.from ? int64_t{*out.from} + 1 : 0;
    for (int64_t n : to) {
      if (n < first || static_cast<uint64_t>(n) >= plan_.nodes.size())
        return error(at, cat("to: found node ", n, ", wanted ", first, " or more and below ", plan_.nodes.size()));
      out.to.push_back(static_cast<uint32_t>(n));
    }
    OPTIMA_ASSIGN(out.output, at.boolean_or("output", false));
    plan_.tensors.push_back(std::move(out));
    return {};
  }

  Status question() {
    OPTIMA_ASSIGN(const JsonReader at, root_.object("question"));
    OPTIMA_ASSIGN(plan_.question, detail::question_from_json(at, plan_));
    return {};
  }

  Status body(const JsonReader& at) {
    constexpr int kDeepest = 64;
    if (depth_ == kDeepest) return error(at, cat("bodies inside bodies, wanted at most ", kDeepest, " deep"));
    BodyPlan out;
    OPTIMA_ASSIGN(const std::string name, at.string("node"));
    while (out.node < plan_.nodes.size() && plan_.nodes[out.node].name != name) ++out.node;
    if (out.node == plan_.nodes.size()) return error(at, cat("node ", quote(name), " is not among the plan's nodes"));
    if (!is_host(plan_.devices[plan_.nodes[out.node].device])) return error(at, cat("node ", quote(name), " is not driven by the host"));
    OPTIMA_ASSIGN(out.name, at.string("name"));
    uint64_t trips = 0;
    OPTIMA_RETURN_IF_ERROR(number(at, "trips", INT64_MAX, trips));
    out.trips = static_cast<int64_t>(trips);
    OPTIMA_ASSIGN(out.trips_known, at.boolean("trips_known"));
    OPTIMA_ASSIGN(const JsonReader plan, at.object("plan"));
    OPTIMA_ASSIGN(out.plan, PlanReader(plan, next_, depth_ + 1).run());
    next_ += static_cast<uint32_t>(count_subgraphs(out.plan));
    plan_.bodies.push_back(std::move(out));
    return {};
  }

  JsonReader root_;
  int depth_ = 0;
  uint32_t next_ = 0;  // number of the next body's first subgraph
  Plan plan_;
  size_t most_copied_ = 0;
};

}  // namespace

Json plan_to_json(const Plan& plan) {
  Json out = {{"format", kPlacementFormat},
              {"model", {{"name", plan.model_name}, {"hash", plan.model_hash}}},
              {"lower_bound", plan.lower_bound},
              {"exact", plan.exact},
              {"bytes", plan.bytes},
              {"objective", plan.estimate ? "latency" : "parts"}};
  if (plan.max_subgraphs) out["max_subgraphs"] = plan.max_subgraphs;
  if (plan.estimate) out["estimate"] = estimate_to_json(plan);
  Json& devices = out["devices"] = Json::array();
  for (const PlanDevice& device : plan.devices) devices.push_back(device_to_json(device));
  Json& subgraphs = out["subgraphs"] = Json::array();
  for (size_t s = 0; s < plan.subgraphs.size(); ++s) {
    const Subgraph& subgraph = plan.subgraphs[s];
    Json one = {{"index", plan.first + s},
                {"device", plan.devices[subgraph.device].name},
                {"nodes", subgraph.nodes.size()},
                {"inputs", tensors_to_json(subgraph.inputs, subgraph.input_names)},
                {"outputs", tensors_to_json(subgraph.outputs, subgraph.output_names)}};
    if (!subgraph.clones.empty()) one["clones"] = clones_to_json(plan, subgraph);
    subgraphs.push_back(std::move(one));
  }
  Json& nodes = out["nodes"] = Json::array();
  for (size_t n = 0; n < plan.nodes.size(); ++n) nodes.push_back(node_to_json(plan, n));
  Json& cuts = out["cuts"] = Json::array();
  for (const CutTensor& cut : plan.cuts) cuts.push_back(cut_to_json(plan, cut));
  Json& tensors = out["tensors"] = Json::array();
  for (const PlanTensor& tensor : plan.tensors) tensors.push_back(tensor_to_json(tensor));
  if (plan.question) out["question"] = detail::question_to_json(*plan.question);
  out["notes"] = plan.notes;
  for (const BodyPlan& body : plan.bodies)
    out["bodies"].push_back({{"node", plan.nodes[body.node].name}, {"name", body.name}, {"trips", body.trips}, {"trips_known", body.trips_known},
                             {"plan", plan_to_json(body.plan)}});
  return out;
}

Result<Plan> plan_from_json(const Json& json, const std::string& place) { return PlanReader(JsonReader(json, place), 0, 0).run(); }

Result<Plan> read_plan(const std::string& path) {
  OPTIMA_ASSIGN(const Json json, read_json(path));
  return plan_from_json(json, path);
}

}  // namespace optima
