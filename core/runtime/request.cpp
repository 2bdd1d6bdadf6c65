// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/request.hpp"

#include <algorithm>
#include <cstring>

#include "core/runtime/request_state.hpp"
#include "core/support/text.hpp"
#include "core/support/wait.hpp"
#include "core/tensor_io/door.hpp"
#include "core/tensor_io/element.hpp"

namespace optima {
namespace {

std::vector<std::string> names_of(const std::vector<TensorInfo>& infos) {
  std::vector<std::string> names;
  for (const TensorInfo& info : infos) names.push_back(info.name);
  return names;
}

Result<size_t> position(const std::vector<TensorInfo>& infos, std::string_view name, std::string_view what) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  const std::vector<std::string> names = names_of(infos);
  return invalid_input(cat("the model has no ", what, " ", quote(name), nearest_hint(name, names), ", wanted one of ", join(names)));
}

// A number of the caller's against the model's; the public API lets any through.
Status check_index(size_t index, size_t count, std::string_view what) {
  if (index < count) return {};
  return invalid_input(cat(what, " number ", index, " found, wanted 0 to ", count - 1));
}

Status check_shape(const TensorInfo& info, const SizeRanges& sizes, std::span<const int64_t> shape) {
  bool fits = info.unranked || shape.size() == info.shape.size();
  for (size_t i = 0; fits && !info.unranked && i < shape.size(); ++i) fits = info.shape[i] < 0 ? shape[i] >= 0 : shape[i] == info.shape[i];
  if (fits && shape.size() <= kMostDims) {
    const Status allowed = check_sizes(sizes, info.symbols, shape);
    return allowed.ok() ? allowed : allowed.within(cat("input ", quote(info.name)));  // the phrase would take memory in every run
  }
  return invalid_input(cat("input ", quote(info.name), ": found shape ", shape_text(shape), ", wanted ", info.unranked ? "any" : shape_text(info.shape)));
}

}  // namespace

Result<std::unique_ptr<Request>> Request::create(const LoadedModel& model) {
  const uint64_t start = now_ns();
  auto state = std::make_unique<State>(model);
  OPTIMA_RETURN_IF_ERROR(state->frame.create(model.state_->programs));
  state->number = ++model.state_->requests;
  state->record(ProfileKind::RequestInit, 0, start);
  return std::unique_ptr<Request>(new Request(std::move(state)));
}

Request::Request(std::unique_ptr<State> state) : state_(std::move(state)) {}

Request::~Request() {
  if (state_ && !state_->close()) (void)state_.release();  // somebody may have waited for the run, which no condition survives
}

Result<size_t> Request::input_index(std::string_view name) const { return position(model().inputs(), name, "input"); }
Result<size_t> Request::output_index(std::string_view name) const { return position(model().outputs(), name, "output"); }
const LoadedModel& Request::model() const { return state_->model; }

Status Request::set_input(size_t index, Tensor tensor) {
  OPTIMA_RETURN_IF_ERROR(check_index(index, model().inputs().size(), "input"));
  const TensorInfo& info = model().inputs()[index];
  if (tensor.dtype != info.dtype)
    return invalid_input(cat("input ", quote(info.name), ": found type ", dtype_name(tensor.dtype), ", wanted ", dtype_name(info.dtype)));
  OPTIMA_RETURN_IF_ERROR(check_shape(info, model().package().sizes, tensor.shape));
  if (byte_size(tensor.dtype, tensor.shape) != tensor.size)
    return invalid_input(cat("input ", quote(info.name), ": found ", tensor.size, " bytes, wanted what type and shape say"));
  const Status taken = state_->take_input(state_->plan.inputs[index], std::move(tensor));
  return taken.ok() ? taken : taken.within(cat("input ", quote(info.name)));  // as above
}

Result<Tensor> Request::input_buffer(size_t index, std::vector<int64_t> shape) {
  OPTIMA_RETURN_IF_ERROR(check_index(index, model().inputs().size(), "input"));
  const TensorInfo& info = model().inputs()[index];
  OPTIMA_RETURN_IF_ERROR(check_shape(info, model().package().sizes, shape));
  OPTIMA_ASSIGN(Tensor tensor, Tensor::make(info.dtype, std::move(shape)));
  tensor.name = info.name;
  OPTIMA_RETURN_IF_ERROR(set_input(index, tensor));
  return tensor;
}

