// SPDX-License-Identifier: Apache-2.0
// core/quantize: encodings of AIMET, which QNN's and SNPE's converters take by --quantization_overrides. Private to the room.
//
// Form: AIMET's "Encoding Format Specification" (quic.github.io/aimet-pages, quantsim/encoding_spec), versions 0.4 to 0.6.1 and 1.0.0; SNPE's user's
// guide, "Quantization overrides", for min and max alone. Codes are counted from 0 whatever the type: real = (code + offset) * scale, so
// offset = -zero point of the unsigned type.
//   0.x     "activation_encodings": {NAME: [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "min": .., "max": .., "scale": .., "offset": ..}]}; a
//           list of several is one for each channel; "param_encodings" likewise. Scale and offset follow from min and max where they are absent.
//   1.0.0   [{"name": NAME, "dtype": "INT", "bw": 8, "enc_type": "PER_TENSOR", "is_sym": false, "scale": [..], "offset": [..]}]; PER_CHANNEL with a scale
//           a channel; PER_BLOCK with "block_size".
// Neither says along which axis: Encoding::axis is -1 behind reading, and written files lose it. Symmetric is signed here, with offset -2^(bits - 1), or
// one more (AIMET's strictly symmetric), or 0: then codes are signed from the start, unless the ends are not negative or, without ends, it is
// an activation (AIMET's unsigned symmetric).
#pragma once

#include "core/quantize/encodings.hpp"

namespace optima::detail {

/// Either version, told apart by whether the members are objects or lists.
Result<Encodings> parse_aimet(const Json& json, const std::string& path);
/// "0.6.1".
Result<std::string> write_aimet_old(const Encodings& encodings);
/// "1.0.0".
Result<std::string> write_aimet_1(const Encodings& encodings);

}  // namespace optima::detail
