// SPDX-License-Identifier: Apache-2.0
// bench: splitting by time alone, on random DAGs of 1e3 to 1e6 units on two devices and 1e3 to 1e4 on three. Prints time, gap to the
// bound, gain over the best single device and over the plan with the fewest parts, and peak memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/split/cost_split.hpp"

namespace {

using optima::CostTable;
using optima::SplitProblem;

// Two producers per unit on average within the last `window` units; one unit in ten insists on one device.
SplitProblem random_problem(uint32_t units, uint32_t devices, uint32_t window, std::mt19937_64& random) {
  SplitProblem p;
  p.devices = devices;
  std::vector<std::vector<uint32_t>> readers(units);
  for (uint32_t u = 0; u < units; ++u) {
    p.allow.push_back(random() % 10 ? (uint64_t{1} << devices) - 1 : uint64_t{1} << random() % devices);
    p.bytes.push_back(1 + random() % 400000);
    for (int k = 0; u > 0 && k < 2; ++k) {
      const uint32_t from = u - 1 - static_cast<uint32_t>(random() % std::min(window, u));
      if (readers[from].empty() || readers[from].back() != u) readers[from].push_back(u);
    }
  }
  p.first_reader.push_back(0);
  for (uint32_t u = 0; u <= units; ++u) p.first_tensor.push_back(u);
  for (const auto& list : readers) {
    p.readers.insert(p.readers.end(), list.begin(), list.end());
    p.first_reader.push_back(static_cast<uint32_t>(p.readers.size()));
  }
  return p;
}

// Each device is fastest at some units; 20 us and 10 GB/s between devices, 5 us a launch.
CostTable random_costs(uint32_t units, uint32_t devices, std::mt19937_64& random) {
  CostTable c;
  for (uint32_t i = 0; i < units * devices; ++i) c.compute.push_back(1 + static_cast<double>(random() % 1000) / 10);
  c.launch.assign(devices, 5);
  c.latency.assign(devices * devices, 20);
  c.per_byte.assign(devices * devices, 1e-4);
  return c;
}

void measure(uint32_t units, uint32_t devices, uint32_t window) {
  std::mt19937_64 random(units + devices * 31);
  const SplitProblem p = random_problem(units, devices, window, random);
  const CostTable c = random_costs(units, devices, random);
  const auto start = std::chrono::steady_clock::now();
  const optima::CostSplit s = optima::split_by_cost(p, c);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const optima::Split fewest = optima::split(p);
  std::vector<uint32_t> device;
  for (uint32_t part : fewest.part) device.push_back(fewest.devices[part]);
  const double one = *std::min_element(s.one_device.begin(), s.one_device.end()), found = s.time.total();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%9u %3u %10.1f %9zu %12.0f %7.2f %% %9.3f %9.3f %8ld\n", units, devices, took.count(), s.devices.size(), found,
              100 * (found / s.bound - 1), one / found, optima::time_of(p, c, device).total() / found, usage.ru_maxrss / 1024);
}

}  // namespace

// cost_bench [UNITS DEVICES]: one problem only, as for counting instructions with callgrind.
int main(int count, char** words) {
  std::printf("    units   k    time ms     parts      plan us       gap  one dev./  fewest/ peak MiB\n");
  if (count == 3) {
    measure(static_cast<uint32_t>(std::atoi(words[1])), static_cast<uint32_t>(std::atoi(words[2])), 32);
    return 0;
  }
  for (uint32_t units = 1000; units <= 1000000; units *= 10) measure(units, 2, 32);
  for (uint32_t units = 1000; units <= 10000; units *= 10) measure(units, 3, 32);
}
