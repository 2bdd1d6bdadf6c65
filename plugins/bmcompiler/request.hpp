// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: one stream of work on a loaded program.
#pragma once

#include <functional>

#include "artifact.hpp"
#include "optima/plugin/folder.hpp"
#include "runner/runner.hpp"

namespace bmcompiler_plugin {

/// A model that runs, and the folder it does so in.
struct Session {
  std::unique_ptr<sdk::Folder> work;
  std::unique_ptr<Running> running;
};

/// What a request is given by its program, which outlives it.
struct Making {
  const Meta& meta;
  Session session;
  std::function<void(Session)> give_back;               ///< at the end; any thread
  std::function<void(const std::string& text)> failed;  ///< told each error's text; any thread
  std::string what;                                     ///< names a run in profiles, "bm1684x"
};

class Request : public sdk::Context {
 public:
  explicit Request(Making making);
  ~Request() override;

  /// Dense tensors of the ports' types and shapes, open batches of one size; UNSUPPORTED for strided ones.
  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override { run(in, out, nullptr); }
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override { run(in, out, &control); }
  void output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) override;

  void profile(bool on) override { timed_ = on; }
  /// One event per run.
  void read_profile(const sdk::EventSink& add) override;

 private:
  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control);
  void run_planes(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* control);

  Making making_;
  bool timed_ = false;
  struct Event {
    uint64_t start_ns, duration_ns;  ///< of CLOCK_MONOTONIC
  };
  std::vector<Event> events_;
  std::vector<std::string> in_bytes_, out_bytes_;  // where types differ from the file's
};

}  // namespace bmcompiler_plugin
