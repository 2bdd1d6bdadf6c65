// SPDX-License-Identifier: Apache-2.0
// core/quantize: new values, constants and nodes in a graph. Private to the room.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/graph/attributes.hpp"

namespace optima::detail {

/// Adds to the main graph under names that nobody has; who asks for one that is taken gets it with a number behind ("x/dq_2").
class Editor {
 public:
  explicit Editor(Graph& graph);

  uint32_t value(const std::string& name, int32_t dtype, std::optional<std::vector<image::Dim>> dims);
  uint32_t constant(const std::string& name, int32_t dtype, std::vector<int64_t> dims, const void* data, uint64_t size);
  uint32_t floats(const std::string& name, std::vector<int64_t> dims, std::span<const float> numbers);
  uint32_t integers(const std::string& name, std::vector<int64_t> dims, std::span<const int64_t> numbers);
  /// Codes by dtype (U8, I8, U16, I16, I32; I4 and U4 two in a byte, the first one low).
  uint32_t codes(const std::string& name, int32_t dtype, std::vector<int64_t> dims, std::span<const int32_t> numbers);
  /// Puts other numbers in the place of an f32 constant. Requires as many.
  void replace_floats(uint32_t value, std::span<const float> numbers);
  /// Another name for a value that is no longer what it was.
  void rename(uint32_t value, const std::string& name);
  /// A node with a new id, to be put where it belongs. `version` is of the operator.
  image::Node node(const std::string& name, const std::string& op, int version, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);

  /// Of QuantizeLinear, DequantizeLinear and Cast in this model.
  int quantize_version() const { return quantize_version_; }

 private:
  std::string fresh(const std::string& name, std::unordered_set<std::string>& taken);

  Graph& graph_;
  std::unordered_set<std::string> values_, nodes_;
  int quantize_version_ = 21;
};

std::optional<std::vector<image::Dim>> fixed_dims(std::span<const int64_t> dims);

}  // namespace optima::detail
