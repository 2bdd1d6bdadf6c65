// SPDX-License-Identifier: Apache-2.0
// The signature of a graph's node.
#include "core/flow/node.hpp"

#include <doctest/doctest.h>

using namespace optima;

namespace {

image::Attr body(const std::string& name, uint32_t graph) {
  image::Attr a;
  a.name = name, a.type = OPTIMA_ATTR_GRAPH, a.refs = {graph};
  return a;
}
image::Attr ints(const std::string& name, std::vector<int64_t> values) {
  image::Attr a;
  a.name = name, a.type = OPTIMA_ATTR_INTS, a.ints = std::move(values);
  return a;
}
image::Attr number(const std::string& name, int64_t value) {
  image::Attr a;
  a.name = name, a.i = value;
  return a;
}

image::Node node(const std::string& op, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, std::vector<image::Attr> attrs) {
  image::Node n;
  n.op_type = op, n.inputs = std::move(inputs), n.outputs = std::move(outputs), n.attrs = std::move(attrs);
  return n;
}

}  // namespace

TEST_CASE("bodies come in one order, and null where one is missing or is no graph") {
  const image::Node both = node("If", {0}, {1}, {body("else_branch", 2), number("x", 1), body("then_branch", 3)});
  const auto found = bodies_in_order(both, FlowOp::If);
  REQUIRE(found.size() == 2);
  CHECK((found[0] && found[0]->refs[0] == 3 && found[1] && found[1]->refs[0] == 2));
  const auto lacking = bodies_in_order(node("If", {0}, {1}, {body("else_branch", 2), number("then_branch", 1)}), FlowOp::If);
  CHECK((!lacking[0] && lacking[1]));
  CHECK(bodies_in_order(node("Loop", {}, {}, {}), FlowOp::Loop) == std::vector<const image::Attr*>{nullptr});
}

TEST_CASE("a Loop that leaves its trip count or condition off has them all the same, as absent ones") {
  for (const std::vector<uint32_t>& inputs : {std::vector<uint32_t>{}, {0}, {OPTIMA_NONE, 0}}) {
    const FlowSignature s = signature_of(node("Loop", inputs, {1}, {body("body", 1)}), FlowOp::Loop);
    CHECK((s.fits() && s.inputs == 2 && s.carried == 0 && s.scan_outputs == 1));
  }
  CHECK_FALSE(signature_of(node("If", {}, {1}, {}), FlowOp::If).fits());
}

TEST_CASE("a Scan says how much of it is scanned; a number that cannot be fits no Scan") {
  const auto scan = [](int64_t scanned) { return node("Scan", {0, 1, 2}, {3, 4}, {number("num_scan_inputs", scanned)}); };
  CHECK(scanned_inputs(scan(2)) == 2);
  CHECK(signature_of(scan(2), FlowOp::Scan).carried == 1);
  for (const int64_t wrong : {int64_t{0}, int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    CHECK(scanned_inputs(scan(wrong)) == wrong);
    CHECK_FALSE(signature_of(scan(wrong), FlowOp::Scan).fits());
  }
  CHECK(scanned_inputs(node("Scan", {0}, {1}, {})) == 0);
}

TEST_CASE("axes and directions are the node's, and axis 0 forward where it says nothing") {
  const image::Node scan = node("Scan", {0, 1, 2}, {3, 4, 5},
                                {number("num_scan_inputs", 2), ints("scan_input_axes", {-1, 2}), ints("scan_input_directions", {1}),
                                 ints("scan_output_axes", {}), ints("scan_output_directions", {0, 1})});
  const FlowScans scans = scans_of(scan, signature_of(scan, FlowOp::Scan));
  REQUIRE((scans.inputs.size() == 2 && scans.outputs.size() == 2));
  CHECK((scans.inputs[0].axis == -1 && scans.inputs[0].backward));
  CHECK((scans.inputs[1].axis == 2 && !scans.inputs[1].backward));
  CHECK((scans.outputs[0].axis == 0 && !scans.outputs[0].backward));
  CHECK((scans.outputs[1].axis == 0 && scans.outputs[1].backward));
  const image::Node loop = node("Loop", {0, 1, 2}, {3, 4}, {body("body", 1)});
  const FlowScans gathered = scans_of(loop, signature_of(loop, FlowOp::Loop));
  CHECK((gathered.inputs.empty() && gathered.outputs.size() == 1 && gathered.outputs[0].axis == 0));
}
