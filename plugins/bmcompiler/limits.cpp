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

constexpr Limit kLimits[] = {
    {"bm1684", "GridSample", kHost},
    {"bm1684", "RoiAlign", kHost},
    {"bm1684", "ScatterElements", kNoForm},
    {"bm1684", "ScatterND", kHost},
    {"bm1684", "TopK", kHost},
};

}  // namespace

std::string limit_of(const sdk::Node& node, const Chip& chip) {
  for (const Limit& l : kLimits)
    if (l.chip == chip.name && l.op == node.op()) return std::string(l.why);
  return {};
}

}  // namespace bmcompiler_plugin::top
