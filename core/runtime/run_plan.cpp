// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/run_plan.hpp"

#include <algorithm>
#include <map>

#include "core/runtime/arena.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/door.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

constexpr uint32_t kLargestAlignment = 1 << 20;
constexpr uint64_t kLargestArena = uint64_t{1} << 62;  // offsets, and what they are rounded up to, stay numbers

// The tables of one graph: the main graph's or a body's.
struct Scope {
  const std::vector<std::string>& inputs;
  const std::vector<std::string>& outputs;
  const std::vector<PackageTensor>& tensors;
  const std::vector<PassThrough>& pass_through;
  uint32_t first, count;  // subgraphs by position
};

struct Builder {
  const PackageReader& reader;
  const PackageVariant& variant;
  std::span<LoadedProgram* const> programs;
  const Scope scope;
  RunPlan plan;
  std::map<std::string_view, uint32_t> by_name;

  Result<uint32_t> slot_of(const std::string& name);
  Result<uint32_t> usual_slot_of(const std::string& name);
  Status merge_binding(Slot& slot, const Binding& binding, const std::string& place);
  Status add_step(uint32_t position);
  Status add_flow(uint32_t position, const FlowNode& node);
  Result<OutputSource> flow_input(const FlowInput& in, uint32_t step);
  Result<FlowBodyPlan> flow_body(const FlowBody& body, uint32_t step);
  Status add_output(const std::string& name);
  Status settle(Slot& slot);
  bool is_dead_after(uint32_t slot, uint32_t step) const;
  void settle_aliases(uint32_t step);
  uint32_t storage_of(uint32_t slot) const;
  void share_storage();
  Status place();
  Result<RunPlan> run(bool keep_cuts);
};

Result<uint32_t> Builder::slot_of(const std::string& name) {
  if (const auto it = by_name.find(name); it != by_name.end()) return it->second;
  const PackageTensor* t = find_tensor(scope.tensors, name);
  if (!t) return invalid_input(cat("tensor ", quote(name), " is not among the package's tensors"));
  if (optima_dtype_bits(t->dtype) == 0)
    return invalid_input(cat("tensor ", quote(name), " has type ", dtype_name(t->dtype), ", wanted a type of fixed size"));
  Slot slot;
  slot.name = name;
  slot.dtype = t->dtype;
  slot.shape = t->shape;
  slot.symbols = t->symbols;
  slot.unranked = t->unranked;
  if (!t->door.is_usual()) slot.dtype = t->door.dtype, slot.shape = t->door.shape, slot.symbols.clear(), slot.through = t;
  const auto number = static_cast<uint32_t>(plan.slots.size());
  plan.slots.push_back(std::move(slot));
  by_name[t->name] = number;
  return number;
}

// Of a tensor that the host itself reads or writes.
Result<uint32_t> Builder::usual_slot_of(const std::string& name) {
  OPTIMA_ASSIGN(const uint32_t slot, slot_of(name));
  const PackageTensor* through = plan.slots[slot].through;
  if (!through) return slot;
  return invalid_input(cat("tensor ", quote(name), " lies as ", door_text(through->door), " where the host reads or writes it, wanted no door"));
}

// The more exact of both sides wins; a contradiction means that the artifact is not the package's.
Status Builder::merge_binding(Slot& slot, const Binding& b, const std::string& place) {
  if (b.name != slot.name) return plugin_error(cat(place, ": found binding ", quote(b.name), ", wanted ", quote(slot.name)));
  if (b.dtype != slot.dtype)
    return plugin_error(cat(place, ": binding ", quote(b.name), " is ", dtype_name(b.dtype), ", wanted ", dtype_name(slot.dtype)));
  if (b.alignment > kLargestAlignment || (b.alignment & (b.alignment - 1)) != 0)
    return plugin_error(cat(place, ": binding ", quote(b.name), " wants alignment ", b.alignment, ", wanted a power of two up to ", kLargestAlignment));
  slot.alignment = std::max<uint64_t>(slot.alignment, b.alignment);
  slot.needed = std::max(slot.needed, b.min_size);
  if (b.unranked) return {};
  if (b.shape.size() > kMostDims) return plugin_error(cat(place, ": binding ", quote(b.name), " has rank ", b.shape.size(), ", wanted at most ", kMostDims));
  if (slot.unranked) {
    slot.shape = b.shape;
    slot.unranked = false;
  }
  bool agrees = slot.shape.size() == b.shape.size();
  for (size_t i = 0; agrees && i < b.shape.size(); ++i) {
    agrees = slot.shape[i] < 0 || b.shape[i] < 0 || slot.shape[i] == b.shape[i];
    if (slot.shape[i] < 0) slot.shape[i] = b.shape[i];
  }
  if (!agrees)
    return plugin_error(cat(place, ": binding ", quote(b.name), " has shape ", shape_text(b.shape), ", wanted ", shape_text(slot.shape)));
  return {};
}

