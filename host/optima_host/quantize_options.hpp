// SPDX-License-Identifier: Apache-2.0
// host: the options that `quantize`, `compile`, `plan` and `compare` share: precisions, representative data, how ranges are made.
#pragma once

#include "core/session/quantize_model.hpp"
#include "host/optima_host/arguments.hpp"
#include "host/optima_host/console.hpp"
#include "host/optima_host/progress.hpp"

namespace optima::host {

/// --calib --calib-samples
void declare_data(Arguments& arguments);
/// --precision --encodings --scheme --range --bound --calib-memory, data and pictures
void declare_quantization(Arguments& arguments);

/// What declare_data and declare_pictures declared. Usage for options of data without --calib.
Result<SampleOptions> sample_options(const Arguments& arguments);
/// What declare_quantization declared; notes go to the console.
Result<QuantizeSettings> quantize_settings(Console& console, const Arguments& arguments);

/// Makes the request quantize before it places; `settings` must outlive its use.
void quantize_before_placing(PlanRequest& request, const QuantizeSettings& settings, Registry& registry);

}  // namespace optima::host
