// SPDX-License-Identifier: Apache-2.0
#include "core/samples/names.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/support/text.hpp"

namespace optima::samples {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes a run of digits off the front, leading zeros left out.
std::string_view take_number(std::string_view& rest) {
  size_t end = 0;
  while (end < rest.size() && is_digit(rest[end])) ++end;
  std::string_view out = rest.substr(0, end);
  rest.remove_prefix(end);
  out.remove_prefix(std::min(out.find_first_not_of('0'), out.size()));
  return out;
}

std::string ending_of(std::string_view path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) return {};
  std::string out(path.substr(dot + 1));
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool is_hidden(std::string_view name) { return name.empty() || name.front() == '.'; }

Status cannot_list(const std::string& path, const std::error_code& error) {
  return invalid_input(cat("folder ", quote(path), " cannot be listed: ", error.message()));
}

}  // namespace

bool before(std::string_view a, std::string_view b) {
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (is_digit(x.front()) && is_digit(y.front())) {
      const std::string_view n = take_number(x), m = take_number(y);
      if (n.size() != m.size()) return n.size() < m.size();
      if (n != m) return n < m;
      continue;
    }
    if (x.front() != y.front()) return static_cast<unsigned char>(x.front()) < static_cast<unsigned char>(y.front());
    x.remove_prefix(1);
    y.remove_prefix(1);
  }
  return x.size() != y.size() ? x.size() < y.size() : a < b;
}

FileKind kind_of(std::string_view path) {
  static constexpr std::array<std::string_view, 8> kPictures = {"jpg", "jpeg", "png", "bmp", "tga", "gif", "psd", "hdr"};
  const std::string ending = ending_of(path);
  if (ending == "npy") return FileKind::Npy;
  if (ending == "npz") return FileKind::Npz;
  return std::find(kPictures.begin(), kPictures.end(), ending) == kPictures.end() ? FileKind::Raw : FileKind::Picture;
}

Result<Listing> list_folder(const std::string& path) {
  Listing out;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (is_hidden(name)) continue;
    if (at->is_directory(ignored)) out.folders.push_back(name);
    else if (at->is_regular_file(ignored)) out.files.push_back(name);
  }
  if (error) return cannot_list(path, error);
  std::sort(out.files.begin(), out.files.end(), before);
  std::sort(out.folders.begin(), out.folders.end(), before);
  return out;
}

Result<std::vector<std::string>> list_pictures(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const fs::path& file = at->path();
    std::error_code ignored;
    if (is_hidden(file.filename().string())) {
      at.disable_recursion_pending();
      continue;
    }
    if (kind_of(file.string()) == FileKind::Picture && at->is_regular_file(ignored)) out.push_back(file.lexically_relative(path).string());
  }
  if (error) return cannot_list(path, error);
  std::sort(out.begin(), out.end(), before);
  return out;
}

}  // namespace optima::samples
