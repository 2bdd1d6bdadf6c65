// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: what the compiler leaves for the runtime: tensors with their places, kernels with what they need, steps. The .meta file.
#pragma once

#include <optional>

#include "limits.hpp"

namespace spirv_plugin {

/// How an element lies on the device. Whole numbers and truth values of any type are I32 there.
enum class Element : uint8_t { F32, I32, F16 };

constexpr uint64_t size_of(Element e) { return e == Element::F16 ? 2 : 4; }
constexpr const char* name_of(Element e) { return e == Element::F32 ? "f32" : e == Element::I32 ? "i32" : "f16"; }

enum class Place : uint8_t { Arena, Weights };

inline constexpr uint64_t kAlignment = 256;  ///< bytes; the largest that Vulkan lets a GPU ask for an offset

struct TensorPlan {
  std::string name;  ///< of the graph's value, or of what the compiler made beside
  Element element = Element::F32;
  Place place = Place::Arena;
  uint64_t offset = 0, bytes = 0;  ///< in the arena or in the weights; both multiples of 4, the offset of kAlignment
};

/// Whole numbers from low to high.
struct Range {
  int64_t low, high;
};

/// An input or output of the subgraph.
struct PortPlan {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> dims;
  uint32_t tensor = 0;
  std::optional<Range> indices{};  ///< of an input that elements are taken by: what its numbers may be
};

struct KernelPlan {
  std::string file;
  uint64_t size = 0, sum = 0;  ///< of the file
  Requirements needs;
  std::string sha256{};        ///< of the file, 64 hexadecimal digits; empty in files of an older compiler
};

/// One way to do a step.
struct Launch {
  uint32_t kernel = 0;
  std::array<uint32_t, 3> groups{1, 1, 1};
};

struct StepPlan {
  std::string name;                 ///< of its last node
  uint32_t node = OPTIMA_NONE;      ///< id
  std::vector<uint32_t> tensors;    ///< by binding
  std::vector<uint32_t> written;    ///< bindings that it writes
  std::vector<Launch> ways;         ///< best first; the last is the plain one
  std::vector<uint32_t> after;      ///< steps that must be done: memory of theirs is read or written here
  uint64_t flops = 0, bytes = 0;    ///< estimates, of one run
};

struct Plan {
  std::string target;     ///< device kind that it was compiled for
  std::string generator;  ///< plugin and version that wrote it, and the tools that made its kernels; empty in files of an older compiler
  std::string graph;      ///< SHA-256 of the subgraph as optima_graph has it, 64 hexadecimal digits; empty as above, or where the host said none
  std::vector<TensorPlan> tensors;
  std::vector<PortPlan> inputs, outputs;
  std::vector<KernelPlan> kernels;
  std::vector<StepPlan> steps;
  uint64_t arena_bytes = 0, weights_bytes = 0, weights_sum = 0;
  /// Of guarded kernels: the tensor of one number in which they count indices outside of their buffers; it is the last of every step.
  uint32_t guard = OPTIMA_NONE;
};

/// The .meta file's text. Throws UNSUPPORTED where a name is not UTF-8.
std::string write_plan(const Plan& plan);
/// Reads what write_plan() wrote; every number, index and range is checked. Throws CORRUPT.
Plan read_plan(std::string_view text);

/// Elements of a tensor of these dims; 1 of none.
inline int64_t elements_of(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

}  // namespace spirv_plugin
