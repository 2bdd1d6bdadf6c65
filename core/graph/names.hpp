// SPDX-License-Identifier: Apache-2.0
// core/graph: names for nodes that have none or share one. Knows nothing but names and operators.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace optima {

struct NamedOp {
  std::string_view name, op_type;
};

/// One unique name per node, in order. A name that only one node has stays as it is; the others become lower-case operator
/// + running number of that operator among all the nodes ("conv_3" = the third Conv), the next free number when the model
/// uses that name itself. Depends on nothing but the list, so the same model always gets the same names.
std::vector<std::string> stable_names(std::span<const NamedOp> nodes);

/// "op_n" with the first n from 1 that is not in `taken`, which then has it. `op` is any operator name.
std::string fresh_name(std::string_view op, std::unordered_set<std::string>& taken);

}  // namespace optima
