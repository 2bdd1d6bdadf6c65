// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: trees of ai.onnx.ml, and the steps that walk them. All trees of all samples walk at once, one level per step: feature, limit and children of where
// each is by Gather, a comparison, the child by the place that it names. Trees lie in rows, so the tables of one are near when its samples come.
#pragma once

#include "core/onnx_io/classical.hpp"

namespace optima::onnx_io::recipes {

/// As TreeEnsemble numbers them in nodes_modes, then leaves.
enum Mode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };

/// Nodes of all trees, by number; a leaf is its own children.
struct Forest {
  int32_t type = kF32;                 ///< of comparisons and weights
  std::vector<uint8_t> mode, track;    ///< track: a feature that is no number holds
  std::vector<int64_t> feature, yes, no, roots;
  std::vector<double> limit;
  std::vector<std::vector<double>> members;  ///< of kMember nodes
  std::vector<double> weights;         ///< [nodes, targets]
  std::vector<uint8_t> weighted;       ///< [nodes, targets]
  int64_t targets = 0;
  int64_t size() const { return static_cast<int64_t>(mode.size()); }
};

/// A constant of the forest's type.
Text reals(Contributed& n, const Forest& f, const char* name, const std::vector<double>& values, const Dims& dims);

/// Levels below each node, 0 at leaves. Empty where a tree runs in a circle or has more than kMostLevels. Subtrees may be shared.
std::vector<int64_t> heights(const Forest& f);
constexpr int64_t kMostLevels = 1000;

/// Steps that leave the leaves' numbers [trees, N], int32, in `leaf`. x is [N, F]. Trees that are at their leaves go no further, so deep ones among
/// shallow ones cost their own levels.
Text walked(Contributed& n, const Forest& f, const std::vector<int64_t>& heights);

}  // namespace optima::onnx_io::recipes
