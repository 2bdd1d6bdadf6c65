// SPDX-License-Identifier: Apache-2.0
#include "core/samples/array.hpp"
#include "core/samples/names.hpp"
#include "core/samples/source.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"

namespace optima::samples {
namespace {

constexpr uint64_t kMostRows = uint64_t{1} << 32;  // an array of rows without elements may claim any number

/// One array for each input; row i of each is sample i.
class Stacked : public Samples::Source {
 public:
  Stacked(std::string name, std::string form, std::vector<std::unique_ptr<Array>> arrays, uint64_t count)
      : name_(std::move(name)), form_(std::move(form)), arrays_(std::move(arrays)), count_(count) {}

  uint64_t count() const override { return count_; }
  std::string name(uint64_t sample) const override { return cat(name_, "[", sample, "]"); }
  std::string form() const override { return form_; }
  bool alike() const override { return true; }
  Result<TensorInfo> describe(uint64_t, size_t input) const override {
    const NpyHeader& header = arrays_[input]->header();
    TensorInfo out;
    out.dtype = header.dtype;
    out.shape.assign(header.shape.begin() + 1, header.shape.end());
    return out;
  }
  Result<Tensor> read(uint64_t sample, size_t input) const override { return arrays_[input]->read_row(sample); }

 private:
  const std::string name_, form_;
  const std::vector<std::unique_ptr<Array>> arrays_;
  const uint64_t count_;
};

Status check_rows(const NpyHeader& header, const TensorInfo& wanted) {
  const size_t rank = header.shape.size(), own = wanted.shape.size();
  const bool may_lack_batch = own > 0 && (wanted.shape[0] == 1 || wanted.shape[0] < 0);
  const bool fits = rank > 0 && (wanted.unranked || rank == own + 1 || (rank == own && may_lack_batch));
  if (fits && static_cast<uint64_t>(header.shape[0]) < kMostRows) return {};
  return invalid_input(cat("input ", quote(wanted.name), ": found an array of ", dtype_name(header.dtype), " ", shape_text(header.shape),
                           ", wanted samples along its first dim, each ", dtype_name(wanted.dtype), " ",
                           wanted.unranked ? "of any shape" : shape_text(wanted.shape)));
}

}  // namespace

Result<SourcePtr> open_stacked(const std::string& path, const Wanted& wanted) {
  const bool npz = kind_of(path) == FileKind::Npz, only = wanted.inputs.size() == 1;
  if (!npz && !only)
    return invalid_input(cat(quote(path), ": is an array for one input, found a model of ", names_of(wanted.inputs), ", wanted a .npz"));
  std::vector<std::unique_ptr<Array>> arrays;
  for (size_t i = 0; i < wanted.inputs.size(); ++i) {
    const TensorInfo& input = wanted.inputs[i];
    Result<std::unique_ptr<Array>> array = npz ? Array::open_npz(path, input.name, i, only, input.texts) : Array::open_npy(path, input.texts);
    if (!array.ok()) return array.status().within(cat("input ", quote(input.name)));
    OPTIMA_RETURN_IF_ERROR(check_rows((*array)->header(), input).within(quote(path)));
    const int64_t rows = (*array)->header().shape[0], first = arrays.empty() ? rows : arrays[0]->header().shape[0];
    if (rows != first)
      return invalid_input(cat(quote(path), ": input ", quote(input.name), ": found ", rows, " samples, wanted ", first, " as input ",
                               quote(wanted.inputs[0].name), " has"));
    arrays.push_back(std::move(*array));
  }
  const uint64_t count = arrays.empty() ? 0 : wanted.at_most(static_cast<uint64_t>(arrays[0]->header().shape[0]));
  return SourcePtr(std::make_shared<Stacked>(path.substr(path.rfind('/') + 1), npz ? "stacked .npz" : "stacked .npy", std::move(arrays), count));
}

}  // namespace optima::samples
