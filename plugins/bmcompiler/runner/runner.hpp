// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/runner: a bmodel that runs in a process of its own, on a device or on the emulator of its chip. The emulator opens its
// library by a fixed name and aborts on faults: one chip and one model per process. The program is optima_bmcompiler_runner, beside the plugin.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/bmcompiler/chip.hpp"
#include "optima/plugin/plugin.hpp"

namespace bmcompiler_plugin {

namespace sdk = optima::sdk;

/// What a process is started with.
struct Opening {
  std::string program;         ///< optima_bmcompiler_runner's path
  std::string libraries;       ///< folder with the chip's runtime: the tools' lib for the emulator, the driver's on a device
  bool emulated = true;
  uint32_t device = 0;         ///< number of the device
  const Chip* chip = nullptr;
  std::string model;           ///< file
  std::string work;            ///< a private folder, of the caller: links for the emulator, memory that both see
  std::string log;             ///< takes all that it prints
  std::chrono::milliseconds time_limit{0};  ///< of opening and of each run; 0 = none
  uint64_t memory_limit = 0;   ///< bytes of address space; 0 = none
};

/// A tensor as the file has it, dense, in host memory.
struct Plane {
  std::string name;
  int32_t dtype;
  std::vector<int64_t> dims;
  void* data;                  ///< of an output: where it goes
};

/// One call at a time. A process that died is started anew at the next run.
class Running {
 public:
  virtual ~Running() = default;
  /// `net` empty = the only one. Throws CANCELLED, TIMEOUT, TOOL_FAILED with the runtime's last words, INVALID_ARGUMENT for shapes that the
  /// model was not compiled for.
  virtual void run(const std::string& net, const std::vector<Plane>& inputs, const std::vector<Plane>& outputs, const sdk::RunControl* stop) = 0;
};
/// Starts it and loads the model. Throws DEPENDENCY for a runtime that is not there, TOOL_FAILED for a model that it does not take, CANCELLED.
/// `cancelled`: asked while this call lasts.
std::unique_ptr<Running> open_model(const Opening& what, const std::function<bool()>& cancelled = {});
/// The chips of the devices that the runtime of `what` (without a model) finds, by name; "" for one that is not known. Throws as open_model().
std::vector<std::string> device_chips(const Opening& what);

}  // namespace bmcompiler_plugin
