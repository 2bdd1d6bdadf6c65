// SPDX-License-Identifier: Apache-2.0
#include "toolchain/last_words.hpp"

#include <algorithm>
#include <cctype>

namespace bmcompiler_plugin {
namespace {

constexpr size_t kMostLines = 256;
constexpr size_t kLongestSentence = 400;
constexpr size_t kLongestLine = 8192;  // operators are printed with all their attributes

bool has(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

std::string trimmed(std::string_view s) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return std::string(s);
}

/// Without escape sequences of terminals and control characters.
std::string plain(std::string_view line) {
  std::string out;
  for (size_t k = 0; k < std::min(line.size(), kLongestLine); ++k) {
    const auto c = static_cast<unsigned char>(line[k]);
    if (c == 0x1B && k + 1 < line.size() && line[k + 1] == '[') {
      k += 2;
      while (k < line.size() && (line[k] < '@' || line[k] > '~')) ++k;
    } else if (c >= 0x20 && c != 0x7F) {
      out += line[k];
    } else if (c == '\t') {
      out += ' ';
    }
  }
  return trimmed(out);
}

/// Words that are absolute paths become the file's name: source files of somebody else's machine tell a user nothing.
std::string without_folders(const std::string& s) {
  std::string out, word;
  const auto end_word = [&] {
    out += word.starts_with('/') && word.find('/', 1) != word.npos ? word.substr(word.rfind('/') + 1) : word;
    word.clear();
  };
  for (const char c : s) {
    if (c != ' ' && c != '"' && c != '\'' && c != '(') {
      word += c;
      continue;
    }
    end_word();
    out += c;
  }
  end_word();
  return out;
}

int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/// The string that begins behind s[at], which is a quote; MLIR escapes as \" \\ and two hex digits.
std::string quoted(std::string_view s, size_t at) {
  std::string out;
  for (size_t k = at + 1; k < s.size() && s[k] != '"'; ++k) {
    if (s[k] != '\\' || k + 1 >= s.size()) {
      out += s[k];
    } else if (k + 2 < s.size() && hex_digit(s[k + 1]) >= 0 && hex_digit(s[k + 2]) >= 0) {
      out += static_cast<char>(hex_digit(s[k + 1]) * 16 + hex_digit(s[k + 2]));
      k += 2;
    } else {
      out += s[++k];
    }
  }
  return out;
}

/// Of loc("name") and loc(fused["name", …]); empty for places in files (loc("m.mlir":11:5)) and others.
std::string location_in(std::string_view line) {
  std::string_view rest = line;
  for (size_t at; (at = rest.find("loc(")) != std::string_view::npos; rest.remove_prefix(1)) {
    rest.remove_prefix(at + 4);
    if (rest.starts_with("fused[")) rest.remove_prefix(6);
    if (!rest.starts_with('"')) continue;
    std::string name = quoted(rest, 0);
    size_t end = 1;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
    if (end + 1 < rest.size() && rest[end + 1] == ':') continue;
    return name;
  }
  return {};
}

/// "Ceil" of a line that holds "top.Ceil" or 'tpu.Ceil' between quotes.
std::string operator_in(std::string_view line) {
  for (const std::string_view dialect : {"\"top.", "\"tpu.", "'top.", "'tpu."}) {
    const size_t at = line.find(dialect);
    if (at == std::string_view::npos) continue;
    const size_t begin = at + dialect.size();
    size_t end = begin;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
    if (end > begin) return std::string(line.substr(begin, end - begin));
  }
  return {};
}

/// Behind `mark`; nothing where it is not there.
std::string behind(const std::string& line, std::string_view mark) {
  const size_t at = line.find(mark);
  return at == line.npos ? std::string() : trimmed(std::string_view(line).substr(at + mark.size()));
}

/// "assertion x failed"
std::string assertion_in(const std::string& line) {
  const size_t at = line.find("Assertion `"), end = line.rfind("' failed");
  return at == line.npos || end == line.npos || end < at ? std::string() : "assertion " + line.substr(at + 11, end - at - 11) + " failed";
}

/// What a line says of a bad end, and how much it is worth; worth 0 = nothing.
struct Saying {
  std::string sentence;
  int worth = 0;
};

Saying saying_of(const std::string& line, const std::string& before) {
  if (has(line, "UNREACHABLE executed at")) return {before.empty() ? "it reached what it holds to be unreachable" : before, 4};
  if (has(line, "ASSERT INFO:")) return {behind(line, "ASSERT INFO:"), 4};
  if (std::string a = assertion_in(line); !a.empty()) return {a, 4};
  if (std::string e = behind(line, "LLVM ERROR:"); !e.empty()) return {e, 4};
  if (std::string e = behind(line, "error while loading shared libraries:"); !e.empty()) return {e, 4};
  if (std::string e = behind(line, "what():"); !e.empty()) return {e, 4};
  if (has(line, ": error:")) {
    std::string e = behind(line, ": error:");
    if (e.starts_with("loc(")) e = behind(e, "): ");
    return {e, 3};
  }
  if (has(line, "terminate called after throwing an instance of")) return {line, 2};
  return {};
}

}  // namespace

std::string LastWords::text(std::string_view tool) const {
  std::string out;
  if (!name.empty()) out = "\"" + name + "\"" + (op.empty() ? "" : " (" + op + ")") + ": ";
  return out + std::string(tool) + (sentence.empty() ? " says nothing of why it ended" : " says \"" + sentence + "\"");
}

void Listener::hear(std::string_view raw, bool from_stderr) {
  std::string line = plain(raw);
  if (line.empty()) return;
  if (!from_stderr) {
    last_out_ = std::move(line);
    return;
  }
  dumping_ = dumping_ || line.starts_with("PLEASE submit a bug report") || line.starts_with("Stack dump:");
  if (dumping_) return;
  errors_.push_back(std::move(line));
  if (errors_.size() > kMostLines) errors_.pop_front();
}

LastWords Listener::last_words() const {
  LastWords out;
  Saying best;
  for (size_t k = 0; k < errors_.size(); ++k) {
    const Saying s = saying_of(errors_[k], k ? errors_[k - 1] : std::string());
    if (s.worth > best.worth) best = s;
    out.out_of_memory = out.out_of_memory || has(errors_[k], "out of memory") || has(errors_[k], "bad_alloc") || has(errors_[k], "Cannot allocate memory");
  }
  if (best.worth == 0 && !errors_.empty()) best.sentence = errors_.back();
  if (best.sentence.empty()) best.sentence = last_out_;
  out.sentence = without_folders(best.sentence).substr(0, kLongestSentence);
  // The operator in hand: the line that an arrow points at, else the last that has a location.
  for (const std::string& line : errors_) {
    const std::string name = location_in(line);
    if (name.empty()) continue;
    const bool arrow = line.starts_with("-> ");
    if (const std::string op = operator_in(line); !op.empty() || out.op.empty()) out.op = op;
    out.name = name;
    if (arrow) break;
  }
  return out;
}

}  // namespace bmcompiler_plugin
