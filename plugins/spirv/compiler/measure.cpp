// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "optima/plugin/error.hpp"

namespace spirv_plugin {
namespace {

namespace sdk = optima::sdk;

constexpr uint64_t kMany = uint64_t{1} << 62;

uint64_t sum(uint64_t a, uint64_t b) { return std::min(kMany, a + b); }
uint64_t times(uint64_t a, uint64_t b) { return a != 0 && b > kMany / a ? kMany : a * b; }

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

/// Pieces of `s` between separators that stand in no parentheses.
template <class Each>
void split(std::string_view s, std::string_view separator, const Each& each) {
  int depth = 0;
  size_t begin = 0;
  for (size_t k = 0; k < s.size(); ++k) {
    if (s[k] == '(' || s[k] == '[') ++depth;
    if (s[k] == ')' || s[k] == ']') --depth;
    if (depth != 0 || s.substr(k, separator.size()) != separator) continue;
    each(trimmed(s.substr(begin, k - begin)));
    begin = k + separator.size();
  }
  each(trimmed(s.substr(begin)));
}

/// A literal of a whole number.
std::optional<uint64_t> number(std::string_view s) {
  uint64_t n = 0;
  const auto [end, wrong] = std::from_chars(s.data(), s.data() + s.size(), n);
  const std::string_view rest = s.substr(static_cast<size_t>(end - s.data()));
  return wrong == std::errc() && (rest.empty() || rest == "u") ? std::optional(n) : std::nullopt;
}

/// What an expression is at most: a literal, or min() of something and a literal.
std::optional<uint64_t> bound(std::string_view s) {
  constexpr std::string_view kLeast = "min(";
  if (!s.starts_with(kLeast) || !s.ends_with(')')) return number(s);
  std::optional<uint64_t> out;
  split(s.substr(kLeast.size(), s.size() - kLeast.size() - 1), ",", [&](std::string_view one) {
    if (const std::optional<uint64_t> n = bound(one); n && (!out || *n < *out)) out = n;
  });
  return out;
}

/// How often a loop's body runs, by the three parts of its head; nothing where no literal says it.
std::optional<uint64_t> trips(std::string_view begin, std::string_view until, std::string_view step) {
  const size_t is = begin.find('=');
  if (is == begin.npos) return std::nullopt;
  const std::string_view before = trimmed(begin.substr(0, is));
  const std::string_view name = before.substr(std::min(before.size(), before.find_last_of(' ') + 1));
  const uint64_t first = number(trimmed(begin.substr(is + 1))).value_or(0);
  if (step.ends_with(">>=1")) return std::bit_width(first);
  const size_t by = step.find("+=");
  const std::optional<uint64_t> stride = by != step.npos ? number(step.substr(by + 2)) : step.starts_with("++") ? std::optional<uint64_t>(1) : std::nullopt;
  if (!stride || *stride == 0) return std::nullopt;
  std::optional<uint64_t> out;
  split(until, "&&", [&](std::string_view one) {
    if (!one.starts_with(name) || one.size() <= name.size() || one[name.size()] != '<') return;
    const bool reaches = one.substr(name.size()).starts_with("<=");
    const std::optional<uint64_t> end = bound(one.substr(name.size() + 1 + reaches));
    if (!end) return;
    const uint64_t n = (std::max(*end + reaches, first) - first + *stride - 1) / *stride;
    out = std::min(out.value_or(n), n);
  });
  return out;
}

uint64_t bytes_of(std::string_view type) {
  const size_t width = type.find_last_of("234");
  return 4 * (type.ends_with("vec2") || type.ends_with("vec3") || type.ends_with("vec4") ? static_cast<uint64_t>(type[width] - '0') : 1);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Measure run() {
    for (skip(); at_ < text_.size(); skip()) {
      const size_t begin = at_, end = text_.find_first_of("{;", at_);
      if (end == text_.npos) break;
      const std::string_view head = trimmed(text_.substr(begin, end - begin));
      at_ = end;
      if (text_[end] == ';') ++at_, declared(head);
      else if (head.starts_with("layout")) at_ = std::min(text_.size(), text_.find("};", at_) + 2);
      else function(head);
    }
    out_.iterations = functions_["main"];
    return out_;
  }

 private:
  /// Over spaces, and lines that are the preprocessor's.
  void skip() {
    for (;;) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (at_ >= text_.size() || text_[at_] != '#') return;
      at_ = std::min(text_.size(), text_.find('\n', at_));
    }
  }

