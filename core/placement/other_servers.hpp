// SPDX-License-Identifier: Apache-2.0
// core/placement: how to name the plugins that a plain device name passes over.
#pragma once

#include <span>
#include <string>

#include "core/backend/backend.hpp"

namespace optima {

/// "; X64:0 means plugin 'acme', what others serve is called llvm_cpu/X64:0", for the end of an error of plugin `id` on the device
/// `asked`; empty when the full name was asked for, or no other plugin serves the kind.
std::string other_servers_hint(std::span<Backend* const> plugins, const std::string& id, const DeviceName& asked);

}  // namespace optima
