// SPDX-License-Identifier: Apache-2.0
// core/report: how far a quantized model's values are from the float model's, layer by layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/support/json.hpp"
#include "core/support/status.hpp"

namespace optima {

/// SNR in dB and cosine over all samples; infinite dB where nothing differs.
struct ErrorFigures {
  double snr_db = 0, cosine = 1;
};

/// A value that both models have and the quantized one has as codes, gives as an answer, or makes with a quantized operator.
struct LayerFigures {
  std::string value;        ///< its name in both
  std::string node, op;     ///< who makes it in the quantized model; empty for an input, and where only a package is there
  std::string encoding;     ///< "u8 0.0123 128", type, scale and zero point; empty where it stays float
  double saturated = 0;     ///< share of the float values beyond the codes, 0..1
  ErrorFigures accumulated; ///< from the model's inputs on
  std::optional<ErrorFigures> own;  ///< with the float model's values as inputs: input rounding, weights and output rounding of this layer
                                    ///< alone; none of a package
};

/// "optima.layers/1": what `compare --layers --json` prints and `view --layers` reads.
Json layers_json(const std::vector<LayerFigures>& layers);
/// InvalidInput with the place of the first mistake.
Result<std::vector<LayerFigures>> read_layers(const std::string& path);

}  // namespace optima
