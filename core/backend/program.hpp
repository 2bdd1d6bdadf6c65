// SPDX-License-Identifier: Apache-2.0
// core/backend: a loaded artifact and its execution.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/support/status.hpp"
#include "optima/abi.h"
#include "optima/ext/async.h"

namespace optima {

/// What happened in an execution, as the plugin tells it.
struct PluginEvent {
  uint32_t node = OPTIMA_NONE;  ///< node id
  std::string name;
  uint64_t start_ns = 0, duration_ns = 0;  ///< CLOCK_MONOTONIC
  uint32_t track = 0;                      ///< thread or queue number
};

struct Binding {
  uint32_t direction = OPTIMA_INPUT;
  std::string name;
  int32_t dtype = OPTIMA_UNDEFINED;
  std::vector<int64_t> shape;  ///< -1 = not known before execute
  bool unranked = false;
  uint64_t min_size = 0;       ///< bytes
  uint32_t alignment = 64;     ///< bytes, a power of two
  uint64_t mem_kinds = 1;      ///< bit set over OPTIMA_MEM_*: where its tensor may lie; HOST is always among them
  uint32_t alias = OPTIMA_NONE;  ///< of an output: position among the inputs of the one in whose buffer it lives
};

/// What may end an execution before it is done.
struct RunControl {
  uint64_t deadline_ns = 0;                        ///< CLOCK_MONOTONIC; 0 = none
  const std::atomic<bool>* cancelled = nullptr;    ///< null = nobody does
};

/// One stream of work on a program: one call at a time; different contexts in parallel.
class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;
  /// Tensors in the order of the bindings, struct_size set; allocation-free on the way to the plugin.
  virtual Status execute(std::span<const optima_tensor> inputs, std::span<optima_tensor> outputs) = 0;
  /// The same, with the control handed on to a backend that can be stopped inside an execution; any other runs to its end.
  /// Cancelled or Timeout when it stopped.
  virtual Status execute_within(std::span<const optima_tensor> inputs, std::span<optima_tensor> outputs, const RunControl& /*control*/) {
    return execute(inputs, outputs);
  }
  /// Forgets what executions left in the context; nothing to do for a backend whose contexts keep nothing.
  virtual Status reset() { return {}; }
  /// Shapes of the outputs for these inputs; dims -1 where they depend on data, a single -2 where the rank does.
  virtual Result<std::vector<std::vector<int64_t>>> output_shapes(std::span<const optima_tensor> inputs) = 0;

  /// optima.async/1. submit() returns at once; tensors and shapes must live until `signal` is reached or poisoned, which
  /// happens exactly once after OK. Plugin error when not offered. The fences are those of HostServices::extension.
  virtual bool has_async() const { return false; }
  virtual Status submit(std::span<const optima_tensor> /*inputs*/, std::span<optima_tensor> /*outputs*/,
                        std::span<const optima_fence_point> /*waits*/, optima_fence_point /*signal*/) {
    return plugin_error("no optima.async/1");
  }
  /// Any thread: poisons what has not started.
  virtual Status cancel() { return plugin_error("no optima.async/1"); }

  /// optima.profile/1: events since the last read; Plugin error when not offered.
  virtual bool has_profile() const { return false; }
  virtual Status set_profiling(bool /*on*/) { return plugin_error("no optima.profile/1"); }
  virtual Result<std::vector<PluginEvent>> read_profile() { return plugin_error("no optima.profile/1"); }
};

class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  /// Inputs in order, then outputs in order.
  virtual const std::vector<Binding>& bindings() const = 0;
  /// Contexts keep their program, a program keeps its plugin: any may be dropped first.
  virtual Result<std::unique_ptr<ExecutionContext>> create_context() = 0;
};

}  // namespace optima
