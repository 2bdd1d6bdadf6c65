// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: the kernels that an artifact brings for plans that are made where they run, and its file `<stem>.meta`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/llvm_cpu/compiler/lowering.hpp"

namespace optima::llvm_cpu {

/// Sets of sizes that are planned when an artifact is loaded, besides the first.
constexpr size_t kMostAlso = 8;

struct FitFile {
  Target target;
  std::vector<std::string> features;  ///< that the machine must have
  bool winograd = true;
  struct Kernel {
    KernelSpec spec;
    std::string file;
  };
  std::vector<Kernel> kernels;
  /// Shapes of the graph's inputs, by position, for which a plan is made when the artifact is loaded.
  std::vector<std::vector<int64_t>> first;
  /// The same for which further plans are, so that the weights that these pack otherwise are there; kMostAlso at most.
  std::vector<std::vector<std::vector<int64_t>>> also;
};

/// Whether a .meta file is of this kind.
bool is_fit_file(std::string_view bytes);
/// Same contents, same bytes.
std::string to_bytes(const FitFile& file);
/// Reads hostile bytes. Throws sdk::Error(OPTIMA_CORRUPT) with the first mistake.
FitFile parse_fit_file(std::string_view bytes);

/// Finds kernels by spec.
class KernelTable {
 public:
  explicit KernelTable(const std::vector<FitFile::Kernel>& kernels);
  /// The kernel that computes this spec with the fewest slots, of several the one whose tile does best: its number; nothing when there is none.
  std::optional<uint32_t> find(const KernelSpec& spec) const;

 private:
  const std::vector<FitFile::Kernel>& kernels_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> by_entry_;
};

}  // namespace optima::llvm_cpu
