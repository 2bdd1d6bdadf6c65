// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/tpu_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/graph/graph.hpp"
#include "core/support/number.hpp"
#include "core/support/text.hpp"

namespace optima::detail {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr double kSignedSteps = 127, kUnsignedSteps = 255;
enum class Section { Thresholds, Thresholds4, Weights };

// A product in double, cut to nine digits and divided again, is the f32 that it came from.
std::string nine_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// Numbers of a line, from the front.
class Words {
 public:
  Words(std::vector<std::string_view> words, std::string place) : words_(std::move(words)), place_(std::move(place)) {}
  size_t left() const { return words_.size() - at_; }
  std::string_view next() { return words_[at_++]; }

  Result<double> number(std::string_view what) {
    const std::string_view word = next();
    const std::optional<double> value = parse_number<double>(word);
    if (!value) return invalid_input(cat(place_, ": found ", what, " ", quote(word), ", wanted a finite number"));
    return *value;
  }
  /// "COUNT NUMBER.."
  Result<std::vector<double>> list(std::string_view what) {
    const std::string_view word = left() ? next() : std::string_view();
    const std::optional<uint32_t> count = parse_number<uint32_t>(word);
    if (!count || *count > left()) return invalid_input(cat(place_, ": found ", quote(word), " as the number of ", what, "s, wanted at most ", left()));
    std::vector<double> out;
    for (uint32_t i = 0; i < *count; ++i) {
      OPTIMA_ASSIGN(const double value, number(what));
      out.push_back(value);
    }
    return out;
  }
  const std::string& place() const { return place_; }

