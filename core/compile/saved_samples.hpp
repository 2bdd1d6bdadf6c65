// SPDX-License-Identifier: Apache-2.0
// core/compile: representative data of each subgraph inside a package. Private to the room.
#pragma once

#include "core/compile/compile.hpp"
#include "core/package/writer.hpp"

namespace optima::detail {

/// Adds calib/Subgraph_<i>/<tensor>.npy for everything that subgraph i of the main graph reads, and calib/samples.json, which names the tensors (docs/package-format.md).
/// Samples lie along dim 0, the first min(request.save_samples, all of request.calibration) of them, as the reference makes them of the
/// planned graph. Gives how many. InvalidInput when two samples give a tensor two shapes; Placement when the reference cannot run the model; Cancelled. Requires
/// request.save_samples > 0. Holds all that it keeps in memory. Slow: the reference's plain loops.
Result<uint32_t> add_samples(const CompileRequest& request, const Planned& planned, const Registry& registry, PackageWriter& writer, const ProgressReport& progress);

}  // namespace optima::detail
