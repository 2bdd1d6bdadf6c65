// SPDX-License-Identifier: Apache-2.0
#include "core/plan/question_json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

// How long a column is. Ends: one more. Free columns tell it themselves.
enum class Per { Unit, UnitEnds, Tensor, TensorEnds, Device, DevicePair, Free };

// f(name, column, length) for each column of the struct. A new one has to be named here and nowhere else to be in the file.
template <class Problem, class F>
void each_column_of_problem(Problem& p, F&& f) {
  f("allow", p.allow, Per::Unit);
  f("avoid", p.avoid, Per::Unit);
  f("readers", p.readers, Per::Free);
  f("first_tensor", p.first_tensor, Per::UnitEnds);  // these two tell how many tensors there are
  f("first_reader", p.first_reader, Per::TensorEnds);
  f("bytes", p.bytes, Per::Tensor);
  f("values", p.values, Per::Tensor);
}
template <class Limits, class F>
void each_column_of_limits(Limits& l, F&& f) {
  f("group", l.group, Per::Device);
  f("group_parts", l.group_parts, Per::Free);
  f("unit_nodes", l.unit_nodes, Per::Unit);
  f("unit_bytes", l.unit_bytes, Per::Unit);
  f("not_first", l.not_first, Per::Unit);
  f("not_last", l.not_last, Per::Unit);
  f("first_input", l.first_input, Per::UnitEnds);
  f("inputs", l.inputs, Per::Free);
  f("is_output", l.is_output, Per::Tensor);
  f("lone_outputs", l.lone_outputs, Per::Unit);
}
template <class Table, class F>
void each_column_of_costs(Table& c, F&& f) {
  f("launch", c.launch, Per::Device);
  f("latency", c.latency, Per::DevicePair);
  f("per_byte", c.per_byte, Per::DevicePair);
}
// What one part on a device may be.
constexpr std::pair<const char*, uint64_t PartLimits::*> kPartNumbers[] = {
    {"nodes", &PartLimits::nodes}, {"bytes", &PartLimits::bytes}, {"tensors", &PartLimits::tensors}};

// ---- writing

template <class T>
void put(Json& out, const char* key, const std::vector<T>& column, Per per) {
  const bool all_zero = std::all_of(column.begin(), column.end(), [](T value) { return value == 0; });
  if (per == Per::Free ? !column.empty() : !all_zero) out[key] = column;
}

constexpr auto put_into(Json& out) {
  return [&out](const char* key, const auto& column, Per per) { put(out, key, column, per); };
}

Json limits_to_json(const SplitLimits& limits) {
  Json out = Json::object();
  if (limits.parts) out["parts"] = limits.parts;
  Json& parts = out["part"] = Json::array();
  for (const PartLimits& part : limits.part) {
    Json one = Json::object();
    for (const auto& [key, most] : kPartNumbers)
      if (part.*most) one[key] = part.*most;
    if (part.connected) one["connected"] = true;
    parts.push_back(std::move(one));
  }
  each_column_of_limits(limits, put_into(out));
  return out;
}

Json rules_to_json(const std::vector<PlaceRule>& rules) {
  Json out = Json::array();
  for (const PlaceRule& rule : rules) {
    Json one = {{"limit", rule.limit}};
    if (!rule.first_of.empty()) one["first_of"] = rule.first_of;
    if (rule.otherwise) one["otherwise"] = rule.otherwise;
    out.push_back(std::move(one));
  }
  return out;
}

// Units that are the nodes one by one need not be told.
bool one_each(const std::vector<uint32_t>& unit_of) {
  for (uint32_t n = 0; n < unit_of.size(); ++n)
    if (unit_of[n] != n) return false;
  return true;
}

// ---- reading

bool take_number(const Json& json, uint64_t& out) {
  if (!json.is_number_integer() || (!json.is_number_unsigned() && json.get<int64_t>() < 0)) return false;
  out = json.get<uint64_t>();
  return true;
}
template <class T>
bool take_number(const Json& json, T& out) {
  uint64_t wide = 0;
  if (!take_number(json, wide) || wide > std::numeric_limits<T>::max()) return false;
  out = static_cast<T>(wide);
  return true;
}
bool take_number(const Json& json, double& out) {
  if (!json.is_number()) return false;
  out = json.get<double>();
  return std::isfinite(out) && out >= 0;
}

