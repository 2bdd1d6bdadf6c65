// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: outputs of a run as a folder of npy files and a manifest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// What else manifest.json says.
struct OutputFacts {
  std::map<std::string, std::string> inputs;    ///< name -> where it came from
  std::string package, package_hash;
  std::map<std::string, std::string> versions;  ///< plugin or tool -> version
  std::map<std::string, const TextTable*> texts;  ///< of outputs that are codes of texts: these are written as texts
};

/// File names for outputs: '/' and what a file name cannot hold become '_'; a second equal name gets "_2", a third "_3".
std::vector<std::string> output_file_names(const std::vector<std::string>& names);

/// Makes the folder if need be and writes one npy per tensor, then manifest.json. Io when the disk refuses, InvalidInput for codes without a text.
Status save_outputs(const std::string& folder, const std::vector<Tensor>& outputs, const OutputFacts& facts);

/// The tensors of such a folder, in the manifest's order. InvalidInput when it is none, or holds texts.
Result<std::vector<Tensor>> load_outputs(const std::string& folder);

}  // namespace optima