Status Builder::add_step(uint32_t position) {
  const PackageSubgraph& subgraph = variant.subgraphs[position];
  for (const FlowNode& node : subgraph.flow) OPTIMA_RETURN_IF_ERROR(add_flow(position, node));
  if (!subgraph.flow.empty()) return {};
  const LoadedProgram& program = *programs[position];
  const std::string place = cat("subgraph ", subgraph.index, " of plugin ", subgraph.plugin);
  const std::vector<Binding>& bindings = program.bindings();
  const size_t wanted = subgraph.inputs.size() + subgraph.outputs.size();
  if (bindings.size() != wanted) return plugin_error(cat(place, ": found ", bindings.size(), " bindings, wanted ", wanted));
  const auto number = static_cast<uint32_t>(plan.steps.size());
  Step step;
  step.subgraph = position;
  for (size_t i = 0; i < wanted; ++i) {
    const bool is_input = i < subgraph.inputs.size();
    const std::string& name = is_input ? subgraph.inputs[i] : subgraph.outputs[i - subgraph.inputs.size()];
    OPTIMA_ASSIGN(const uint32_t s, slot_of(name));
    Slot& slot = plan.slots[s];
    if (bindings[i].direction != static_cast<uint32_t>(is_input ? OPTIMA_INPUT : OPTIMA_OUTPUT))
      return plugin_error(cat(place, ": binding ", quote(bindings[i].name), " has the wrong direction"));
    OPTIMA_RETURN_IF_ERROR(merge_binding(slot, bindings[i], place));
    if (!is_input) slot.first = number;
    slot.last = number;
    (is_input ? step.inputs : step.outputs).push_back(s);
    if (is_input || bindings[i].alias == OPTIMA_NONE) continue;
    if (bindings[i].alias >= subgraph.inputs.size())
      return plugin_error(cat(place, ": binding ", quote(bindings[i].name), " lives in input number ", bindings[i].alias, ", wanted a number below ", subgraph.inputs.size()));
    step.aliases.push_back({bindings[i].alias, static_cast<uint32_t>(i - subgraph.inputs.size()), false});
  }
  plan.steps.push_back(std::move(step));
  return {};
}

Result<OutputSource> Builder::flow_input(const FlowInput& in, uint32_t step) {
  OutputSource out;
  if (!in.tensor.empty()) {
    OPTIMA_ASSIGN(out.slot, usual_slot_of(in.tensor));
    plan.slots[out.slot].last = step;
  } else if (!in.weight.empty()) {
    OPTIMA_ASSIGN(out.constant, reader.weight(in.weight));
    out.dtype = in.dtype;
    out.shape = in.shape;
  }
  return out;
}

// What a body wants of the values it captures, their slots get: then it reads them in place.
Result<FlowBodyPlan> Builder::flow_body(const FlowBody& body, uint32_t step) {
  FlowBodyPlan out;
  const uint32_t first = body.first - variant.subgraphs[0].index;
  Builder inside{reader, variant, programs, {body.inputs, body.outputs, body.tensors, body.pass_through, first, body.count}, {}, {}};
  OPTIMA_ASSIGN(out.plan, inside.run(false));
  for (size_t i = 0; i < body.captures.size(); ++i) {
    OPTIMA_ASSIGN(const uint32_t s, usual_slot_of(body.captures[i]));
    Slot& slot = plan.slots[s];
    const Slot& wanted = out.plan.slots[out.plan.inputs[body.inputs.size() - body.captures.size() + i]];
    slot.last = step;
    slot.needed = std::max(slot.needed, wanted.needed);
    slot.alignment = std::max(slot.alignment, wanted.alignment);
    out.captures.push_back(s);
  }
  return out;
}

