// SPDX-License-Identifier: Apache-2.0
// core/view: a look per device. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.hpp"

namespace optima::view {

/// How a device is drawn. Colour, pattern and letter each tell devices apart on their own for up to seven; colour and pattern
/// together up to 49, the letter always.
struct Look {
  std::string_view colour;   ///< "#0072b2"
  std::string_view pattern;  ///< "solid", "rising", "falling", "level", "upright", "dots", "grid"
  std::string letter;        ///< "A".."Z", "AA", ..., by the plan's order
};

/// By device of the plan. A device's full name says which of the seven hues (black left out) it has, those that M. Okabe and K. Ito
/// made for all kinds of colour vision ("Color Universal Design", 2002), so it keeps its colour from plan to plan; where two of a plan
/// meet, the later in the alphabet takes the next free one.
std::vector<Look> looks_of(const Plan& plan);

/// The colour of tensors: the one more than devices.
constexpr std::string_view kTensorColour = "#8c8c8c";

/// `colour` mixed with white: `part` of it, 0..1.
std::string tint(std::string_view colour, double part);

}  // namespace optima::view
