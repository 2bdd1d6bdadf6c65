// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include "optima/plugin/fits.hpp"

namespace snpe_plugin {
namespace {

uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

void require_fits(const sdk::Tensor& t, const Port& port) { sdk::require_fits(t, port.name, port.dtype, {port.dims.data(), port.dims.size()}); }

void require_fit(const Meta& meta, const sdk::Tensors& in, const sdk::OutTensors& out) {
  sdk::require_counts(in.size(), out.size(), meta.inputs.size(), meta.outputs.size());
  for (size_t k = 0; k < in.size(); ++k) require_fits(in[k], meta.inputs[k]);
  for (size_t k = 0; k < out.size(); ++k) {
    const Port& port = meta.outputs[k];
    if (out[k].wants_alloc()) out[k].alloc({port.dims.data(), port.dims.size()});
    require_fits(out[k], port);
  }
}

}  // namespace

Request::~Request() { making_.give_back(std::move(making_.session)); }

void Request::run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control) {
  require_fit(making_.meta, in, out);
  if (control) control->check();
  const uint64_t began = now_ns();
  try {
    making_.session->run(in, out, control);
  } catch (sdk::Error& e) {
    making_.failed(e.text);
    if (e.code == OPTIMA_TIMEOUT && !(control && control->is_late())) e.code = OPTIMA_TOOL_FAILED;  // the tools' limit, not the caller's
    throw;
  }
  if (timed_) take_events(began);
}

void Request::take_events(uint64_t began_ns) {
  const uint64_t ended_ns = now_ns();
  std::vector<Session::Event> told = making_.session->events();
  if (told.empty()) told.push_back({making_.what, 0, ended_ns - began_ns});
  for (Session::Event& e : told) events_.push_back({std::move(e.name), began_ns + e.start_ns, e.duration_ns});
}

void Request::profile(bool on) {
  making_.session->profile(on);
  timed_ = on;
}

void Request::read_profile(const sdk::EventSink& add) {
  const std::vector<Session::Event> told = std::exchange(events_, {});
  for (const Session::Event& e : told) add(e.name, e.start_ns, e.duration_ns);
}

}  // namespace snpe_plugin
