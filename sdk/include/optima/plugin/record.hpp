// SPDX-License-Identifier: Apache-2.0
// optima/plugin/record.hpp: a compat record that names an artifact's files, what is wrong with an artifact by it, and what check_artifact() then
// says. Everything read here is hostile. Not included by plugin.hpp.
#pragma once

#include <charconv>
#include <initializer_list>

#include "optima/plugin/checksum.hpp"
#include "optima/plugin/plugin.hpp"

namespace optima::sdk {
inline namespace v0_1 {

/// The beginning of hostile text for a message: at most 60 bytes, in quotes, '?' for what is no printable ASCII.
inline std::string shown(std::string_view text) {
  std::string s(text.substr(0, 60));
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return "'" + s + "'";
}

/// Whether it names a file and no path: 1 to 255 bytes without '/' and control bytes, neither "." nor "..".
inline bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c == '/' || c < 0x20; });
}

/// A file of an artifact. '*' at the beginning of a name in a record is the artifact's stem, of which no byte of an artifact tells.
struct RecordedFile {
  std::string name;
  uint64_t size = 0;  ///< bytes
  uint64_t sum = 0;   ///< Checksum::value()
};

/// Throws IO when the file at `path` cannot be read.
inline RecordedFile record_file(std::string name, const std::string& path) {
  const Checksum sum = checksum_of_file(path);
  return {std::move(name), sum.size(), sum.value()};
}
inline RecordedFile record_bytes(std::string name, std::string_view bytes) { return {std::move(name), bytes.size(), checksum_of(bytes).value()}; }

namespace detail {
[[noreturn]] inline void corrupt_record(const std::string& what) { throw Error(OPTIMA_CORRUPT, "compat record " + what); }

inline uint64_t record_number(std::string_view word, int base) {
  uint64_t n = 0;
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), n, base);
  if (error != std::errc() || at != word.data() + word.size()) corrupt_record("has " + shown(word) + ", wanted a number");
  return n;
}

/// "SIZE SUM NAME".
inline RecordedFile recorded_file(std::string_view line) {
  const size_t first = line.find(' '), second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos) corrupt_record("has a file " + shown(line) + ", wanted size, sum and name");
  RecordedFile f{std::string(line.substr(second + 1)), record_number(line.substr(0, first), 10), record_number(line.substr(first + 1, second - first - 1), 16)};
  if (!is_file_name(f.name)) corrupt_record("has file " + shown(f.name) + ", wanted a file name");
  return f;
}
}  // namespace detail

/// A record's text: the fields in this order, then the files, a line each: "chip=bm1684x", "file=SIZE SUM NAME". Values hold no line break.
inline std::string write_record(std::initializer_list<std::pair<std::string_view, std::string_view>> fields, const std::vector<RecordedFile>& files) {
  std::string all;
  for (const auto& [key, value] : fields) all += std::string(key) + "=" + std::string(value) + "\n";
  for (const RecordedFile& f : files) all += "file=" + std::to_string(f.size) + " " + sum_text(f.sum) + " " + f.name + "\n";
  return all;
}

/// What write_record() wrote: the files, and each field into its text. Other fields are passed over. Throws CORRUPT.
inline std::vector<RecordedFile> read_record(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string*>> fields) {
  std::vector<RecordedFile> files;
  std::vector<bool> seen(fields.size());
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) detail::corrupt_record("is truncated");
    const std::string_view line = text.substr(0, end), key = line.substr(0, line.find('='));
    text.remove_prefix(end + 1);
    if (key.size() == line.size()) detail::corrupt_record("has " + shown(line) + ", wanted key=value");
    const std::string_view value = line.substr(key.size() + 1);
    if (key == "file") files.push_back(detail::recorded_file(value));
    for (size_t k = 0; k < fields.size(); ++k)
      if (const auto& [name, into] = fields.begin()[k]; key == name) *into = std::string(value), seen[k] = true;
  }
  for (size_t k = 0; k < fields.size(); ++k)
    if (!seen[k]) detail::corrupt_record("has no '" + std::string(fields.begin()[k].first) + "'");
  return files;
}

/// Puts the artifact's stem in the place of a '*' at the beginning.
inline void name_stem(std::string& name, const Artifact& artifact) {
  if (!name.empty() && name[0] == '*') name.replace(0, 1, artifact.stem());
}

inline bool has_file(const std::vector<RecordedFile>& files, std::string_view name) {
  return std::any_of(files.begin(), files.end(), [&](const RecordedFile& f) { return f.name == name; });
}

/// Throws RECOMPILE for an artifact of another format.
inline void require_format(const Artifact& artifact, std::string_view format) {
  if (artifact.format() != format) throw Error(OPTIMA_RECOMPILE, "artifact has format " + shown(artifact.format()) + ", wanted " + std::string(format));
}

/// Throws CORRUPT unless the artifact has the file, of this size and sum. False where its bytes are not there yet, of which nothing can be said:
/// check_artifact() may be asked before.
inline bool verify_file(const Artifact& artifact, const RecordedFile& file) {
  const optima_blob* blob = artifact.file(file.name);
  if (!blob) throw Error(OPTIMA_CORRUPT, "file '" + file.name + "' is missing");
  if (blob->size != file.size)
    throw Error(OPTIMA_CORRUPT, "file '" + file.name + "' has " + std::to_string(blob->size) + " bytes, wanted " + std::to_string(file.size));
  if (!blob->data && blob->fd < 0) return false;
  const Elements<char> bytes(*blob);
  const uint64_t found = checksum_of({bytes.data(), bytes.size()}).value();
  if (found != file.sum) throw Error(OPTIMA_CORRUPT, "file '" + file.name + "' is damaged: its sum is " + sum_text(found) + ", wanted " + sum_text(file.sum));
  return true;
}

/// check_artifact() by what load() would throw: `verify` throws RECOMPILE, CORRUPT or WRONG_DEVICE, or returns where all is well. Other errors pass.
template <class F>
Compatibility compatibility_of(F&& verify) {
  try {
    verify();
    return {OPTIMA_COMPAT_OPTIMAL, ""};
  } catch (const Error& e) {
    if (e.code == OPTIMA_RECOMPILE) return {OPTIMA_COMPAT_RECOMPILE, e.text};
    if (e.code == OPTIMA_CORRUPT) return {OPTIMA_COMPAT_CORRUPT, e.text};
    if (e.code == OPTIMA_WRONG_DEVICE) return {OPTIMA_COMPAT_WRONG_DEVICE, e.text};
    throw;
  }
}

}  // namespace v0_1
}  // namespace optima::sdk
