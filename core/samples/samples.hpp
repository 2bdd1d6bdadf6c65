// SPDX-License-Identifier: Apache-2.0
// core/samples: representative data for calibration, whatever form it lies in. Reads one sample at a time; knows no graph and no plugin.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/support/status.hpp"
#include "core/tensor_io/image.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// How data is read that does not say so itself.
struct SampleOptions {
  std::map<std::string, ImageOptions> pictures;  ///< by input ("" = every input that gets pictures)
  uint64_t most = 0;                            ///< samples taken, in sorted order; 0 = all
};

/// A set of samples in sorted order. Immutable: any thread.
class Samples {
 public:
  /// Looks at names and headers only. `source`: one of the forms of docs/quantization.md#data. InvalidInput, naming sample, input, what was
  /// found and what was wanted; also for no sample at all.
  static Result<Samples> open(const std::string& source, const std::vector<TensorInfo>& inputs, const SampleOptions& options = {});

  uint64_t count() const;
  /// What a sample is called in messages: its file, or "NAME[7]" of a stacked array.
  std::string name(uint64_t sample) const;
  /// The form that was found, for people: "folder of .npz", "SNPE list", ...
  std::string form() const;
  /// Sizes of the sample's inputs, by headers.
  Result<std::vector<std::vector<int64_t>>> shapes(uint64_t sample) const;
  /// One tensor per model input, in its order, checked against what the model wants. The same sample gives the same bytes each time.
  Result<std::vector<Tensor>> read(uint64_t sample) const;
  /// Hexadecimal SHA-256 over names and contents of everything that read() would give. Reads all.
  Result<std::string> hash() const;

  class Source;  // the room's own: one per form

 private:
  explicit Samples(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  std::shared_ptr<const Source> source_;
};

}  // namespace optima
