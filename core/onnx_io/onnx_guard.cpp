// SPDX-License-Identifier: Apache-2.0
// core/onnx_io: the library's messages in our form.
#include "core/onnx_io/onnx_guard.hpp"

namespace optima::onnx_io {

std::string one_line(std::string_view message) {
  constexpr size_t kLongest = 400;
  while (!message.empty() && message.front() == '[') {
    const size_t close = message.find(']');
    if (close == std::string_view::npos) break;
    message.remove_prefix(close + 1);
    while (!message.empty() && message.front() == ' ') message.remove_prefix(1);
  }
  std::string out;
  for (char c : message) {
    if (static_cast<unsigned char>(c) <= ' ') c = ' ';
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += c;
  }
  if (out.size() > kLongest) out = out.substr(0, kLongest) + "...";
  while (!out.empty() && (out.back() == ' ' || (out.back() == '.' && out.size() <= kLongest))) out.pop_back();
  return out;
}

}  // namespace optima::onnx_io
