// SPDX-License-Identifier: Apache-2.0
// core/quantize: which format a text is in.
#include "core/quantize/encodings.hpp"

#include "core/quantize/aimet.hpp"
#include "core/quantize/own_format.hpp"
#include "core/quantize/tpu_table.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

/// Whether JSON gives the name back: to_line() replaces bytes that are no UTF-8.
Status check_name(const std::string& name) {
  const Result<Json> back = parse_json(to_line(Json(name)), "");
  return back.ok() && *back == name ? Status() : invalid_input(cat(quote(name), ": found bytes that are no UTF-8, wanted text for JSON"));
}

Status check_names(const Encodings& encodings) {
  for (const auto* all : {&encodings.activations, &encodings.weights})
    for (const auto& [name, encoding] : *all) OPTIMA_RETURN_IF_ERROR(check_name(name));
  for (const LeftFloat& each : encodings.left_float) OPTIMA_RETURN_IF_ERROR(check_name(each.node));
  return {};
}

}  // namespace

Result<Encodings> parse_encodings(const std::string& text, const std::string& path) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos) return invalid_input(cat(path, ": is empty, wanted encodings"));
  if (text[start] != '{') return detail::parse_tpu_table(text, path);
  OPTIMA_ASSIGN(const Json json, parse_json(text, path));
  if (json.contains("format")) return detail::parse_own_format(json, path);
  if (json.contains("activation_encodings") || json.contains("param_encodings")) return detail::parse_aimet(json, path);
  return invalid_input(cat(path, ": found neither 'format' nor 'activation_encodings', wanted encodings of optima, AIMET or tpu_mlir"));
}

Result<Encodings> read_encodings(const std::string& path) {
  OPTIMA_ASSIGN(const std::string text, read_file(path));
  return parse_encodings(text, path);
}

Result<EncodingsFormat> encodings_format(const std::string& name) {
  if (name == "optima") return EncodingsFormat::Optima;
  if (name == "aimet-0.6") return EncodingsFormat::AimetOld;
  if (name == "aimet-1.0") return EncodingsFormat::Aimet1;
  if (name == "tpu") return EncodingsFormat::TpuTable;
  return usage_error(cat("found format of encodings ", quote(name), ", wanted optima, aimet-0.6, aimet-1.0 or tpu"));
}

Result<std::string> write_encodings(const Encodings& encodings, EncodingsFormat format) {
  for (const auto* all : {&encodings.activations, &encodings.weights})
    for (const auto& [name, encoding] : *all) OPTIMA_RETURN_IF_ERROR(check_encoding(encoding, quote(name)));
  if (format != EncodingsFormat::Optima && !encodings.smoothed.empty())
    return invalid_input(cat("value ", quote(encodings.smoothed.begin()->first), " is smoothed, which only encodings of format optima can state"));
  if (format != EncodingsFormat::TpuTable) OPTIMA_RETURN_IF_ERROR(check_names(encodings));
  switch (format) {
    case EncodingsFormat::Optima: return to_text(to_json(encodings));
    case EncodingsFormat::AimetOld: return detail::write_aimet_old(encodings);
    case EncodingsFormat::Aimet1: return detail::write_aimet_1(encodings);
    case EncodingsFormat::TpuTable: return detail::write_tpu_table(encodings);
  }
  return internal_error(cat("found format of encodings ", static_cast<int>(format), ", wanted 0..3"));
}

}  // namespace optima
