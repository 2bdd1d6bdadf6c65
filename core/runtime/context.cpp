// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/context.hpp"

#include "core/runtime/worker_pool.hpp"

namespace optima {

Status PluginSource::add_folder(const std::string&) { return usage_error("this context takes no plugin folders"); }

RuntimeContext::RuntimeContext(std::unique_ptr<PluginSource> plugins, uint32_t workers)
    : plugins_(std::move(plugins)), pool_(std::make_unique<WorkerPool>(workers)) {}
RuntimeContext::~RuntimeContext() = default;

}  // namespace optima
