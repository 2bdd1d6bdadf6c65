// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/dlc: is what the tools made what was asked for?
#pragma once

#include <string>
#include <vector>

#include "dlc.hpp"
#include "plugins/snpe/artifact.hpp"

namespace snpe_plugin {

/// Throws TOOL_FAILED, with what was found and wanted, unless the DLCs, run one after the other, take the graph's inputs and give its outputs: names (in
/// the file), dims (in the file's layout; a scalar is a tensor of one) and dtypes. Inputs that nothing reads may be missing. A DLC of a version that
/// is not read passes: nothing can be said of it.
void check_ports(const std::vector<Dlc>& dlcs, const std::vector<Port>& inputs, const std::vector<Port>& outputs);

}  // namespace snpe_plugin
