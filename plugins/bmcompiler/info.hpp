// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: who it is and what it can do. Knows no tools.
#pragma once

#include "table.hpp"

namespace bmcompiler_plugin {

inline constexpr std::string_view kFormatId = "sophon.bmodel/1";  ///< artifact.hpp's kFormat: the manifest's program is C++17

/// Virtual: files are made where there is none. In a quantized model every tensor is to be codes: what is not computes in floats at a small
/// part of the rate, and bm1684 takes no others beside them.
inline constexpr sdk::DeviceKind kDevices[] = {{"TPU", "tpu", true, true}};

inline constexpr sdk::OptionSpec kOptions[] = {
    {"bmcompiler.chip", "string", "compile", "bm1684x", "chip that files are made for: bm1684x, bm1684, bm1688, bm1690, cv186x, cv183x, bm1682", true},
    {"bmcompiler.precision", "enum", "compile", "auto", "what floats are computed in; auto = f32, or the best that the chip has", true, "auto f32 f16 bf16"},
    {"bmcompiler.batches", "list", "compile", "[]", "sizes of an open batch that one file is made for, comma between; empty = none: sizes are fixed", true},
    {"bmcompiler.time_limit", "int", "compile", "900", "seconds that one call of the tools may take; 0 = no limit", false, "", 0, 86400},
    {"bmcompiler.memory_limit", "int", "compile", "0", "MiB of address space that one process of the tools may have; 0 = no limit", false, "", 0, 1048576},
    {"bmcompiler.root", "path", "init", "", "folder of the tools (bin/tpuc-opt); empty = TPUC_ROOT, OPTIMA_SOPHON, then where scripts/setup puts them", true},
    {"bmcompiler.bmnet", "path", "init", "", "folder of SOPHON's earlier SDK with bmneto, for bm1682; empty = REL_TOP", true},
    {"bmcompiler.run_time_limit", "int", "load", "900", "seconds that loading and each run may take; 0 = no limit", false, "", 0, 86400},
    {"bmcompiler.run_memory_limit", "int", "load", "0", "MiB of address space that a process which runs it may have; 0 = no limit", false, "", 0, 1048576},
    {"bmcompiler.runtime", "path", "load", "", "folder of the driver's libraries; empty = where SOPHON's packages put them, else the tools' emulator", false},
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "bmcompiler", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.operators = kOperators;
  i.options = kOptions;
  i.formats = kFormatId;
  i.priority = -20;
  i.only_when_named = true;  // here an emulator runs it: it must not win over a processor that is there
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace bmcompiler_plugin
