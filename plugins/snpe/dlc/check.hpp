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
/// is not read passes: nothing can be said of it. Of a file that SNPE's runtime runs (`of_sdk`) floats may lie as floats of 16 bits or as codes: its buffers
/// are floats all the same (--float_bitwidth 16 makes the border 16-bit floats, snpe-dlc-quant makes it codes).
void check_ports(const std::vector<Dlc>& dlcs, const std::vector<Port>& inputs, const std::vector<Port>& outputs, bool of_sdk = false);

}  // namespace snpe_plugin
