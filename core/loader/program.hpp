// SPDX-License-Identifier: Apache-2.0
// core/loader: loaded artifacts and their contexts: the runtime half of the seam.
#pragma once

#include <memory>

#include "core/loader/instance.hpp"

namespace optima {

/// check_artifact; numbers that are not known read as UNKNOWN.
Result<Backend::Compatibility> judge_artifact(const Instance& plugin, const optima_artifact& artifact, const optima_device& device);

/// load and bindings. The structs may go after the call. `of_contexts`: what each of its contexts is made with, where the plugin takes options.
Result<std::unique_ptr<LoadedProgram>> load_program(std::shared_ptr<Instance> plugin, const optima_artifact& artifact, const optima_device& device,
                                                    const OptionList& options, std::vector<TypedOption> of_contexts);

}  // namespace optima
