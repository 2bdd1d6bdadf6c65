// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "core/samples/files.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"

namespace optima::samples {
namespace {

constexpr std::string_view kAssign = ":=", kBlank = " \t\r";

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(kBlank), last = s.find_last_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view() : s.substr(first, last - first + 1);
}

std::vector<std::string> split(std::string_view line, std::string_view separators) {
  std::vector<std::string> out;
  while (!line.empty()) {
    const size_t end = std::min(line.find_first_of(separators), line.size());
    if (const std::string_view part = trimmed(line.substr(0, end)); !part.empty()) out.emplace_back(part);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return out;
}

/// SNPE's input_list.txt: files without a header, "NAME:=PATH" where there are several inputs. tpu_mlir's data_list: commas between files that say
/// what they are. The first line decides.
class List {
 public:
  List(const std::string& path, const Wanted& wanted) : path_(path), folder_(path.substr(0, path.rfind('/') + 1)), wanted_(wanted) {}

  Result<SourcePtr> read() {
    OPTIMA_ASSIGN(const std::string text, read_file(path_));
    if (text.find('\0') != std::string::npos) return invalid_input(cat(quote(path_), ": is no list of files, found bytes that are no text"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      const std::string_view words = trimmed(line);
      if (words.empty() || words.front() == '#' || words.front() == '%') continue;
      if (samples_.empty()) of_snpe_ = words.find(kAssign) != std::string_view::npos || kind_of(words) == FileKind::Raw;
      OPTIMA_ASSIGN(FileSample sample, of_snpe_ ? snpe_sample(words) : tpu_sample(words));
      samples_.push_back(std::move(sample));
    }
    return samples_of_files(of_snpe_ ? "SNPE list" : "tpu_mlir list", std::move(samples_), wanted_);
  }

 private:
  std::string place() const { return cat(quote(path_), " line ", line_); }
  std::string at(const std::string& file) const { return file.starts_with('/') ? file : folder_ + file; }
  Status wrong(const auto&... words) const { return invalid_input(cat(place(), ": ", words...)); }

  Result<FileSample> snpe_sample(std::string_view line) const {
    if (line.find(kAssign) == std::string_view::npos) {
      if (wanted_.inputs.size() != 1) return wrong("found ", quote(line), ", wanted INPUT:=FILE for each of ", names_of(wanted_.inputs));
      return FileSample{std::string(line), {at(std::string(line))}};
    }
    FileSample out{{}, std::vector<std::string>(wanted_.inputs.size())};
    for (const std::string& pair : split(line, " \t")) {
      const size_t middle = pair.find(kAssign);
      if (middle == std::string::npos) return wrong("found ", quote(pair), ", wanted INPUT:=FILE");
      const std::string input = pair.substr(0, middle), file = pair.substr(middle + kAssign.size());
      OPTIMA_ASSIGN(const size_t i, position_of(input));
      if (!out.paths[i].empty()) return wrong("input ", quote(input), " is given twice");
      if (file.empty()) return wrong("input ", quote(input), " has no file");
      out.paths[i] = at(file);
      if (out.name.empty()) out.name = file;
    }
    for (size_t i = 0; i < out.paths.size(); ++i)
      if (out.paths[i].empty()) return wrong("input ", quote(wanted_.inputs[i].name), " has no data");
    return out;
  }

  Result<size_t> position_of(const std::string& input) const {
    std::vector<std::string> names;
    for (const TensorInfo& i : wanted_.inputs) {
      if (i.name == input) return names.size();
      names.push_back(i.name);
    }
    return wrong("the model has no input ", quote(input), nearest_hint(input, names), ", wanted one of ", join(names));
  }

  /// One file for each input in the model's order, or one .npz with all.
  Result<FileSample> tpu_sample(std::string_view line) const {
    const std::vector<std::string> files = split(line, ",");
    const bool all_in_one = files.size() == 1 && kind_of(files[0]) == FileKind::Npz;
    if (!all_in_one && files.size() != wanted_.inputs.size())
      return wrong("found ", files.size(), " files, wanted ", wanted_.inputs.size(), " for inputs ", names_of(wanted_.inputs));
    FileSample out{files.empty() ? "" : files[0], {}};
    for (size_t i = 0; i < wanted_.inputs.size(); ++i) {
      const std::string& file = files[all_in_one ? 0 : i];
      if (kind_of(file) == FileKind::Raw)
        return wrong("input ", quote(wanted_.inputs[i].name), ": found ", quote(file), ", wanted .npz, .npy or a picture");
      out.paths.push_back(at(file));
    }
    return out;
  }

  const std::string& path_;
  const std::string folder_;
  const Wanted& wanted_;
  bool of_snpe_ = true;
  uint64_t line_ = 0;
  std::vector<FileSample> samples_;
};

}  // namespace

Result<SourcePtr> open_list(const std::string& path, const Wanted& wanted) { return List(path, wanted).read(); }

}  // namespace optima::samples
