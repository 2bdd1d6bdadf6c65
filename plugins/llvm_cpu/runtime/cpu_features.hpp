// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: what the running processor can do, in LLVM's names.
#pragma once

#include <string>
#include <vector>

namespace optima::llvm_cpu {

/// "x86_64", "aarch64": what this file was built for.
std::string running_arch();
/// Of the wanted features, those that this processor lacks or that cannot be asked for.
std::vector<std::string> missing_features(const std::vector<std::string>& wanted);

}  // namespace optima::llvm_cpu