Status Builder::add_flow(uint32_t position, const FlowNode& node) {
  const auto number = static_cast<uint32_t>(plan.steps.size());
  Step step;
  step.subgraph = position;
  step.flow = std::make_unique<FlowStep>();
  FlowStep& flow = *step.flow;
  flow.name = node.name;
  flow.signature = *signature_of(node);
  flow.scan_inputs = node.scan_inputs, flow.scan_outputs = node.scan_outputs;
  for (const FlowInput& in : node.inputs) {
    OPTIMA_ASSIGN(OutputSource source, flow_input(in, number));
    flow.inputs.push_back(std::move(source));
  }
  for (const FlowBody& body : node.bodies) {
    Result<FlowBodyPlan> made = flow_body(body, number);
    if (!made.ok()) return made.status().within(cat("body ", quote(body.name), " of node ", quote(node.name)));
    flow.bodies.push_back(std::move(*made));
  }
  for (const std::string& name : node.outputs) {
    uint32_t slot = OPTIMA_NONE;
    if (!name.empty()) {
      OPTIMA_ASSIGN(slot, usual_slot_of(name));
      plan.slots[slot].first = plan.slots[slot].last = number;
      step.outputs.push_back(slot);
    }
    flow.outputs.push_back(slot);
  }
  plan.steps.push_back(std::move(step));
  return {};
}

Status Builder::add_output(const std::string& name) {
  OutputSource source;
  const auto pass = std::find_if(scope.pass_through.begin(), scope.pass_through.end(), [&](const PassThrough& p) { return p.output == name; });
  if (pass != scope.pass_through.end() && !pass->weight.empty()) {
    const PackageTensor* t = find_tensor(scope.tensors, name);
    OPTIMA_ASSIGN(source.constant, reader.weight(pass->weight));
    source.dtype = t->dtype;
    source.shape = t->shape;
    if (byte_size(source.dtype, source.shape) != source.constant.size)
      return invalid_input(cat("output ", quote(name), ": its constant has ", source.constant.size, " bytes, wanted what its type and shape say"));
  } else {
    const std::string& from = pass != scope.pass_through.end() ? pass->input : name;
    OPTIMA_ASSIGN(source.slot, usual_slot_of(from));
    Slot& slot = plan.slots[source.slot];
    source.is_alias = slot.home == Slot::Home::Input || slot.home == Slot::Home::Output;
    if (!source.is_alias) slot.home = Slot::Home::Output;
  }
  plan.outputs.push_back(std::move(source));
  return {};
}

Status Builder::settle(Slot& slot) {
  slot.is_static = !slot.unranked && std::all_of(slot.shape.begin(), slot.shape.end(), [](int64_t d) { return d >= 0; });
  slot.symbols.resize(slot.shape.size());
  if (!slot.is_static) return {};
  const std::optional<uint64_t> size = byte_size(slot.dtype, slot.shape);
  if (!size) return invalid_input(cat("tensor ", quote(slot.name), " of shape ", shape_text(slot.shape), " is absurdly large"));
  slot.size = *size;
  slot.needed = std::max(slot.needed, slot.size);
  if (slot.home == Slot::Home::Dynamic) slot.home = Slot::Home::Arena;
  return {};
}

// With keep_cuts a cut tensor is read after the run.
bool Builder::is_dead_after(uint32_t number, uint32_t step) const {
  const Slot& slot = plan.slots[number];
  const std::vector<uint32_t>& reads = plan.steps[step].inputs;
  return slot.last == step && std::count(reads.begin(), reads.end(), number) == 1 && (!plan.keep_cuts || slot.home == Slot::Home::Input) &&
         std::none_of(plan.outputs.begin(), plan.outputs.end(), [&](const OutputSource& o) { return o.slot == number; });
}

