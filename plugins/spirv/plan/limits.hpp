// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: what a GPU has, and what a kernel needs of it.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "optima/plugin/error.hpp"

namespace spirv_plugin {

namespace sdk = optima::sdk;

/// A tile of a float product: a workgroup's invocations along columns and rows, rows and columns of each, and how many steps of the sum are brought at a
/// time. Zeros: none is made.
struct TileShape {
  uint32_t x = 0, y = 0, rows = 0, columns = 0, depth = 0;
  explicit operator bool() const { return x > 0; }
  uint32_t sums() const { return rows * columns; }  ///< of an invocation
};

/// Of a GPU, as Vulkan counts them. The defaults are what Vulkan 1.1 promises of any ("Required Limits" of the specification).
struct Limits {
  uint32_t vulkan = 0x00401000;                           ///< version of the API, as VK_MAKE_API_VERSION packs it: 1.1.0
  uint32_t invocations = 128;                             ///< in a workgroup
  std::array<uint32_t, 3> size{128, 128, 64};             ///< of a workgroup
  std::array<uint32_t, 3> groups{65535, 65535, 65535};    ///< of a dispatch
  uint32_t shared_bytes = 16384;                          ///< of a workgroup
  uint32_t storage_buffers = 4;                           ///< of a shader
  uint64_t buffer_range = uint64_t{1} << 27;              ///< bytes of one of them
  uint64_t buffer_bytes = uint64_t{1} << 30;              ///< of a buffer with its memory: the arena and the weights may be several
  std::set<std::string> features{};                       ///< by their names in Vulkan's structs, "storageBuffer16BitAccess"
  /// Through shared memory, where that is worth making: not where it is ordinary memory (Mali), or nobody has said.
  TileShape product_tile{}, product_tile_f16{};           ///< the second of halves; without it the first
  /// Of invocations that share nothing, where registers are few: columns and steps are multiples of four. Without it one that a processor likes.
  TileShape register_tile{}, register_tile_f16{};
  // For estimates of time only.
  double gflops = 200, gbytes = 20;                       ///< 1e9 operations, and bytes of memory, a second
  double launch_us = 20;                                  ///< microseconds of a dispatch
};

/// The text of a file of limits: a JSON object with members of the names above, all optional; "vulkan" as "1.2". Throws INVALID_ARGUMENT
/// that names `file`, also for a feature that no kernel here would ask for.
Limits read_limits(std::string_view text, const std::string& file);
/// Of the file at `path`, from the working folder on where it is relative. Throws INVALID_ARGUMENT also where it cannot be read.
Limits limits_at(const std::string& path);

/// Names of features that a kernel may ask for.
std::set<std::string> feature_names();

/// What two GPUs both have.
Limits lesser(const Limits& a, const Limits& b);

/// What is certain of every GPU of a device kind.
Limits least_limits(std::string_view kind);

/// What one SPIR-V module needs, read from its words.
struct Requirements {
  uint32_t spirv = 0x00010000;          ///< version, as in the module's second word
  std::vector<std::string> features{};  ///< by Vulkan's names
  std::vector<std::string> extensions{};///< SPIR-V extensions, "SPV_KHR_16bit_storage"
  std::array<uint32_t, 3> local{1, 1, 1};
  uint32_t shared_bytes = 0;
  uint32_t storage_buffers = 0;
};

/// Reads the words of a module: hostile, every length is checked. Throws CORRUPT where it is no SPIR-V, UNSUPPORTED for a capability that has no
/// feature here. Opcodes and numbers: the SPIR-V specification, sections 2.3 and 3.
Requirements requirements_of(const uint32_t* words, size_t count);

/// What is missing to run it, as a sentence's end: "needs 256 invocations in a workgroup, this GPU has 128"; empty = nothing.
std::string missing(const Requirements& needs, const Limits& has);
/// The same of a dispatch's workgroups, and of a tensor that a kernel binds.
std::string too_many_groups(const std::array<uint32_t, 3>& groups, const Limits& has);
std::string too_large_to_bind(const std::string& tensor, uint64_t bytes, const Limits& has);

}  // namespace spirv_plugin
