// SPDX-License-Identifier: Apache-2.0
// core/flow: the signature of a graph's node, from its attributes. For the compiler: the target has no graphs.
#pragma once

#include "core/flow/signature.hpp"
#include "optima/image.hpp"

namespace optima {

/// The operator of the node; empty when it is no If, Loop or Scan.
inline std::optional<FlowOp> flow_op(const image::Node& node) { return flow_op(node.domain, node.op_type); }

/// The attributes that hold the bodies, in the order of body_names(). Borrowed from the node; null for one that is not there.
std::vector<const image::Attr*> bodies_in_order(const image::Node& node, FlowOp op);

/// Attribute num_scan_inputs as it is; 0 when there is none.
int64_t scanned_inputs(const image::Node& node);

/// Its inputs and outputs counted, those that a Loop leaves off at the end (a trip count, a condition) among them.
FlowSignature signature_of(const image::Node& node, FlowOp op);

/// The axes and directions of what is scanned, one for each of the signature's scan inputs and scan outputs; what the node does not say is
/// axis 0, forward.
struct FlowScans {
  std::vector<FlowScan> inputs, outputs;
};
/// Requires signature.fits().
FlowScans scans_of(const image::Node& node, const FlowSignature& signature);

}  // namespace optima
