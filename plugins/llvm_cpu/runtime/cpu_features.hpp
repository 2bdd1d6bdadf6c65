// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: what the running processor can do, in LLVM's names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace optima::llvm_cpu {

/// "x86_64", "aarch64": what this file was built for.
std::string running_arch();
/// True when the name is one that this processor can be asked for.
bool is_known_feature(std::string_view name);
/// False for names that cannot be asked for, too. Of extensions that need the system's leave (AMX), this asks for it: whoever runs code that
/// uses them calls this before.
bool has_feature(std::string_view name);
/// Of the wanted features, those that this processor lacks or that cannot be asked for. Tests ask a processor of their own.
std::vector<std::string> missing_features(const std::vector<std::string>& wanted, bool (*has)(std::string_view) = has_feature);

}  // namespace optima::llvm_cpu