Status error(const JsonReader& at, std::string_view message) { return invalid_input(cat(at.place(), ": ", message)); }

template <class T>
Status column(const JsonReader& at, const std::string& key, std::vector<T>& out) {
  out.clear();
  if (!at.has(key)) return {};
  OPTIMA_ASSIGN(const std::vector<JsonReader> items, at.array(key));
  out.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    if (!take_number(items[i].json(), out[i])) return error(items[i], cat("found ", to_line(items[i].json()), ", wanted a number of 0 or more that fits"));
  return {};
}

// Takes the columns of a struct out of an object, one after the other; after the first mistake no more.
class Taker {
 public:
  Taker(const JsonReader& at, const PlanQuestion& question, size_t devices, Status& status)
      : at_(at), q_(question), devices_(devices), status_(status) {}

  template <class T>
  void operator()(const char* key, std::vector<T>& out, Per per) const {
    if (!status_.ok()) return;
    status_ = column(at_, key, out);
    if (!status_.ok() || per == Per::Free) return;
    if (!at_.has(key)) out.assign(length(per), 0);
    else if (out.size() != length(per)) status_ = error(at_, cat(key, ": found ", out.size(), " numbers, wanted ", length(per)));
  }

 private:
  // There are no more tensors than readers.
  size_t length(Per per) const {
    const size_t units = q_.problem.nodes.size();
    const size_t tensors = q_.problem.first_tensor.empty() ? 0 : std::min<size_t>(q_.problem.first_tensor.back(), q_.problem.readers.size());
    switch (per) {
      case Per::Unit: return units;
      case Per::UnitEnds: return units + 1;
      case Per::Tensor: return tensors;
      case Per::TensorEnds: return tensors + 1;
      case Per::Device: return devices_;
      case Per::DevicePair: return devices_ * devices_;
      case Per::Free: break;
    }
    return 0;
  }

  const JsonReader& at_;
  const PlanQuestion& q_;
  const size_t devices_;
  Status& status_;
};

class QuestionReader {
 public:
  QuestionReader(const JsonReader& root, const Plan& plan) : root_(root), plan_(plan) {}

  Result<PlanQuestion> run() {
    OPTIMA_RETURN_IF_ERROR(units());
    OPTIMA_RETURN_IF_ERROR(rules());
    OPTIMA_RETURN_IF_ERROR(together());
    q_.problem.devices = static_cast<uint32_t>(plan_.devices.size());
    Status status;
    each_column_of_problem(q_.problem, taker(root_, status));
    OPTIMA_RETURN_IF_ERROR(status);
    if (root_.has("limits")) OPTIMA_RETURN_IF_ERROR(limits());
    if (plan_.estimate) {
      OPTIMA_ASSIGN(const JsonReader costs, root_.object("costs"));
      each_column_of_costs(q_.between, taker(costs, status));
      OPTIMA_RETURN_IF_ERROR(status);
    }
    const Status fits = q_.fits(plan_);
    return fits.ok() ? Result<PlanQuestion>(std::move(q_)) : error(root_, fits.message());
  }

 private:
  Taker taker(const JsonReader& at, Status& status) const { return Taker(at, q_, plan_.devices.size(), status); }

  Status units() {
    const size_t nodes = plan_.nodes.size();
    OPTIMA_RETURN_IF_ERROR(column(root_, "units", q_.unit_of));
    for (uint32_t n = 0; n < nodes && !root_.has("units"); ++n) q_.unit_of.push_back(n);
    if (q_.unit_of.size() != nodes) return error(root_, cat("units: found ", q_.unit_of.size(), " numbers, wanted ", nodes));
    for (uint32_t unit : q_.unit_of) {
      if (unit >= nodes) return error(root_, cat("units: found ", unit, ", wanted one below ", nodes));
      if (unit >= q_.problem.nodes.size()) q_.problem.nodes.resize(size_t{unit} + 1, 0);
      ++q_.problem.nodes[unit];
    }
    if (!root_.has("copies")) return {};
    OPTIMA_ASSIGN(const auto copies, root_.array("copies"));
    for (const JsonReader& at : copies) {
      uint32_t node = 0;
      OPTIMA_RETURN_IF_ERROR(number(at, "node", node));
      OPTIMA_RETURN_IF_ERROR(column(at, "units", q_.copies[node]));
    }
    return {};
  }

