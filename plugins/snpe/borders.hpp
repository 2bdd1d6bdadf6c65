// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: ports by what the tools made of the model's border.
#pragma once

#include "artifact.hpp"
#include "toolchain/toolchain.hpp"

namespace snpe_plugin {

/// Ports of these names get the file's name and layout.
inline void name_borders(const std::vector<Built::Border>& borders, std::vector<Port>& ports) {
  for (const Built::Border& border : borders)
    for (Port& port : ports)
      if (port.name == border.name) port.file_name = border.file_name, port.layout = border.layout;
}

}  // namespace snpe_plugin
