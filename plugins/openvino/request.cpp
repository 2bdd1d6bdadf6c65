// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include <chrono>

#include "optima/plugin/fits.hpp"

namespace openvino_plugin {
namespace {

constexpr const char* kCannotRun = "OpenVINO cannot run this";

uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

ov::Shape shape_of(const sdk::Tensor& t) {
  ov::Shape s;
  for (int64_t d : t.shape()) s.push_back(static_cast<size_t>(d));
  return s;
}

/// The caller's buffer itself, as OpenVINO's tensor.
ov::Tensor lend(const sdk::Tensor& t, const Port& port) {
  static char nothing[64];  // OpenVINO wants an address for tensors without elements too
  sdk::require_fits(t, port.name, port.dtype, port.ranked ? sdk::Span<const int64_t>(port.dims.data(), port.dims.size()) : t.shape());
  void* data = const_cast<void*>(t.data<void>());
  return ov::Tensor(*type_of(port.dtype), shape_of(t), data ? data : nothing);
}

/// A buffer of OpenVINO's, which grows to what the run makes.
ov::Tensor of_its_own(const Port& port) { return ov::Tensor(*type_of(port.dtype), ov::Shape(port.ranked ? port.dims.size() : 1, 0)); }

void give(const ov::Tensor& from, const sdk::OutTensor& to) {
  const ov::Shape shape = from.get_shape();
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  to.alloc({dims.data(), dims.size()});
  if (from.get_byte_size() > 0) std::memcpy(to.data<char>(), from.data(), from.get_byte_size());
}

}  // namespace

Request::Request(Making making) : making_(std::move(making)) { renew(false); }

Request::~Request() {
  if (running_) request_.wait();  // a host that breaks its word still finds its callback's object alive
}

void Request::forget() {
  for (std::vector<Lent>* all : {&inputs_, &outputs_})
    for (Lent& one : *all) one.data = nullptr;
  making_.failed();
}

void Request::renew(bool timed) {
  age_ = making_.age;
  retired_ = std::move(request_);
  request_ = making_.infer_request(timed);
  timed_ = timed;
  inputs_.assign(making_.meta.inputs.size(), Lent());
  outputs_.assign(making_.meta.outputs.size(), Lent());
}

void Request::bind(const sdk::Tensors& in, const sdk::OutTensors& out) {
  const Meta& meta = making_.meta;
  sdk::require_counts(in.size(), out.size(), meta.inputs.size(), meta.outputs.size());
  if (age_ != making_.age) renew(timed_);
  for (size_t k = 0; k < in.size(); ++k) {
    if (inputs_[k].is(in[k])) continue;
    request_.set_input_tensor(k, lend(in[k], meta.inputs[k]));
    inputs_[k] = Lent(in[k]);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k].wants_alloc()) {
      if (outputs_[k].given) request_.set_output_tensor(k, of_its_own(meta.outputs[k]));
      outputs_[k] = Lent();
    } else if (!outputs_[k].is(out[k])) {
      request_.set_output_tensor(k, lend(out[k], meta.outputs[k]));
      outputs_[k] = Lent(out[k]);
    }
  }
  began_ns_ = timed_ ? now_ns() : 0;
}

void Request::take(const sdk::OutTensors& out) {
  for (size_t k = 0; k < out.size(); ++k)
    if (out[k].wants_alloc()) give(request_.get_output_tensor(k), out[k]);
  if (!timed_) return;
  uint64_t at = began_ns_;
  for (const ov::ProfilingInfo& p : request_.get_profiling_info()) {
    if (p.status != ov::ProfilingInfo::Status::EXECUTED) continue;
    const auto duration = static_cast<uint64_t>(std::chrono::nanoseconds(p.real_time).count());
    events_.push_back({p.node_name + " [" + p.node_type + " " + p.exec_type + "]", at, duration});
    at += duration;
  }
}

void Request::execute(const sdk::Tensors& in, const sdk::OutTensors& out) {
  try {
    guarded(OPTIMA_DEVICE, kCannotRun, [&] {
      bind(in, out);
      request_.infer();
      take(out);
    });
  } catch (...) {
    forget();
    throw;
  }
}

