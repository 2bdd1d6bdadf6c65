// SPDX-License-Identifier: Apache-2.0
// core/quantize: tpu_mlir's calibration table. Private to the room.
//
// Form: tpu-mlir's guide, "run_calibration" (docs/developer_manual, "calibration"): lines `NAME THRESHOLD MIN MAX`, the threshold for symmetric and
// the ends for asymmetric quantization; `#` opens a comment. The compiler takes threshold / 127 as the step, and threshold / 255 of values whose
// min is not negative, so the table states what scheme Shared makes: u8 with zero point 0, or 128 (the codes of i8 with 0). Sophgo's quantization-aware
// training (sophgo_mq) adds `#weight_scale` and below it `NAME COUNT SCALE.. COUNT ZERO_POINT..`, which names no axis, and `#int4_th` above
// thresholds of 4-bit values, which are refused. tpuc-opt 1.30.2 reads `#weight_scale` (tried by hand): codes and biases come out by those scales.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/quantize/encodings.hpp"

namespace optima::detail {

/// Activations are u8. Errors name the line.
Result<Encodings> parse_tpu_table(const std::string& text, const std::string& path);
/// Activations of 8 bits in the form above, and weights of i8 with zero point 0; floats and biases are what has no line. Names of weights are taken as
/// they are (tpu_names.hpp). Numbers have nine digits, which is
/// what an f32 needs.
Result<std::string> write_tpu_table(const Encodings& encodings);

/// The words of a line, without its comment.
std::vector<std::string_view> words_of(std::string_view line);
/// Calls f(line, "PATH:NUMBER") for each line until one fails.
Status each_line(std::string_view text, const std::string& path, const std::function<Status(std::string_view line, const std::string& place)>& f);

}  // namespace optima::detail
