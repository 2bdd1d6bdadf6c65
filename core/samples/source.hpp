// SPDX-License-Identifier: Apache-2.0
// core/samples: what a form of data has to say, and where each form is opened. Private to the room.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/samples/samples.hpp"

namespace optima {

/// Samples in sorted order. Immutable: any thread. What is said of tensors is as the data has it; Samples holds it against the model.
class Samples::Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t count() const = 0;
  virtual std::string name(uint64_t sample) const = 0;
  virtual std::string form() const = 0;
  /// Whether all samples have the types and sizes of the first one.
  virtual bool alike() const = 0;
  virtual bool has_pictures() const { return false; }
  /// Type and shape of what read() will give, by headers.
  virtual Result<TensorInfo> describe(uint64_t sample, size_t input) const = 0;
  virtual Result<Tensor> read(uint64_t sample, size_t input) const = 0;

  std::vector<TensorInfo> inputs;  ///< as the model wants them
  std::shared_ptr<const TextTables> tables;  ///< what these point to
};

namespace samples {

using SourcePtr = std::shared_ptr<Samples::Source>;

/// What the forms are told.
struct Wanted {
  const std::vector<TensorInfo>& inputs;
  const SampleOptions& options;

  uint64_t at_most(uint64_t found) const { return options.most ? std::min(options.most, found) : found; }
};

/// Each is told a path that exists. InvalidInput when it is no such form.
Result<SourcePtr> open_folder(const std::string& path, const Wanted& wanted);
/// input_list.txt of SNPE or data_list of tpu_mlir.
Result<SourcePtr> open_list(const std::string& path, const Wanted& wanted);
/// One array in a .npy, or one for each input in a .npz; a row is a sample.
Result<SourcePtr> open_stacked(const std::string& path, const Wanted& wanted);
/// float32 without a header, sample behind sample.
Result<SourcePtr> open_bin_dataset(const std::string& path, const Wanted& wanted);

/// "'x', 'y'".
std::string names_of(const std::vector<TensorInfo>& inputs);

/// The shape with a first dim of 1 where the model has one, of 1 or of any size, and the data has none.
std::vector<int64_t> with_batch(std::vector<int64_t> shape, const TensorInfo& wanted);

}  // namespace samples
}  // namespace optima
