// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: one stream of work on a loaded program.
#pragma once

#include <functional>

#include "artifact.hpp"
#include "plugins/snpe/toolchain/toolchain.hpp"

namespace snpe_plugin {

/// What a request is given by its program, which outlives it.
struct Making {
  const Meta& meta;
  std::unique_ptr<Session> session;
  std::function<void(std::unique_ptr<Session>)> give_back;  ///< at the end; any thread
  std::function<void(const std::string& text)> failed;      ///< told each error's text; any thread
  std::string what;                                         ///< names a run in profiles, "HEXAGON sm8550"
};

class Request : public sdk::Context {
 public:
  explicit Request(Making making) : making_(std::move(making)) {}
  ~Request() override;

  /// Dense tensors of the ports' types and shapes; UNSUPPORTED for strided ones.
  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override { run(in, out, nullptr); }
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override { run(in, out, &control); }

  void profile(bool on) override;
  /// The tools' own events from each run's beginning; where a route keeps none, one event for the run as a whole.
  void read_profile(const sdk::EventSink& add) override;

 private:
  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control);
  void take_events(uint64_t began_ns);

  Making making_;
  bool timed_ = false;
  std::vector<Session::Event> events_;  // times of CLOCK_MONOTONIC
};

}  // namespace snpe_plugin
