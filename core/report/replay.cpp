// SPDX-License-Identifier: Apache-2.0
#include "core/report/replay.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "core/support/text.hpp"

namespace optima::detail {
namespace {

uint64_t bit(uint32_t device) { return uint64_t{1} << device; }

uint64_t free_devices(const Plan& plan) {
  uint64_t free = 0;
  for (uint32_t d = 0; d < plan.devices.size(); ++d)
    if (!plan.devices[d].only_named) free |= bit(d);
  return free;
}

// What a wish leaves of the devices that say yes.
uint64_t settled(const std::vector<uint32_t>& wanted, uint64_t yes, uint64_t free) {
  if (wanted.empty()) return yes & free;
  for (uint32_t d : wanted)
    if (yes & bit(d)) return bit(d);
  return 0;
}

uint64_t yes_of(const PlacedNode& node) {
  uint64_t yes = 0;
  for (uint32_t d = 0; d < node.answers.size(); ++d)
    if (node.answers[d].yes) yes |= bit(d);
  return yes;
}

}  // namespace

Result<Replay> Replay::of(const Plan& plan, const CostSources& given) {
  if (plan.tensors.empty() && !plan.nodes.empty())
    return invalid_input(cat("the plan of ", quote(plan.model_name),
                             " lists no tensors, it was written by an older version; write it again with 'plan -o'"));
  if (plan.devices.size() > kMostDevices) return invalid_input(cat("the plan has ", plan.devices.size(), " devices, wanted at most ", kMostDevices));
  Replay out(plan, given);
  OPTIMA_RETURN_IF_ERROR(out.form_units());
  out.list_tensors();
  out.take_limits();
  if (!out.problem_.well_formed()) return invalid_input(cat("the tensors of the plan of ", quote(plan.model_name), " contradict its nodes"));
  return out;
}

uint64_t Replay::allow_of(const PlacedNode& node, uint64_t also) const {
  const uint64_t yes = yes_of(node), free = free_devices(*plan_);
  if (is_host(plan_->devices[node.device]))  // the host drives it only where it goes nowhere whole
    if (const uint64_t whole = settled(node.wanted, also, free)) return whole;
  if (!(settled(node.wanted, yes, free) & bit(node.device))) return bit(node.device);  // held by something the plan does not tell
  return settled(node.wanted, yes | also, free);
}

// A quantized unit goes to the first device of a list that takes all of it: `all`. The wish that spoke for it is that of the nodes that
// have a reason of their own.
uint64_t Replay::allow_of_quantized(const std::vector<uint32_t>& nodes, uint64_t all) const {
  const std::vector<uint32_t>* speaker = nullptr;
  for (uint32_t n : nodes) {
    const PlacedNode& node = plan_->nodes[n];
    if (node.why == Why::FollowsUnit || node.wanted.empty()) continue;
    uint64_t mask = 0;
    for (uint32_t d : node.wanted) mask |= bit(d);
    all &= mask;
    if (!speaker) speaker = &node.wanted;
  }
  return settled(speaker ? *speaker : std::vector<uint32_t>(), all, free_devices(*plan_));
}

uint64_t Replay::allow_of_unit(uint32_t unit, const std::vector<uint64_t>& also) const {
  const auto also_of = [&](uint32_t n) { return also.empty() ? 0 : also[n]; };
  uint64_t allow = ~uint64_t{0}, now = ~uint64_t{0}, then = ~uint64_t{0};
  std::map<std::string_view, std::vector<uint32_t>> quantized;  // of a plugin's group there may be several
  for (uint32_t n : units_[unit]) {
    const PlacedNode& node = plan_->nodes[n];
    now &= yes_of(node);
    then &= yes_of(node) | also_of(n);
    if (node.quantized_unit.empty()) allow &= allow_of(node, also_of(n));
    else quantized[node.quantized_unit].push_back(n);
  }
  for (uint32_t n : copies_[unit]) {
    now &= yes_of(plan_->nodes[n]);
    then &= yes_of(plan_->nodes[n]) | also_of(n);
  }
  const uint64_t here = bit(plan_->nodes[units_[unit][0]].device);
  for (const auto& [op, nodes] : quantized)  // held by something the plan does not tell where that does not give what it is
    allow &= (allow_of_quantized(nodes, now) & here) ? allow_of_quantized(nodes, then) : here;
  allow &= then;
  return allow ? allow : here;
}

// Calls f(first node) for each unit that waits for the tensor because node `to` of it, or its copy of that node, reads it.
template <class F>
void Replay::each_waiting(const PlanTensor& tensor, uint32_t to, F&& f) const {
  if (!tensor.from) return;
  const std::vector<uint32_t>& have = plan_->nodes[*tensor.from].copied;
  const auto tell = [&](uint32_t unit) {
    if (unit != first_[*tensor.from] && std::find(have.begin(), have.end(), unit) == have.end()) f(unit);
  };
  tell(first_[to]);
  for (uint32_t unit : plan_->nodes[to].copied) tell(unit);
}

Status Replay::form_units() {
  const auto nodes = static_cast<uint32_t>(plan_->nodes.size());
  std::vector<std::vector<uint32_t>> members(nodes), readers(nodes);  // by the first node of a unit
  std::vector<uint32_t> waiting(nodes, 0);
  first_.resize(nodes);
  for (uint32_t n = 0; n < nodes; ++n) {
    first_[n] = plan_->nodes[n].unit;
    if (first_[n] > n || (first_[n] < n && first_[first_[n]] != first_[n]))
      return invalid_input(cat("node ", quote(plan_->nodes[n].name), ": unit ", first_[n], " is not the first node of a unit"));
    members[first_[n]].push_back(n);
  }
  for (uint32_t n = 0; n < nodes; ++n)
    for (uint32_t unit : plan_->nodes[n].copied)
      if (first_[unit] != unit)
        return invalid_input(cat("node ", quote(plan_->nodes[n].name), ": copied into ", unit, ", which is not the first node of a unit"));
  for (const PlanTensor& tensor : plan_->tensors)
    for (uint32_t to : tensor.to)
      each_waiting(tensor, to, [&](uint32_t reader) { readers[first_[*tensor.from]].push_back(reader), ++waiting[reader]; });
  for (uint32_t n = 0; n < nodes; ++n)
    if (const auto& after = plan_->nodes[n].after; after && first_[*after] != first_[n])
      readers[first_[*after]].push_back(first_[n]), ++waiting[first_[n]];
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t n = 0; n < nodes; ++n)
    if (!members[n].empty() && waiting[n] == 0) ready.push(n);
  unit_of_.assign(nodes, OPTIMA_NONE);
  size_t placed = 0;
  while (!ready.empty()) {
    const uint32_t unit = ready.top();
    ready.pop();
    for (uint32_t n : members[unit]) unit_of_[n] = static_cast<uint32_t>(units_.size()), ++placed;
    units_.push_back(std::move(members[unit]));
    for (uint32_t reader : readers[unit])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  if (placed != nodes) return invalid_input(cat("nodes of the plan of ", quote(plan_->model_name), " that move as one wait for each other"));
  copies_.resize(units_.size());
  for (uint32_t n = 0; n < nodes; ++n)
    for (uint32_t unit : plan_->nodes[n].copied) copies_[unit_of_[unit]].push_back(n);
  return {};
}

const std::vector<uint32_t>& Replay::wanted_of(uint32_t node) const {
  const PlacedNode& own = plan_->nodes[node];
  if (own.why != Why::FollowsUnit) return own.wanted;
  static const std::vector<uint32_t> none;
  for (uint32_t n : units_[unit_of_[node]])
    if (const PlacedNode& other = plan_->nodes[n]; other.quantized_unit == own.quantized_unit && other.why != Why::FollowsUnit && !other.wanted.empty())
      return other.wanted;
  return none;
}

void Replay::list_tensors() {
  const auto count = static_cast<uint32_t>(units_.size());
  std::vector<std::vector<const PlanTensor*>> made(count);
  for (const PlanTensor& tensor : plan_->tensors)
    if (tensor.from) made[unit_of_[*tensor.from]].push_back(&tensor);
  std::vector<std::vector<uint32_t>> behind(count);
  for (uint32_t n = 0; n < plan_->nodes.size(); ++n)
    if (const auto& after = plan_->nodes[n].after; after && unit_of_[*after] != unit_of_[n]) behind[unit_of_[*after]].push_back(unit_of_[n]);
  problem_.devices = static_cast<uint32_t>(plan_->devices.size());
  problem_.first_tensor.push_back(0);
  problem_.first_reader.push_back(0);
  for (uint32_t u = 0; u < count; ++u) {
    for (const PlanTensor* tensor : made[u]) {
      std::vector<uint32_t> readers;
      for (uint32_t to : tensor->to) each_waiting(*tensor, to, [&](uint32_t reader) { readers.push_back(unit_of_[reader]); });
      if (readers.empty()) continue;
      std::sort(readers.begin(), readers.end());
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
      problem_.readers.insert(problem_.readers.end(), readers.begin(), readers.end());
      problem_.first_reader.push_back(static_cast<uint32_t>(problem_.readers.size()));
      problem_.bytes.push_back(tensor->bytes);
      problem_.values.push_back(tensor->value);
      tensors_.push_back(tensor);
    }
    for (uint32_t next : behind[u]) {  // a tensor without bytes
      problem_.readers.push_back(next);
      problem_.first_reader.push_back(static_cast<uint32_t>(problem_.readers.size()));
      problem_.bytes.push_back(0);
      problem_.values.push_back(SplitProblem::kOrder);
      tensors_.push_back(nullptr);
    }
    uint64_t avoid = 0;
    for (uint32_t n : units_[u])
      for (uint32_t d = 0; d < plan_->nodes[n].answers.size(); ++d)
        if (plan_->nodes[n].answers[d].yes && !plan_->nodes[n].answers[d].reason.empty()) avoid |= bit(d);
    problem_.allow.push_back(allow_of_unit(u, {}));
    problem_.avoid.push_back(avoid & problem_.allow.back());
    problem_.nodes.push_back(static_cast<uint32_t>(units_[u].size()));
    problem_.first_tensor.push_back(static_cast<uint32_t>(problem_.bytes.size()));
  }
}

}  // namespace optima::detail
