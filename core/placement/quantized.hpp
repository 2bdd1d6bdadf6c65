// SPDX-License-Identifier: Apache-2.0
// core/placement: quantized units: an operator between its DequantizeLinear and QuantizeLinear nodes, which backends turn into
// one integer kernel. Cut between them, a float tensor of four times the bytes would cross, and the kernel would be a float one.
// Private to the room.
#pragma once

#include <string>
#include <vector>

#include "core/placement/units.hpp"

namespace optima::detail {

struct QuantizedUnit {
  uint32_t op = 0;              ///< the operator it is called after
  std::vector<uint32_t> nodes;  ///< ascending, the operator among them; a DequantizeLinear may be in several units
};

/// Every operator of the main graph that reads a DequantizeLinear or that a QuantizeLinear reads, with those nodes and with what
/// stands alone on the way from the operator to the QuantizeLinear (Conv, Relu, QuantizeLinear). Only nodes with constant scale
/// and zero point count, and none with bodies. In order of the operators. O(nodes + readers).
std::vector<QuantizedUnit> find_quantized_units(const Graph& graph, const Uses& uses);

/// The quantized units while a graph is settled: which of them still move as one, where they may go, and who holds what.
class QuantizedUnits {
 public:
  QuantizedUnits(const Graph& graph, const Uses& uses, const Candidates& candidates)
      : graph_(graph), candidates_(candidates), units_(find_quantized_units(graph, uses)), whole_(units_.size(), 1) {}

  /// Narrows `allow` of every node of a whole unit to the devices that the unit may go to as one: those that take each of its
  /// nodes and that its wishes leave. The most specific wish speaks for the unit. Units without such a device are cut, which
  /// asks for another round: true. `grouped` nodes, which a plugin's own group holds, are in no more than one unit.
  /// Placement: two equally specific pins send one unit to two devices.
  Result<bool> settle(const std::vector<const Wish*>& wish, const std::vector<uint64_t>& limit, const Capability& capability,
                      const std::vector<uint8_t>& grouped, std::vector<uint64_t>& allow);

  /// Cuts the whole units that hold one of the marked nodes.
  void cut_all_with(const std::vector<uint8_t>& marked, const std::string& why);

  /// Of each whole unit what settle() left it by.
  std::vector<QuantizedRule> rules() const;

  /// Calls f(operator, node, home) for each other node of each whole unit; home = false: this unit runs a copy of it.
  template <class F>
  void each_member(F&& f) const {
    for (uint32_t k = 0; k < units_.size(); ++k)
      for (uint32_t n : units_[k].nodes)
        if (whole_[k] && n != units_[k].op && (home_[n] == k || copied(n))) f(units_[k].op, n, home_[n] == k);
  }
  /// "1 quantized unit is cut, because ...": empty when none is.
  std::string cut_note() const;

 private:
  bool copied(uint32_t node) const { return !grouped_[node]; }
  bool holds(uint32_t unit, uint32_t node) const { return home_[node] == unit || copied(node); }
  void choose_homes(const std::vector<const Wish*>& wish, const std::vector<uint64_t>& limit);
  Result<uint64_t> limit_of(uint32_t unit, const std::vector<const Wish*>& wish, const std::vector<uint64_t>& limit, const Wish*& speaker) const;
  std::string why_nowhere(uint32_t unit, uint64_t limit, const Capability& capability) const;
  void cut(uint32_t unit, std::string why);

  const Graph& graph_;
  const Candidates& candidates_;
  std::vector<QuantizedUnit> units_;
  std::vector<uint8_t> whole_;       // by unit
  std::vector<PlaceRule> rule_;      // by unit
  std::vector<uint32_t> home_;       // by node: the unit whose node it is; OPTIMA_NONE = no unit's
  std::vector<uint8_t> grouped_;     // by node
  std::vector<std::string> cut_why_; // in the order they were cut
};

}  // namespace optima::detail