// An input that has its place in the arena and is dead afterwards is made in its output's place. Any other is moved or copied there in
// each run, for its bytes are the user's, a constant's or a body's caller's, or of unknown size.
void Builder::settle_aliases(uint32_t number) {
  Step& step = plan.steps[number];
  std::erase_if(step.aliases, [&](Alias& a) {
    Slot& in = plan.slots[step.inputs[a.input]];
    Slot& out = plan.slots[step.outputs[a.output]];
    out.needed = std::max(out.needed, in.needed);
    out.alignment = std::max(out.alignment, in.alignment);
    a.is_last = is_dead_after(step.inputs[a.input], number);
    const bool is_one = a.is_last && in.home == Slot::Home::Arena && out.is_static && out.home != Slot::Home::Input;
    if (is_one) in.lives_in = step.outputs[a.output];
    return is_one;
  });
}

uint32_t Builder::storage_of(uint32_t slot) const {
  while (plan.slots[slot].lives_in != OPTIMA_NONE) slot = plan.slots[slot].lives_in;
  return slot;
}

// A storage suits, and is alive for, all that live in it.
void Builder::share_storage() {
  for (uint32_t i = 0; i < plan.slots.size(); ++i) {
    Slot& slot = plan.slots[i];
    if (slot.lives_in == OPTIMA_NONE) continue;
    slot.lives_in = storage_of(i);
    Slot& storage = plan.slots[slot.lives_in];
    storage.needed = std::max(storage.needed, slot.needed);
    storage.alignment = std::max(storage.alignment, slot.alignment);
    storage.first = std::min(storage.first, slot.first);
  }
  for (const Step& step : plan.steps)
    for (const Alias& a : step.aliases) {
      if (!a.is_last) continue;
      plan.slots[storage_of(step.outputs[a.output])].adopts = step.inputs[a.input];
      plan.slots[step.inputs[a.input]].is_adopted = true;
    }
}

Status Builder::place() {
  std::vector<ArenaItem> items;
  std::vector<Slot*> owners;
  for (Slot& slot : plan.slots) {
    if (slot.home != Slot::Home::Arena || slot.lives_in != OPTIMA_NONE) continue;
    if (slot.needed > kLargestArena || plan.arena_sum + slot.needed + slot.own_alignment() > kLargestArena)
      return invalid_input(cat("the tensors between subgraphs take ", human_bytes(kLargestArena), " and more, which is absurdly large"));
    const auto last_step = static_cast<uint32_t>(plan.steps.size());
    items.push_back({slot.needed, slot.own_alignment(), plan.keep_cuts ? 0 : slot.first, plan.keep_cuts ? last_step : slot.last, 0});
    owners.push_back(&slot);
    plan.arena_sum += (slot.needed + slot.own_alignment() - 1) / slot.own_alignment() * slot.own_alignment();
    plan.arena_alignment = std::max(plan.arena_alignment, slot.own_alignment());
  }
  plan.arena_bytes = assign_offsets(items);
  for (size_t i = 0; i < items.size(); ++i) owners[i]->offset = items[i].offset;
  return {};
}

Result<RunPlan> Builder::run(bool keep_cuts) {
  plan.keep_cuts = keep_cuts;
  for (const std::string& name : scope.inputs) {
    OPTIMA_ASSIGN(const uint32_t slot, usual_slot_of(name));
    plan.slots[slot].home = Slot::Home::Input;
    plan.inputs.push_back(slot);
  }
  for (uint32_t i = scope.first; i < scope.first + scope.count; ++i) OPTIMA_RETURN_IF_ERROR(add_step(i));
  for (const std::string& name : scope.outputs) OPTIMA_RETURN_IF_ERROR(add_output(name));
  for (Slot& slot : plan.slots) OPTIMA_RETURN_IF_ERROR(settle(slot));
  for (uint32_t i = 0; i < plan.steps.size(); ++i) settle_aliases(i);
  share_storage();
  for (Step& step : plan.steps)
    for (const uint32_t s : step.outputs) step.has_dynamic_output |= !step.flow && !plan.slots[s].is_static;
  OPTIMA_RETURN_IF_ERROR(place());
  return std::move(plan);
}

}  // namespace

Result<RunPlan> plan_run(const PackageReader& package, const PackageVariant& variant, std::span<LoadedProgram* const> programs, bool keep_cuts) {
  const Package& p = package.package();
  return Builder{package, variant, programs, {p.inputs, p.outputs, p.tensors, variant.pass_through, 0, variant.main}, {}, {}}.run(keep_cuts);
}

}  // namespace optima
