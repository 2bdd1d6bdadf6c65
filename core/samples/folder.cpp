// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/samples/array.hpp"
#include "core/samples/files.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/save.hpp"

namespace optima::samples {
namespace {

constexpr std::string_view kForms = "<input>/*.npy, <input>/*.jpg, *.npz, or for one input *.npy or pictures";

/// Files of one kind by name.
std::vector<std::string> of_kind(const std::vector<std::string>& files, FileKind kind) {
  std::vector<std::string> out;
  std::copy_if(files.begin(), files.end(), std::back_inserter(out), [&](const std::string& f) { return kind_of(f) == kind; });
  return out;
}

std::string_view text_of(FileKind kind) { return kind == FileKind::Npy ? ".npy" : kind == FileKind::Npz ? ".npz" : "pictures"; }

/// The one kind of data among the files; Raw when there is none. InvalidInput for two.
Result<FileKind> only_kind(const std::string& path, const std::vector<std::string>& files) {
  FileKind out = FileKind::Raw;
  for (const FileKind kind : {FileKind::Npy, FileKind::Npz, FileKind::Picture}) {
    const std::vector<std::string> found = of_kind(files, kind);
    if (found.empty()) continue;
    if (out != FileKind::Raw)
      return invalid_input(cat("folder ", quote(path), ": found ", text_of(out), " and ", text_of(kind), " (", quote(found[0]),
                               "), wanted one kind"));
    out = kind;
  }
  return out;
}

/// One folder of files for each input; the i-th file of each is sample i.
class ByInput {
 public:
  ByInput(const std::string& path, const Listing& listing, const Wanted& wanted) : path_(path), listing_(listing), wanted_(wanted) {
    for (const TensorInfo& input : wanted.inputs) folders_.push_back(input.name);
    const std::vector<std::string> files = output_file_names(folders_);  // what no name of a file can hold is put right the same way everywhere
    for (size_t i = 0; i < files.size(); ++i)
      if (!has(folders_[i])) folders_[i] = files[i].substr(0, files[i].size() - std::string_view(".npy").size());
  }

  bool fits() const {
    return std::any_of(folders_.begin(), folders_.end(), [&](const std::string& f) { return has(f); });
  }

  Result<SourcePtr> open() const {
    std::vector<FileSample> samples;
    bool pictures = false, arrays = false;
    for (size_t i = 0; i < folders_.size(); ++i) {
      const std::string& input = wanted_.inputs[i].name;
      if (!has(folders_[i]))
        return invalid_input(cat("input ", quote(input), " has no data: found folders ", join(listing_.folders), " in ", quote(path_), ", wanted ",
                                 quote(folders_[i]), ", too"));
      const std::string folder = cat(path_, "/", folders_[i]);
      OPTIMA_ASSIGN(const Listing inside, list_folder(folder));
      OPTIMA_ASSIGN(const FileKind kind, only_kind(folder, inside.files));
      if (kind != FileKind::Npy && kind != FileKind::Picture)
        return invalid_input(cat("input ", quote(input), " has no data: found ", inside.files.size(), " files in ", quote(folder),
                                 ", wanted .npy or pictures"));
      const std::vector<std::string> files = of_kind(inside.files, kind);
      if (i == 0) samples.resize(files.size());
      if (files.size() != samples.size())
        return invalid_input(cat("input ", quote(input), ": found ", files.size(), " samples in ", quote(folder), ", wanted ", samples.size(),
                                 " as input ", quote(wanted_.inputs[0].name), " has"));
      for (size_t s = 0; s < files.size(); ++s) {
        if (i == 0) samples[s].name = cat(folders_[i], "/", files[s]);
        samples[s].paths.push_back(cat(folder, "/", files[s]));
      }
      (kind == FileKind::Npy ? arrays : pictures) = true;
    }
    return samples_of_files(cat("a folder an input of ", arrays ? ".npy" : "", arrays && pictures ? " and " : "", pictures ? "pictures" : ""),
                            std::move(samples), wanted_);
  }

 private:
  bool has(const std::string& folder) const {
    return std::find(listing_.folders.begin(), listing_.folders.end(), folder) != listing_.folders.end();
  }

  const std::string& path_;
  const Listing& listing_;
  const Wanted& wanted_;
  std::vector<std::string> folders_;
};

SourcePtr each_a_sample(std::string form, const std::string& path, const std::vector<std::string>& files, const Wanted& wanted) {
  std::vector<FileSample> samples;
  for (const std::string& file : files) samples.push_back({file, std::vector<std::string>(wanted.inputs.size(), cat(path, "/", file))});
  return samples_of_files(std::move(form), std::move(samples), wanted);
}

Status check_one_input(const std::string& path, std::string_view what, const Wanted& wanted) {
  if (wanted.inputs.size() == 1) return {};
  return invalid_input(cat("folder ", quote(path), ": found ", what, " side by side, which are of one input, and a model of ",
                           names_of(wanted.inputs), ", wanted a folder for each input, or .npz"));
}

/// True when the only .npy of a folder holds samples along its first dim.
bool is_stacked(const std::string& file, const TensorInfo& wanted) {
  const Result<std::unique_ptr<Array>> array = Array::open_npy(file, wanted.texts);
  if (!array.ok() || wanted.unranked) return false;
  const std::vector<int64_t>& shape = (*array)->header().shape;
  return shape.size() == wanted.shape.size() + 1 || (shape.size() == wanted.shape.size() && !shape.empty() && wanted.shape[0] == 1 && shape[0] != 1);
}

Result<SourcePtr> open_arrays(const std::string& path, const std::vector<std::string>& files, const Wanted& wanted) {
  OPTIMA_RETURN_IF_ERROR(check_one_input(path, ".npy", wanted));
  if (files.size() == 1 && is_stacked(cat(path, "/", files[0]), wanted.inputs[0])) return open_stacked(cat(path, "/", files[0]), wanted);
  return each_a_sample("folder of .npy", path, files, wanted);
}

}  // namespace

Result<SourcePtr> open_folder(const std::string& path, const Wanted& wanted) {
  OPTIMA_ASSIGN(const Listing listing, list_folder(path));
  if (const ByInput by_input(path, listing, wanted); by_input.fits()) return by_input.open();
  OPTIMA_ASSIGN(const FileKind kind, only_kind(path, listing.files));
  if (kind == FileKind::Npz) return each_a_sample("folder of .npz", path, of_kind(listing.files, kind), wanted);
  if (kind == FileKind::Npy) return open_arrays(path, of_kind(listing.files, kind), wanted);
  for (const char* name : {"tune_input.bin", "input.bin"})
    if (std::find(listing.files.begin(), listing.files.end(), name) != listing.files.end()) return open_bin_dataset(cat(path, "/", name), wanted);
  OPTIMA_ASSIGN(const std::vector<std::string> pictures, list_pictures(path));
  if (pictures.empty())
    return invalid_input(cat("folder ", quote(path), " holds no sample: found ", listing.files.size(), " files and ", listing.folders.size(),
                             " folders, wanted ", kForms));
  OPTIMA_RETURN_IF_ERROR(check_one_input(path, "pictures", wanted));
  return each_a_sample("folder of pictures", path, pictures, wanted);
}

}  // namespace optima::samples
