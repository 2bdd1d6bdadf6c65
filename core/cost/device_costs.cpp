// SPDX-License-Identifier: Apache-2.0
#include "core/cost/device_costs.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/cost/fit_runs.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

// How far a time may be off: the profile of a plugin tells nodes apart, the roofline model guesses.
double spread_of(std::string_view source) {
  if (source == name_of(CostMethod::Given)) return 0;
  return source == name_of(CostMethod::Profile) ? 0.3 : 1;
}

// Times of 1e300 are numbers, their squares are not.
bool sensible(const RunFit& fit) {
  const auto finite = [](double us) { return std::isfinite(us); };
  return finite(fit.launch_us) && finite(fit.us_per_byte_in) && finite(fit.us_per_byte_out) && finite(fit.off) &&
         std::all_of(fit.nodes.begin(), fit.nodes.end(), finite);
}

constexpr size_t kMostRuns = 1000;  // the fit takes time with the cube of them

class Gatherer {
 public:
  explicit Gatherer(const std::vector<std::string_view>& names) : inside_(names.size(), 0) {
    out_.nodes.resize(names.size());
    for (uint32_t n = 0; n < names.size(); ++n) index_.emplace(names[n], n);
  }

  void add(const MeasuredDevice& device) {
    if (device.launch_us >= 0) out_.launch_us = device.launch_us;
    std::vector<size_t> inside(out_.nodes.size(), 0);
    for (const MeasuredRun& run : device.runs) add_run(run, inside);
    for (const auto& [name, measured] : device.nodes) {
      const auto at = index_.find(name);
      if (at == index_.end()) continue;
      const uint32_t n = at->second;
      if (inside[n] > 0 && inside[n] < inside_[n]) continue;
      out_.nodes[n] = {measured.microseconds, name_of(measured.method)};
      inside_[n] = inside[n];
    }
  }

  DeviceCosts run() {
    // Runs of nodes that have no time here are of another model.
    std::erase_if(samples_, [&](const RunSample& s) {
      return std::any_of(s.nodes.begin(), s.nodes.end(), [&](uint32_t n) { return out_.nodes[n].microseconds < 0; });
    });
    if (samples_.size() > kMostRuns) samples_.erase(samples_.begin(), samples_.end() - kMostRuns);  // the later ones count
    const auto differs = [&](const RunSample& s) { return s.nodes != samples_[0].nodes; };
    if (std::any_of(samples_.begin(), samples_.end(), differs)) fit();
    return std::move(out_);
  }

 private:
  void add_run(const MeasuredRun& run, std::vector<size_t>& inside) {
    RunSample sample{run.microseconds, static_cast<double>(run.bytes_in), static_cast<double>(run.bytes_out), {}};
    for (const std::string& name : run.nodes)
      if (const auto at = index_.find(name); at != index_.end()) sample.nodes.push_back(at->second);
    std::sort(sample.nodes.begin(), sample.nodes.end());
    sample.nodes.erase(std::unique(sample.nodes.begin(), sample.nodes.end()), sample.nodes.end());
    for (uint32_t n : sample.nodes) inside[n] = std::max(inside[n], run.nodes.size());
    if (run.microseconds > 0 && !run.nodes.empty() && sample.nodes.size() == run.nodes.size()) samples_.push_back(std::move(sample));
  }

  void fit() {
    std::vector<NodeGuess> guesses;
    for (const DeviceCosts::Node& node : out_.nodes) guesses.push_back({std::max(node.microseconds, 0.0), spread_of(node.source)});
    const RunFit fitted = fit_runs(guesses, samples_);
    if (!sensible(fitted)) {
      out_.fit = "measured subgraphs tell nothing of launches and cuts: their times are beyond all sense";
      return;
    }
    std::vector<bool> measured(out_.nodes.size(), false);
    for (const RunSample& s : samples_)
      for (uint32_t n : s.nodes) measured[n] = true;
    for (size_t n = 0; n < out_.nodes.size(); ++n)
      if (measured[n] && guesses[n].spread > 0) out_.nodes[n] = {fitted.nodes[n], "fit"};
    out_.launch_us = fitted.launch_us;
    out_.us_per_byte_in = fitted.us_per_byte_in;
    out_.us_per_byte_out = fitted.us_per_byte_out;
    const auto per_mib = [](double us_per_byte) { return human_time(us_per_byte * (1 << 20)); };
    out_.fit = cat("fitted to ", samples_.size(), " measured subgraphs: ", human_time(fitted.launch_us), " to start one, ",
                   per_mib(fitted.us_per_byte_in), " for each MiB that comes in from another and ", per_mib(fitted.us_per_byte_out),
                   " that goes out; off by ", static_cast<int>(std::min(1e9, fitted.off * 100 + 0.5)), " % on average");
  }

  std::unordered_map<std::string_view, uint32_t> index_;  // looked up only
  std::vector<size_t> inside_;  // by node: nodes of the subgraph in which its time was measured
  std::vector<RunSample> samples_;
  DeviceCosts out_;
};

}  // namespace

DeviceCosts device_costs(const std::vector<const MeasuredDevice*>& measured, const std::vector<std::string_view>& names) {
  Gatherer gatherer(names);
  for (const MeasuredDevice* device : measured) gatherer.add(*device);
  return gatherer.run();
}

}  // namespace optima
