// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include <algorithm>

#include "border.hpp"
#include "optima/plugin/fits.hpp"

namespace bmcompiler_plugin {
namespace {

uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

/// "1, 4 or 8".
std::string listed(const std::vector<int64_t>& sizes) {
  std::string s;
  for (size_t k = 0; k < sizes.size(); ++k) s += (k == 0 ? "" : k + 1 == sizes.size() ? " or " : ", ") + std::to_string(sizes[k]);
  return s;
}

bool is_open(const Port& port) { return !port.dims.empty() && port.dims[0] == -1; }

/// The ports' shape where an open batch is `batch`.
std::vector<int64_t> dims_of(const Port& port, int64_t batch) {
  std::vector<int64_t> dims = port.dims;
  if (is_open(port)) dims[0] = batch;
  return dims;
}

/// The one size of all open batches; 1 where none is open. Throws INVALID_ARGUMENT for one that the file has no stage for.
int64_t batch_of(const Meta& meta, const sdk::Tensors& in) {
  for (size_t k = 0; k < in.size() && k < meta.inputs.size(); ++k) {
    if (!is_open(meta.inputs[k]) || in[k].rank() == 0) continue;
    const int64_t batch = in[k].dim(0);
    if (!meta.batches.empty() && std::find(meta.batches.begin(), meta.batches.end(), batch) == meta.batches.end())
      throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "batch of tensor '" + meta.inputs[k].name + "' is " + std::to_string(batch) + ", the file was made for " + listed(meta.batches) +
                                                    " (bmcompiler.batches)");
    return batch;
  }
  return 1;
}

void require_fits(const sdk::Tensor& t, const Port& port, const std::vector<int64_t>& dims) {
  sdk::require_fits(t, port.name, port.dtype, {dims.data(), dims.size()});
}

void require_fit(const Meta& meta, const sdk::Tensors& in, const sdk::OutTensors& out) {
  sdk::require_counts(in.size(), out.size(), meta.inputs.size(), meta.outputs.size());
  const int64_t batch = batch_of(meta, in);
  for (size_t k = 0; k < in.size(); ++k) require_fits(in[k], meta.inputs[k], dims_of(meta.inputs[k], batch));
  for (size_t k = 0; k < out.size(); ++k) {
    const std::vector<int64_t> dims = dims_of(meta.outputs[k], batch);
    if (out[k].wants_alloc()) out[k].alloc({dims.data(), dims.size()});
    require_fits(out[k], meta.outputs[k], dims);
  }
}

/// A tensor as the file has it: the caller's own memory where types agree, else `bytes`.
Plane plane_of(const sdk::Tensor& t, const Port& port, std::string& bytes) {
  Plane p{port.file_name, port.file_dtype, {t.shape().begin(), t.shape().end()}, const_cast<void*>(t.data<void>())};
  if (p.dims.empty()) p.dims.push_back(1);  // a module has no rank 0
  if (port.dtype == port.file_dtype) return p;
  bytes.resize((static_cast<uint64_t>(t.elements()) * optima_dtype_bits(port.file_dtype) + 7) / 8);
  p.data = bytes.data();
  return p;
}

}  // namespace

Request::Request(Making making) : making_(std::move(making)), in_bytes_(making_.meta.inputs.size()), out_bytes_(making_.meta.outputs.size()) {}

Request::~Request() { making_.give_back(std::move(making_.session)); }

void Request::output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) {
  const int64_t batch = batch_of(making_.meta, in);
  for (size_t k = 0; k < out.size() && k < making_.meta.outputs.size(); ++k) {
    const std::vector<int64_t> dims = dims_of(making_.meta.outputs[k], batch);
    out.set(k, {dims.data(), dims.size()});
  }
}

void Request::run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control) {
  require_fit(making_.meta, in, out);
  if (control) control->check();
  const uint64_t began = now_ns();
  try {
    run_planes(in, out, control);
  } catch (sdk::Error& e) {
    making_.failed(e.text);
    if (e.code == OPTIMA_TIMEOUT && !(control && control->is_late())) e.code = OPTIMA_TOOL_FAILED;  // the plugin's limit, not the caller's
    throw;
  }
  if (timed_) events_.push_back({began, now_ns() - began});
}

void Request::run_planes(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control) {
  const Meta& meta = making_.meta;
  std::vector<Plane> from, to;
  for (size_t k = 0; k < in.size(); ++k) {
    const Port& port = meta.inputs[k];
    from.push_back(plane_of(in[k], port, in_bytes_[k]));
    if (port.dtype != port.file_dtype)
      convert(port.name, in[k].data<void>(), port.dtype, in_bytes_[k].data(), port.file_dtype, static_cast<uint64_t>(in[k].elements()));
  }
  for (size_t k = 0; k < out.size(); ++k) to.push_back(plane_of(out[k], meta.outputs[k], out_bytes_[k]));
  making_.session.running->run({}, from, to, control);
  for (size_t k = 0; k < out.size(); ++k)
    if (const Port& port = meta.outputs[k]; port.dtype != port.file_dtype)
      convert(port.name, out_bytes_[k].data(), port.file_dtype, out[k].data<void>(), port.dtype, static_cast<uint64_t>(out[k].elements()));
}

void Request::read_profile(const sdk::EventSink& add) {
  for (const Event& e : std::exchange(events_, {})) add(making_.what, e.start_ns, e.duration_ns);
}

}  // namespace bmcompiler_plugin
