// SPDX-License-Identifier: Apache-2.0
#include "core/sizes/sizes.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/support/number.hpp"
#include "core/support/text.hpp"
#include "optima/plugin/sizes.hpp"

namespace optima {
namespace {

constexpr std::string_view kWanted = "wanted a size as 320, sizes as 1,4,8 (the first matters most), or a range as 32..960, 32..960:32 or 32..960:32@320";

// A whole number without a sign; from_chars takes "-1".
std::optional<int64_t> size_of(std::string_view text) {
  const std::optional<int64_t> n = parse_number<int64_t>(text);
  return n && *n >= 0 ? n : std::nullopt;
}

// The part of `text` behind `mark`, which is cut off there; nothing where there is none.
std::optional<std::string_view> cut_at(std::string_view& text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

std::optional<SizeRange> list_of(std::string_view text) {
  SizeRange out{0, 0, 1, SizeRange::kNotSaid, {}};
  for (std::optional<std::string_view> rest = text; rest;) {
    std::string_view word = *rest;
    rest = cut_at(word, ",");
    const std::optional<int64_t> n = size_of(word);
    if (!n || std::find(out.listed.begin(), out.listed.end(), *n) != out.listed.end() || out.listed.size() == kMostListed) return std::nullopt;
    out.listed.push_back(*n);
  }
  out.opt = out.listed.front();
  std::sort(out.listed.begin(), out.listed.end());
  out.min = out.listed.front(), out.max = out.listed.back();
  return out;
}

std::optional<SizeRange> range_of(std::string_view text) {
  const std::optional<std::string_view> opt = cut_at(text, "@"), step = cut_at(text, ":"), max = cut_at(text, "..");
  if (!max) return std::nullopt;
  const std::optional<int64_t> numbers[] = {size_of(text), size_of(*max), step ? size_of(*step) : 1, opt ? size_of(*opt) : 0};
  if (!std::all_of(std::begin(numbers), std::end(numbers), [](const auto& n) { return n.has_value(); })) return std::nullopt;
  return SizeRange{*numbers[0], *numbers[1], *numbers[2], opt ? *numbers[3] : SizeRange::kNotSaid, {}};
}

std::string numbers_text(const std::vector<int64_t>& numbers) {
  std::vector<std::string> words;
  for (const int64_t n : numbers) words.push_back(std::to_string(n));
  return join(words, ",");
}

}  // namespace

bool SizeRange::allows(int64_t size) const {
  if (!listed.empty()) return std::binary_search(listed.begin(), listed.end(), size);
  return size >= min && size <= max && (size - min) % step == 0;
}

int64_t SizeRange::nearest_to(int64_t size) const {
  return sdk::SizeRange{{}, min, max, step, opt, {listed.data(), listed.size()}}.nearest_to(size);
}

Result<SizeRange> parse_size_range(std::string_view text) {
  std::optional<SizeRange> out;
  if (const std::optional<int64_t> one = size_of(text)) out = SizeRange{*one, *one, 1, *one, {}};
  else out = text.find(',') != std::string_view::npos ? list_of(text) : range_of(text);
  if (!out) return invalid_input(cat("found ", quote(text), ", ", kWanted));
  OPTIMA_RETURN_IF_ERROR(check_range(*out).within(cat("found ", quote(text))));
  if (out->min == out->max) out = SizeRange{out->min, out->min, 1, out->min, {}};
  return *std::move(out);
}

std::string range_text(const SizeRange& r) {
  if (r.min == r.max) return std::to_string(r.min);
  if (!r.listed.empty()) {
    std::vector<int64_t> typed = r.listed;
    if (const auto at = std::find(typed.begin(), typed.end(), r.opt); at != typed.end()) std::rotate(typed.begin(), at, at + 1);
    return numbers_text(typed);
  }
  return cat(r.min, "..", r.max, r.step == 1 ? "" : cat(":", r.step), r.opt == SizeRange::kNotSaid ? "" : cat("@", r.opt));
}

std::string range_words(const SizeRange& r) {
  if (r.min == r.max) return std::to_string(r.min);
  if (r.listed.empty()) return cat(r.min, " to ", r.max, r.step == 1 ? "" : cat(" in steps of ", r.step));
  std::vector<std::string> words;
  for (const int64_t n : r.listed) words.push_back(std::to_string(n));
  const std::string last = words.back();
  words.pop_back();
  return cat(join(words), " or ", last);
}

Status check_range(const SizeRange& r) {
  if (r.min < 0 || r.max > kMostSize || r.min > r.max) return invalid_input(cat("found sizes from ", r.min, " to ", r.max, ", wanted a least and a largest one from 0 to ", kMostSize));
  if (r.step < 1) return invalid_input(cat("found steps of ", r.step, ", wanted 1 or more"));
  if ((r.max - r.min) % r.step != 0) return invalid_input(cat("found steps of ", r.step, " from ", r.min, ", which miss the largest size ", r.max, ", wanted steps that reach it"));
  const bool ascending = std::adjacent_find(r.listed.begin(), r.listed.end(), std::greater_equal<>()) == r.listed.end();
  if (!r.listed.empty() && (!ascending || r.listed.size() > kMostListed || r.listed.front() != r.min || r.listed.back() != r.max || r.step != 1))
    return invalid_input(cat("found a list of ", r.listed.size(), " sizes, wanted 1 to ", kMostListed, " ascending ones, each once"));
  if (r.opt != SizeRange::kNotSaid && !r.allows(r.opt)) return invalid_input(cat("found ", r.opt, " as the size that matters most, wanted ", range_words(r)));
  return {};
}

Status check_sizes(const SizeRanges& ranges, std::span<const std::string> symbols, std::span<const int64_t> dims) {
  for (size_t d = 0; d < symbols.size() && d < dims.size(); ++d) {
    const auto at = symbols[d].empty() ? ranges.end() : ranges.find(symbols[d]);
    if (at != ranges.end() && !at->second.allows(dims[d])) return invalid_input(cat(at->first, " = ", dims[d], ", wanted ", range_words(at->second)));
  }
  return {};
}

}  // namespace optima
