// SPDX-License-Identifier: Apache-2.0
// core/runtime: a request's life beside the caller's thread.
#include <algorithm>
#include <chrono>

#include "core/runtime/request_state.hpp"
#include "core/runtime/worker_pool.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima {

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

Status Request::State::start() {
  OPTIMA_RETURN_IF_ERROR(claim());
  cancel = false;
  {
    const std::lock_guard lock(mutex);
    ++started;
  }
  if (model.state_->context->pool().submit([this] { run_started(); })) return {};
  const std::lock_guard lock(mutex);
  --started;
  busy = false;
  return io_error("no thread could be started for the request");
}

// The request is idle before the callback runs, so that the callback may start it again; waiters go on after the callback.
void Request::State::run_started() {
  const Status status = run_all();
  {
    const std::lock_guard lock(mutex);
    outcome = status;
    busy = false;
    in_callback = std::this_thread::get_id();
  }
  if (callback) callback(status);
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
  const auto over = [&] { return finished >= wanted; };
  if (timeout_ms < 0) changed.wait(lock, over);
  else if (!changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), over))
    return {StatusKind::Timeout, cat("the request was still running after ", timeout_ms, " ms")};
  waits.push_back({ProfileKind::Wait, 0, start, now_ns() - start});
  return outcome;
}

void Request::State::close() {
  std::unique_lock lock(mutex);
  closing = true;
  cancel = true;
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
  for (size_t k = 0; k < contexts.size(); ++k) {
    if (!profiling || !contexts[k]->has_profile()) continue;
    const auto events = contexts[k]->read_profile();
    if (!events.ok()) {
      log(LogLevel::Warn, "runtime", events.status().within(cat("subgraph ", model.subgraphs()[k].index, " has no layer times")).message());
      continue;
    }
    for (const PluginEvent& e : *events)
      out.push_back({ProfileKind::LayerExecute, model.subgraphs()[k].index, e.start_ns, e.duration_ns, number, e.name});
  }
}

void Request::State::set_profiling(bool on) {
  profiling = on;
  for (const auto& context : contexts)
    if (context->has_profile())
      if (const Status status = context->set_profiling(on); !status.ok()) log(LogLevel::Warn, "runtime", status.message());
}

ProfileEvent Request::State::event_of(const Record& r) const {
  ProfileEvent e{r.kind, r.index, r.start_ns, r.duration_ns, number, std::string(name_of(r.kind))};
  if (r.kind == ProfileKind::SubgraphExecute) {
    const SubgraphInfo& info = model.subgraphs()[r.index];
    e.name = cat("subgraph ", info.index, " on ", info.device);
  }
  return e;
}

}  // namespace optima
