// SPDX-License-Identifier: Apache-2.0
// core/flow: what an If, a Loop or a Scan and its bodies take and give, as in ONNX If 21, Loop 21 and Scan 21 (9 and later are alike).
// Numbers and places alone: the planner asks them of a graph, the package reader of a file, the run loop while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optima/abi.h"

namespace optima {

enum class FlowOp { If, Loop, Scan };

/// The operator of that name; empty for any other, and in any domain but ONNX's own.
std::optional<FlowOp> flow_op(std::string_view domain, std::string_view op_type);

/// The bodies' names in the order in which plans and packages list them, whatever the order in the model.
std::vector<std::string> body_names(FlowOp op);

/// How a Scan takes slices of an input, or a Loop or Scan puts an output together.
struct FlowScan {
  int64_t axis = 0;       ///< may count from the end
  bool backward = false;  ///< last slice first
};

/// The axis from the front; empty where a tensor of that rank has no such axis.
std::optional<size_t> axis_of(const FlowScan& scan, size_t rank);

/// Whether tensors of the type can go through in slices: they start at whole bytes. True of types that are not known.
inline bool has_whole_bytes(int32_t dtype) { return optima_dtype_bits(dtype) % 8 == 0; }

/// The value of a trip count (i64) or a condition (bool), which are one element of whatever rank; empty for anything else.
std::optional<int64_t> flow_scalar(int32_t dtype, std::span<const std::byte> bytes);

// Places of what is neither carried nor scanned.
constexpr size_t kBranchCondition = 0;                         ///< among an If's inputs
constexpr size_t kTripCount = 0, kLoopCondition = 1;           ///< among a Loop's inputs; either may be absent
constexpr size_t kTripNumber = 0, kGoesOn = 1;                 ///< among the inputs of a Loop's body
constexpr size_t kGoesOnNext = 0;                              ///< among its outputs
constexpr size_t kLoopInputsAhead = 2, kLoopOutputsAhead = 1;  ///< how many those are; the carried values follow

/// A tensor at a body's door.
struct FlowEnd {
  /// One of the node's or the body's inputs or outputs, or what the operator itself makes of one.
  enum class At { NodeInput, NodeOutput, BodyInput, BodyOutput, TripCount, Condition } at = At::NodeInput;
  size_t index = 0;  ///< among those; of a trip count and a condition: 0
};

/// What must hold for the bytes of `end` to go on as they are.
struct FlowRule {
  FlowEnd end;
  std::optional<FlowEnd> as;  ///< it is of this one's type; empty: it has elements of whole bytes, for it goes through in slices
};

/// The order of a node's inputs: what stands ahead (of an If its condition, of a Loop its trip count and condition), the values that are
/// carried from trip to trip, those that are scanned. A body takes them in the same order, each trip one slice of what is scanned; an If's
/// takes nothing. It gives what stands ahead (of a Loop the condition), the carried values, one piece of each scan output; an If's its
/// outputs. The node gives the same without what stands ahead. Captures stand behind a body's inputs, and count nowhere here.
struct FlowSignature {
  FlowOp op = FlowOp::If;
  size_t inputs = 0, outputs = 0;  ///< of the node
  size_t inputs_ahead = 0;         ///< of the node, and of the body of a Loop or Scan
  size_t outputs_ahead = 0;        ///< of the body
  size_t carried = 0;
  size_t scan_inputs = 0, scan_outputs = 0;

  /// Of a node with so many inputs, absent ones counted, and outputs; `scanned`: how many inputs a Scan takes apart, nothing to the others.
  static FlowSignature of(FlowOp op, size_t inputs, size_t outputs, size_t scanned);

  /// Whether there is such a node. Where there is none, the counts are what they can be, none of them below 0.
  bool fits() const;
  size_t body_inputs() const { return op == FlowOp::If ? 0 : inputs; }
  size_t body_outputs() const { return outputs_ahead + outputs; }
  /// Whether the node runs without its input number `input`: a Loop without a trip count, without a condition.
  bool may_lack(size_t input) const { return op == FlowOp::Loop && input < inputs_ahead; }
  /// Of each body, in the order in which they are checked. Requires fits().
  std::vector<FlowRule> rules() const;
};

}  // namespace optima
