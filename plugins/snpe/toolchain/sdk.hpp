// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: the route over a SNPE or QAIRT SDK on this machine: its converters, quantizer and preparer as child processes. A SDK
// cannot be had without Qualcomm's account, so nothing of this file has met one: flags, files and texts are those that the public documents
// state (80-63442-2 Rev BL "Tools", "Quantized vs Non-Quantized Models"; 80-63442-10), and what those do not state is marked [U] where it is used.
#pragma once

#include "toolchain.hpp"

namespace snpe_plugin {

/// The tools below `wanted.sdk_root`. Null, with `why` naming what is missing (the folder, bin/x86_64-linux-clang, lib/x86_64-linux-clang, a tool that
/// is not there or cannot be executed, an answer to the question for the version), when there are none. qairt-converter and
/// qairt-quantizer come before snpe-onnx-to-dlc and snpe-dlc-quant. Starts one process, snpe-net-run --version. Any thread.
std::unique_ptr<Toolchain> find_sdk(const Wanted& wanted, std::string& why);

}  // namespace snpe_plugin
