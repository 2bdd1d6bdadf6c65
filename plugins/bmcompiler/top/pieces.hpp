// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler/top: what operators that move numbers are made of. What would move nothing writes no operator: the tools fold such
// operators away, names and all, and abort on a module that is left without any.
#pragma once

#include "lower.hpp"

namespace bmcompiler_plugin::top {

/// A value and its dims.
struct Piece {
  Value value;
  std::vector<int64_t> dims;
  int64_t elements() const;
};

/// Writes operators for one node; those in between take their names from it.
class Pieces {
 public:
  Pieces(Lowering& to, const sdk::Node& node) : to_(to), node_(node) {}

  Piece read(uint32_t input);
  Piece reshaped(const Piece& x, const std::vector<int64_t>& dims);
  /// Of a constant; named after the node.
  Piece weight(const std::vector<int64_t>& dims, const std::vector<float>& values);
  /// Every step-th of begin .. end; step 1 or more.
  Piece sliced(const Piece& x, size_t axis, int64_t begin, int64_t end, int64_t step = 1);
  /// `indices` of `axis`, in bounds, in any order and number.
  Piece picked(const Piece& x, size_t axis, const std::vector<int64_t>& indices);
  Piece flipped(const Piece& x, size_t axis);
  Piece joined(const std::vector<Piece>& xs, size_t axis);
  Piece transposed(const Piece& x, const std::vector<int64_t>& order);
  /// Rows of `x` along its first axis by computed numbers of rows (any dims), in bounds.
  Piece rows(const Piece& x, const Piece& indices);
  Piece op(std::string_view what, std::string_view op, const std::vector<Piece>& operands, const Attributes& attributes, const std::vector<int64_t>& dims);
  /// x * by + plus.
  Piece scaled(const Piece& x, double by, double plus = 0);
  /// Elementwise "Add", "Sub", "Mul".
  Piece both(std::string_view op, const Piece& x, const Piece& y);
  /// One form of what ONNX's indices say: `size` added where one is below zero. A size per index of the last axis, or one for all.
  Piece wrapped(const Piece& indices, const std::vector<int64_t>& sizes);
  /// Output `k` of the node is x, in the output's shape.
  void finish(const Piece& x, uint32_t k = 0);

 private:
  Lowering& to_;
  const sdk::Node& node_;
};

/// `axis` of a value of that rank.
inline size_t axis_of(int64_t axis, size_t rank) { return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis); }
int64_t product(const std::vector<int64_t>& dims, size_t first, size_t last);
inline int64_t product(const std::vector<int64_t>& dims) { return product(dims, 0, dims.size()); }
/// dims with dim `axis` = `to`.
std::vector<int64_t> with(std::vector<int64_t> dims, size_t axis, int64_t to);
/// Integers of an attribute or, in later opsets, of a constant input; empty when neither is there.
std::vector<int64_t> numbers_of(const sdk::Node& node, const char* attribute, uint32_t input);
/// Empty, or the sentence for an input that must be a constant (absent ones are).
std::string wants_constant(const sdk::Node& node, uint32_t input, std::string_view what);

}  // namespace bmcompiler_plugin::top
