// SPDX-License-Identifier: Apache-2.0
#include "quirks.hpp"

#include <algorithm>

#include "limits.hpp"
#include "optima/plugin/record.hpp"

namespace spirv_plugin {
namespace {

/// As NVIDIA's driver packs its version.
constexpr uint32_t nvidia(uint32_t major, uint32_t minor, uint32_t patch) { return major << 22 | minor << 14 | patch << 6; }

enum Driver : uint32_t { kAmdProprietary = 1, kNvidiaProprietary = 4 };  // VkDriverId

struct Quirk {
  uint32_t vendor, first_device, last_device, driver;
  uint32_t from, before;  ///< versions of the driver
  const char* name;       ///< of what is not used
  const char* reported;
};
constexpr uint32_t kAny = UINT32_MAX;

// A line is a bug that a thread names with the GPUs and drivers that have it, and that what is made here would run into.
constexpr Quirk kQuirks[] = {
    // Products of words of four codes are wrong, and said to be fast, where the hardware has none: GCN to RDNA 2. The way behind them is exact.
    {0x1002, 0x6600, 0x743f, kAmdProprietary, 0, kAny, "shaderIntegerDotProduct", "https://github.com/0xShug0/audio.cpp/pull/193"},
    // Every cache takes a lot of memory, and each program here has one. The driver keeps a cache of its own on disk.
    {0x10de, 0, kAny, kNvidiaProprietary, nvidia(470, 0, 0), nvidia(470, 62, 2), kPipelineCache, "https://github.com/HansKristian-Work/vkd3d-proton/pull/795"},
};

bool fits(const Quirk& q, const DriverInfo& of) {
  return q.vendor == of.vendor && q.first_device <= of.device && of.device <= q.last_device && q.driver == of.driver && q.from <= of.version && of.version < q.before;
}

std::set<std::string> known_names() {
  std::set<std::string> out = feature_names();
  out.insert(kPipelineCache);
  return out;
}

Quirks named(std::string_view said, const std::string& by) {
  const std::set<std::string> known = known_names();
  Quirks out;
  for (size_t at = 0; at <= said.size();) {
    const size_t end = std::min(said.find(',', at), said.size());
    const std::string name(said.substr(at, end - at));
    at = end + 1;
    if (known.count(name)) {
      out.emplace(name, by);
      continue;
    }
    std::string all;
    for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
    throw sdk::Error(OPTIMA_INVALID_ARGUMENT, by + " has " + sdk::shown(name) + ", wanted auto, none, or some of " + all + " with commas between them");
  }
  return out;
}

}  // namespace

Quirks quirks_of(const DriverInfo& of, std::string_view said, const std::string& by) {
  if (said == "none") return {};
  if (!said.empty() && said != "auto") return named(said, by);
  Quirks out;
  for (const Quirk& q : kQuirks)
    if (fits(q, of)) out.emplace(q.name, q.reported);
  return out;
}

}  // namespace spirv_plugin
