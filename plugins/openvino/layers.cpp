// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <optional>
#include <set>

namespace openvino_plugin {
namespace {

bool is_of_the_model(std::string_view name) { return name.substr(0, kMark.size()) == kMark; }

/// Where the value of an attribute of one tag lies. Quotes are escaped inside values, so the next one ends it.
std::optional<std::pair<size_t, size_t>> value_of(std::string_view tag, std::string_view attribute) {
  const std::string wanted = std::string(1, ' ').append(attribute).append("=\"");
  const size_t at = tag.find(wanted);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t begin = at + wanted.size(), end = tag.find('"', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return std::pair(begin, end - begin);
}

std::string with_value(std::string_view tag, std::pair<size_t, size_t> at, std::string_view value) {
  return std::string(tag.substr(0, at.first)) + std::string(value) + std::string(tag.substr(at.first + at.second));
}

using Names = std::set<std::string, std::less<>>;

/// `taken`: names of the layers before. Ids begin again in every body, and branches may hold layers of one name: OpenVINO 2026.4 keeps what it
/// packs of weights under the layer's name, so that two recurrent operators of one name had one's weights.
std::string renamed_layer(std::string_view tag, Names& taken) {
  const auto part = [&](std::pair<size_t, size_t> at) { return std::string(tag.substr(at.first, at.second)); };
  const auto id = value_of(tag, "id"), name = value_of(tag, "name"), type = value_of(tag, "type");
  if (!id || !name || !type) return std::string(tag);
  const std::string wanted = unmarked(is_of_the_model(tag.substr(name->first, name->second)) ? part(*name) : part(*type) + "~" + part(*id));
  std::string made = wanted;
  const bool is_end = part(*type) == "Parameter" || part(*type) == "Result";  // these keep the names that the model gave them
  for (int n = 2; !is_end && !taken.insert(made).second; ++n) made = wanted + "~" + std::to_string(n);
  return with_value(tag, *name, made);
}

/// "a, b, Concat_14": what is OpenVINO's goes.
std::string shorter_list(std::string_view tag) {
  const auto value = value_of(tag, "value");
  if (!value) return std::string(tag);
  std::string kept;
  for (std::string_view rest = tag.substr(value->first, value->second); !rest.empty();) {
    const size_t n = rest.find(", ");
    const std::string_view one = rest.substr(0, n);
    if (is_of_the_model(one)) kept += (kept.empty() ? "" : ", ") + std::string(one);
    rest = n == std::string_view::npos ? std::string_view() : rest.substr(n + 2);
  }
  return with_value(tag, *value, kept);
}

}  // namespace

std::string unmarked(std::string text) {
  for (size_t at = 0; (at = text.find(kMark, at)) != std::string::npos;) text.erase(at, kMark.size());
  return text;
}

std::string without_counters(std::string_view topology) {
  std::string out;
  out.reserve(topology.size());
  Names taken;
  for (size_t at = 0; at < topology.size();) {
    const size_t close = topology.find('>', at), end = close == std::string_view::npos ? topology.size() : close + 1;
    const std::string_view tag = topology.substr(at, end - at);
    if (tag.find("<layer ") != std::string_view::npos) out += renamed_layer(tag, taken);
    else if (tag.find("<attribute name=\"fused_names\"") != std::string_view::npos) out += shorter_list(tag);
    else out += tag;
    at = end;
  }
  return unmarked(std::move(out));
}

}  // namespace openvino_plugin
