// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/profile.hpp"

#include <algorithm>
#include <chrono>

#include "core/support/json.hpp"
#include "core/support/json_value.hpp"

namespace optima {

std::string_view name_of(ProfileKind kind) {
  static constexpr std::string_view names[] = {"ModelInit", "SubgraphInit", "RequestInit", "LayerExecute",
                                               "Wait", "BufferCopy", "ModelExecute", "SubgraphExecute", "FlowExecute"};
  return names[static_cast<size_t>(kind)];
}

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::string chrome_trace(std::span<const ProfileEvent> events) {
  uint64_t origin = UINT64_MAX;
  for (const ProfileEvent& e : events) origin = std::min(origin, e.start_ns);
  Json list = Json::array();
  for (const ProfileEvent& e : events)
    list.push_back({{"name", e.name}, {"cat", name_of(e.kind)}, {"ph", "X"}, {"ts", static_cast<double>(e.start_ns - origin) / 1000},
                    {"dur", static_cast<double>(e.duration_ns) / 1000}, {"pid", 1}, {"tid", e.track}, {"args", {{"index", e.index}}}});
  return to_text({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(list)}});
}

}  // namespace optima
