// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: what a chip's tools abort on, or its emulator computes otherwise than ONNX says, in a form that no other operators stand in
// for. Found with tpu_mlir 1.30.2 by operators one at a time against ONNX Runtime 1.31 (tests/unit/bmcompiler_ops asks for all of them anew).
#include "top/lower.hpp"

namespace bmcompiler_plugin::top {
namespace {

struct Limit {
  std::string_view chip, op, why;
};
constexpr std::string_view kHost = "this chip's tools leave it to the host's processor, and its emulator dies in that part";
constexpr std::string_view kNoForm = "this chip's tools abort on it: they have no lowering of it to BM1684";

constexpr std::string_view kNoCompare = "this chip's tools have no lowering of the comparisons that it is written with", kNoCvi = "this chip's tools have no lowering of it",
                           kNotBelow = "its floor of numbers below 0 is another number";

constexpr Limit kLimits[] = {
    {"bm1684", "GridSample", kHost},
    {"bm1684", "RoiAlign", kHost},
    {"bm1684", "ScatterElements", kNoForm},
    {"bm1684", "ScatterND", kHost},
    {"bm1684", "TopK", kHost},
    {"cv183x", "ArgMin", kNoCvi},
    {"cv183x", "Asinh", kNoCompare},
    {"cv183x", "Atan", kNoCompare},
    {"cv183x", "Ceil", kNotBelow},
    {"cv183x", "Cos", kNoCvi},
    {"cv183x", "Equal", kNoCompare},
    {"cv183x", "Erf", kNoCvi},
    {"cv183x", "Floor", kNotBelow},
    {"cv183x", "Greater", kNoCompare},
    {"cv183x", "GreaterOrEqual", kNoCompare},
    {"cv183x", "Hardmax", kNoCompare},
    {"cv183x", "Less", kNoCompare},
    {"cv183x", "LessOrEqual", kNoCompare},
    {"cv183x", "NegativeLogLikelihoodLoss", kNoCompare},
    {"cv183x", "Not", kNoCompare},
    {"cv183x", "OneHot", kNoCompare},
    {"cv183x", "Round", kNoCompare},
    {"cv183x", "Shrink", kNoCompare},
    {"cv183x", "Sign", kNoCompare},
    {"cv183x", "Sin", kNoCvi},
    {"cv183x", "SoftmaxCrossEntropyLoss", kNoCompare},
    {"cv183x", "Tan", kNoCvi},
    {"cv183x", "ThresholdedRelu", kNoCompare},
    {"cv183x", "TopK", kNoCvi},
    {"cv183x", "Trilu", kNoCvi},
    {"cv183x", "Xor", kNoCompare},
};

}  // namespace

std::string limit_of(const sdk::Node& node, const Chip& chip) {
  for (const Limit& l : kLimits)
    if (l.chip == chip.name && l.op == node.op()) return std::string(l.why);
  return {};
}

}  // namespace bmcompiler_plugin::top
