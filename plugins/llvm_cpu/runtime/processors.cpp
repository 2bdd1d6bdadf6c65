// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see processors.hpp. Files are those of Linux: Documentation/admin-guide/cputopology.rst, cgroup-v1, cgroup-v2.
#include "plugins/llvm_cpu/runtime/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

#include "optima/plugin/error.hpp"

namespace optima::llvm_cpu {
namespace {

/// The first line; empty when there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Whole processors of a quota in microseconds per period; 0 = no limit.
int64_t whole(int64_t quota, int64_t period) { return quota > 0 && period > 0 ? std::max<int64_t>(1, quota / period) : 0; }

/// "max 100000" or "150000 100000".
int64_t limit_v2(const std::string& group) {
  std::istringstream in(line_of(group + "/cpu.max"));
  int64_t quota = 0, period = 0;
  return in >> quota >> period ? whole(quota, period) : 0;
}

int64_t limit_v1(const std::string& group) {
  std::istringstream in(line_of(group + "/cpu.cfs_quota_us") + " " + line_of(group + "/cpu.cfs_period_us"));
  int64_t quota = 0, period = 0;
  return in >> quota >> period ? whole(quota, period) : 0;
}

/// The least limit of a group and all above it. Inside a container the path may name a group of the machine that is not to be seen;
/// then what is mounted counts alone.
int64_t least_limit(const std::string& mount, std::string path, int64_t (*limit)(const std::string&)) {
  int64_t least = 0;
  for (;;) {
    if (const int64_t here = limit(mount + path)) least = least ? std::min(least, here) : here;
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return least;
    path.resize(slash);
  }
}

/// 0 = none. Lines of /proc/self/cgroup are "number:controllers:path"; version 2 has number 0 and no controllers.
int64_t quota_of_groups(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  int64_t least = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    int64_t limit = 0;
    if (controllers.empty()) limit = least_limit(root + "/sys/fs/cgroup", path, limit_v2);
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      for (const std::string& mount : {controllers, std::string("cpu")})
        if (!limit) limit = least_limit(root + "/sys/fs/cgroup/" + mount, path, limit_v1);
    if (limit) least = least ? std::min(least, limit) : limit;
  }
  return least;
}

int cores_of(const std::vector<int>& allowed, const std::string& root) {
  std::set<std::string> cores;
  for (const int p : allowed) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(p) + "/topology/", siblings = line_of(folder + "thread_siblings_list");
    cores.insert(siblings.empty() ? "processor " + std::to_string(p) : siblings);
  }
  return static_cast<int>(cores.size());
}

}  // namespace

std::vector<int> allowed_processors() {
  for (int room = 1024; room <= 1 << 20; room *= 2) {  // the kernel wants a mask as wide as its own
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(room));
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(room));
    CPU_ZERO_S(bytes, set);
    const bool known = sched_getaffinity(0, bytes, set) == 0, narrow = !known && errno == EINVAL;
    std::vector<int> out;
    for (int p = 0; known && p < room; ++p)
      if (CPU_ISSET_S(static_cast<size_t>(p), bytes, set)) out.push_back(p);
    CPU_FREE(set);
    if (!out.empty()) return out;
    if (!narrow) break;
  }
  return {0};
}

int useful_processors(const std::vector<int>& allowed, const std::string& root) {
  const int cores = std::max(1, cores_of(allowed, root));
  const int64_t quota = quota_of_groups(root);
  return quota ? static_cast<int>(std::min<int64_t>(cores, quota)) : cores;
}

int count_of(uint64_t cores, const std::vector<int>& allowed) {
  return static_cast<int>(std::count_if(allowed.begin(), allowed.end(), [&](int p) { return cores == 0 || (p < 64 && (cores >> p & 1)); }));
}

ContextCores context_cores(const sdk::Options& options, int threads) {
  const auto cores = static_cast<uint64_t>(options.integer(OPTIMA_OPTION_CORES, 0));
  if (cores == 0) return {0, threads};
  const int usable = count_of(cores, allowed_processors());
  if (usable == 0) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, OPTIMA_OPTION_CORES " names no processor that this process may run on");
  return {cores, std::min(threads, usable)};
}

int thread_count(int64_t wanted, int useful) { return static_cast<int>(std::clamp<int64_t>(wanted > 0 ? wanted : useful, 1, kMostThreads)); }

}  // namespace optima::llvm_cpu
