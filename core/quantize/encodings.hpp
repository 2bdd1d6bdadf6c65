// SPDX-License-Identifier: Apache-2.0
// core/quantize: encodings: how a value's reals are codes. Plain data that every backend, file format and the QDQ graph share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/support/json.hpp"
#include "core/support/status.hpp"
#include "optima/abi.h"

namespace optima {

/// real = (code - zero_point) * scale. One scale, one per index of `axis`, or one per block of `block` along `axis`
/// (scales then row-major over the shape with that axis divided up). f32 steps exactly as ONNX's QuantizeLinear takes them.
struct Encoding {
  int32_t dtype = 0;                 ///< OPTIMA_U8, I8, U16, I16, I4, U4, I32 (biases); F32, F16 or BF16 = left float, no scale
  std::vector<float> scale;
  std::vector<int32_t> zero_point;   ///< as many as scales
  int axis = -1;                     ///< -1 = per tensor; with several scales: read from a format that names no axis, so the operator's own
  int64_t block = 0;                 ///< 0 = one scale per index of the axis
  float low = 0, high = 0;           ///< range that was observed or asked; informative
  bool operator==(const Encoding&) const = default;
};

/// Least and largest code of an integer type; nothing for the others.
struct CodeLimits {
  int64_t least = 0, largest = 0;
};
std::optional<CodeLimits> code_limits(int32_t dtype);
/// Whether an encoding is one: scales and zero points as many as said, finite and above 0, and codes. InvalidInput that begins with `place`.
Status check_encoding(const Encoding& encoding, const std::string& place);

/// A node that stays float, and why.
struct LeftFloat {
  std::string node, why;
  bool operator==(const LeftFloat&) const = default;
};

/// All encodings of one model. Names are those of the model's values; weights are values, too.
struct Encodings {
  std::string model_hash, data_hash;    ///< hexadecimal; empty = not known
  std::string precision, scheme, range; ///< as asked: "int8", "shared", "mse"
  uint64_t samples = 0;
  std::map<std::string, Encoding> activations, weights;
  /// Activations whose channels were divided before they were coded, and by what, one number a channel of the axis that products sum over; the
  /// divided value is named "VALUE/smooth", and the products' weights, which are coded multiplied, undo it.
  std::map<std::string, std::vector<float>> smoothed;
  /// What bias correction added to outputs of products, one number an output channel, by the output's name: with these encodings and without samples
  /// the model comes out the same. None of weights that were rounded in second order, which needs samples.
  std::map<std::string, std::vector<float>> corrected;
  std::vector<LeftFloat> left_float;
  bool operator==(const Encodings&) const = default;
};

/// `optima.encodings/1`: the whole of it (core/quantize/own_format.hpp). Same encodings, same text.
Json to_json(const Encodings& encodings);
/// Any of the formats we read, told apart by content: ours; AIMET/QNN 0.x and 1.0.0; tpu_mlir's calibration table (not JSON). Of foreign ones
/// what they do not say stays empty. `path` for messages. InvalidInput naming entry, found, wanted.
Result<Encodings> parse_encodings(const std::string& text, const std::string& path);
Result<Encodings> read_encodings(const std::string& path);

enum class EncodingsFormat { Optima, AimetOld, Aimet1, TpuTable };
/// By name: "optima", "aimet-0.6", "aimet-1.0", "tpu". Usage.
Result<EncodingsFormat> encodings_format(const std::string& name);
/// Same encodings, same text. InvalidInput for an encoding that the format cannot state (which one, why); smoothed values are stated by ours alone, and
/// so is what was corrected, which the others leave out.
Result<std::string> write_encodings(const Encodings& encodings, EncodingsFormat format);

}  // namespace optima
