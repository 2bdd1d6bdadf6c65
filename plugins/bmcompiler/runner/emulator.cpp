// SPDX-License-Identifier: Apache-2.0
#include "emulator.hpp"

namespace bmcompiler_plugin {

std::string_view kind_of(Runner runner) { return runner == Runner::Bmrt ? "bmrt" : runner == Runner::Tpuv7 ? "tpuv7" : "cvi"; }

std::vector<std::pair<std::string, std::string>> libraries_of(const Chip& chip) {
  const auto named = [](std::initializer_list<std::string_view> names) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const std::string_view name : names) out.emplace_back(name, name);
    return out;
  };
  switch (chip.runner) {
    case Runner::Bmrt: {
      auto out = named({"libbmlib.so.0", "libbmrt.so.1.0"});
      out.emplace_back(chip.emulator, "libcmodel.so");
      return out;
    }
    case Runner::Tpuv7:
      return named({"libtpuv7_rt.so", "libtpuv7_modelrt.so", "libcdm_daemon_emulator.so", "libtpuv7_scalar_emulator.so", chip.emulator, "libdnnl.so.3", "libgomp.so.1", "libomp.so.5"});
    case Runner::Cvi: return named({"libcviruntime.so", "libcvikernel.so", chip.emulator});
  }
  return {};
}

std::vector<std::string> environment_of(const Chip& chip, const std::string& folder, bool emulated) {
  std::vector<std::string> out{"LD_LIBRARY_PATH=" + folder};
  if (emulated && chip.runner == Runner::Tpuv7) {
    out.push_back("TPU_EMULATOR_PATH=" + folder + "/" + std::string(chip.emulator));
    out.push_back("TPU_SCALAR_EMULATOR_PATH=" + folder + "/libtpuv7_scalar_emulator.so");
    out.push_back("TPU_SCALAER_EMULATOR_WORKDIR=" + folder);  // spelled so in the library
  }
  return out;
}

}  // namespace bmcompiler_plugin
