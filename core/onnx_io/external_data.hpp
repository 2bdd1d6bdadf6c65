// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: finds and maps the files that hold a model's external data. Private to the room.
#pragma once

#include <map>
#include <string>

#include "core/support/blob.hpp"

namespace optima::onnx_io {

/// Maps each file once. A location is relative to the model's folder, without "..". What it leads to, links followed, must
/// lie below the folder of the model as it was named or below the folder of the model's own real file (download caches
/// link both into one store). Everything else is refused, so a foreign model cannot read the user's other files.
class ExternalData {
 public:
  /// `model_path` empty: the model is no file, every location is refused.
  explicit ExternalData(std::string model_path) : model_path_(std::move(model_path)) {}

  Result<Blob> file(const std::string& location);
  /// Files mapped so far, by location.
  const std::map<std::string, Blob>& files() const { return files_; }

 private:
  Result<std::string> resolve(const std::string& location) const;

  std::string model_path_;
  std::map<std::string, Blob> files_;
};

}  // namespace optima::onnx_io
