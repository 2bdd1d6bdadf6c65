// SPDX-License-Identifier: Apache-2.0
// bench: the splitter on one graph written by bench/partition_race/graphs.py: split_graph IN OUT. Prints milliseconds of CPU of split()
// alone, MiB it took at its peak above what was there before, parts, proven minimum and crossing bytes; writes the part of every node (u32) to OUT.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "core/split/split.hpp"

namespace {

template <class T>
std::vector<T> numbers(std::ifstream& in, size_t count) {
  std::vector<T> out(count);
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return out;
}

// Little-endian: nodes, tensors, readers (u32); supported (u8 a node); first_tensor, first_reader, readers (u32); bytes (u64 a tensor).
optima::SplitProblem read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<uint32_t> counts = numbers<uint32_t>(in, 3);
  optima::SplitProblem p;
  p.devices = 2;
  for (const uint8_t supported : numbers<uint8_t>(in, counts[0])) p.allow.push_back(supported ? 1 : 2);
  p.first_tensor = numbers<uint32_t>(in, counts[0] + 1);
  p.first_reader = numbers<uint32_t>(in, counts[1] + 1);
  p.readers = numbers<uint32_t>(in, counts[2]);
  p.bytes = numbers<uint64_t>(in, counts[1]);
  if (!in || !p.well_formed()) {
    std::fprintf(stderr, "split_graph: '%s' is no graph of graphs.py\n", path);
    std::exit(3);
  }
  return p;
}

// KiB; `key` as in /proc/self/status.
long memory(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == key) {
      long kib = 0;
      in >> kib;
      return kib;
    }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return std::fprintf(stderr, "usage: split_graph IN OUT\n"), 2;
  const optima::SplitProblem problem = read(words[1]);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak counts from here on: proc(5)
  const long before = memory("VmRSS:");
  const std::clock_t start = std::clock();
  const optima::Split s = optima::split(problem);
  const double ms = static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
  std::printf("%.3f %.1f %zu %u %llu\n", ms, static_cast<double>(memory("VmHWM:") - before) / 1024, s.devices.size(), s.lower_bound,
              static_cast<unsigned long long>(s.bytes));
  std::ofstream(words[2], std::ios::binary).write(reinterpret_cast<const char*>(s.part.data()), static_cast<std::streamsize>(s.part.size() * 4));
}
