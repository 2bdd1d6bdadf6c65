// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/fit: see whole.hpp.
#include "plugins/llvm_cpu/fit/whole.hpp"

#include "reference/ops/operators.hpp"
#include "reference/reference.hpp"

namespace optima::llvm_cpu {
namespace {

constexpr std::string_view kDrivenByHost[] = {"Loop", "Scan"};

}  // namespace

std::vector<sdk::Op> operators_by_reference() {
  std::vector<sdk::Op> out;
  for (const sdk::Op& op : reference::kOperators) {
    bool is_driven = false;
    for (const std::string_view name : kDrivenByHost) is_driven = is_driven || op.name == name;
    if (!is_driven) out.push_back(op);
  }
  return out;
}

bool goes_by_reference(const sdk::Node& node) {
  static const std::vector<sdk::Op> rows = operators_by_reference();
  return sdk::judge(sdk::Span<const sdk::Op>(rows.data(), rows.size()), node).yes() && reference::why_not(*node.graph(), node.raw()).empty();
}

}  // namespace optima::llvm_cpu
