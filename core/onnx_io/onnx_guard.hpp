// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: exceptions of the ONNX library end here. Private to the room.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/support/status.hpp"

namespace optima::onnx_io {

/// The library's message as one line of ours: line breaks and runs of blanks become one blank, "[Error]" heads and the full
/// stop go, at most 400 bytes.
std::string one_line(std::string_view message);

/// Runs f() (-> Status); what it throws becomes InvalidInput with the phrase in front.
template <class F>
Status guarded(std::string_view phrase, F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    return invalid_input(std::string(phrase) + ": " + one_line(e.what()));
  }
}

}  // namespace optima::onnx_io
