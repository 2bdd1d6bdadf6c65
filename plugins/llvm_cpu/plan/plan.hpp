// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/plan: what crosses from the compiler half to the runtime half: one <stem>.meta per artifact. No LLVM, no graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/llvm_cpu/compiler/op.hpp"

namespace optima::llvm_cpu {

constexpr const char* kFormat = "optima.llvm_cpu/3";
/// Of artifacts that are planned where they run (fit/kernel_table.hpp).
constexpr const char* kFittedFormat = "optima.llvm_cpu.fitted/9";

struct Plan {
  struct Tensor {
    std::string name;
    int32_t dtype = 0;
    std::vector<int64_t> dims;
    uint64_t bytes = 0;  ///< that its buffer has: what type and dims say, or kSlack more
    uint64_t dense_bytes() const;  ///< what type and dims say
  };
  /// A pointer that steps take: `source` names where the bytes come from, `packed_bytes` how many they are once arranged.
  struct Constant {
    std::string weight;  ///< name of use_weight(); empty = bytes [offset, offset + size) of the constants file
    uint64_t offset = 0, size = 0;
    Pack pack{};
    uint32_t scale = UINT32_MAX;  ///< another constant, unpacked: factors per output channel
    uint64_t packed_bytes = 0;
  };
  struct Arg {
    enum Kind : uint8_t { Null, Arena, Input, Output, Constant } kind = Null;
    uint32_t index = 0;   ///< of inputs, outputs, constants
    uint64_t offset = 0;  ///< bytes
  };
  struct Step : Cutting {
    uint32_t kernel = 0;
    std::vector<Arg> args;
    std::vector<uint32_t> node_ids;
    std::string label;
  };

  std::string triple, cpu;
  std::vector<std::string> features;  ///< that the machine must have
  uint64_t arena_bytes = 0, scratch_bytes = 0;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::string> kernels;  ///< file names
  std::vector<Constant> constants;
  std::vector<Step> steps;
};

/// Same plan, same bytes.
std::string to_bytes(const Plan& plan);

/// Reads hostile bytes: every count, index, offset and size is checked against the others. Throws
/// sdk::Error(OPTIMA_CORRUPT) with the first mistake.
Plan parse_plan(std::string_view bytes);

/// Throws sdk::Error(OPTIMA_CORRUPT) for what is no name of a kernel file: lower-case letters, digits, "_" and ".", ending in ".so".
void check_kernel_name(const std::string& name);

/// Slack behind the arena and every constant: kernels may read one whole vector that starts inside.
constexpr uint64_t kSlack = 256;

}  // namespace optima::llvm_cpu
