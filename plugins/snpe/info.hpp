// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: who it is and what it can do. Knows no tools.
#pragma once

#include "table.hpp"

namespace snpe_plugin {

inline constexpr std::string_view kFormatId = "snpe.dlc/1";  ///< artifact.hpp's kFormat: the manifest's program is C++17

/// HEXAGON is virtual: files for it are made where there is none. An ADRENO or SNPE_CPU is only compiled for through a SDK.
inline constexpr sdk::DeviceKind kDevices[] = {{"HEXAGON", "npu", true, true}, {"ADRENO", "gpu", true}, {"SNPE_CPU", "cpu", true}};

inline constexpr sdk::OptionSpec kOptions[] = {
    {"snpe.soc", "list", "compile", "[\"sm8550\"]", "chips that HEXAGON files are made for, comma between; checks are for the first", true},
    {"snpe.precision", "enum", "compile", "fp16", "what float operators are computed in; fp32 where the device can", true, "fp16 fp32"},
    {"snpe.time_limit", "int", "compile", "900", "seconds that one call of the tools may take; 0 = no limit", false, "", 0, 86400},
    {"snpe.memory_limit", "int", "compile", "0", "MiB of address space that one process of the tools may have; 0 = no limit", false, "", 0, 1048576},
    {"snpe.route", "enum", "init", "auto", "tools to use: the wheels, a SDK, or auto = a SDK that is named, else the wheels", true, "auto wheels sdk"},
    {"snpe.root", "path", "init", "", "folder of a SNPE or QAIRT SDK; empty = SNPE_ROOT, then QAIRT_SDK_ROOT", true},
    {"snpe.wheels", "path", "init", "", "Python environment that holds onnxruntime and onnxruntime-qnn; empty = OPTIMA_QUALCOMM, then where scripts/setup puts it", true},
    {"snpe.run_soc", "string", "load", "", "chip to run for; empty = the device's, else the first that the artifact has", false},
    {"snpe.run_time_limit", "int", "load", "900", "seconds that loading and each run may take; 0 = no limit", false, "", 0, 86400},
    {"snpe.run_memory_limit", "int", "load", "0", "MiB of address space that a process which runs it may have; 0 = no limit", false, "", 0, 1048576},
    {"snpe.performance", "enum", "load", "high_performance", "SDK: what the processor's clocks are set for", false,
     "balanced high_performance power_saver system_settings sustained_high_performance burst low_power_saver high_power_saver low_balanced extreme_power_saver"},
    {"snpe.fallback", "bool", "load", "false", "SDK: let the CPU run it where the device is not there", false},
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "snpe", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.operators = kOperators;
  i.options = kOptions;
  i.formats = kFormatId;
  i.priority = -20;
  i.only_when_named = true;  // here an emulator runs it: it must not win over a processor that is there
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace snpe_plugin
