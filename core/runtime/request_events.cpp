// SPDX-License-Identifier: Apache-2.0
// core/runtime: what a request tells of the time its runs took.
#include <algorithm>

#include "core/runtime/request_state.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"

namespace optima {

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
