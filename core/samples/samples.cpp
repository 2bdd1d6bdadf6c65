// SPDX-License-Identifier: Apache-2.0
#include "core/samples/samples.hpp"

#include <algorithm>
#include <filesystem>

#include "core/samples/names.hpp"
#include "core/samples/source.hpp"
#include "core/support/file.hpp"
#include "core/support/sha256.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"

namespace optima {
namespace samples {
namespace {

constexpr std::string_view kForms = "a folder of samples, a list of files (.txt), a stacked .npy or .npz, or a .bin (docs/quantization.md#data)";

bool is_list(std::string_view path) { return path.ends_with(".txt") || path.ends_with(".list") || path.ends_with(".lst"); }
bool is_bin(std::string_view path) { return path.ends_with(".bin") || path.ends_with(".raw"); }

Result<SourcePtr> open_form(const std::string& path, const Wanted& wanted) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return invalid_input(cat("no such file or folder ", quote(path), ", wanted ", kForms));
  if (std::filesystem::is_directory(status)) return open_folder(path, wanted);
  if (!std::filesystem::is_regular_file(status)) return invalid_input(cat(quote(path), " is no file and no folder, wanted ", kForms));
  const FileKind kind = kind_of(path);
  if (kind == FileKind::Npy || kind == FileKind::Npz) return open_stacked(path, wanted);
  if (is_bin(path)) return open_bin_dataset(path, wanted);
  if (is_list(path)) return open_list(path, wanted);
  return invalid_input(cat(quote(path), " is of no form that is read, wanted ", kForms));
}

/// Options for inputs that there are not, or for pictures where none is.
Status check_options(const Wanted& wanted, const Samples::Source& source) {
  std::vector<std::string> names;
  for (const TensorInfo& input : wanted.inputs) names.push_back(input.name);
  for (const auto& [name, options] : wanted.options.pictures) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      return usage_error(cat("options of pictures for ", quote(name), nearest_hint(name, names), ", wanted one of ", join(names)));
    if (!check_used(options, source.has_pictures()).ok())
      return usage_error(cat("options of pictures are given, but the data is a ", source.form(), ", found no picture in it"));
  }
  return {};
}

Tensor without_data(const TensorInfo& info, const TensorInfo& wanted) {
  Tensor out;
  out.shape = with_batch(info.shape, wanted);
  Tensor nothing;
  nothing.dtype = info.dtype, nothing.shape = {0};
  out.dtype = restore_type(std::move(nothing), wanted.dtype).dtype;
  return out;
}

/// Types and sizes against the model's, and dims of one symbol against each other.
Status check_sample(const std::vector<Tensor>& tensors, const std::vector<TensorInfo>& inputs) {
  std::map<std::string, std::pair<int64_t, const TensorInfo*>> symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& input = inputs[i];
    OPTIMA_RETURN_IF_ERROR(check_tensor(tensors[i], input));
    for (size_t d = 0; d < std::min(input.symbols.size(), tensors[i].shape.size()); ++d) {
      if (input.symbols[d].empty()) continue;
      const auto& [size, first] = symbols.try_emplace(input.symbols[d], tensors[i].shape[d], &input).first->second;
      if (size != tensors[i].shape[d])
        return invalid_input(cat("input ", quote(input.name), ": found ", shape_text(tensors[i].shape), ", wanted dim ", d, " to be ", size, ", as ",
                                 quote(input.symbols[d]), " is in input ", quote(first->name)));
    }
  }
  return {};
}

Result<std::vector<Tensor>> described(const Samples::Source& source, uint64_t sample) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < source.inputs.size(); ++i) {
    OPTIMA_ASSIGN(const TensorInfo info, source.describe(sample, i));
    out.push_back(without_data(info, source.inputs[i]));
  }
  OPTIMA_RETURN_IF_ERROR(check_sample(out, source.inputs));
  return out;
}

