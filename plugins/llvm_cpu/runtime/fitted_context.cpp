// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see fitted_context.hpp.
#include "plugins/llvm_cpu/runtime/fitted_context.hpp"

#include <algorithm>
#include <cstring>

#include "optima/plugin/fits.hpp"
#include "plugins/llvm_cpu/compiler/expanded.hpp"
#include "plugins/llvm_cpu/runtime/ready_leg.hpp"
#include "reference/tensor.hpp"

namespace optima::llvm_cpu {
namespace {

/// Of first legs.
constexpr size_t kMostRoots = 16;
/// Of a key, as a rule: a rank and its dims.
constexpr size_t kBytesOfShape = 48;

template <class T>
void append(std::string& key, const T& number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append(std::string& key, const std::vector<int64_t>& dims) {
  append(key, dims.size());
  for (const int64_t d : dims) append(key, d);
}

/// The caller's memory for an output of these dims, which it makes now where it is left to the plugin.
char* memory_of(const sdk::OutTensors& out, uint32_t k, const std::vector<int64_t>& dims, uint64_t size) {
  const sdk::OutTensor t = out[k];
  if (t.wants_alloc()) t.alloc(sdk::Span<const int64_t>(dims.data(), dims.size()));
  const optima_tensor& raw = t.raw();
  if (raw.rank != static_cast<int32_t>(dims.size()) || !std::equal(dims.begin(), dims.end(), raw.shape) || !t.dense() || raw.size < size)
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "output " + std::to_string(k) + " was made for another shape than " + to_text(dims));
  return t.data<char>();
}

}  // namespace

FittedContext::FittedContext(const FittedProgram& program, uint64_t cores, int threads)
    : program_(program), engine_(threads, cores, program.host()), roots_(kMostRoots), held_(program.fitter().value_count()), shapes_(held_.size()), buffers_(held_.size()),
      gives_to_(held_.size(), OPTIMA_NONE) {
  const Fitter& fitter = program.fitter();
  for (uint32_t k = static_cast<uint32_t>(fitter.outputs().size()); k-- > 0;) gives_to_[fitter.outputs()[k]] = k;
}

FittedContext::~FittedContext() = default;

/// The plan for inputs of these shapes, made now unless it is kept.
ReadyLeg& FittedContext::root(const sdk::Tensors& in) {
  const Fitter& fitter = program_.fitter();
  std::vector<std::vector<int64_t>> shapes;
  std::string key;
  key.reserve(in.size() * kBytesOfShape);
  for (uint32_t k = 0; k < in.size(); ++k) {
    const sdk::Value v(&program_.graph(), fitter.inputs()[k]);
    const sdk::Span<const int64_t> given = in[k].shape();
    std::vector<int64_t> dims(given.begin(), given.end());
    const std::vector<int64_t> wanted = v.ranked() ? v.shape() : dims;
    sdk::require_shape(in[k], std::string(v.name()), v.dtype(), {wanted.data(), wanted.size()});
    append(key, dims);
    shapes.push_back(std::move(dims));
  }
  return roots_.get(std::move(key), [&] { return fitter.inputs_of(shapes); },
                    [&](Way way, Fitter::Keep keep) { return made(fitter.first(shapes, keep), std::move(way)); });
}

void FittedContext::execute(const sdk::Tensors& in, const sdk::OutTensors& out) {
  const Fitter& fitter = program_.fitter();
  sdk::require_counts(in.size(), out.size(), fitter.inputs().size(), fitter.outputs().size());
  ReadyLeg* leg = &root(in);
  roots_.note_run();
  std::fill(held_.begin(), held_.end(), Held());
  kept_.clear();
  for (uint32_t k = 0; k < in.size(); ++k) {
    const uint32_t v = fitter.inputs()[k];
    sdk::require_fits(in[k], std::string(sdk::Value(&program_.graph(), v).name()), in[k].dtype(), in[k].shape());
    shapes_[v] = leg->leg().walk.at(v).dims;
    const uint64_t size = reference::bytes_of(in[k].dtype(), reference::count(shapes_[v]));
    held_[v] = {in[k].data<char>(), size, &shapes_[v]};
  }
  for (;; leg = &next(*leg)) {
    run(*leg, in, out);
    if (engine_.is_stopping()) return;
    run_by_reference(*leg);
    if (leg->leg().is_last) break;
  }
  give(out);
}

/// Memory for a value that a stretch gives: the caller's for an output of the graph, else the context's own, which only grows.
char* FittedContext::place_for(uint32_t value, const std::vector<int64_t>& dims, uint64_t size, const sdk::OutTensors& out) {
  const uint32_t output = gives_to_[value];
  if (output != OPTIMA_NONE) return memory_of(out, output, dims, size);
  if (buffers_[value].size() < size + kSlack + 64) buffers_[value].resize(size + kSlack + 64);
  const auto at = reinterpret_cast<uintptr_t>(buffers_[value].data());
  return buffers_[value].data() + (64 - at % 64) % 64;
}

void FittedContext::run(ReadyLeg& ready, const sdk::Tensors& in, const sdk::OutTensors& out) {
  const Leg& leg = ready.leg();
  if (!leg.stretch) return;
  in_.clear(), out_.clear();
  for (const uint32_t v : leg.stretch->gives()) {
    const reference::Tensor& known = leg.walk.at(v);
    const uint64_t size = reference::bytes_of(known.dtype, known.elements());
    char* place = place_for(v, known.dims, size, out);
    held_[v] = {place, size, &known.dims};
    out_.push_back(place);
  }
  const std::vector<uint32_t>& inputs = program_.fitter().inputs();
  for (uint32_t k = 0; k < in.size(); ++k) held_[inputs[k]].data = in[k].data<char>();  // one goes where the output is made that lives in its memory
  for (const uint32_t v : leg.stretch->takes()) in_.push_back(const_cast<char*>(held_[v].data));
  ready.steps()->bind(in_, out_);
  if (profiling_)
    engine_.observe([&](size_t step, uint64_t start, uint64_t duration) {
      const Plan::Step& s = leg.draft.plan.steps[step];
      events_.push_back({s.label, start, duration, s.node_ids.empty() ? OPTIMA_NONE : id_outside(program_.graph(), s.node_ids[0])});
    });
  engine_.run(*ready.steps());
}

/// A value that the leg knows or this run has, as the library wants it.
reference::Tensor FittedContext::tensor(const ReadyLeg& ready, uint32_t named) const {
  const uint32_t value = held_[named].dims ? named : ready.leg().resolved(named);
  const sdk::Value raw(&program_.graph(), value);
  if (const Held& held = held_[value]; held.dims) {
    reference::Tensor t;
    t.dtype = raw.dtype(), t.dims = *held.dims, t.data = held.data, t.size = held.size;
    return t;
  }
  reference::Tensor t = ready.leg().walk.at(value);
  if (has_elements(t)) {
    t.size = reference::bytes_of(t.dtype, t.elements());
    return t;
  }
  if (!raw.is_constant()) throw sdk::Error(OPTIMA_INTERNAL, "value '" + std::string(raw.name()) + "' is read before it is made");
  t.data = raw.constant().blob().data, t.size = raw.constant().blob().size;
  return t;
}

void FittedContext::run_by_reference(ReadyLeg& ready) {
  const optima_image* image = program_.graph().image;
  for (const uint32_t n : ready.leg().runs) {
    const optima_node& node = *optima_get_node(program_.graph().image, n);
    std::vector<reference::Tensor> inputs;
    for (uint32_t k = 0; k < node.inputs.count; ++k) {
      const uint32_t v = optima_input(image, &node, k);
      inputs.push_back(v == OPTIMA_NONE ? reference::Tensor() : tensor(ready, v));
    }
    const uint64_t start = profiling_ ? steady_ns() : 0;
    std::vector<reference::Tensor> made = reference::evaluate(program_.graph(), node, inputs, [&](uint32_t v) { return tensor(ready, v); });
    if (profiling_) events_.push_back({std::string(sdk::Node(&program_.graph(), &node).op()) + " by the reference", start, steady_ns() - start, id_outside(program_.graph(), node.id)});
    for (uint32_t k = 0; k < node.outputs.count; ++k) {
      const uint32_t v = optima_output(image, &node, k);
      if (v == OPTIMA_NONE) continue;
      shapes_[v] = made[k].dims;
      held_[v] = {static_cast<const char*>(made[k].data), made[k].size, &shapes_[v], made[k].dtype};
      kept_.push_back(made[k].keeper);
    }
  }
}

ReadyLeg& FittedContext::next(ReadyLeg& ready) {
  const Leg& leg = ready.leg();
  std::vector<Fitter::Found> found;
  std::string key = ready.way().key;
  for (const uint32_t n : leg.runs) {
    const optima_node& node = *optima_get_node(program_.graph().image, n);
    for (uint32_t k = 0; k < node.outputs.count; ++k) {
      const uint32_t v = optima_output(program_.graph().image, &node, k);
      if (v == OPTIMA_NONE) continue;
      reference::Tensor t;
      t.dtype = held_[v].dtype, t.dims = shapes_[v];
      append(key, t.dims);
      found.push_back({v, std::move(t)});
    }
  }
  for (const uint32_t v : leg.asks) {
    const reference::Tensor now = tensor(ready, v);
    void* copy = nullptr;
    reference::Tensor t = reference::Tensor::make(now.dtype, now.dims, &copy);
    if (now.size) std::memcpy(copy, now.data, now.size);
    append(key, now.size);
    key.append(static_cast<const char*>(now.data), now.size);
    found.push_back({v, std::move(t)});
  }
  ReadyLeg& out = ready.followers().get(std::move(key), [&] { return Fitter::joined(ready.way().given, found); },
                                        [&](Way way, Fitter::Keep keep) { return made(program_.fitter().next(leg, found, keep), std::move(way)); });
  ready.followers().note_run();
  return out;
}

std::unique_ptr<ReadyLeg> FittedContext::made(std::unique_ptr<Leg> leg, Way way) {
  program_.tell_of(*leg);
  return std::make_unique<ReadyLeg>(std::move(leg), std::move(way), program_, engine_);
}

/// Outputs that no stretch wrote where they belong: what the reference made, inputs and constants that are outputs, and second ones.
void FittedContext::give(const sdk::OutTensors& out) {
  const Fitter& fitter = program_.fitter();
  for (uint32_t k = 0; k < out.size(); ++k) {
    const uint32_t v = fitter.outputs()[k];
    Held from = held_[v];
    reference::Tensor constant;
    if (!from.dims) {
      const sdk::Value value(&program_.graph(), v);
      if (!value.is_constant()) throw sdk::Error(OPTIMA_INTERNAL, "output " + std::to_string(k) + " was not made");
      const optima_blob& bytes = value.constant().blob();
      constant.dims = value.constant().shape(), constant.data = bytes.data, constant.size = bytes.size;
      from = {static_cast<const char*>(constant.data), constant.size, &constant.dims};
    }
    const sdk::OutTensor t = out[k];
    if (!t.wants_alloc() && t.data<char>() == from.data) continue;
    char* to = memory_of(out, k, *from.dims, from.size);
    if (from.size) std::memcpy(to, from.data, from.size);
  }
}

void FittedContext::execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) {
  engine_.within(control, [&] { execute(in, out); });
}

void FittedContext::output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) {
  const Fitter& fitter = program_.fitter();
  sdk::require_counts(in.size(), fitter.outputs().size(), fitter.inputs().size(), fitter.outputs().size());
  const Leg& leg = root(in).leg();
  for (uint32_t k = 0; k < fitter.outputs().size(); ++k) {
    const uint32_t v = fitter.outputs()[k];
    const sdk::Value declared(&program_.graph(), v);
    const reference::Tensor& known = leg.walk.at(v);
    const std::vector<int64_t> dims = known.dtype != OPTIMA_UNDEFINED ? known.dims : declared.shape();
    if (known.dtype == OPTIMA_UNDEFINED && !declared.ranked()) out.set_unranked(k);
    else out.set(k, sdk::Span<const int64_t>(dims.data(), dims.size()));
  }
}

void FittedContext::profile(bool on) {
  events_.clear();
  profiling_ = on;
  if (!on) engine_.observe({});
}

void FittedContext::read_profile(const sdk::EventSink& add) {
  for (const Event& e : events_) add(e.label, e.start_ns, e.duration_ns, e.node);
  events_.clear();
}

}  // namespace optima::llvm_cpu
