// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/compiler: what may be computed while a result is still in registers: batch normalisation, activation, addition.
// The same rules group the nodes and tell the lowering what the group means.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plugins/llvm_cpu/compiler/node.hpp"
#include "plugins/llvm_cpu/kernels/parts/tail.hpp"

namespace optima::llvm_cpu {

/// The tail of one node: act(scaled(v) + bias + residual) or act(scaled(v) + bias) + residual.
struct FusedTail {
  std::vector<NodeView> normalisations;  ///< BatchNormalization, Mul, Div, Add and Sub with constants per channel, in order; folded into weights and bias
  k::Activation act{k::Act::None, 0, 0};
  uint32_t residual = OPTIMA_NONE;  ///< value of the shape of the result
  bool residual_after = false;      ///< the residual is added after the activation
  bool scaled = false;              ///< after the activation, times `scale` plus `shift`
  double scale = 1, shift = 0;
  std::vector<NodeView> after;      ///< the same as normalisations, behind activation and `scale`
  bool columns = false;             ///< Tails::Columns
  bool folds = true;                ///< weights and bias are known: constants can go into them
  bool multiplies = false;          ///< of a product and nothing else, which a number may scale before all that follows
  double factor = 1;                ///< that number
  uint32_t bias = OPTIMA_NONE;      ///< value of one element per column, added first

  /// Takes the leading nodes that continue `current`, a value that nobody else reads but these nodes. Returns how many were
  /// taken: 0 to 2, or those of a written activation.
  size_t take(std::span<const NodeView> next, uint32_t current);
  /// As literals of a kernel; biased: it gets a bias operand.
  k::Tail literals(bool biased) const;

 private:
  /// Nothing was taken that constants could not pass on their way into weights and bias.
  bool is_linear() const { return act.kind == k::Act::None && residual == OPTIMA_NONE && !scaled && after.empty(); }
  bool take_constant(const NodeView& n, uint32_t current);
  bool take_normalisation(const NodeView& n, uint32_t current);
  bool take_factor(const NodeView& n, uint32_t current);
};

/// current * scale + shift, when a Mul, Div, Add or Sub of `current` and finite constants is that: one number, or one per channel.
struct Affine {
  std::vector<float> numbers;
  bool multiplies;  ///< else they are added
};
std::optional<Affine> affine_of(const NodeView& node, uint32_t current);

/// The activation that a node is by itself, on its input 0.
std::optional<k::Activation> activation_of(const NodeView& node);
/// v * sigmoid(v) or v * hard sigmoid(v) of `current`, written as the first two of these nodes.
std::optional<k::Activation> gate_of(std::span<const NodeView> next, uint32_t current);

/// The value of which the first kGeluNodes of these nodes make x / 2 * (1 + erf(x / sqrt 2)), in whatever order the factors stand; nothing when they do not.
constexpr size_t kGeluNodes = 5;
std::optional<uint32_t> gelu_of(std::span<const NodeView> nodes);

/// The same of the first kSwishNodes and x * clip(x + 3, 0, 6) / 6.
constexpr size_t kSwishNodes = 4;
std::optional<uint32_t> hard_swish_of(std::span<const NodeView> nodes);

/// That of a node before it has taken anything.
FusedTail empty_tail(const NodeView& node);

/// The tail of nodes[0] made of all nodes after it. Requires that the planner grouped them.
FusedTail tail_of(std::span<const NodeView> nodes);

}  // namespace optima::llvm_cpu
