// SPDX-License-Identifier: Apache-2.0
// core/runtime: a request's life beside the caller's thread.
#include <algorithm>

#include "core/loader/gate.hpp"
#include "core/loader/seam.hpp"
#include "core/runtime/request_state.hpp"
#include "core/runtime/worker_pool.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "core/support/threads.hpp"
#include "core/support/wait.hpp"

namespace optima {
namespace {

thread_local const void* starting = nullptr;  // the request whose start() is on this thread's stack

}  // namespace

Status Request::State::claim() {
  const std::lock_guard lock(mutex);
  if (busy) return usage_error("the request is running, wanted an idle one");
  if (closing) return cancelled();
  busy = true;
  return {};
}

void Request::State::release() {
  const std::lock_guard lock(mutex);
  busy = false;
}

// A plugin with optima.async/1 gets its first step on the caller's thread and needs no other; the rest begins in the pool.
Status Request::State::start() {
  OPTIMA_RETURN_IF_ERROR(claim());
  cancel = false;
  {
    const std::lock_guard lock(mutex);
    ++started;
  }
  std::optional<Status> outcome_now;
  if (frame.has_async(0)) {
    starting = this;
    outcome_now = advance(0, false);
    starting = nullptr;
    if (!outcome_now) return {};
  }
  const auto job = outcome_now ? std::function<void()>([this, status = *outcome_now] { complete(status); }) : [this] { go_on(0, true); };
  if (model.state_->context->pool().submit(job)) return {};
  const std::lock_guard lock(mutex);
  --started;
  busy = false;
  return io_error("no thread could be started for the request");
}

void Request::State::go_on(size_t k, bool on_pool) {
  if (std::optional<Status> status = advance(k, on_pool)) complete(std::move(*status));
}

// Nobody catches for a thread of the pool or of a plugin. Once a step is handed on, this object may be gone.
std::optional<Status> Request::State::advance(size_t k, bool on_pool) {
  try {
    return hand_on(k, on_pool);
  } catch (...) {
    return current_failure();
  }
}

std::optional<Status> Request::State::hand_on(size_t k, bool on_pool) {
  if (k == 0)
    if (const Status begun = begin(); !begun.ok()) return begun;
  for (; k < plan.steps.size(); ++k) {
    if (cancel.load(std::memory_order_relaxed)) return cancelled();
    if (frame.has_async(k)) {
      if (Status refused = submit_step(k); !refused.ok()) return refused;
      return std::nullopt;
    }
    if (!on_pool) {  // a plugin's thread is not ours to compute on
      if (model.state_->context->pool().submit([this, k] { go_on(k, true); })) return std::nullopt;
      return io_error("no thread could be started for the request");
    }
    if (Status done = run_step(k); !done.ok()) return done;
  }
  return end();
}

Status Request::State::submit_step(size_t k) {
  const seam::ForSubgraph calls_for(model.subgraphs()[plan.steps[k].subgraph].index);
  step_start = profiling ? now_ns() : 0;
  submitted = k;
  if (const Status s = frame.prepare_program(k); !s.ok()) return finish_step(k, s);
  if (!fence) {
    fence.reset(Fence::make());
    point = 0;
  }
  const optima_fence_point signal = fence->point(++point);
  in_plugin = static_cast<ptrdiff_t>(k);
  work_in_plugin.begin(model.subgraphs()[plan.steps[k].subgraph].plugin, "submit");
  if (const Status s = frame.context(k).submit(buffers.steps[k].inputs, buffers.steps[k].outputs, {}, signal); !s.ok()) {
    in_plugin = -1;
    work_in_plugin.end();
    return finish_step(k, s);
  }
  Fence::of(signal)->notify(signal.value, [](void* self, int32_t code) { static_cast<State*>(self)->step_done(code); }, this);
  return {};
}

// On whatever thread the plugin signals. A plugin that was done before start() returned is followed up in the pool: the caller may
// hold a lock that the callback wants. So is one that signals inside a call: the next step, or what the callback does, is none of that
// call's.
void Request::State::step_done(int32_t code) {
  if ((starting == this || Gate::is_any_held_here()) && model.state_->context->pool().submit([this, code] { step_done(code); })) return;
  in_plugin = -1;
  work_in_plugin.end();
  Status status;
  if (code == OPTIMA_CANCELLED) status = cancelled();
  else if (code != OPTIMA_OK) status = {seam::kind_of(code), cat("plugin ", quote(model.subgraphs()[plan.steps[submitted].subgraph].plugin), ": submit: ", fence->failure())};
  if (code != OPTIMA_OK) fence.reset();
  const size_t k = submitted;
  status = guarded([&] { return finish_step(k, std::move(status)); });
  if (status.ok()) go_on(k + 1, false);
  else complete(std::move(status));
}

void Request::State::cancel_run() {
  cancel = true;
  if (const ptrdiff_t k = in_plugin; k >= 0) (void)frame.context(static_cast<size_t>(k)).cancel();  // what it cannot stop ends by itself
}

// The request is idle before the callback runs, so that the callback may start it again; waiters go on after the callback.
void Request::State::complete(Status status) {
  {
    const std::lock_guard lock(mutex);
    outcome = status;
    busy = false;
    in_callback = std::this_thread::get_id();
  }
  if (callback)
    if (const Status called = guarded([&] { return callback(status), Status(); }); !called.ok())
      log(LogLevel::Error, "runtime", called.within("a request's callback").message());
  // Under the lock to the end: whoever waits in close() may free this object as soon as it can take the lock.
  const std::lock_guard lock(mutex);
  if (in_callback == std::this_thread::get_id()) in_callback = {};
  ++finished;
  changed.notify_all();
}

Status Request::State::wait(int64_t timeout_ms) {
  const uint64_t start = now_ns();
  std::unique_lock lock(mutex);
  if (started == 0) return usage_error("the request was never started, wanted a start before a wait");
  if (in_callback == std::this_thread::get_id()) return usage_error("wait was called in the request's own callback");
  const uint64_t wanted = started;
  const uint64_t limit = timeout_ms < 0 ? UINT64_MAX : wait_of_ms(static_cast<uint64_t>(timeout_ms));
  if (!wait_at_most(changed, lock, limit, [&] { return finished >= wanted; }))
    return {StatusKind::Timeout, cat("the request was still running after ", timeout_ms, " ms")};
  waits.push_back({ProfileKind::Wait, 0, start, now_ns() - start});
  return outcome;
}

void Request::State::close() {
  std::unique_lock lock(mutex);
  closing = true;
  lock.unlock();
  cancel_run();
  lock.lock();
  changed.wait(lock, [&] { return finished == started; });
}

std::vector<ProfileEvent> Request::State::take_events() {
  std::vector<Record> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(waits);
  }
  all.insert(all.begin(), records.begin(), records.end());
  records.clear();
  std::vector<ProfileEvent> out;
  for (const Record& r : all) out.push_back(event_of(r));
  add_layers(out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return out;
}

// What plugins tell of the inside of their subgraphs; one that fails to is left out with a line in the log.
void Request::State::add_layers(std::vector<ProfileEvent>& out) {
  if (!profiling) return;
  frame.each_context([&](ExecutionContext& context, uint32_t position) {
    if (!context.has_profile()) return;
    const auto events = context.read_profile();
    const uint32_t index = model.subgraphs()[position].index;
    if (!events.ok()) return log(LogLevel::Warn, "runtime", events.status().within(cat("subgraph ", index, " has no layer times")).message());
    for (const PluginEvent& e : *events) out.push_back({ProfileKind::LayerExecute, index, e.start_ns, e.duration_ns, number, e.name, e.node});
  });
}

void Request::State::set_profiling(bool on) {
  profiling = on;
  frame.each_context([&](ExecutionContext& context, uint32_t) {
    if (context.has_profile())
      if (const Status status = context.set_profiling(on); !status.ok()) log(LogLevel::Warn, "runtime", status.message());
  });
}

ProfileEvent Request::State::event_of(const Record& r) const {
  ProfileEvent e{r.kind, r.index, r.start_ns, r.duration_ns, number, std::string(name_of(r.kind))};
  if (r.kind == ProfileKind::SubgraphExecute || r.kind == ProfileKind::FlowExecute) {
    const SubgraphInfo& info = model.subgraphs()[r.index];
    e.name = cat("subgraph ", info.index, " on ", info.device);
  }
  return e;
}

}  // namespace optima
