// SPDX-License-Identifier: Apache-2.0
#include "core/calibrate/links.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "core/backend/refused.hpp"
#include "core/calibrate/device_buffer.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr uint64_t kSizes[] = {uint64_t{4} << 10, uint64_t{64} << 10, uint64_t{1} << 20, uint64_t{16} << 20};
constexpr int kRepeats = 9;

struct Sample {
  double bytes, microseconds;
};

Result<Sample> fastest_copy(const LocalDevice& from, const LocalDevice& to, uint64_t bytes, const std::atomic<bool>* cancelled) {
  OPTIMA_ASSIGN(DeviceBuffer source, DeviceBuffer::make(*from.plugin, from.ordinal, bytes));
  OPTIMA_ASSIGN(DeviceBuffer target, DeviceBuffer::make(*to.plugin, to.ordinal, bytes));
  Sample best{static_cast<double>(bytes), 0};
  for (int i = 0; i < kRepeats; ++i) {
    if (cancelled && *cancelled) return optima::cancelled();
    const auto start = std::chrono::steady_clock::now();
    OPTIMA_RETURN_IF_ERROR(source.copy_to(target));
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (i == 0 || us < best.microseconds) best.microseconds = us;
  }
  return best;
}

// microseconds = latency + bytes / rate, each sample weighted by 1 / microseconds^2 so that small ones count as much as large ones.
void fit_line(const std::vector<Sample>& samples, LinkConfig& link) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Sample& s : samples) {
    const double weight = 1 / std::max(s.microseconds * s.microseconds, 1e-6);
    w += weight, x += weight * s.bytes, y += weight * s.microseconds, xx += weight * s.bytes * s.bytes, xy += weight * s.bytes * s.microseconds;
  }
  const double slope = std::max(0.0, (w * xy - x * y) / (w * xx - x * x));
  link.latency_us = std::max(0.0, (y - slope * x) / w);
  link.gbytes_per_s = slope > 0 ? 1e-3 / slope : 0;
}

Status not_here(const DeviceName& name, const std::vector<std::string>& names, const std::vector<const PluginFile*>& refused) {
  std::vector<const PluginFile*> claims = claiming(refused, name.kind);
  if (!name.plugin.empty()) claims = of_plugin(claims, name.plugin);
  return {claims.empty() ? StatusKind::InvalidInput : StatusKind::Plugin,
          cat("device ", quote(name.text()), " is not on this machine, found ", names.empty() ? "none" : join(names), refused_hint(claims))};
}

void note_refused(const std::vector<const PluginFile*>& refused, std::vector<std::string>& notes) {
  for (const PluginFile* file : refused)
    if (!file->unwanted && !file->manifest.only_when_named) notes.push_back(refused_note(*file));
}

}  // namespace

Result<std::vector<LocalDevice>> local_devices(std::span<Backend* const> runtimes, std::span<const PluginFile> files, const std::vector<DeviceName>& wanted,
                                               std::vector<std::string>& notes) {
  std::vector<LocalDevice> all, out;
  std::vector<std::string> names;
  for (Backend* plugin : runtimes) {
    std::string why_none;
    const Result<std::vector<DeviceInfo>> present = plugin->devices(&why_none);
    const std::string& id = plugin->manifest().id;
    if (!present.ok() || present->empty())
      notes.push_back(cat("plugin ", quote(id), " has no device here: ", present.ok() ? why_none : present.status().message()));
    if (!present.ok()) continue;
    std::map<std::string, uint32_t> slots;
    for (const DeviceInfo& info : *present) {
      all.push_back({{id, info.kind, slots[info.kind]++}, plugin, info.ordinal});
      names.push_back(all.back().name.text());
    }
  }
  const std::vector<const PluginFile*> refused = refused_files(files, &Manifest::runtime);
  if (wanted.empty()) note_refused(refused, notes);
  for (const DeviceName& name : wanted)
    if (std::none_of(all.begin(), all.end(), [&](const LocalDevice& d) { return name.fits(d.name); }))
      return not_here(name, names, refused);
  for (LocalDevice& device : all)
    if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const DeviceName& name) { return name.fits(device.name); }))
      out.push_back(std::move(device));
  if (out.empty()) return invalid_input(cat("no plugin has a device on this machine", refused_hint(refused, "might have one")));
  return out;
}

Result<MeasuredLink> measure_link(const LocalDevice& from, const LocalDevice& to, const std::atomic<bool>* cancelled) {
  MeasuredLink out;
  out.link.from = from.name;
  out.link.to = to.name;
  const std::string between = cat("link from ", from.name.text(), " to ", to.name.text());
  out.handed_over = !DeviceBuffer::has_own_memory(*from.plugin) && !DeviceBuffer::has_own_memory(*to.plugin);
  if (out.handed_over) return out;
  std::vector<Sample> samples;
  for (uint64_t bytes : kSizes) {
    Result<Sample> sample = fastest_copy(from, to, bytes, cancelled);
    if (!sample.ok()) return sample.status().within(between);
    samples.push_back(*sample);
  }
  out.sizes = samples.size();
  fit_line(samples, out.link);
  return out;
}

}  // namespace optima
