// SPDX-License-Identifier: Apache-2.0
// core/view: the error of the layer that a node makes. Private to the room.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/layers.hpp"

namespace optima::view {

/// By node name; the first layer of a node counts.
std::map<std::string_view, const LayerFigures*> errors_of(const std::vector<LayerFigures>& layers);

/// Of Okabe and Ito's hues: from 40 dB on bluish green, from 30 yellow, from 20 orange, below vermilion.
std::string_view error_colour(const LayerFigures& layer);

/// "31.2 dB", "equal".
std::string decibels_text(double snr_db);

/// "31.2 dB from the model's inputs on, 40.1 dB of its own; codes u8 0.0123 128; 0.2 % saturated".
std::string error_text(const LayerFigures& layer);

}  // namespace optima::view
