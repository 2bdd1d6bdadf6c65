// SPDX-License-Identifier: Apache-2.0
// core/quantize: `optima.encodings/1`. Private to the room; to_json() writes it.
//
//   {"format": "optima.encodings/1", "model_hash": "..", "data_hash": "..", "precision": "int8", "scheme": "shared", "range": "mse", "samples": 100,
//    "activations": {"x": {"dtype": "u8", "scale": 0.5, "zero_point": 128, "range": [-60, 63.5]}},
//    "weights": {"w": {"dtype": "i8", "axis": 0, "scale": [0.1, 0.2], "zero_point": 0}, "v": {"dtype": "i4", "axis": 1, "block": 32, "scale": [..], ..}},
//    "left_float": [{"node": "softmax_1", "why": ".."}]}
//
// `scale` and `zero_point` are one number, or one for each index or block; one zero point may stand for all scales. Scales have as many digits as
// their f32 needs. Members that are empty are left out.
#pragma once

#include "core/quantize/encodings.hpp"

namespace optima::detail {

Result<Encodings> parse_own_format(const Json& json, const std::string& path);

/// The shortest decimal number that reads as this f32.
double shortest(float value);

}  // namespace optima::detail
