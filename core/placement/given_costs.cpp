// SPDX-License-Identifier: Apache-2.0
#include "core/placement/given_costs.hpp"

namespace optima::detail {
namespace {

bool fits(const DeviceName& name, const PlanDevice& device) { return name.fits({device.plugin, device.target.kind, device.target.slot}); }

}  // namespace

GivenCosts::GivenCosts(const std::vector<PlanDevice>& devices, const std::vector<std::string_view>& nodes, const std::vector<Work>& work,
                       const std::vector<MeasuredCosts>& costs, const std::vector<DeviceSettings>& settings, const std::vector<LinkCost>& links)
    : devices_(devices), work_(work), settings_(settings), links_(links) {
  for (const PlanDevice& device : devices) {
    std::vector<const MeasuredDevice*> measured;
    for (const MeasuredCosts& one : costs)
      for (const MeasuredDevice& of : one.devices)
        if (!is_host(device) && fits(of.name, device)) measured.push_back(&of);
    measured_.push_back(device_costs(measured, nodes));
  }
}

// What is said of the full name wins, else a later word.
DeviceSettings GivenCosts::settings_of(uint32_t device) const {
  DeviceSettings out;
  for (const bool full : {false, true})
    for (const DeviceSettings& s : settings_)
      for (double DeviceSettings::*rate :
           {&DeviceSettings::launch_us, &DeviceSettings::gflops, &DeviceSettings::gbytes_per_s, &DeviceSettings::gflops_half, &DeviceSettings::gops_int8})
        if (full == !s.name.plugin.empty() && s.*rate > 0 && fits(s.name, devices_[device])) out.*rate = s.*rate;
  return out;
}

std::vector<const LinkCost*> GivenCosts::links_of(uint32_t from, uint32_t to) const {
  std::vector<const LinkCost*> out;
  for (const LinkCost& link : links_)
    if (from != to && fits(link.from, devices_[from]) && fits(link.to, devices_[to])) out.push_back(&link);
  return out;
}

CostTable GivenCosts::between(const CostTable* known) const {
  const size_t devices = devices_.size();
  const std::vector<double> none(devices * devices, 0);
  CostTable out = known ? *known : CostTable{{}, std::vector<double>(devices, 0), none, none};
  for (uint32_t d = 0; d < devices; ++d) {
    if (is_host(devices_[d])) continue;
    if (measured_[d].launch_us >= 0) out.launch[d] = measured_[d].launch_us;
    if (const double launch = settings_of(d).launch_us; launch > 0) out.launch[d] = launch;
  }
  for (uint32_t from = 0; from < devices; ++from)
    for (uint32_t to = 0; to < devices; ++to) {
      const std::vector<const LinkCost*> links = links_of(from, to);
      if (from == to || (known && links.empty())) continue;
      const size_t at = size_t{from} * devices + to;
      out.per_byte[at] = 0;
      for (const LinkCost* link : links) {
        out.latency[at] = link->latency_us;
        out.per_byte[at] = link->gbytes_per_s > 0 ? 1e-3 / link->gbytes_per_s : 0;
      }
      out.per_byte[at] += measured_[from].us_per_byte_out + measured_[to].us_per_byte_in;
    }
  return out;
}

bool GivenCosts::model_rest(uint32_t device, const std::function<bool(size_t)>& wanted, std::vector<NodeTime>& times) const {
  const DeviceSettings given = settings_of(device);
  const Rates rates{given.gflops, given.gflops_half, given.gops_int8, given.gbytes_per_s};
  const bool described = given.gflops > 0 || given.gbytes_per_s > 0;
  const auto time = [&](size_t n) -> NodeTime& { return times[n * devices_.size() + device]; };
  double known = 0, modelled = 0;
  for (size_t n = work_.size(); n-- > 0;)
    if (time(n).microseconds >= 0) known += time(n).microseconds, modelled += roofline_us(work_[n], kTypicalRates);
  if (!described && modelled == 0) return false;
  for (size_t n = 0; n < work_.size(); ++n) {
    if (time(n).microseconds >= 0 || !wanted(n)) continue;
    if (described) time(n) = {roofline_us(work_[n], rates), "roofline"};
    else time(n) = {roofline_us(work_[n], kTypicalRates) * known / modelled, "scaled"};
  }
  return true;
}

}  // namespace optima::detail
