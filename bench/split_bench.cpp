// SPDX-License-Identifier: Apache-2.0
// bench: the splitter alone on families of random graphs. Each row is measured in a process of its own: time of split(), parts, proven
// minimum, crossing bytes, peak memory of the process (graph and builder included). `split_bench quick` stops at 1e5 units.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string_view>

#include "tests/support/split_families.hpp"

namespace {

using namespace optima::test;

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void measure(const Family& family, uint32_t units, uint32_t devices) {
  Random random(units + devices);
  const optima::SplitProblem p = family.make(random, units, devices).build(devices);
  const auto start = std::chrono::steady_clock::now();
  const optima::Split s = optima::split(p);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("%-15s %8u %2u %9.1f %8zu %8u %15llu %6ld\n", family.name, p.units(), devices, took.count(), s.devices.size(), s.lower_bound,
              static_cast<unsigned long long>(s.bytes), peak_mib());
}

void measure_apart(const Family& family, uint32_t units, uint32_t devices) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    measure(family, units, devices);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) std::printf("%-15s %8u %2u failed\n", family.name, units, devices);
}

bool is_one_of(const Family& family, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (name == family.name) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "quick";
  std::printf("%-15s %8s %2s %9s %8s %8s %15s %6s\n", "family", "units", "k", "ms", "parts", "bound", "bytes", "MiB");
  for (const Family& family : kFamilies) {
    if (!is_one_of(family, {"window", "global", "layered", "series-parallel", "chain-skip", "shared-sources", "few-pins"})) continue;
    for (uint32_t units = 1000; units <= (quick ? 100000u : 1000000u); units *= 10) measure_apart(family, units, 2);
    for (uint32_t devices : {3u, 4u})
      for (uint32_t units = 1000; units <= 100000; units *= 10) measure_apart(family, units, devices);
  }
}