 private:
  std::vector<std::string_view> words_;
  std::string place_;
  size_t at_ = 0;
};

Result<Encoding> activation_of(Words words) {
  if (words.left() != 3) return invalid_input(cat(words.place(), ": found ", words.left(), " numbers, wanted threshold, min and max"));
  OPTIMA_ASSIGN(const double threshold, words.number("threshold"));
  OPTIMA_ASSIGN(const double low, words.number("min"));
  OPTIMA_ASSIGN(const double high, words.number("max"));
  if (threshold <= 0) return invalid_input(cat(words.place(), ": found threshold ", threshold, ", wanted a finite number above 0"));
  const bool is_signed = low < 0;
  Encoding out;
  out.dtype = OPTIMA_U8;
  out.scale = {static_cast<float>(threshold / (is_signed ? kSignedSteps : kUnsignedSteps))};
  out.zero_point = {is_signed ? 128 : 0};
  out.low = static_cast<float>(low), out.high = static_cast<float>(high);
  OPTIMA_RETURN_IF_ERROR(check_encoding(out, words.place()));
  return out;
}

Result<Encoding> weight_of(Words words) {
  Encoding out;
  out.dtype = OPTIMA_I8;
  OPTIMA_ASSIGN(const std::vector<double> scales, words.list("scale"));
  OPTIMA_ASSIGN(const std::vector<double> zero_points, words.list("zero point"));
  if (words.left()) return invalid_input(cat(words.place(), ": found ", words.left(), " words too many, wanted scales and zero points"));
  for (const double scale : scales) out.scale.push_back(static_cast<float>(scale));
  for (const double zero : zero_points) {
    if (zero != std::round(zero) || std::abs(zero) > 128)
      return invalid_input(cat(words.place(), ": found zero point ", zero, ", wanted an integer, -128..127"));
    out.zero_point.push_back(static_cast<int32_t>(zero));
  }
  OPTIMA_RETURN_IF_ERROR(check_encoding(out, words.place()));
  return out;
}

Status check_name(const std::string& name) {
  const bool fits = !name.empty() && name[0] != '#' && name.find_first_of(" \t\r\n\v\f") == name.npos;
  return fits ? Status() : invalid_input(cat("value ", quote(name), ": found blanks or # in the name, wanted a word for a calibration table"));
}

bool is_float(const Encoding& e) { return e.scale.empty(); }

Result<std::string> activation_line(const std::string& name, const Encoding& e) {
  OPTIMA_RETURN_IF_ERROR(check_name(name));
  const bool one = e.scale.size() == 1, is_unsigned = e.dtype == OPTIMA_U8 && one && e.zero_point[0] == 0;
  const bool is_signed = one && ((e.dtype == OPTIMA_U8 && e.zero_point[0] == 128) || (e.dtype == OPTIMA_I8 && e.zero_point[0] == 0));
  if (!is_unsigned && !is_signed)
    return invalid_input(cat("value ", quote(name), ": found ", short_dtype_name(e.dtype), " with ", e.scale.size(), " scales and zero point ", e.zero_point[0],
                             ", wanted u8 with 0 or 128, or i8 with 0, for a calibration table"));
  const double scale = e.scale[0], threshold = scale * (is_signed ? kSignedSteps : kUnsignedSteps), low = is_signed ? -128 * scale : 0;
  return cat(name, " ", nine_digits(threshold), " ", nine_digits(low), " ", nine_digits(threshold), "\n");
}

Result<std::string> weight_line(const std::string& name, const Encoding& e) {
  OPTIMA_RETURN_IF_ERROR(check_name(name));
  if (e.dtype != OPTIMA_I8 || e.block != 0 || std::any_of(e.zero_point.begin(), e.zero_point.end(), [](int32_t z) { return z != 0; }))
    return invalid_input(cat("value ", quote(name), ": found ", short_dtype_name(e.dtype), e.block ? " in blocks" : "",
                             ", wanted i8 with zero point 0 for a calibration table"));
  std::string out = cat(name, " ", e.scale.size());
  for (const float scale : e.scale) out += " " + nine_digits(scale);
  out += cat(" ", e.zero_point.size());
  for (size_t i = 0; i < e.zero_point.size(); ++i) out += " 0";
  return out + "\n";
}

Section section_of(std::string_view line, Section before) {
  if (line.starts_with("#weight_scale")) return Section::Weights;
  return line.starts_with("#int4_th") ? Section::Thresholds4 : before;
}

Status read_line(std::string_view line, const std::string& place, Section section, Encodings& out) {
  std::vector<std::string_view> words = words_of(line);
  if (words.empty()) return {};
  const std::string name(words[0]), who = cat(place, ": ", quote(name));
  if (section == Section::Thresholds4) return invalid_input(cat(who, ": found a threshold of a 4-bit value, wanted 8 bits"));
  Words rest(std::move(words), who);
  (void)rest.next();
  const bool is_weight = section == Section::Weights;
  OPTIMA_ASSIGN(Encoding one, is_weight ? weight_of(std::move(rest)) : activation_of(std::move(rest)));
  return (is_weight ? out.weights : out.activations).emplace(name, std::move(one)).second ? Status() : invalid_input(cat(who, ": was given before"));
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (size_t at = line.find_first_not_of(kBlanks); at != line.npos && line[at] != '#'; at = line.find_first_not_of(kBlanks, at)) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

Status each_line(std::string_view text, const std::string& path, const std::function<Status(std::string_view line, const std::string& place)>& f) {
  size_t number = 1;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    OPTIMA_RETURN_IF_ERROR(f(text.substr(at, end - at), cat(path, ":", number)));
    at = end + 1;
  }
  return {};
}

Result<Encodings> parse_tpu_table(const std::string& text, const std::string& path) {
  Encodings out;
  Section section = Section::Thresholds;
  OPTIMA_RETURN_IF_ERROR(each_line(text, path, [&](std::string_view line, const std::string& place) {
    section = section_of(line, section);
    return read_line(line, place, section, out);
  }));
  if (out.activations.empty() && out.weights.empty()) return invalid_input(cat(path, ": found no value, wanted lines of NAME THRESHOLD MIN MAX"));
  return out;
}

Result<std::string> write_tpu_table(const Encodings& encodings) {
  std::string out = "# op_name    threshold    min    max\n";
  for (const auto& [name, e] : encodings.activations) {
    if (is_float(e)) continue;
    OPTIMA_ASSIGN(const std::string line, activation_line(name, e));
    out += line;
  }
  std::string weights;
  for (const auto& [name, e] : encodings.weights) {
    if (is_float(e) || e.dtype == OPTIMA_I32) continue;  // biases follow from their products' steps
    OPTIMA_ASSIGN(const std::string line, weight_line(name, e));
    weights += line;
  }
  return weights.empty() ? out : out + "#weight_scale\n" + weights;
}

}  // namespace optima::detail
