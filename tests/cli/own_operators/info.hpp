// SPDX-License-Identifier: Apache-2.0
// tests/cli: a plugin that brings operators of its own, of domain test.own, well and badly defined.
#pragma once

#include <array>

#include "optima/plugin/manifest.hpp"

namespace own_operators {

namespace sdk = optima::sdk;

constexpr sdk::Op row(std::string_view domain, std::string_view name, int32_t since_min, int32_t since_max) {
  sdk::Op op;
  op.domain = domain, op.name = name;
  op.since_min = since_min, op.since_max = since_max;
  op.in = op.out = {sdk::types(OPTIMA_F32)};
  op.static_shape = false;
  return op;
}
constexpr sdk::Op own(std::string_view name) { return row("test.own", name, 1, 1); }
constexpr sdk::Op counter() {
  sdk::Op op = own("Counter");
  op.stateful = true;
  return op;
}

inline constexpr sdk::DeviceKind kDevices[] = {{"OWN", "npu", true}};
inline constexpr sdk::Op kOperators[] = {
    row("", "Relu", 6, 14), row("", "Add", 7, 14), row("", "Neg", 6, 13), own("Twice"), own("Cube"), own("Ends"), own("Both"), own("Bare"), counter(),
    own("Garbage"), own("Further"), own("Other"), own("Narrow"), own("Single"), own("Myself"), own("Ping"), own("Pong"), own("Strange"), own("Loose"),
    own("Squeezed"), own("Liar"), own("Faulty"), own("Mute"), own("Eager"), own("Negative"), own("OfBare")};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "own_operators", i.vendor = "Optima", i.version = "0.1.0", i.build_id = "1";
  i.devices = kDevices;
  i.operators = kOperators;
  i.domains = "test.own";
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace own_operators
