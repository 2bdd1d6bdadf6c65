// SPDX-License-Identifier: Apache-2.0
// core/runtime: a request's life beside the caller's thread.
#include "core/loader/gate.hpp"
#include "core/loader/seam.hpp"
#include "core/runtime/context.hpp"
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
  cancel = false;
  deadline_ns = limit_ns != 0 ? now_ns() + limit_ns : 0;
  return {};
}

void Request::State::release() {
  const std::lock_guard lock(mutex);
  busy = false;
}

// A plugin with optima.async/1 gets its first step on the caller's thread and needs no other; the rest begins in the pool.
Status Request::State::start() {
  if (model.state_->context->is_forked())
    return usage_error("the request's context was made before this process was forked and has no threads here, wanted one made in the fork, or a run in the calling thread");
  OPTIMA_RETURN_IF_ERROR(claim());
  {
    const std::lock_guard lock(mutex);
    ++started;
    process = ::getpid();
  }
  std::optional<Status> outcome_now;
  if (frame.has_async(0)) {
    StartedRun relay(*this, false);
    starting = this;
    outcome_now = carry(0, &relay);
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

std::optional<Status> Request::State::StartedRun::to_pool(size_t k) {
  if (request.model.state_->context->pool().submit([&r = request, k] { r.go_on(k, true); })) return std::nullopt;
  return io_error("no thread could be started for the request");
}

std::optional<Status> Request::State::StartedRun::to_plugin(size_t k, uint64_t start) { return request.submit_step(k, start); }

std::optional<Status> Request::State::submit_step(size_t k, uint64_t start) {
  submitted = k;
  step_start = start;
  if (!fence) {
    fence.reset(Fence::make());
    point = 0;
  }
  const optima_fence_point signal = fence->point(++point);
  in_plugin = static_cast<ptrdiff_t>(k);
  work_in_plugin.begin(model.subgraphs()[plan.steps[k].subgraph].plugin, "submit");
  if (Status refused = frame.context(k).submit(buffers.steps[k].inputs, buffers.steps[k].outputs, {}, signal); !refused.ok()) {
    in_plugin = -1;
    work_in_plugin.end();
    return refused;
  }
  Fence::of(signal)->notify(signal.value, [](void* self, int32_t code) { static_cast<State*>(self)->step_done(code); }, this);
  return std::nullopt;
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
  status = guarded([&] { return frame.finish(k, std::move(status), share(), step_start); });
  if (status.ok()) go_on(k + 1, false);
  else complete(std::move(status));
}

void Request::State::cancel_run() {
  cancel = true;
  if (is_elsewhere()) return;  // no plugin is at it here
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

Status Request::State::wait(int64_t timeout_ms, bool* still_running) {
  const uint64_t start = now_ns();
  std::unique_lock lock(mutex);
  if (started == 0) return usage_error("the request was never started, wanted a start before a wait");
  if (in_callback == std::this_thread::get_id()) return usage_error("wait was called in the request's own callback");
  const uint64_t wanted = started;
  if (finished < wanted && is_elsewhere()) return usage_error("the run was started before this process was forked and ends in the other alone, wanted a wait there");
  const uint64_t limit = timeout_ms < 0 ? UINT64_MAX : wait_of_ms(static_cast<uint64_t>(timeout_ms));
  const bool over = wait_at_most(changed, lock, limit, [&] { return finished >= wanted; });
  if (still_running) *still_running = !over;
  if (!over) return {StatusKind::Timeout, cat("the request was still running after ", timeout_ms, " ms")};
  waits.push_back({ProfileKind::Wait, 0, start, now_ns() - start});
  return outcome;
}

bool Request::State::close() {
  if (is_elsewhere()) return finished == started;
  std::unique_lock lock(mutex);
  closing = true;
  lock.unlock();
  cancel_run();
  lock.lock();
  changed.wait(lock, [&] { return finished == started; });
  return true;
}

}  // namespace optima