std::string about(const Samples::Source& source, uint64_t sample) { return cat("sample ", quote(source.name(sample))); }

Result<std::vector<Tensor>> read_all(const Samples::Source& source, uint64_t sample) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < source.inputs.size(); ++i) {
    const TensorInfo& wanted = source.inputs[i];
    OPTIMA_ASSIGN(Tensor t, source.read(sample, i));
    t = restore_type(std::move(t), wanted.dtype);
    t.shape = with_batch(std::move(t.shape), wanted);
    t.name = wanted.name;
    out.push_back(std::move(t));
  }
  OPTIMA_RETURN_IF_ERROR(check_sample(out, source.inputs));
  return out;
}

}  // namespace

std::string names_of(const std::vector<TensorInfo>& inputs) {
  std::vector<std::string> names;
  for (const TensorInfo& input : inputs) names.push_back(quote(input.name));
  return join(names);
}

std::vector<int64_t> with_batch(std::vector<int64_t> shape, const TensorInfo& wanted) {
  const bool lacks_one = !wanted.unranked && shape.size() + 1 == wanted.shape.size() && (wanted.shape[0] == 1 || wanted.shape[0] < 0);
  if (lacks_one) shape.insert(shape.begin(), 1);
  return shape;
}

}  // namespace samples

Result<Samples> Samples::open(const std::string& source, const std::vector<TensorInfo>& inputs, const SampleOptions& options) {
  if (inputs.empty()) return invalid_input("the model has no inputs, so there is nothing that samples could be of");
  std::string path = expand_home(source);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const auto tables = std::make_shared<TextTables>();  // the caller's may end before the samples are read
  std::vector<TensorInfo> kept = inputs;
  for (TensorInfo& input : kept)
    if (input.texts) input.texts = &tables->try_emplace(input.name, *input.texts).first->second;
  const samples::Wanted wanted{kept, options};
  OPTIMA_ASSIGN(const samples::SourcePtr found, samples::open_form(path, wanted));
  found->inputs = kept;
  found->tables = tables;
  if (found->count() == 0) return invalid_input(cat(quote(path), " (", found->form(), ") holds no sample, wanted one at least"));
  OPTIMA_RETURN_IF_ERROR(samples::check_options(wanted, *found));
  for (uint64_t s = 0, end = found->alike() ? 1 : found->count(); s < end; ++s)
    if (const auto headers = samples::described(*found, s); !headers.ok()) return headers.status().within(samples::about(*found, s));
  return Samples(found);
}

uint64_t Samples::count() const { return source_->count(); }
std::string Samples::name(uint64_t sample) const { return source_->name(sample); }
std::string Samples::form() const { return source_->form(); }

Result<std::vector<std::vector<int64_t>>> Samples::shapes(uint64_t sample) const {
  const Result<std::vector<Tensor>> headers = samples::described(*source_, sample);
  if (!headers.ok()) return headers.status().within(samples::about(*source_, sample));
  std::vector<std::vector<int64_t>> out;
  for (const Tensor& t : *headers) out.push_back(t.shape);
  return out;
}

Result<std::vector<Tensor>> Samples::read(uint64_t sample) const {
  Result<std::vector<Tensor>> out = samples::read_all(*source_, sample);
  if (!out.ok()) return out.status().within(samples::about(*source_, sample));
  return out;
}

Result<std::string> Samples::hash() const {
  Sha256Hasher hasher;
  const auto text = [&hasher](const std::string& s) { hasher.update(s.c_str(), s.size() + 1); };  // with its end, so that no two lists read the same
  for (uint64_t s = 0; s < count(); ++s) {
    OPTIMA_ASSIGN(const std::vector<Tensor> tensors, read(s));
    text(name(s));
    for (const Tensor& t : tensors) {
      text(cat(t.name, " ", dtype_name(t.dtype), " ", shape_text(t.shape)));
      hasher.update(t.data, t.size);
    }
  }
  return to_hex(hasher.finish());
}

}  // namespace optima
