// SPDX-License-Identifier: Apache-2.0
#include "core/support/text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "core/support/utf8.hpp"

namespace optima {
namespace detail {
void append_to(std::string& out, std::string_view s) { out += s; }
void append_to(std::string& out, const char* s) { out += s; }
void append_to(std::string& out, char c) { out += c; }
void append_to(std::string& out, double d) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", d);
  out += text;
}
}  // namespace detail

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string quote(std::string_view name) {
  constexpr size_t kLongest = 200;
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  size_t i = 0;
  while (i < name.size() && i < kLongest) {
    const auto c = static_cast<unsigned char>(name[i]);
    const size_t n = utf8_length(name, i);
    if (n == 0 || c < 0x20 || c == 0x7F) {
      out += "\\x";
      out += hex[c >> 4];
      out += hex[c & 15];
      ++i;
    } else {
      out += name.substr(i, n);
      i += n;
    }
  }
  if (i < name.size()) out += "...";
  return out + "'";
}

std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names, size_t limit) {
  std::vector<std::pair<size_t, const std::string*>> found;
  const size_t most = std::max<size_t>(1, wanted.size() / 2);
  for (const std::string& name : names) {
    const size_t gap = name.size() > wanted.size() ? name.size() - wanted.size() : wanted.size() - name.size();
    if (gap > most) continue;
    if (const size_t d = edit_distance(wanted, name); d <= most) found.emplace_back(d, &name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (size_t i = 0; i < found.size() && i < limit; ++i) out.push_back(*found[i].second);
  return out;
}

std::string nearest_hint(std::string_view wanted, std::span<const std::string> names) {
  std::vector<std::string> near = nearest(wanted, names);
  if (near.empty()) return {};
  for (std::string& n : near) n = quote(n);
  return " (nearest: " + join(near) + ")";
}

bool glob_match(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1024) return cat(bytes, " bytes");
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double n = static_cast<double>(bytes);
  int unit = -1;
  while (n >= 1024 && unit < 3) n /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", n, units[unit]);
  return text;
}

std::string human_time(double microseconds) {
  static constexpr std::pair<double, const char*> units[] = {{1e6, "s"}, {1e3, "ms"}};
  char text[32];
  std::snprintf(text, sizeof text, microseconds < 9.995 ? "%.2f us" : "%.1f us", microseconds);
  for (const auto& [size, unit] : units)
    if (microseconds >= size) {
      std::snprintf(text, sizeof text, "%.2f %s", microseconds / size, unit);
      break;
    }
  return text;
}

std::string plain_line(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    const std::string_view rest = s.substr(at, 200);  // quote() shows that much, and escapes what is no text
    size_t n = rest.size();
    if (at + n < s.size())
      while (n > 0 && (static_cast<unsigned char>(s[at + n]) & 0xC0) == 0x80 && n > 190) --n;
    std::string piece(rest.substr(0, n));
    for (char& c : piece)
      if (c == '\n' || c == '\t' || c == '\r') c = ' ';
    const std::string quoted = quote(piece);
    out += quoted.substr(1, quoted.size() - 2);
    at += n;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (out.size() > 1 && out.back() == '.' && out[out.size() - 2] != '.') out.pop_back();
  return out;
}

}  // namespace optima
