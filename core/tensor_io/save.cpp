// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/save.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "core/support/json_value.hpp"
#include "core/support/output.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"

namespace optima {
namespace {

constexpr size_t kLongestFileName = 200;  // of 255 that file systems take, with room for "_2.npy"

std::string file_stem(const std::string& name) {
  size_t length = std::min(name.size(), kLongestFileName);
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) --length;  // whole characters of UTF-8
  std::string out = name.substr(0, length);
  for (char& c : out)
    if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
  if (out.empty() || out[0] == '.') out.insert(0, "_");
  return out;
}

Json strings(const std::map<std::string, std::string>& map) {
  Json out = Json::object();
  for (const auto& [key, value] : map) append_member(out, key, value);
  return out;
}

Result<std::string> npy_of_codes(const Tensor& codes, const TextTable& table) {
  OPTIMA_ASSIGN(std::vector<std::string> texts, text_elements(codes, table));
  return write_npy_texts({codes.shape, std::move(texts)});
}

}  // namespace

std::vector<std::string> output_file_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    const std::string stem = file_stem(name);
    std::string file = stem;
    for (size_t n = 2; !taken.insert(file).second; ++n) file = cat(stem, "_", n);
    out.push_back(file + ".npy");
  }
  return out;
}

Status save_outputs(const std::string& folder, const std::vector<Tensor>& outputs, const OutputFacts& facts) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return io_error(cat("cannot create folder ", quote(folder), ": ", error.message()));
  std::vector<std::string> names;
  for (const Tensor& t : outputs) names.push_back(t.name);
  const std::vector<std::string> files = output_file_names(names);
  Json list = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto table = facts.texts.find(names[i]);
    const bool is_text = table != facts.texts.end();
    OPTIMA_ASSIGN(const std::string bytes, is_text ? npy_of_codes(outputs[i], *table->second) : write_npy(outputs[i]));
    OPTIMA_RETURN_IF_ERROR(write_output(cat(folder, "/", files[i]), bytes));
    list.push_back({{"name", names[i]}, {"file", files[i]}, {"dtype", dtype_name(is_text ? OPTIMA_STRING : outputs[i].dtype)}, {"shape", outputs[i].shape}});
  }
  const Json manifest = {{"outputs", std::move(list)}, {"inputs", strings(facts.inputs)}, {"package", facts.package},
                         {"package_sha256", facts.package_hash}, {"versions", strings(facts.versions)}};
  return write_output(cat(folder, "/manifest.json"), to_text(manifest));
}

Result<std::vector<Tensor>> load_outputs(const std::string& folder) {
  OPTIMA_ASSIGN(const Json manifest, read_json(cat(folder, "/manifest.json")));
  OPTIMA_ASSIGN(const std::vector<JsonReader> list, JsonReader(manifest, cat(folder, "/manifest.json")).array("outputs"));
  std::vector<Tensor> out;
  for (const JsonReader& r : list) {
    OPTIMA_ASSIGN(const std::string file, r.string("file"));
    if (file.empty() || file.find('/') != std::string::npos) return invalid_input(cat(r.place(), ".file: found ", quote(file), ", wanted a file of the same folder"));
    OPTIMA_ASSIGN(const std::string dtype, r.string("dtype"));
    if (dtype_of(dtype) == OPTIMA_STRING) return invalid_input(cat(r.place(), ": found texts, wanted numbers"));
    OPTIMA_ASSIGN(Tensor t, load_tensor(cat(folder, "/", file)));
    t = restore_type(std::move(t), dtype_of(dtype).value_or(OPTIMA_UNDEFINED));
    OPTIMA_ASSIGN(t.name, r.string("name"));
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace optima
