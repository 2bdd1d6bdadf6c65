// SPDX-License-Identifier: Apache-2.0
// core/view: a look per device. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace optima::view {

/// How a device is drawn. Colour, pattern and letter each tell devices apart on their own for up to seven; colour and pattern
/// together up to 49, the letter always.
struct Look {
  std::string_view colour;   ///< "#0072b2"
  std::string_view pattern;  ///< "solid", "rising", "falling", "level", "upright", "dots", "grid"
  std::string letter;        ///< "A".."Z", "AA", ...
};

/// The seven hues (black left out) that M. Okabe and K. Ito made for all kinds of colour vision: "Color Universal Design", 2002.
Look look_of(uint32_t device);

/// The colour of tensors: the one more than devices.
constexpr std::string_view kTensorColour = "#8c8c8c";

/// `colour` mixed with white: `part` of it, 0..1.
std::string tint(std::string_view colour, double part);

}  // namespace optima::view
