// SPDX-License-Identifier: Apache-2.0
// core/runtime: the story of a run. Of run(): claim, carry, release, all on the caller's thread. Of start() (request_async.cpp): claim,
// carry, on other threads go_on, then complete with the callback. With static shapes nothing here allocates, locks or looks up.
#include "core/loader/calls.hpp"
#include "core/runtime/request_state.hpp"
#include "core/support/threads.hpp"

namespace optima {

Status Request::State::run() {
  OPTIMA_RETURN_IF_ERROR(claim());
  std::optional<Status> outcome = carry(0, nullptr);
  release();
  return std::move(*outcome);
}

void Request::State::go_on(size_t k, bool on_pool) {
  StartedRun relay(*this, on_pool);
  if (std::optional<Status> outcome = carry(k, &relay)) complete(std::move(*outcome));
}

// Nobody catches for a thread of the pool or of a plugin. Once the run is handed on, this object may be gone.
std::optional<Status> Request::State::carry(size_t k, Relay* relay) {
  try {
    if (k == 0) OPTIMA_RETURN_IF_ERROR(begin());
    std::optional<Status> outcome = frame.run(k, share(), relay);
    if (outcome && outcome->ok()) outcome = end();
    return outcome;
  } catch (...) {
    return current_failure();
  }
}

Status Request::State::begin() {
  run_start = profiling ? now_ns() : 0;
  has_outputs = false;
  OPTIMA_RETURN_IF_ERROR(check_bindings());
  return load_inputs();
}

// The one loop: over the steps of the main graph, and over those of a body (flow.cpp), which has no relay.
std::optional<Status> Frame::run(size_t k, const RunShare& share, Relay* relay) {
  for (; k < plan.steps.size(); ++k) {
    OPTIMA_RETURN_IF_ERROR(share.stop());
    const bool submits = relay && has_async(k);
    if (relay && !submits && !relay->on_pool) return relay->to_pool(k);
    const seam::ForSubgraph calls_for(share.subgraphs[plan.steps[k].subgraph].index);
    const uint64_t start = share.profiling ? now_ns() : 0;
    std::optional<Status> done = prepare(k);
    if (done->ok()) done = submits ? relay->to_plugin(k, start) : execute(k, share);
    if (!done) return done;  // the plugin has the run: step_done() finishes the step and goes on
    OPTIMA_RETURN_IF_ERROR(finish(k, std::move(*done), share, start));
  }
  return Status();
}

Status Request::State::end() {
  OPTIMA_RETURN_IF_ERROR(store_outputs());
  OPTIMA_RETURN_IF_ERROR(keep_states());
  has_outputs = true;
  if (profiling) record(ProfileKind::ModelExecute, 0, run_start);
  return {};
}

}  // namespace optima
