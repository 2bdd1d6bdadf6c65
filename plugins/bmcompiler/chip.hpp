// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: the chips that files can be made for. Sources: the tools' own list of processors (tpuc-opt --help) and what each
// compiled on the version that scripts/setup installs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bmcompiler_plugin {

/// What runs a chip's files, on a device and on this machine's emulator.
enum class Runner {
  Bmrt,   ///< libbmlib and libbmrt; the emulator is a libcmodel_<chip>.so in the driver's place
  Tpuv7,  ///< libtpuv7_rt and libtpuv7_modelrt
  Cvi,    ///< libcviruntime: .cvimodel files
};

struct Chip {
  std::string_view name;      ///< "bm1684x", as the tools take it
  std::string_view in_files;  ///< "BM1684X", as a bmodel names it
  std::string_view modes;     ///< of F32 F16 BF16 INT8, space between: what floats and codes can be computed in
  Runner runner;
  std::string_view emulator;  ///< library in the tools' folder lib; empty = none
  std::string_view suffix = ".bmodel";
  bool symmetric_only = false;  ///< codes have no zero points

  bool has_mode(std::string_view mode) const;
  /// Only SOPHON's earlier tools (toolchain/bmneto.hpp) make its files.
  bool is_of_bmnet() const { return name == "bm1682"; }
  bool is_emulated_bmodel() const { return !emulator.empty() && suffix == ".bmodel"; }
};

/// Null when there is none of that name.
const Chip* find_chip(std::string_view name);
/// The chip whose bmodels an emulator runs, by its name in them; null for others.
const Chip* find_emulated(std::string_view in_files);
/// "BM1684X, BM1684, …", for messages.
std::string emulated_names();
/// "bm1684x, bm1684, …", for messages.
std::string chip_names();
/// Of any case. INVALID_ARGUMENT names the word, the nearest name and all of them.
const Chip& parse_chip(std::string_view name);

}  // namespace bmcompiler_plugin
