// SPDX-License-Identifier: Apache-2.0
#include "core/report/layers.hpp"

#include <cmath>
#include <limits>

#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

constexpr const char* kFormat = "optima.layers/1";

// JSON has no infinity: null where nothing differs.
Json decibels(double db) { return std::isfinite(db) ? Json(db) : Json(nullptr); }

Json to_json(const ErrorFigures& figures) { return {{"snr_db", decibels(figures.snr_db)}, {"cosine", figures.cosine}}; }

Result<ErrorFigures> figures_from(const JsonReader& at) {
  ErrorFigures out;
  const bool infinite = at.json().contains("snr_db") && at.json()["snr_db"].is_null();
  out.snr_db = std::numeric_limits<double>::infinity();
  if (!infinite) {
    OPTIMA_ASSIGN(out.snr_db, at.number("snr_db"));
  }
  OPTIMA_ASSIGN(out.cosine, at.number("cosine"));
  return out;
}

Result<LayerFigures> layer_from(const JsonReader& at) {
  LayerFigures out;
  OPTIMA_ASSIGN(out.value, at.string("value"));
  OPTIMA_ASSIGN(out.node, at.string("node"));
  OPTIMA_ASSIGN(out.op, at.string("op"));
  OPTIMA_ASSIGN(out.encoding, at.string_or("encoding", ""));
  OPTIMA_ASSIGN(out.saturated, at.number("saturated"));
  OPTIMA_ASSIGN(const JsonReader accumulated, at.object("accumulated"));
  OPTIMA_ASSIGN(out.accumulated, figures_from(accumulated));
  if (!at.has("own")) return out;
  OPTIMA_ASSIGN(const JsonReader own, at.object("own"));
  OPTIMA_ASSIGN(out.own, figures_from(own));
  return out;
}

}  // namespace

Json layers_json(const std::vector<LayerFigures>& layers) {
  Json list = Json::array();
  for (const LayerFigures& layer : layers) {
    Json one{{"value", layer.value}, {"node", layer.node}, {"op", layer.op}};
    if (!layer.encoding.empty()) one["encoding"] = layer.encoding;
    one["saturated"] = layer.saturated;
    one["accumulated"] = to_json(layer.accumulated);
    if (layer.own) one["own"] = to_json(*layer.own);
    list.push_back(std::move(one));
  }
  return {{"format", kFormat}, {"layers", std::move(list)}};
}

Result<std::vector<LayerFigures>> read_layers(const std::string& path) {
  OPTIMA_ASSIGN(const Json json, read_json(path));
  const JsonReader root(json, path);
  OPTIMA_ASSIGN(const std::string format, root.string("format"));
  if (format != kFormat) return invalid_input(cat(path, ": format: found ", quote(format), ", wanted ", kFormat));
  OPTIMA_ASSIGN(const auto list, root.array("layers"));
  std::vector<LayerFigures> out;
  for (const JsonReader& at : list) {
    OPTIMA_ASSIGN(LayerFigures layer, layer_from(at));
    out.push_back(std::move(layer));
  }
  return out;
}

}  // namespace optima
