// SPDX-License-Identifier: Apache-2.0
#include "core/flow/signature.hpp"

#include <algorithm>
#include <cstring>

namespace optima {
namespace {

using At = FlowEnd::At;

// One function for each part of a body's door.
class Rules {
 public:
  explicit Rules(const FlowSignature& s) : s_(s) {}

  std::vector<FlowRule> list() {
    given_ahead();
    for (size_t k = 0; k < s_.carried; ++k) carried(k);
    for (size_t k = 0; k < s_.scan_inputs; ++k) sliced(s_.inputs_ahead + s_.carried + k);
    for (size_t k = 0; k < s_.scan_outputs; ++k) whole({At::BodyOutput, s_.outputs_ahead + s_.carried + k});
    for (size_t k = 0; k < s_.outputs; ++k) same({At::BodyOutput, s_.outputs_ahead + k}, {At::NodeOutput, k});
    return std::move(rules_);
  }

 private:
  void same(FlowEnd end, FlowEnd as) { rules_.push_back({end, as}); }
  void whole(FlowEnd end) { rules_.push_back({end, std::nullopt}); }

  void given_ahead() {
    const FlowEnd count{At::TripCount, 0}, condition{At::Condition, 0};
    if (s_.op == FlowOp::If) same({At::NodeInput, kBranchCondition}, condition);
    if (s_.op != FlowOp::Loop) return;
    same({At::NodeInput, kTripCount}, count);
    same({At::BodyInput, kTripNumber}, count);
    same({At::NodeInput, kLoopCondition}, condition);
    same({At::BodyInput, kGoesOn}, condition);
    same({At::BodyOutput, kGoesOnNext}, condition);
  }
  // It comes in, and goes around.
  void carried(size_t k) {
    const FlowEnd in{At::BodyInput, s_.inputs_ahead + k};
    same(in, {At::NodeInput, s_.inputs_ahead + k});
    same({At::BodyOutput, s_.outputs_ahead + k}, in);
  }
  void sliced(size_t input) {
    same({At::BodyInput, input}, {At::NodeInput, input});
    whole({At::BodyInput, input});
  }

  const FlowSignature& s_;
  std::vector<FlowRule> rules_;
};

}  // namespace

std::optional<FlowOp> flow_op(std::string_view domain, std::string_view op_type) {
  if (!domain.empty()) return std::nullopt;
  if (op_type == "If") return FlowOp::If;
  if (op_type == "Loop") return FlowOp::Loop;
  return op_type == "Scan" ? std::optional(FlowOp::Scan) : std::nullopt;
}

std::vector<std::string> body_names(FlowOp op) {
  if (op == FlowOp::If) return {"then_branch", "else_branch"};
  return {"body"};
}

std::optional<size_t> axis_of(const FlowScan& scan, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (scan.axis < -r || scan.axis >= r) return std::nullopt;
  return static_cast<size_t>(scan.axis < 0 ? scan.axis + r : scan.axis);
}

std::optional<int64_t> flow_scalar(int32_t dtype, std::span<const std::byte> bytes) {
  if (dtype == OPTIMA_BOOL && bytes.size() == 1) return bytes[0] != std::byte{0};
  int64_t value = 0;
  if (dtype != OPTIMA_I64 || bytes.size() != sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

FlowSignature FlowSignature::of(FlowOp op, size_t inputs, size_t outputs, size_t scanned) {
  FlowSignature s;
  s.op = op, s.inputs = inputs, s.outputs = outputs;
  if (op == FlowOp::If) {
    s.inputs_ahead = 1;
    return s;
  }
  if (op == FlowOp::Loop) s.inputs_ahead = kLoopInputsAhead, s.outputs_ahead = kLoopOutputsAhead;
  s.scan_inputs = op == FlowOp::Scan ? scanned : 0;
  s.carried = inputs - std::min(inputs, s.inputs_ahead + s.scan_inputs);
  s.scan_outputs = outputs - std::min(outputs, s.carried);
  return s;
}

bool FlowSignature::fits() const {
  switch (op) {
    case FlowOp::If: return inputs == 1;
    case FlowOp::Loop: return inputs >= inputs_ahead && outputs >= carried;
    case FlowOp::Scan: return scan_inputs >= 1 && scan_inputs <= inputs && outputs >= carried;
  }
  return false;
}

std::vector<FlowRule> FlowSignature::rules() const { return Rules(*this).list(); }

}  // namespace optima
