// SPDX-License-Identifier: Apache-2.0
#include "soc.hpp"

#include <algorithm>

#include "optima/plugin/error.hpp"
#include "optima/plugin/nearest.hpp"

namespace snpe_plugin {
namespace {

namespace sdk = optima::sdk;

/// Each number was tried: onnxruntime-qnn 2.7.0 prepares a context for it (an unknown number is refused) and emulates it.
constexpr Soc kSocs[] = {
    {"sm8350", 30, 68}, {"sm8450", 36, 69}, {"sm8475", 42, 69}, {"sm8550", 43, 73}, {"sm8650", 57, 75}, {"sm8750", 69, 79}, {"qcm6490", 93, 68, false},
};

/// "sm8550 or sm8650": those that differ by the least, when that is little.
std::string nearest(std::string_view word) {
  size_t least = 3;
  for (const Soc& s : kSocs) least = std::min(least, sdk::edit_distance(word, s.name));
  std::string names;
  for (const Soc& s : kSocs)
    if (least < 3 && sdk::edit_distance(word, s.name) == least) names += (names.empty() ? "" : " or ") + std::string(s.name);
  return names;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

}  // namespace

const Soc* find_soc(int model) {
  const auto at = std::find_if(std::begin(kSocs), std::end(kSocs), [&](const Soc& s) { return s.model == model; });
  return at == std::end(kSocs) ? nullptr : at;
}

const Soc* find_soc(std::string_view name) {
  const auto at = std::find_if(std::begin(kSocs), std::end(kSocs), [&](const Soc& s) { return s.name == name; });
  return at == std::end(kSocs) ? nullptr : at;
}

std::string soc_names() {
  std::string all;
  for (const Soc& s : kSocs) all += (all.empty() ? "" : ", ") + std::string(s.name) + " (v" + std::to_string(s.arch) + ")";
  return all;
}

std::vector<const Soc*> parse_socs(std::string_view list) {
  std::vector<const Soc*> socs;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string_view word = trimmed(list.substr(at, end - at));
    at = end + 1;
    const Soc* soc = find_soc(word);
    if (!soc) {
      const std::string near = nearest(word);
      throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "snpe.soc is '" + std::string(word) + "'" + (near.empty() ? "" : " (did you mean " + near + "?)") + ", wanted one of " + soc_names());
    }
    if (std::find(socs.begin(), socs.end(), soc) == socs.end()) socs.push_back(soc);
  }
  return socs;
}

}  // namespace snpe_plugin
