// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: one node of the graph image as the lowerings see it. Valid for the call; knows abi.h alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optima/abi.h"

namespace optima::llvm_cpu {

using Dims = std::vector<int64_t>;

/// The number of elements; 1 for a scalar.
int64_t count(const Dims& dims);
/// "[1,3,224,224]"
std::string to_text(const Dims& dims);
/// Every dim is that of `to` (aligned at the end) or 1.
bool broadcasts(const Dims& from, const Dims& to);

/// F16 or BF16.
constexpr bool is_half(int32_t dtype) { return dtype == OPTIMA_F16 || dtype == OPTIMA_BF16; }

struct NodeView;

/// Of a Transpose: for each dim of the result, which one of the input it is; all in reverse where the node says nothing.
Dims permutation_of(const NodeView& transpose);

/// Elements of type F32, F16 or BF16, or nothing.
std::optional<std::vector<float>> floats_of(std::string_view bytes, int32_t dtype);

struct ScaledIntegers {
  std::vector<int32_t> numbers;
  std::vector<float> scales;  ///< as many
};

/// The graph behind the node views. Values are named by their index in the image.
struct GraphView {
  const optima_graph* raw;
  /// Not null: is told every value whose dims or bytes are read; many more than once.
  std::vector<uint32_t>* reads = nullptr;
  const optima_image* image() const { return raw->image; }
  const optima_value& value(uint32_t v) const { return *optima_get_value(image(), v); }
  /// Requires a ranked value; unknown dims are -1.
  Dims dims(uint32_t v) const;
  /// As the graph says.
  int32_t stored_dtype(uint32_t v) const { return value(v).dtype; }
  /// What elements are computed and kept in between the steps: F32 for the 16-bit floats, else what the graph says.
  int32_t dtype(uint32_t v) const { return is_half(stored_dtype(v)) ? OPTIMA_F32 : stored_dtype(v); }
  std::string_view name(uint32_t v) const;
  bool is_constant(uint32_t v) const { return value(v).constant != OPTIMA_NONE; }
  /// The bytes of a constant, or nothing: computed, or not mapped (check without the weights).
  std::optional<std::string_view> bytes(uint32_t v) const;
  /// The elements of a constant of type INT64 or INT32 (floats: of type FLOAT, FLOAT16 or BFLOAT16, or what a DequantizeLinear makes of constants), or nothing.
  std::optional<std::vector<int64_t>> integers(uint32_t v) const;
  std::optional<std::vector<float>> floats(uint32_t v) const;
  std::optional<std::vector<float>> dequantized(uint32_t v) const;
  /// The same floats as integers (codes less zero points) and what each of them is multiplied by, or nothing.
  std::optional<ScaledIntegers> scaled_integers(uint32_t v) const;
  /// A constant with its bytes, or what a DequantizeLinear, and perhaps a Transpose behind it, makes of such: its elements can be had without a run.
  bool is_known(uint32_t v) const;
  /// The elements of a constant of 8, 16 or 32 bits, or packed in 4, or nothing.
  std::optional<std::vector<int32_t>> small_integers(uint32_t v) const;
  /// The node that makes the value, or nothing: an input or a constant.
  std::optional<NodeView> maker(uint32_t v) const;
  /// Ranked and every dim known.
  bool is_static(uint32_t v) const;

 private:
  void tell(uint32_t v) const {
    if (reads) reads->push_back(v);
  }
};

struct NodeView {
  GraphView graph;
  const optima_node* raw;
  /// Values that stand for the node's own, by position, when not null: the codes behind its floats. They outlive the view.
  const std::vector<uint32_t>* ins = nullptr;
  const std::vector<uint32_t>* outs = nullptr;

  uint32_t id() const { return raw->id; }
  std::string_view op() const;
  std::string_view domain() const;
  std::string_view name() const;
  int32_t since() const { return raw->since_version; }

  uint32_t input_count() const { return raw->inputs.count; }
  uint32_t output_count() const { return raw->outputs.count; }
  /// Value index; OPTIMA_NONE when absent or past the end.
  uint32_t input(uint32_t k) const { return ins && k < ins->size() ? (*ins)[k] : optima_input(graph.image(), raw, k); }
  uint32_t output(uint32_t k) const { return outs && k < outs->size() ? (*outs)[k] : optima_output(graph.image(), raw, k); }
  bool has_input(uint32_t k) const { return input(k) != OPTIMA_NONE; }
  bool has_output(uint32_t k) const { return output(k) != OPTIMA_NONE; }
  /// Requires has_input(k), has_output(k).
  Dims in_dims(uint32_t k) const { return graph.dims(input(k)); }
  Dims out_dims(uint32_t k) const { return graph.dims(output(k)); }
  int32_t in_dtype(uint32_t k) const { return graph.dtype(input(k)); }
  int32_t out_dtype(uint32_t k) const { return graph.dtype(output(k)); }

  bool has(const char* attribute) const;
  int64_t integer(const char* attribute, int64_t otherwise) const;
  float real(const char* attribute, float otherwise) const;
  std::string_view text(const char* attribute, std::string_view otherwise) const;
  std::vector<int64_t> integers(const char* attribute, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> reals(const char* attribute, std::vector<float> otherwise = {}) const;
};

}  // namespace optima::llvm_cpu
