// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: some nodes of a graph as a graph of their own in which every size is a number.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "optima/image.hpp"
#include "plugins/llvm_cpu/compiler/replan.hpp"
#include "reference/shapes.hpp"

namespace optima::llvm_cpu {

/// What is known of a value: nothing (dtype UNDEFINED), its dims (`data` null), or its elements too.
using KnownValue = std::function<const reference::Tensor&(uint32_t value)>;
/// The value that is computed in this one's stead; most are themselves.
using SameValue = std::function<uint32_t(uint32_t value)>;

/// Whether the elements are known, too.
inline bool has_elements(const reference::Tensor& t) { return t.dtype != OPTIMA_UNDEFINED && (t.data || t.elements() == 0); }

/// Borrows the constants of the graph it comes from, and keeps the elements that became constants.
class Stretch {
 public:
  /// Nodes by index in the image, in an order in which they can run; `gives`: values that become outputs. Values of known elements become constants; what no node of
  /// the stretch makes becomes an input. All dims of what the nodes read and make are known.
  Stretch(const optima_graph& from, const std::vector<uint32_t>& nodes, const std::vector<uint32_t>& gives, const KnownValue& known, const SameValue& same);
  Stretch(Stretch&&) = default;
  /// Takes what is known now of values that changed, where that is Change::Numbers at most: the image then is what it would be if it were made anew, and
  /// where it was.
  Changes move(const std::vector<reference::ShapeWalk::Change>& changed, const KnownValue& known);

  const optima_graph& graph() const { return *raw_; }
  /// Values of the graph it comes from, in the order of inputs and of outputs.
  const std::vector<uint32_t>& takes() const { return takes_; }
  const std::vector<uint32_t>& gives() const { return gives_; }

 private:
  const void* identity(uint32_t value, const reference::Tensor& known) const;
  void put_dims(uint32_t value, const std::vector<int64_t>& dims);
  void put_elements(uint32_t value, const reference::Tensor& known);

  std::vector<uint32_t> sources_;  // by value of the stretch, the value it comes from
  std::vector<uint32_t> takes_, gives_;
  uint32_t borrowed_;  // blobs of the graph it comes from, which stand first
  std::vector<std::shared_ptr<const void>> kept_;  // of the other blobs
  std::vector<optima_blob> blobs_;
  std::optional<image::Bytes> bytes_;
  std::unique_ptr<optima_graph> raw_;
};

}  // namespace optima::llvm_cpu
