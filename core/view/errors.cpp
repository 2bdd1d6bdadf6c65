// SPDX-License-Identifier: Apache-2.0
#include "core/view/errors.hpp"

#include <cmath>
#include <cstdio>

#include "core/support/text.hpp"

namespace optima::view {

std::map<std::string_view, const LayerFigures*> errors_of(const std::vector<LayerFigures>& layers) {
  std::map<std::string_view, const LayerFigures*> out;
  for (const LayerFigures& layer : layers)
    if (!layer.node.empty()) out.emplace(layer.node, &layer);
  return out;
}

std::string_view error_colour(const LayerFigures& layer) {
  const double db = layer.accumulated.snr_db;
  return db >= 40 ? "#009e73" : db >= 30 ? "#f0e442" : db >= 20 ? "#e69f00" : "#d55e00";
}

std::string decibels_text(double snr_db) {
  if (std::isinf(snr_db)) return "equal";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f dB", snr_db);
  return text;
}

std::string error_text(const LayerFigures& layer) {
  char saturated[32];
  std::snprintf(saturated, sizeof saturated, "%.3g %%", 100 * layer.saturated);
  return cat(decibels_text(layer.accumulated.snr_db), " from the model's inputs on", layer.own ? cat(", ", decibels_text(layer.own->snr_db), " of its own") : "",
             layer.encoding.empty() ? "" : cat("; codes ", layer.encoding, "; ", saturated, " saturated"));
}

}  // namespace optima::view
