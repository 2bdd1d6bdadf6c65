// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: see apart.hpp.
#include "plugins/llvm_cpu/runtime/apart.hpp"

#include <pthread.h>

namespace optima::llvm_cpu {
namespace {

bool read_mask(std::thread& of, cpu_set_t& mask) { return pthread_getaffinity_np(of.native_handle(), sizeof mask, &mask) == 0; }
void write_mask(std::thread& of, const cpu_set_t& mask) { (void)pthread_setaffinity_np(of.native_handle(), sizeof mask, &mask); }

cpu_set_t set_of(uint64_t cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (size_t p = 0; p < 64; ++p)
    if (cores >> p & 1) CPU_SET(p, &set);
  return set;
}

}  // namespace

void Apart::begin(std::vector<std::thread>& helpers, uint64_t cores) {
  if (cores != 0)
    for (std::thread& t : helpers) write_mask(t, set_of(cores));
  CPU_ZERO(&given_);  // no helper has it: the first look takes what there is
}

void Apart::leave(std::vector<std::thread>& helpers) {
  off_ = sched_getcpu();
  cpu_set_t now;
  if (off_ < 0 || off_ >= CPU_SETSIZE || helpers.empty() || !read_mask(helpers.front(), now)) return;
  if (!CPU_EQUAL(&now, &given_)) allowed_ = now;
  cpu_set_t next = allowed_;
  CPU_CLR(static_cast<size_t>(off_), &next);
  if (static_cast<size_t>(CPU_COUNT(&next)) < helpers.size()) next = allowed_;
  if (!CPU_EQUAL(&now, &next))
    for (std::thread& t : helpers) write_mask(t, next);
  given_ = next;
}

}  // namespace optima::llvm_cpu