  /// "shared float a[4],b[8]"
  void declared(std::string_view head) {
    constexpr std::string_view kShared = "shared ";
    if (!head.starts_with(kShared)) return;
    head.remove_prefix(kShared.size());
    const uint64_t each = bytes_of(head.substr(0, head.find(' ')));
    split(head, ",", [&](std::string_view one) {
      const size_t open = one.find('[');
      const uint64_t count = open == one.npos ? 1 : number(one.substr(open + 1, one.find(']') - open - 1)).value_or(kMany);
      out_.shared_bytes = sum(out_.shared_bytes, times(each, count));
    });
  }

  void function(std::string_view head) {
    std::string_view name = trimmed(head.substr(0, head.find('(')));
    name = name.substr(name.find_last_of(" \t\n") + 1);
    const uint64_t all = statement();
    uint64_t& known = functions_[std::string(name)];  // of several types
    known = std::max(known, all);
  }

  bool takes(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word || (at_ + word.size() < text_.size() && in_name(word.back()) && in_name(text_[at_ + word.size()]))) return false;
    at_ += word.size();
    return true;
  }

  /// What stands in parentheses, which begin here.
  std::string_view enclosed() {
    skip();
    const size_t begin = at_;
    for (int depth = 0; at_ < text_.size(); ++at_) {
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')' && --depth == 0) break;
    }
    if (at_ >= text_.size()) throw sdk::Error(OPTIMA_INTERNAL, "kernel has a parenthesis that does not end");
    ++at_;
    return text_.substr(begin + 1, at_ - begin - 2);
  }

  /// Iterations in the functions that an expression calls.
  uint64_t called(std::string_view s) const {
    uint64_t out = 0;
    for (size_t k = 0; k < s.size();) {
      if (!in_name(s[k])) {
        ++k;
        continue;
      }
      const size_t begin = k;
      while (k < s.size() && in_name(s[k])) ++k;
      if (k < s.size() && s[k] == '(')
        if (const auto known = functions_.find(s.substr(begin, k - begin)); known != functions_.end()) out = sum(out, known->second);
    }
    return out;
  }

  uint64_t statement() {
    if (takes("{")) {
      uint64_t out = 0;
      for (skip(); !takes("}"); skip()) {
        if (at_ >= text_.size()) throw sdk::Error(OPTIMA_INTERNAL, "kernel has a brace that does not end");
        out = sum(out, statement());
      }
      return out;
    }
    if (takes("for")) return loop();
    if (takes("if")) {
      const uint64_t condition = called(enclosed()), then = sum(condition, statement());
      return takes("else") ? sum(then, statement()) : then;
    }
    if (takes("while") || takes("do")) throw sdk::Error(OPTIMA_INTERNAL, "kernel has a loop that is no for");
    const size_t begin = at_;
    at_ = std::min(text_.size(), text_.find(';', at_)) + 1;
    return called(text_.substr(begin, at_ - begin));
  }

  uint64_t loop() {
    const std::string_view head = enclosed();
    std::string_view parts[3];
    size_t count = 0;
    split(head, ";", [&](std::string_view one) {
      if (count < 3) parts[count++] = one;
    });
    const std::optional<uint64_t> n = trips(parts[0], parts[1], parts[2]);
    if (!n) throw sdk::Error(OPTIMA_INTERNAL, "kernel has a loop whose end no number bounds: for(" + std::string(head.substr(0, 200)) + ")");
    return times(*n, sum(1, sum(called(head), statement())));
  }

  std::string_view text_;
  size_t at_ = 0;
  std::map<std::string, uint64_t, std::less<>> functions_;
  Measure out_;
};

}  // namespace

Measure measured(std::string_view text) { return Reader(text).run(); }

}  // namespace spirv_plugin
