// SPDX-License-Identifier: Apache-2.0
// core/compile: a plan and its artifacts as a package. Private to the room.
#pragma once

#include "core/compile/subgraphs.hpp"

namespace optima::detail {

/// Stores weights, placement.json, alloc.json, the effective config and, if asked for, the self test, then commits.
Result<Package> write_package(const CompileRequest& request, const Planned& planned, const Registry& registry, BuildResult built,
                              PackageWriter writer);

}  // namespace optima::detail
