// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: into which forms plans pack the weights of convolutions. Which form is best hangs on the size, and one that no plan wanted yet is
// packed by the run that wants it, which takes long: so samples say which forms are packed when the artifact is loaded.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "plugins/llvm_cpu/fit/fitter.hpp"

namespace optima::llvm_cpu {

class PackedForms {
 public:
  /// Bytes of the forms that the leg wants and that are not known yet.
  uint64_t new_bytes(const Leg& leg) const;
  /// They are known from now on.
  void add(const Leg& leg);

 private:
  std::set<std::string> known_;
};

}  // namespace optima::llvm_cpu
