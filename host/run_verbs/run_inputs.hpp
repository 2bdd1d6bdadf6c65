// SPDX-License-Identifier: Apache-2.0
// host/run_verbs: a package opened for a verb, with its inputs. Private to the room.
#pragma once

#include <memory>
#include <vector>

#include "core/runtime/model.hpp"
#include "core/runtime/request.hpp"
#include "host/run_verbs/run_verb.hpp"

namespace optima {

Result<std::unique_ptr<LoadedModel>> load_for(RuntimeContext& context, const RunOptions& options);

/// One tensor per model input; `fill_random`: inputs that are not given are noise. Lines about pictures and
/// about sizes that the model leaves open go to the printer.
Result<std::vector<Tensor>> inputs_for(const LoadedModel& model, const RunOptions& options, bool fill_random, const RunPrinter& printer);

/// A request with the inputs set; the tensors are shared.
Result<std::unique_ptr<Request>> request_for(const LoadedModel& model, const std::vector<Tensor>& inputs);

/// Prints rows of cells with aligned columns. `printer.line` must be set.
void print_table(const RunPrinter& printer, const std::vector<std::vector<std::string>>& rows);

std::string milliseconds(double ms);

/// The q-quantile (0…1) by nearest rank; 0 of nothing.
double quantile(std::vector<double> values, double q);

}  // namespace optima
