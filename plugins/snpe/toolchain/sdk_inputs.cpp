// SPDX-License-Identifier: Apache-2.0
#include "toolchain/sdk_inputs.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "optima/plugin/folder.hpp"

namespace snpe_plugin {
namespace {

using Json = nlohmann::json;  // members in order of name: same codes, same text

int bits_of(int32_t dtype) { return static_cast<int>(optima_dtype_bits(dtype)); }
bool is_signed(int32_t dtype) { return dtype == OPTIMA_I4 || dtype == OPTIMA_I8 || dtype == OPTIMA_I16; }

Json entry(const Quantized::Codes& c, size_t k) {
  const int bits = bits_of(c.dtype);
  const int64_t first = is_signed(c.dtype) ? int64_t{1} << (bits - 1) : 0;  // what code 0 of the unsigned type is short of
  const double scale = static_cast<double>(c.scales[k]), offset = -static_cast<double>(c.zero_points[k] + first);
  return {{"bitwidth", bits}, {"dtype", "int"}, {"is_symmetric", is_signed(c.dtype) && c.zero_points[k] == 0 ? "True" : "False"}, {"scale", scale},
          {"offset", offset}, {"min", offset * scale}, {"max", (offset + static_cast<double>((int64_t{1} << bits) - 1)) * scale}};
}

bool has_blank(const std::string& text) { return text.find_first_of(" \t\n") != std::string::npos; }

template <class T>
std::vector<float> floats_from(const std::string& bytes) {
  std::vector<float> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T one;
    std::memcpy(&one, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(one);
  }
  return out;
}

std::vector<float> floats_of(const std::string& bytes, const OnnxNames::Port& port) {
  switch (port.dtype) {
    case OPTIMA_F32: return floats_from<float>(bytes);
    case OPTIMA_F64: return floats_from<double>(bytes);
    case OPTIMA_I64: return floats_from<int64_t>(bytes);
    case OPTIMA_I32: return floats_from<int32_t>(bytes);
    case OPTIMA_I16: return floats_from<int16_t>(bytes);
    case OPTIMA_U16: return floats_from<uint16_t>(bytes);
    case OPTIMA_I8: return floats_from<int8_t>(bytes);
    case OPTIMA_U8: case OPTIMA_BOOL: return floats_from<uint8_t>(bytes);
    default:
      throw sdk::Error(OPTIMA_UNSUPPORTED, "input '" + port.name + "' has dtype " + std::to_string(port.dtype) + ", wanted one that representative data can be written in");
  }
}

void write_raw(const std::string& path, const std::vector<float>& numbers) {
  sdk::write_file(path, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
}

/// [N, C, H, W] as [N, H, W, C].
std::vector<float> channels_last(const std::vector<float>& from, const std::vector<int64_t>& dims) {
  const auto channels = static_cast<size_t>(dims.at(1)), pixels = static_cast<size_t>(dims.at(2) * dims.at(3)), image = channels * pixels;
  std::vector<float> to(from.size());
  for (size_t k = 0; k < to.size(); ++k) to[k] = from[k / image * image + k % channels * pixels + k % image / channels];
  return to;
}

/// As the DLC has the input.
Built::Border border_of(const OnnxNames::Port& port, const std::vector<Built::Border>& borders) {
  const auto at = std::find_if(borders.begin(), borders.end(), [&](const Built::Border& b) { return b.name == port.name; });
  Built::Border out = at == borders.end() ? Built::Border{port.name, "", ""} : *at;
  if (out.file_name.empty()) out.file_name = port.name;
  return out;
}

/// The line of one sample, its files written; empty when an input cannot be had.
std::string write_sample(const std::string& folder, const Quantized& data, const OnnxNames& model, const std::vector<Built::Border>& borders, uint32_t sample) {
  std::string line;
  for (uint32_t k = 0; k < model.inputs.size(); ++k) {
    std::string bytes;
    try {
      bytes = data.read(sample, k);
    } catch (const sdk::Error& e) {
      if (e.code == OPTIMA_NOT_FOUND) return {};
      throw;
    }
    const std::string path = folder + "/" + std::to_string(sample) + "_" + std::to_string(k) + ".raw";
    const Built::Border border = border_of(model.inputs[k], borders);
    const std::vector<float> numbers = floats_of(bytes, model.inputs[k]);
    write_raw(path, border.layout == "NHWC" ? channels_last(numbers, model.inputs[k].dims) : numbers);
    line += (line.empty() ? "" : " ") + (model.inputs.size() > 1 ? border.file_name + ":=" : std::string()) + path;
  }
  return line;
}

}  // namespace

std::string overrides_json(const std::vector<Quantized::Codes>& codes) {
  Json out = {{"activation_encodings", Json::object()}, {"param_encodings", Json::object()}, {"version", "0.6.1"}};
  for (const Quantized::Codes& c : codes) {
    if (c.dtype == OPTIMA_I32 || c.block > 0) continue;
    Json list = Json::array();
    for (size_t k = 0; k < c.scales.size(); ++k) list.push_back(entry(c, k));
    out[c.constant ? "param_encodings" : "activation_encodings"][c.value] = std::move(list);
  }
  return out.dump(1) + "\n";
}

BitWidths widths_of(const std::vector<Quantized::Codes>& codes) {
  BitWidths out;
  int activations = 0, weights = 0;
  for (const Quantized::Codes& c : codes) {
    if (c.dtype == OPTIMA_I32) continue;
    int& widest = c.constant ? weights : activations;
    widest = std::max(widest, bits_of(c.dtype));
    out.per_channel = out.per_channel || (c.constant && c.scales.size() > 1);
  }
  if (activations > 0) out.activations = std::max(activations, 8);
  if (weights > 0) out.weights = weights;
  return out;
}

std::string write_input_list(const std::string& folder, const Quantized& data, const OnnxNames& model, const std::vector<Built::Border>& borders) {
  if (data.samples == 0 || !data.read || model.inputs.empty()) return {};
  if (has_blank(folder)) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "'" + folder + "' holds blanks, which an input_list of SNPE cannot state");
  for (const OnnxNames::Port& p : model.inputs)
    if (model.inputs.size() > 1 && has_blank(border_of(p, borders).file_name))
      throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "input '" + p.name + "' holds blanks, which an input_list of SNPE cannot state");
  std::error_code failed;
  std::filesystem::create_directory(folder + "/data", failed);
  std::string lines;
  for (uint32_t s = 0; s < data.samples; ++s) {
    const std::string line = write_sample(folder + "/data", data, model, borders, s);
    if (line.empty()) return {};
    lines += line + "\n";
  }
  const std::string path = folder + "/input_list.txt";
  sdk::write_file(path, lines);
  return path;
}

}  // namespace snpe_plugin
