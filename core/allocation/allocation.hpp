// SPDX-License-Identifier: Apache-2.0
// core/allocation: the user's operator-to-device file. Knows names, not plugins.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/device.hpp"
#include "core/graph/graph.hpp"
#include "core/quantize/precision.hpp"
#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima {

/// What the user wants for a node: nothing (automatic), one device (hard pin), the first of several that can, or the host.
struct Wish {
  std::vector<DeviceName> devices;  ///< empty = automatic, or the host
  bool hard = false;                ///< a pin: refused means error
  std::string source;               ///< who decided, for messages: "'conv_*'", "'op:Softmax'", "--pin"; empty = nobody
  uint32_t rank = kNodeRank;        ///< how specific that is: where nodes move as one, the highest speaks for all
  static constexpr uint32_t kEveryRank = 1, kOpRank = 2, kGlobRank = 3 /* + its length */, kNodeRank = UINT32_MAX / 2;
  static constexpr uint32_t kPinRank = UINT32_MAX / 2;  ///< added to the rank of what --pin says, so that it wins over the file
  bool host = false;                ///< an If, Loop or Scan whose bodies get plans of their own; no devices then

  /// "X64:0", "first of A:0, B:0", "host" or "auto".
  std::string text() const;
  /// Same devices and hardness; who said it does not matter.
  bool same_as(const Wish& other) const { return devices == other.devices && hard == other.hard && host == other.host; }
};

/// What the user wants a node computed in.
struct PrecisionWish {
  std::optional<Precision> precision;  ///< empty = nobody said
  std::string source;                  ///< who said it, for messages: "'conv_*'", "--precision"; empty = nobody
  uint32_t rank = Wish::kNodeRank;     ///< how specific that is, as Wish::rank

  std::string text() const { return precision ? std::string(name_of(*precision)) : "nothing"; }
  bool same_as(const PrecisionWish& other) const { return precision == other.precision; }
};

/// An allocation as read: keys in file order, each once, of which each says a device, a precision, or both.
struct Allocation {
  std::string path;  ///< for messages
  std::vector<std::pair<std::string, Wish>> entries;
  std::vector<std::pair<std::string, PrecisionWish>> precisions;
};

/// One flat object. Keys: exact node name; glob (`*` crosses '/', `?` is one character); `op:Softmax`; `*`. Values:
/// "KIND:index" or "plugin/KIND:index" (pin), a list of those (the first that can), "host" (control flow alone), "auto"; or an object of
/// "device", which is one of these, and "precision", either of them optional: what it does not say a less specific key may.
/// JSON, or YAML by suffix .yaml/.yml, through core/config's reader. InvalidInput for everything wrong with the text.
Result<Allocation> read_allocation(const std::string& path);
/// The same from a parsed document; `path` is for messages only.
Result<Allocation> parse_allocation(const Json& json, const std::string& path);
/// `--pin KEY=DEV`: a key and what is wanted in the grammar of the file, split at the last '='. Lists as "A:0,B:0". Usage.
Result<std::pair<std::string, Wish>> parse_pin(const std::string& text);

/// What an allocation and `--pin` mean for one graph.
struct Resolved {
  std::vector<Wish> by_node_id;     ///< nodes of bodies too
  std::vector<PrecisionWish> precision_by_node_id;  ///< as many; of the allocation alone
  std::vector<std::string> folded;  ///< names with a device that only hit nodes which were folded away, with the reason
  std::vector<std::string> notes;   ///< op types of the allocation that are not in this model
};
/// One wish per node id: `pins` over the allocation, and in each exact name over longest glob over op type over `*`. A key that is a
/// node's name is that name even if it looks like a glob. InvalidInput for names absent from the source model and for globs that match
/// nothing in it (nearest shown), for a name that several source nodes share, for a pin said twice, and for two equally long globs that
/// disagree on a node they decide. An op type that the model does not have is an error in a pin; in the allocation, which may serve several
/// models, only when it is not among `operators` either, where any are given.
Result<Resolved> resolve(const Allocation& allocation, const Graph& graph, const std::vector<std::pair<std::string, Wish>>& pins = {},
                         std::span<const std::string> operators = {});

/// What --pin says behind the '=': a device, several as "A:0,B:0" (the first that can), "host" or "auto". InvalidInput.
Result<Wish> parse_wish(const std::string& text);
/// The same as a value of the file: a string, or a list of strings.
Json wish_value(const std::string& text);

/// A node's line of an allocation.
struct AllocationLine {
  std::string name;
  std::string device;          ///< as parse_wish() reads it
  std::string precision = {};  ///< empty = the file says nothing of it
};
/// The allocation of a placement, in the input format: each name with its wish_value(), an object where there is a precision, in the order given.
std::string allocation_text(const std::vector<AllocationLine>& lines);
/// `alloc MODEL --default DEV`: every node of the source model with that device: main graph in order, bodies, then what was
/// folded away. InvalidInput when the device is no device name; no plugin is asked.
Result<std::string> allocation_template(const Graph& graph, const std::string& device);

/// An allocation that gives every node of the graph, those of bodies too, its wish in `device_of` (by node name, complete; as
/// parse_wish() reads it), in few keys: "*" for the most common device, op:Type and prefix globs where they hold for every node, names for the rest. Read back
/// with resolve() it means exactly that.
Result<std::string> compact_allocation(const Graph& graph, const std::map<std::string, std::string, std::less<>>& device_of);

}  // namespace optima
