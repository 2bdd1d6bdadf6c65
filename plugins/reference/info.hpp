// SPDX-License-Identifier: Apache-2.0
// plugins/reference: who it is and what it can do, made from the table of the reference library.
#pragma once

#include "optima/plugin/manifest.hpp"
#include "reference/ops/signature.hpp"

namespace reference_plugin {

namespace sdk = optima::sdk;
namespace signature = optima::reference::signature;
using optima::reference::Signature;

inline constexpr std::string_view kFormat = "optima.reference/1";

#define OPTIMA_ROW(name, first, last, evaluator, in, out, same) {name, first, last, in, out, same},
namespace rows {
using namespace signature;
inline constexpr Signature kRows[] = {
#include "reference/ops/rows.def"
};
}  // namespace rows
#undef OPTIMA_ROW

/// Strings have no fixed size and cannot be cut tensors; inside the library they are known.
constexpr sdk::Op operator_of(const Signature& row) {
  sdk::Op op;
  op.name = row.name;
  op.since_min = row.first, op.since_max = row.last;
  for (size_t k = 0; k < row.in.size(); ++k) op.in[k] = row.in[k] & ~signature::S;
  for (size_t k = 0; k < row.out.size(); ++k) op.out[k] = row.out[k] & ~signature::S;
  op.static_shape = false;
  return op;
}

constexpr auto operators() {
  std::array<sdk::Op, std::size(rows::kRows)> all{};
  for (size_t k = 0; k < all.size(); ++k) all[k] = operator_of(rows::kRows[k]);
  return all;
}

inline constexpr sdk::DeviceKind kDevices[] = {{"REF", "cpu", true}};
inline constexpr auto kOperators = operators();

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "reference", i.vendor = "Optima", i.version = "0.1.0", i.build_id = OPTIMA_BUILD_ID;
  i.devices = kDevices;
  i.operators = sdk::Span<const sdk::Op>(kOperators.data(), kOperators.size());
  i.formats = kFormat;
  i.only_when_named = true;
  return i;
}
inline constexpr sdk::Info kInfo = info();

}  // namespace reference_plugin
