// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/context.hpp"

#include <unistd.h>

#include "core/runtime/worker_pool.hpp"

namespace optima {

Status PluginSource::add_folder(const std::string&) { return usage_error("this context takes no plugin folders"); }

RuntimeContext::RuntimeContext(std::unique_ptr<PluginSource> plugins, uint32_t workers)
    : plugins_(std::move(plugins)), pool_(std::make_unique<WorkerPool>(workers)), process_(::getpid()) {}

// In a fork the pool's threads are not there to be joined, and its condition would wait for those that waited.
RuntimeContext::~RuntimeContext() {
  if (is_forked()) (void)pool_.release();
}

bool RuntimeContext::is_forked() const { return process_ != ::getpid(); }

}  // namespace optima
