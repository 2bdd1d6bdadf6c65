// SPDX-License-Identifier: Apache-2.0
#include "said.hpp"

#include <algorithm>

#include "layers.hpp"

namespace openvino_plugin {
namespace {

constexpr std::string_view kCheck = "Check '", kFailedAt = "' failed at ", kNode = "While validating ONNX node '", kException = "Exception from ";

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '.' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

/// After "FILE:LINE:", which begins at `at`.
size_t past_place(std::string_view line, size_t at) {
  const size_t number = line.find(':', at);
  const size_t end = number == line.npos ? line.npos : line.find(':', number + 1);
  return end == line.npos ? line.size() : end + 1;
}

/// The line without its places in OpenVINO's sources; the condition of a check goes to `condition`.
std::string without_places(std::string_view line, std::string& condition) {
  if (line.starts_with(kNode)) line.remove_prefix(std::min(line.size(), line.find("': ", kNode.size())));
  if (line.starts_with("': ")) line.remove_prefix(3);
  if (line.starts_with(kException)) line.remove_prefix(past_place(line, kException.size()));
  const size_t check = line.find(kCheck), failed = line.find(kFailedAt);
  if (check == line.npos || failed == line.npos || failed < check) return std::string(trimmed(line));
  condition = line.substr(check + kCheck.size(), failed - check - kCheck.size());
  const std::string_view before = trimmed(line.substr(0, check)), after = trimmed(line.substr(past_place(line, failed + kFailedAt.size())));
  return std::string(before).append(before.empty() ? "" : after.empty() ? ":" : ": ").append(after);
}

/// Lines around a reason that tell a user nothing: which call of OpenVINO's failed, and the node, which the host names itself.
bool is_around(std::string_view line) {
  for (const char* begin : {"FrontEnd API failed", "Summary:", "To facilitate", "While validating", "Model wasn't fully converted", "-- Conversion is failed"})
    if (line.starts_with(begin)) return true;
  return line.empty() || (line.starts_with("-- ") && line.ends_with(" with a message:"));
}

}  // namespace

bool is_out_of_memory(std::string_view what) {
  for (const char* sign : {"bad_alloc", "out_of_memory", "out of memory", "Cannot allocate memory", "could not allocate", "Failed to allocate"})
    if (what.find(sign) != std::string_view::npos) return true;
  return false;
}

std::string one_line(const std::string& said) {
  const std::string what = unmarked(said);
  std::string out, condition;
  for (size_t at = 0; at < what.size();) {
    const size_t end = std::min(what.find('\n', at), what.size());
    std::string line = without_places(trimmed(std::string_view(what).substr(at, end - at)), condition);
    at = end + 1;
    if (is_around(line)) continue;
    if (line.starts_with("-- ")) line.erase(0, 3);
    if (line.starts_with("Node ") && line.find(" of type ") != line.npos) line += ':';
    if (out.find(line) == out.npos) out += (out.empty() ? "" : out.ends_with(':') ? " " : "; ") + line;
  }
  if (out.ends_with(':')) out.pop_back();
  if (out.empty()) out = condition.empty() ? "OpenVINO gave no reason" : "OpenVINO wants '" + condition + "'";
  return out.size() > 400 ? out.substr(0, 400) + "..." : out;
}

}  // namespace openvino_plugin
