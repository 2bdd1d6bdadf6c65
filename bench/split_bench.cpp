// SPDX-License-Identifier: Apache-2.0
// bench: the splitter alone on random DAGs of 1e3 to 1e6 units. Prints time, parts, proven minimum and peak memory.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/placement/split.hpp"

namespace {

using optima::SplitProblem;

// Two producers per unit on average, within the last `window` units (0 = anywhere before). `host_percent` of the units insist
// on the last device, the others take one accelerator or the last device.
SplitProblem random_problem(uint32_t units, uint32_t devices, uint32_t window, uint32_t host_percent) {
  std::mt19937_64 random(units + devices * 31 + window);
  SplitProblem p;
  p.devices = devices;
  std::vector<std::vector<uint32_t>> readers(units);
  for (uint32_t u = 0; u < units; ++u) {
    const uint64_t host = uint64_t{1} << (devices - 1), other = uint64_t{1} << (random() % (devices - 1));
    p.allow.push_back(random() % 100 < host_percent ? host : other);
    p.bytes.push_back(1 + random() % 4096);
    for (int k = 0; u > 0 && k < 2; ++k) {
      const uint32_t reach = window && window < u ? window : u, from = u - 1 - static_cast<uint32_t>(random() % reach);
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

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void measure(uint32_t units, uint32_t devices, uint32_t window) {
  const SplitProblem p = random_problem(units, devices, window, 5);
  const auto start = std::chrono::steady_clock::now();
  const optima::Split s = optima::split(p);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("%9u %3u %8u %10.1f %9zu %9u %14llu %8ld\n", units, devices, window, took.count(), s.devices.size(), s.lower_bound,
              static_cast<unsigned long long>(s.bytes), peak_kib() / 1024);
}

}  // namespace

int main() {
  std::printf("    units   k   window    time ms     parts     bound          bytes peak MiB\n");
  for (uint32_t units = 1000; units <= 1000000; units *= 10)
    for (uint32_t window : {32u, 1000u, 0u}) measure(units, 2, window);
  for (uint32_t units = 1000; units <= 100000; units *= 10) measure(units, 4, 1000);
}
