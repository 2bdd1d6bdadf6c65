// SPDX-License-Identifier: Apache-2.0
// core/compile: inputs and expected outputs inside a package. Private to the room.
#pragma once

#include <atomic>

#include "core/graph/graph.hpp"
#include "core/loader/registry.hpp"
#include "core/package/writer.hpp"

namespace optima::detail {

/// Adds self_test/input_<k>.npy (random, seed 1) and self_test/output_<k>.npy (the reference's answers, and the
/// plugins' to their own operators). Cancelled when `cancelled` is set.
Status add_self_test(const Graph& graph, const Registry& registry, PackageWriter& writer, const std::atomic<bool>* cancelled);

}  // namespace optima::detail
