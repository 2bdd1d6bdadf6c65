// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/precision_table.hpp"

#include <algorithm>
#include <set>

#include "core/quantize/tpu_table.hpp"
#include "core/support/text.hpp"

namespace optima {
namespace {

struct Mode {
  std::string_view theirs, ours;
};
// Of several that are one to us, the first is written.
constexpr Mode kModes[] = {{"F32", "f32"},   {"F16", "f16"},   {"BF16", "bf16"}, {"INT8", "int8"},  {"UINT8", "int8"},
                           {"W8F16", "w8"}, {"W8BF16", "w8"}, {"W4F16", "w4"},  {"W4BF16", "w4"}};

std::string modes(std::string_view Mode::*side) {
  std::vector<std::string> out;
  for (const Mode& m : kModes)
    if (std::find(out.begin(), out.end(), m.*side) == out.end()) out.emplace_back(m.*side);
  return join(out);
}

const Mode* find(std::string_view name, std::string_view Mode::*side) {
  const auto at = std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.*side == name; });
  return at == std::end(kModes) ? nullptr : at;
}

Result<NodePrecision> read_line(const std::vector<std::string_view>& words, const std::string& place) {
  const std::string who = cat(place, ": ", quote(words[0]));
  if (words.size() != 2) return invalid_input(cat(who, ": found ", words.size(), " words, wanted NAME MODE"));
  std::string mode(words[1]);
  std::transform(mode.begin(), mode.end(), mode.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const Mode* known = find(mode, &Mode::theirs);
  if (!known) return invalid_input(cat(who, ": found mode ", quote(words[1]), ", wanted ", modes(&Mode::theirs)));
  return NodePrecision{std::string(words[0]), std::string(known->ours)};
}

}  // namespace

Result<std::vector<NodePrecision>> parse_precision_table(const std::string& text, const std::string& path) {
  std::vector<NodePrecision> out;
  std::set<std::string> seen;
  OPTIMA_RETURN_IF_ERROR(detail::each_line(text, path, [&](std::string_view line, const std::string& place) -> Status {
    const std::vector<std::string_view> words = detail::words_of(line);
    if (words.empty()) return {};
    OPTIMA_ASSIGN(NodePrecision one, read_line(words, place));
    if (!seen.insert(one.node).second) return invalid_input(cat(place, ": ", quote(one.node), ": was given before"));
    out.push_back(std::move(one));
    return {};
  }));
  return out;
}

Result<std::string> write_precision_table(std::span<const NodePrecision> nodes) {
  std::string out = "# op_name   quantize_mode\n";
  for (const NodePrecision& each : nodes) {
    const Mode* known = find(each.precision, &Mode::ours);
    const std::string who = cat("node ", quote(each.node), ": found ");
    if (!known) return invalid_input(cat(who, "precision ", quote(each.precision), ", wanted ", modes(&Mode::ours), " for a quantize table"));
    const std::vector<std::string_view> words = detail::words_of(each.node);
    if (words.size() != 1 || words[0] != each.node) return invalid_input(cat(who, "blanks or # in the name, wanted a word for a quantize table"));
    out += cat(each.node, " ", known->theirs, "\n");
  }
  return out;
}

std::vector<LeftFloat> left_float(std::span<const NodePrecision> nodes, const std::string& why) {
  std::vector<LeftFloat> out;
  for (const NodePrecision& each : nodes)
    if (each.precision == "f32" || each.precision == "f16" || each.precision == "bf16") out.push_back({each.node, why});
  return out;
}

}  // namespace optima
