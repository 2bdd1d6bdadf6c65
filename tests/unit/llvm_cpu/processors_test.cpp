// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: how many threads a machine is worth, from files of machines that are not here.
#include "plugins/llvm_cpu/runtime/processors.hpp"

#include <doctest/doctest.h>

#include "tests/support/temp_folder.hpp"

using namespace optima::llvm_cpu;
using optima::test::TempFolder;

namespace {

/// Processors 0 .. n - 1, two of them a core when `threads` is 2, numbered as Linux does: 0 and n / 2 are one core.
void add_cores(const TempFolder& root, int n, int threads) {
  for (int p = 0; p < n; ++p) {
    const std::string siblings = threads == 2 ? std::to_string(p % (n / 2)) + "," + std::to_string(p % (n / 2) + n / 2) : std::to_string(p);
    root.file("sys/devices/system/cpu/cpu" + std::to_string(p) + "/topology/thread_siblings_list", siblings + "\n");
  }
}

std::vector<int> first(int n) {
  std::vector<int> out;
  for (int p = 0; p < n; ++p) out.push_back(p);
  return out;
}

}  // namespace

TEST_CASE("two threads of one core count once, and one of them alone counts, too") {
  const TempFolder root;
  add_cores(root, 16, 2);
  CHECK(useful_processors(first(16), root.path()) == 8);
  CHECK(useful_processors({3, 11}, root.path()) == 1);
  CHECK(useful_processors({3, 12}, root.path()) == 2);
  CHECK(useful_processors({9}, root.path()) == 1);
}

TEST_CASE("a machine that tells nothing of its cores has as many as it has processors") {
  const TempFolder root;
  CHECK(useful_processors(first(6), root.path()) == 6);
  CHECK(useful_processors({}, root.path()) == 1);
}

TEST_CASE("the quota of a control group of version 2 limits, on every level") {
  const TempFolder root;
  root.file("proc/self/cgroup", "0::/pod/box\n");
  root.file("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
  CHECK(useful_processors(first(8), root.path()) == 8);
  root.file("sys/fs/cgroup/pod/cpu.max", "350000 100000\n");
  CHECK(useful_processors(first(8), root.path()) == 3);
  root.file("sys/fs/cgroup/pod/box/cpu.max", "50000 100000\n");
  CHECK(useful_processors(first(8), root.path()) == 1);
  CHECK(useful_processors(first(1), root.path()) == 1);
}

TEST_CASE("the quota of a control group of version 1 limits, also where only its mount is to be seen") {
  const TempFolder root;
  root.file("proc/self/cgroup", "9:memory:/x\n4:cpu,cpuacct:/docker/1234\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/docker/1234/cpu.cfs_quota_us", "-1\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/docker/1234/cpu.cfs_period_us", "100000\n");
  CHECK(useful_processors(first(8), root.path()) == 8);
  const TempFolder inside;
  inside.file("proc/self/cgroup", "4:cpuacct,cpu:/docker/1234\n");
  inside.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  inside.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(useful_processors(first(8), inside.path()) == 2);
}

TEST_CASE("damaged files of the system limit nothing") {
  const TempFolder root;
  root.file("proc/self/cgroup", "nonsense\n0:\n0::\n:::\n0::/a/../..\n");
  root.file("sys/fs/cgroup/cpu.max", "lots of them");
  CHECK(useful_processors(first(4), root.path()) == 4);
  root.file("sys/fs/cgroup/cpu.max", "100000 0");
  CHECK(useful_processors(first(4), root.path()) == 4);
}

TEST_CASE("a wish for threads and none at all have the same upper limit") {
  CHECK(thread_count(0, 128) == kMostThreads);
  CHECK(thread_count(100000, 2) == kMostThreads);
  CHECK(thread_count(-1, 3) == 3);
  CHECK(thread_count(5, 2) == 5);
}

TEST_CASE("this process may run somewhere") { CHECK(useful_processors(allowed_processors()) >= 1); }

TEST_CASE("a bit set of processors counts those of it that may be used; an empty one names all") {
  CHECK(count_of(0, {0, 1, 70}) == 3);
  CHECK(count_of(0b110, {0, 1, 70}) == 1);
  CHECK(count_of(~uint64_t{0}, {0, 63, 64}) == 2);
  CHECK(count_of(0b100, {0, 1}) == 0);
}