void Request::output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) {
  const Meta& meta = making_.meta;
  const auto dim_of = [&](const std::string& symbol) -> int64_t {
    int64_t size = -1;
    for (size_t i = 0; i < in.size() && i < meta.inputs.size(); ++i)
      for (size_t d = 0; d < meta.inputs[i].symbols.size() && d < in[i].shape().size(); ++d) {
        if (meta.inputs[i].symbols[d] != symbol) continue;
        if (size >= 0 && size != in[i].shape()[d]) return -1;  // inputs differ in what they call by it
        size = in[i].shape()[d];
      }
    return size;
  };
  for (size_t k = 0; k < meta.outputs.size(); ++k) {
    const Port& p = meta.outputs[k];
    if (!p.ranked) {
      out.set_unranked(k);
      continue;
    }
    std::vector<int64_t> dims = p.dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] < 0 && !p.symbols[d].empty()) dims[d] = dim_of(p.symbols[d]);
    out.set(k, {dims.data(), dims.size()});
  }
}

void Request::submit(const sdk::Tensors& in, const sdk::OutTensors& out, sdk::Span<const optima_fence_point> waits, optima_fence_point signal) {
  if (!making_.fences) throw sdk::Error(OPTIMA_UNSUPPORTED, "host has no optima.fence/1, which submit needs");
  if (running_.exchange(true)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "context is still running what was submitted before");
  try {
    guarded(OPTIMA_DEVICE, kCannotRun, [&] {
      bind(in, out);
      request_.set_callback([this](std::exception_ptr error) {
        try {
          guarded(OPTIMA_DEVICE, kCannotRun, [&] {
            if (error) std::rethrow_exception(error);
            take(sdk::OutTensors(out_, out_count_));
          });
          finish(OPTIMA_OK, "");
        } catch (const sdk::Error& e) {
          forget();
          finish(e.code, e.text);
        }
      });
    });
  } catch (...) {
    forget();
    running_ = false;
    throw;
  }
  signal_ = signal, out_ = out.raw(), out_count_ = static_cast<uint32_t>(out.size());
  wait_code_ = OPTIMA_OK;
  waits_left_ = static_cast<uint32_t>(waits.size()) + 1;
  for (const optima_fence_point& point : waits)
    making_.fences->notify(making_.host_self, point, [](void* self, int32_t code) { static_cast<Request*>(self)->arrived(code); }, this);
  arrived(OPTIMA_OK);
}

/// The last of the waits, and of submit() itself, starts the run.
void Request::arrived(int32_t code) {
  if (code != OPTIMA_OK) wait_code_ = code;
  if (--waits_left_ > 0) return;
  if (wait_code_ != OPTIMA_OK) return finish(wait_code_, "what it waited for failed");
  try {
    guarded(OPTIMA_DEVICE, kCannotRun, [&] { request_.start_async(); });
  } catch (const sdk::Error& e) {
    forget();
    finish(e.code, e.text);
  }
}

/// The host may submit again, or destroy nothing yet, from inside the signal: nothing of this run is touched after it.
void Request::finish(int32_t code, const std::string& text) {
  const optima_fence_point signal = signal_;
  const optima_fence_host* fences = making_.fences;
  void* self = making_.host_self;
  running_ = false;
  if (code == OPTIMA_OK) return fences->signal(self, signal);
  optima_status status{sizeof status, code, 0, OPTIMA_NONE, 0, nullptr, [](void*, optima_str) {}};
  fences->poison(self, signal, &status, sdk::str(text));
}

void Request::cancel() {
  guarded(OPTIMA_DEVICE, "OpenVINO cannot cancel this", [&] { request_.cancel(); });
}

void Request::profile(bool on) {
  if (on != timed_) guarded(OPTIMA_DEVICE, "OpenVINO makes no request", [&] { renew(on); });
}

void Request::read_profile(const sdk::EventSink& add) {
  for (const Event& e : events_) add(e.name, e.start_ns, e.duration_ns);
  events_.clear();
}

}  // namespace openvino_plugin
