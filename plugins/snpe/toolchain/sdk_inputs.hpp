// SPDX-License-Identifier: Apache-2.0
// plugins/snpe/toolchain: what a SDK's quantizer reads besides the model: encodings and representative data, as files.
#pragma once

#include "onnx_names.hpp"
#include "toolchain.hpp"

namespace snpe_plugin {

/// `--quantization_overrides`: {"activation_encodings": {NAME: [{"bitwidth", "max", "min", "offset", "scale", "is_symmetric", "dtype"}]}, "param_encodings": ...}
/// (80-63442-2, "Quantized vs Non-Quantized Models"; AIMET's 0.6.1). Codes are counted from 0 there: offset = -zero point of the unsigned type.
/// Biases (I32) are left to the tool, which makes them of its own scales; so are blocks, which the form cannot state.
std::string overrides_json(const std::vector<Quantized::Codes>& codes);

/// Widest activations and weights among the codes, in bits; 8 where there are none.
struct BitWidths {
  int activations = 8, weights = 8;
  bool per_channel = false;
};
BitWidths widths_of(const std::vector<Quantized::Codes>& codes);

/// Writes the samples into a new folder `folder`/data and gives the path of an input_list.txt for them: a line a sample, `NAME:=PATH` where there are
/// several inputs. Files are dense little-endian float32, whatever the input's type, as the tools take them without --use_native_input_files; names
/// and layouts are the DLC's (80-63442-2, "Input list"), which `borders` tell where they are not the model's. Empty when there is no sample, or an
/// input cannot be had. Throws IO, and INVALID_ARGUMENT for names and folders with blanks, which the form cannot state.
std::string write_input_list(const std::string& folder, const Quantized& data, const OnnxNames& model, const std::vector<Built::Border>& borders = {});

}  // namespace snpe_plugin
