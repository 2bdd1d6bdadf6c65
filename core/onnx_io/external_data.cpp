// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: path rules of external data.
#include "core/onnx_io/external_data.hpp"

#include <algorithm>
#include <filesystem>

#include "core/support/text.hpp"

namespace optima::onnx_io {
namespace fs = std::filesystem;
namespace {

bool below(const fs::path& file, const fs::path& folder) {
  const auto differ = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return differ.first == folder.end();
}

}  // namespace

Result<std::string> ExternalData::resolve(const std::string& location) const {
  auto refused = [&](std::string_view why) { return invalid_input(cat("external data ", quote(location), ": ", why)); };
  if (model_path_.empty()) return refused("a model that is not a file has none");
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos) return refused("no file name");
  if (relative.is_absolute()) return refused("absolute path, wanted one relative to the model's folder");
  for (const fs::path& part : relative)
    if (part == "..") return refused("path with '..', wanted one inside the model's folder");

  std::error_code error;
  const fs::path model = fs::absolute(model_path_, error);
  const fs::path file = fs::canonical(model.parent_path() / relative, error);
  if (error) return refused(cat("not found beside the model (", error.message(), ")"));
  const fs::path named_folder = fs::canonical(model.parent_path(), error);
  const fs::path real_folder = fs::canonical(model, error).parent_path();
  if (!below(file, named_folder) && !below(file, real_folder)) return refused(cat("link to ", quote(file.string()), ", outside the model's folder"));
  return file.string();
}

Result<Blob> ExternalData::file(const std::string& location) {
  if (auto known = files_.find(location); known != files_.end()) return known->second;
  OPTIMA_ASSIGN(const std::string path, resolve(location));
  OPTIMA_ASSIGN(Blob blob, map_file(path));
  return files_[location] = blob;
}

}  // namespace optima::onnx_io
