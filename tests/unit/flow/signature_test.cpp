// SPDX-License-Identifier: Apache-2.0
// What an If, a Loop or a Scan and its bodies take and give, against the operators' specification.
#include "core/flow/signature.hpp"

#include <doctest/doctest.h>

using namespace optima;

namespace {

std::string text(const FlowEnd& end) {
  static const char* kNames[] = {"node in ", "node out ", "body in ", "body out ", "trip count", "condition"};
  const bool placed = end.at != FlowEnd::At::TripCount && end.at != FlowEnd::At::Condition;
  return kNames[static_cast<size_t>(end.at)] + (placed ? std::to_string(end.index) : "");
}

// One line a rule.
std::string rules_of(const FlowSignature& signature) {
  std::string out;
  for (const FlowRule& rule : signature.rules()) out += text(rule.end) + (rule.as ? " is " + text(*rule.as) : " in whole bytes") + "\n";
  return out;
}

std::vector<std::byte> bytes_of(std::initializer_list<uint8_t> values) {
  std::vector<std::byte> out;
  for (const uint8_t v : values) out.push_back(std::byte{v});
  return out;
}

}  // namespace

TEST_CASE("the operators are ONNX's own If, Loop and Scan, and no others") {
  CHECK(flow_op("", "If") == FlowOp::If);
  CHECK(flow_op("", "Loop") == FlowOp::Loop);
  CHECK(flow_op("", "Scan") == FlowOp::Scan);
  for (const char* other : {"", "if", "Relu", "SequenceMap", "LoopX"}) CHECK_FALSE(flow_op("", other));
  CHECK_FALSE(flow_op("com.example", "Loop"));
  CHECK(body_names(FlowOp::If) == std::vector<std::string>{"then_branch", "else_branch"});
  CHECK(body_names(FlowOp::Loop) == std::vector<std::string>{"body"});
  CHECK(body_names(FlowOp::Scan) == std::vector<std::string>{"body"});
}

TEST_CASE("branches of an If take nothing and give its outputs") {
  const FlowSignature s = FlowSignature::of(FlowOp::If, 1, 2, 7);  // what is scanned is no matter of an If
  CHECK(s.fits());
  CHECK((s.body_inputs() == 0 && s.body_outputs() == 2 && s.outputs_ahead == 0));
  CHECK((s.carried == 0 && s.scan_inputs == 0 && s.scan_outputs == 0));
  CHECK_FALSE(s.may_lack(kBranchCondition));
  CHECK(rules_of(s) == "node in 0 is condition\n"
                       "body out 0 is node out 0\n"
                       "body out 1 is node out 1\n");
  CHECK_FALSE(FlowSignature::of(FlowOp::If, 0, 2, 0).fits());
  CHECK_FALSE(FlowSignature::of(FlowOp::If, 2, 2, 0).fits());
}

TEST_CASE("a Loop's body takes trip number, condition and carried values, and gives condition, carried values and pieces") {
  const FlowSignature s = FlowSignature::of(FlowOp::Loop, 3, 2, 0);  // one carried, one gathered
  CHECK(s.fits());
  CHECK((s.inputs_ahead == 2 && s.outputs_ahead == 1 && s.carried == 1 && s.scan_inputs == 0 && s.scan_outputs == 1));
  CHECK((s.body_inputs() == 3 && s.body_outputs() == 3));
  CHECK((s.may_lack(kTripCount) && s.may_lack(kLoopCondition) && !s.may_lack(2)));
  CHECK(rules_of(s) == "node in 0 is trip count\n"
                       "body in 0 is trip count\n"
                       "node in 1 is condition\n"
                       "body in 1 is condition\n"
                       "body out 0 is condition\n"
                       "body in 2 is node in 2\n"
                       "body out 1 is body in 2\n"
                       "body out 2 in whole bytes\n"
                       "body out 1 is node out 0\n"
                       "body out 2 is node out 1\n");
  const FlowSignature nothing = FlowSignature::of(FlowOp::Loop, 2, 0, 0);
  CHECK((nothing.fits() && nothing.carried == 0 && nothing.body_outputs() == 1));
  CHECK_FALSE(FlowSignature::of(FlowOp::Loop, 1, 0, 0).fits());
  CHECK_FALSE(FlowSignature::of(FlowOp::Loop, 4, 1, 0).fits());  // two carried, one comes out
  CHECK(FlowSignature::of(FlowOp::Loop, 0, 3, 9).carried == 0);
}

