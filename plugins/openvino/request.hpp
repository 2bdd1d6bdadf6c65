// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: one stream of work on a blob that OpenVINO took back in.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>

#include "artifact.hpp"
#include "engine.hpp"

namespace openvino_plugin {

/// What a request is given by its program, which outlives it.
struct Making {
  const Meta& meta;
  const optima_fence_host* fences;  ///< null: the host has none, submit() then refuses
  void* host_self;
  /// A new request of OpenVINO's, with its clocks on or off, on the model of this age.
  std::function<ov::InferRequest(bool timed)> infer_request;
  /// How often the model was taken in anew: a request of an older one is of no use.
  const std::atomic<uint64_t>& age;
  /// A run failed.
  std::function<void()> failed;
};

/// Runs on the caller's buffers: nothing is copied but outputs whose shape nobody knew before. execute() blocks; submit() returns
/// at once and OpenVINO's own threads carry the run, one run at a time. OpenVINO's clocks are on only while profile() is.
class Request : public sdk::Context {
 public:
  explicit Request(Making making);
  ~Request() override;

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override;
  /// Dims that the graph names by a symbol of an input are that input's; other unknown ones stay -1.
  void output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) override;

  /// INVALID_ARGUMENT while an earlier one has not signalled.
  void submit(const sdk::Tensors& in, const sdk::OutTensors& out, sdk::Span<const optima_fence_point> waits, optima_fence_point signal) override;
  /// What runs ends with CANCELLED at the next of OpenVINO's own looks, or runs to its end.
  void cancel() override;

  /// OpenVINO takes times only in a model imported with them: the first true imports the blob once more.
  void profile(bool on) override;
  /// One event per layer that ran, named "layer [type how]", as in "conv1 [Convolution brgconv_avx512_I8]". OpenVINO tells whole
  /// microseconds, a layer's mean over the runs so far, and no beginnings: a run's layers are laid end to end in the order they
  /// ran, from the run's own beginning; those with a mean under one microsecond are not told.
  void read_profile(const sdk::EventSink& add) override;

 private:
  struct Event {
    std::string name;
    uint64_t start_ns, duration_ns;
  };
  /// A buffer that OpenVINO has: what giving it costs is saved while the host comes with the same ones.
  struct Lent {
    const void* data = nullptr;  ///< null: another than any that comes
    bool given = false;          ///< it is the caller's, not one of OpenVINO's own
    uint64_t size = 0;
    int32_t dtype = OPTIMA_UNDEFINED;
    std::vector<int64_t> dims{};
    Lent() = default;
    explicit Lent(const sdk::Tensor& t) : data(t.data<void>()), given(true), size(t.size()), dtype(t.dtype()), dims(t.shape().begin(), t.shape().end()) {}
    bool is(const sdk::Tensor& t) const {
      return data && t.dense() && data == t.data<void>() && size == t.size() && dtype == t.dtype() && std::equal(dims.begin(), dims.end(), t.shape().begin(), t.shape().end());
    }
  };
  /// After a failure: every buffer is given anew.
  void forget();
  /// A request on the program's present model, where there is none yet.
  void renew(bool timed);
  void bind(const sdk::Tensors& in, const sdk::OutTensors& out);
  void take(const sdk::OutTensors& out);
  void start();
  void arrived(int32_t code);
  void finish(int32_t code, const std::string& text);

  Making making_;
  ov::InferRequest request_, retired_;  // a submit() inside a signal comes from the callback of the one that is retired
  std::vector<Lent> inputs_, outputs_;
  bool timed_ = false;
  uint64_t age_ = 0, began_ns_ = 0;
  std::vector<Event> events_;

  // Of the run under way.
  std::atomic<bool> running_{false};
  std::atomic<uint32_t> waits_left_{0};
  std::atomic<int32_t> wait_code_{OPTIMA_OK};
  optima_fence_point signal_{};
  optima_tensor* out_ = nullptr;
  uint32_t out_count_ = 0;
};

}  // namespace openvino_plugin
