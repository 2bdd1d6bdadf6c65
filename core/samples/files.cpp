// SPDX-License-Identifier: Apache-2.0
#include "core/samples/files.hpp"

#include <algorithm>

#include "core/samples/array.hpp"
#include "core/samples/raw.hpp"
#include "core/support/text.hpp"

namespace optima::samples {
namespace {

class Files : public Samples::Source {
 public:
  Files(std::string form, std::vector<FileSample> samples, SampleOptions options)
      : form_(std::move(form)), samples_(std::move(samples)), options_(std::move(options)) {}

  uint64_t count() const override { return samples_.size(); }
  std::string name(uint64_t sample) const override { return samples_[sample].name; }
  std::string form() const override { return form_; }
  bool alike() const override { return false; }
  bool has_pictures() const override {
    const auto is_picture = [](const std::string& path) { return kind_of(path) == FileKind::Picture; };
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const FileSample& s) { return std::any_of(s.paths.begin(), s.paths.end(), is_picture); });
  }

  Result<TensorInfo> describe(uint64_t sample, size_t input) const override {
    const std::string& path = samples_[sample].paths[input];
    const TensorInfo& wanted = inputs[input];
    TensorInfo out = wanted;
    if (wanted.texts && kind_of(path) != FileKind::Npy && kind_of(path) != FileKind::Npz)
      return invalid_input(cat("input ", quote(wanted.name), ": found ", quote(path), ", wanted texts in a .npy or .npz"));
    switch (kind_of(path)) {
      case FileKind::Picture: {
        OPTIMA_ASSIGN(out.shape, image_shape(path, wanted, picture_options(wanted)));
        return out;
      }
      case FileKind::Raw: {
        OPTIMA_ASSIGN(const Blob file, map_file(path));
        OPTIMA_ASSIGN(out.shape, shape_of_floats(file.size, wanted, quote(path)));
        return out;
      }
      default: {
        OPTIMA_ASSIGN(const std::unique_ptr<Array> array, open(path, input));
        out.dtype = array->header().dtype, out.shape = array->header().shape;
        return out;
      }
    }
  }

  Result<Tensor> read(uint64_t sample, size_t input) const override {
    const std::string& path = samples_[sample].paths[input];
    const TensorInfo& wanted = inputs[input];
    switch (kind_of(path)) {
      case FileKind::Picture: return load_image(path, wanted, picture_options(wanted));
      case FileKind::Raw: {
        OPTIMA_ASSIGN(const Blob file, map_file(path));
        OPTIMA_ASSIGN(std::vector<int64_t> shape, shape_of_floats(file.size, wanted, quote(path)));
        return from_floats({file.data, file.size}, wanted, std::move(shape), quote(path));
      }
      default: {
        OPTIMA_ASSIGN(const std::unique_ptr<Array> array, open(path, input));
        return array->read();
      }
    }
  }

 private:
  Result<std::unique_ptr<Array>> open(const std::string& path, size_t input) const {
    if (kind_of(path) == FileKind::Npy) return Array::open_npy(path, inputs[input].texts);
    return Array::open_npz(path, inputs[input].name, input, inputs.size() == 1, inputs[input].texts);
  }

  const ImageOptions& picture_options(const TensorInfo& wanted) const {
    static const ImageOptions none;
    for (const std::string& name : {wanted.name, std::string()})
      if (const auto at = options_.pictures.find(name); at != options_.pictures.end()) return at->second;
    return none;
  }

  const std::string form_;
  const std::vector<FileSample> samples_;
  const SampleOptions options_;
};

}  // namespace

SourcePtr samples_of_files(std::string form, std::vector<FileSample> samples, const Wanted& wanted) {
  samples.resize(wanted.at_most(samples.size()));
  return std::make_shared<Files>(std::move(form), std::move(samples), wanted.options);
}

}  // namespace optima::samples