TEST_CASE("a Scan's body takes states and slices and gives states and pieces") {
  const FlowSignature s = FlowSignature::of(FlowOp::Scan, 3, 2, 2);  // one state, two scanned, one gathered
  CHECK(s.fits());
  CHECK((s.inputs_ahead == 0 && s.outputs_ahead == 0 && s.carried == 1 && s.scan_inputs == 2 && s.scan_outputs == 1));
  CHECK((s.body_inputs() == 3 && s.body_outputs() == 2));
  CHECK_FALSE(s.may_lack(0));
  CHECK(rules_of(s) == "body in 0 is node in 0\n"
                       "body out 0 is body in 0\n"
                       "body in 1 is node in 1\n"
                       "body in 1 in whole bytes\n"
                       "body in 2 is node in 2\n"
                       "body in 2 in whole bytes\n"
                       "body out 1 in whole bytes\n"
                       "body out 0 is node out 0\n"
                       "body out 1 is node out 1\n");
  CHECK(FlowSignature::of(FlowOp::Scan, 2, 0, 2).fits());
  CHECK_FALSE(FlowSignature::of(FlowOp::Scan, 2, 1, 0).fits());  // nothing says how often it runs
  CHECK_FALSE(FlowSignature::of(FlowOp::Scan, 2, 1, 3).fits());
  CHECK_FALSE(FlowSignature::of(FlowOp::Scan, 3, 1, 1).fits());
  CHECK(FlowSignature::of(FlowOp::Scan, 3, 1, SIZE_MAX).carried == 0);
}

TEST_CASE("an axis counts from either end, and is there or not") {
  CHECK(axis_of({0, false}, 2) == 0u);
  CHECK(axis_of({1, true}, 2) == 1u);
  CHECK(axis_of({-1, false}, 2) == 1u);
  CHECK(axis_of({-2, false}, 2) == 0u);
  for (const int64_t none : {int64_t{2}, int64_t{-3}, INT64_MAX, INT64_MIN}) CHECK_FALSE(axis_of({none, false}, 2));
  CHECK_FALSE(axis_of({0, false}, 0));
}

TEST_CASE("trip counts and conditions are one element of their type") {
  CHECK(flow_scalar(OPTIMA_BOOL, bytes_of({0})) == 0);
  CHECK(flow_scalar(OPTIMA_BOOL, bytes_of({2})) == 1);
  CHECK(flow_scalar(OPTIMA_I64, bytes_of({0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})) == -2);
  CHECK_FALSE(flow_scalar(OPTIMA_BOOL, {}));
  CHECK_FALSE(flow_scalar(OPTIMA_BOOL, bytes_of({1, 1})));
  CHECK_FALSE(flow_scalar(OPTIMA_I64, bytes_of({1})));
  CHECK_FALSE(flow_scalar(OPTIMA_I64, std::vector<std::byte>(16)));
  CHECK_FALSE(flow_scalar(OPTIMA_I32, bytes_of({1, 0, 0, 0})));
  CHECK_FALSE(flow_scalar(OPTIMA_U8, bytes_of({1})));
}

TEST_CASE("slices are of elements of whole bytes") {
  for (const int32_t whole : {OPTIMA_BOOL, OPTIMA_U8, OPTIMA_F16, OPTIMA_C128, OPTIMA_UNDEFINED}) CHECK(has_whole_bytes(whole));
  for (const int32_t packed : {OPTIMA_U4, OPTIMA_I4, OPTIMA_F4E2M1, OPTIMA_U2, OPTIMA_I2}) CHECK_FALSE(has_whole_bytes(packed));
}