  template <class T>
  static Status number(const JsonReader& at, const std::string& key, T& out) {
    if (at.json().is_object() && at.has(key) && take_number(at.json()[key], out)) return {};
    return error(at, cat("member ", quote(key), " is no number of 0 or more that fits"));
  }

  Status rules() {
    OPTIMA_ASSIGN(const auto rules, root_.array("rules"));
    for (const JsonReader& at : rules) {
      PlaceRule& rule = q_.rules.emplace_back();
      OPTIMA_RETURN_IF_ERROR(number(at, "limit", rule.limit));
      OPTIMA_RETURN_IF_ERROR(column(at, "first_of", rule.first_of));
      if (at.has("otherwise")) OPTIMA_RETURN_IF_ERROR(number(at, "otherwise", rule.otherwise));
    }
    OPTIMA_RETURN_IF_ERROR(column(root_, "rule_of", q_.rule_of));
    if (!root_.has("rule_of")) q_.rule_of.assign(plan_.nodes.size(), 0);
    return q_.rule_of.size() == plan_.nodes.size()
               ? Status()
               : error(root_, cat("rule_of: found ", q_.rule_of.size(), " numbers, wanted ", plan_.nodes.size()));
  }

  Status together() {
    if (!root_.has("together")) return {};
    OPTIMA_ASSIGN(const auto items, root_.array("together"));
    for (const JsonReader& at : items) {
      JudgedTogether& one = q_.together.emplace_back();
      OPTIMA_RETURN_IF_ERROR(number(at, "unit", one.unit));
      OPTIMA_RETURN_IF_ERROR(number(at, "rule", one.rule));
      OPTIMA_RETURN_IF_ERROR(column(at, "nodes", one.nodes));
      for (uint32_t n : one.nodes)
        if (n < q_.rule_of.size() && q_.unit_of[n] == one.unit) q_.rule_of[n] = PlanQuestion::kTogether;
    }
    return {};
  }

  Status limits() {
    OPTIMA_ASSIGN(const JsonReader at, root_.object("limits"));
    if (at.has("parts")) OPTIMA_RETURN_IF_ERROR(number(at, "parts", q_.limits.parts));
    OPTIMA_ASSIGN(const auto parts, at.array("part"));
    for (const JsonReader& one : parts) {
      PartLimits& part = q_.limits.part.emplace_back();
      for (const auto& [key, most] : kPartNumbers)
        if (one.has(key)) OPTIMA_RETURN_IF_ERROR(number(one, key, part.*most));
      OPTIMA_ASSIGN(part.connected, one.boolean_or("connected", false));
    }
    Status status;
    each_column_of_limits(q_.limits, taker(at, status));
    return status;
  }

  const JsonReader& root_;
  const Plan& plan_;
  PlanQuestion q_;
};

}  // namespace

Json question_to_json(const PlanQuestion& q) {
  Json out = Json::object();
  if (!one_each(q.unit_of)) out["units"] = q.unit_of;
  for (const auto& [node, units] : q.copies) out["copies"].push_back({{"node", node}, {"units", units}});
  out["rules"] = rules_to_json(q.rules);
  std::vector<uint32_t> rule_of = q.rule_of;
  for (uint32_t& rule : rule_of)
    if (rule == PlanQuestion::kTogether) rule = 0;  // `together` tells
  put(out, "rule_of", rule_of, Per::Unit);
  for (const JudgedTogether& all : q.together) out["together"].push_back({{"unit", all.unit}, {"rule", all.rule}, {"nodes", all.nodes}});
  each_column_of_problem(q.problem, put_into(out));
  if (q.limits.any()) out["limits"] = limits_to_json(q.limits);
  if (!q.between.launch.empty()) {
    Json& costs = out["costs"] = Json::object();
    each_column_of_costs(q.between, put_into(costs));
  }
  return out;
}

Result<PlanQuestion> question_from_json(const JsonReader& at, const Plan& plan) { return QuestionReader(at, plan).run(); }

}  // namespace optima::detail
