// SPDX-License-Identifier: Apache-2.0
// host: `compare --layers`.
#pragma once

#include "core/session/compare.hpp"
#include "host/optima_host/arguments.hpp"
#include "host/optima_host/console.hpp"
#include "host/run_verbs/run_verb.hpp"

namespace optima::host {

/// Makes a float model's inputs from what is given on the command line, for a model that wants these.
using InputsFor = std::function<Result<std::vector<Tensor>>(const std::vector<TensorInfo>& wanted)>;

/// A is the float model, B what was made of it: a QDQ model or a package. Prints the layers and each one's error.
Status compare_layers_verb(Console& console, const Arguments& arguments, const CompareOptions& options, const InputsFor& given, Registry& registry);

}  // namespace optima::host
