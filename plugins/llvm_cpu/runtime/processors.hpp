// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: how many threads are worth starting on this machine, for this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optima/plugin/host.hpp"

namespace optima::llvm_cpu {

/// Numbers of the processors the process may run on (its affinity mask); {0} when the system does not tell.
std::vector<int> allowed_processors();

/// Processors among `allowed` that share no core with another one of them, limited by the CPU quota of the process's control groups
/// (version 1 or 2, all levels; parts of a processor count as none). At least 1. Files are read below `root` ("" = the system's own).
int useful_processors(const std::vector<int>& allowed, const std::string& root = "");

/// How many of `allowed` are in a bit set of processors, of which 0 names all.
int count_of(uint64_t cores, const std::vector<int>& allowed);

/// What a context runs on: a bit set of processors (0 = all), and as many threads as it is worth.
struct ContextCores {
  uint64_t cores;
  int threads;
};
/// By OPTIMA_OPTION_CORES, of a program of so many threads. Throws sdk::Error(OPTIMA_INVALID_ARGUMENT) where the process may run on none of them.
ContextCores context_cores(const sdk::Options& options, int threads);

/// No team is larger.
constexpr int kMostThreads = 64;
/// Threads for a wish: 0 or less = `useful` ones. Never more than kMostThreads.
int thread_count(int64_t wanted, int useful);

}  // namespace optima::llvm_cpu
