// SPDX-License-Identifier: Apache-2.0
// core/allocation: the user's operator-to-device file. Knows names, not plugins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/registry/device.hpp"
#include "core/support/status.hpp"

namespace optima {

/// What the user wants for a node: nothing (automatic), one device (hard pin), or the first of several that can.
struct Wish {
  std::vector<DeviceName> devices;  ///< empty = automatic
  bool hard = false;                ///< a pin: refused means error
  std::string source;               ///< the key that decided, for messages: "conv_*", "op:Softmax", "--pin"
};

/// An allocation as read: keys in file order.
struct Allocation {
  std::string path;  ///< for messages
  std::vector<std::pair<std::string, Wish>> entries;
};

/// JSON, or YAML by suffix .yaml/.yml, through core/config's reader. InvalidInput for everything wrong with the text.
Result<Allocation> read_allocation(const std::string& path);
/// `--pin NODE=DEV`.
Result<std::pair<std::string, Wish>> parse_pin(const std::string& text);

/// One wish per node id. InvalidInput for names absent from the source model (nearest shown) and for equally long globs that
/// disagree on a node. Entries that only hit folded nodes are returned in `folded`.
struct Resolved {
  std::vector<Wish> by_node_id;
  std::vector<std::string> folded;
};
Result<Resolved> resolve(const Allocation& allocation, const Graph& graph);

/// The allocation of a placement, in the input format: every node of the source model named, folded ones too.
std::string allocation_text(const std::vector<std::pair<std::string, std::string>>& node_to_device);

}  // namespace optima
