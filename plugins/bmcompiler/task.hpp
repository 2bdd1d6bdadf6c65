// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: one compile's private folder and log, and its target.
#pragma once

#include "optima/plugin/task.hpp"
#include "toolchain/stages.hpp"

namespace bmcompiler_plugin {

/// The chip of the device's attribute `chip`, else of option bmcompiler.chip. Throws as parse_chip().
inline const Chip& chip_of(const sdk::Device& device, const sdk::Options& options) {
  const std::string_view own = device.attributes().string("chip", "");
  return parse_chip(own.empty() ? options.string("bmcompiler.chip", "bm1684x") : own);
}

/// What floats are computed in, by option bmcompiler.precision: "F32", "F16", "BF16". Throws INVALID_ARGUMENT for what the chip has not.
std::string float_mode(const Chip& chip, const sdk::Options& options);

/// Gone with its object, but for a log that an error names.
class Task : public sdk::Task {
 public:
  Task(const sdk::Host& host, const sdk::Options& options, std::function<bool()> cancelled) : sdk::Task(host, options, "bmcompiler", std::move(cancelled)) {}
};

}  // namespace bmcompiler_plugin