Status Request::bind_output(size_t index, void* data, uint64_t capacity) {
  OPTIMA_RETURN_IF_ERROR(check_index(index, model().outputs().size(), "output"));
  const OutputSource& source = state_->plan.outputs[index];
  const bool is_constant = source.slot == OPTIMA_NONE;
  const uint64_t least = is_constant ? source.constant.size : state_->buffers.slots[source.slot].slot->size;
  if (data && capacity < least)
    return invalid_input(cat("output ", quote(model().outputs()[index].name), ": found a buffer of ", capacity, " bytes, wanted ", least));
  state_->has_outputs = false;  // from here on nothing says where the last run's output lies, or whether its bytes still do
  if (is_constant || source.is_alias) {
    state_->copies[index] = {static_cast<std::byte*>(data), capacity};
    return {};
  }
  SlotState& slot = state_->buffers.slots[source.slot];
  slot.bound = static_cast<std::byte*>(data);
  slot.bound_capacity = capacity;
  if (!slot.slot->is_static) return {};
  if (!slot.place(slot.slot->size)) return io_error(cat("output ", quote(slot.slot->name), ": ", slot.alloc_error));
  slot.publish();
  return {};
}

Result<Tensor> Request::output(size_t index) const {
  OPTIMA_RETURN_IF_ERROR(check_index(index, model().outputs().size(), "output"));
  if (!state_->has_outputs) return Status(StatusKind::Usage, "the request has no outputs yet, wanted a successful run first");
  return state_->output(index);
}

Result<std::vector<Tensor>> Request::cuts(std::vector<std::string>* unread) const {
  if (!state_->plan.keep_cuts || !state_->has_outputs) return Status(StatusKind::Usage, "the request kept no cut tensors, wanted a model loaded with keep_cuts and a successful run");
  std::vector<Tensor> out;
  for (const Step& step : state_->plan.steps)
    for (const uint32_t number : step.outputs) {
      const SlotState& s = state_->buffers.slots[number];
      if (s.slot->home == Slot::Home::Output) continue;
      Tensor t;
      t.name = s.slot->name, t.dtype = s.slot->dtype, t.shape = s.dims, t.data = s.data, t.size = s.size;
      if (const PackageTensor* own = s.slot->through) {
        Result<Tensor> read = read_through(t, own->door, own->dtype, own->shape);
        if (!read.ok() && read.status().kind() != StatusKind::InvalidInput) return read.status();
        if (!read.ok() && unread) unread->push_back(cat("tensor ", quote(t.name), ": ", read.status().message()));
        if (!read.ok()) continue;
        t = std::move(*read);
      }
      out.push_back(std::move(t));
    }
  return out;
}

Status Request::tie(size_t output, size_t input) {
  OPTIMA_RETURN_IF_ERROR(check_index(output, model().outputs().size(), "output"));
  OPTIMA_RETURN_IF_ERROR(check_index(input, model().inputs().size(), "input"));
  return state_->while_idle([&] { return state_->tie(output, input); });
}

Status Request::reset() {
  return state_->while_idle([&] { return state_->reset(); });
}

Status Request::run() { return state_->run(); }

void Request::set_callback(std::function<void(const Status&)> callback) { state_->callback = std::move(callback); }
Status Request::start() { return state_->start(); }
Status Request::wait(int64_t timeout_ms, bool* still_running) { return state_->wait(timeout_ms, still_running); }
void Request::cancel() { state_->cancel_run(); }
void Request::set_deadline(uint64_t ms) { state_->limit_ns = wait_of_ms(ms) < kLongestWait ? wait_of_ms(ms) : 0; }
void Request::set_profiling(bool on) { state_->set_profiling(on); }
std::vector<ProfileEvent> Request::take_events() { return state_->take_events(); }

const void* Request::bound_address(size_t step, bool input, size_t i) const {
  const StepViews& views = state_->buffers.steps[step];
  return (input ? views.inputs : views.outputs)[i].data;
}

}  // namespace optima
