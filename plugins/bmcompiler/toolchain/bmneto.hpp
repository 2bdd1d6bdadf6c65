// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/toolchain: SOPHON's earlier compiler, which alone makes files for BM1682: bmneto, of the BMNNSDK. It cannot be had without
// SOPHON's account, so nothing here has met one: flags and files are those that sophon-ai-algo/sophon-inference (modules/auto_split and its
// documents) states, and what those do not state is marked [U] where it is used.
#pragma once

#include <optional>

#include "toolchain/tools.hpp"

namespace bmcompiler_plugin {

struct Bmneto {
  std::string root;    ///< folder of the SDK
  std::string python;  ///< that has the module, absolute
};

/// What of the SDK is in the folder of option bmcompiler.bmnet (`named`), else of REL_TOP. Nothing, with `why` naming what is missing: a
/// folder that is named, that is there, a Python whose module bmneto loads. Starts one process.
std::optional<Bmneto> find_bmneto(const std::string& named, std::string& why);

struct BmnetoJob {
  std::string model = "model.onnx";  ///< a file in Bounds::work
  struct Input {
    std::string name;
    std::vector<int64_t> dims;
  };
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
  std::string net_name = "net";
  std::string target = "BM1682";
  bool dynamic = false, compare = false;  ///< compare: also writes input_ref_data.dat and output_ref_data.dat
};
/// The words behind `python3`.
std::vector<std::string> words_of(const BmnetoJob& job);

/// Leaves compilation.bmodel in bounds.work. Throws UNSUPPORTED with the tool's words where it says that something is not supported, else as
/// tpuc_opt(); names with a comma, which its flags cannot say, are INVALID_ARGUMENT.
void compile_bmneto(const Bmneto& tools, const BmnetoJob& job, const Bounds& bounds);

}  // namespace bmcompiler_plugin
