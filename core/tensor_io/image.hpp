// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: a picture file becomes an input tensor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/support/status.hpp"
#include "core/tensor_io/tensor.hpp"

namespace optima {

/// What is done, in this order: decode, resize, crop in the middle, colour order, divide by 255 and apply (x - mean) / std per
/// channel (float inputs only: a mean for a uint8 input, which gets the picture's bytes, is Usage), layout.
struct ImageOptions {
  std::string resize;  ///< "256" = the short side, "320x240" = width x height; empty = to the crop's or the input's size
  std::string crop;    ///< "224" or "224x224", width x height; empty = none
  std::vector<double> mean, std;  ///< one or one per channel, in units of 0…1; empty = 0 and 1
  std::string layout;  ///< "NCHW", "NHWC"; empty = whichever has 1 or 3 channels in the input's shape
  std::string color;   ///< "RGB", "BGR", "GRAY"; empty = RGB, GRAY for one channel
};

/// Usage when options of pictures are given and no picture is: nobody would apply them.
Status check_used(const ImageOptions& options, bool any_picture);

/// What happened, for people.
struct ImageFacts {
  int width = 0, height = 0;            ///< of the file
  int resized_width = 0, resized_height = 0;
  int input_width = 0, input_height = 0;
  double low = 0, high = 0;             ///< range of the tensor
};

/// InvalidInput when the file is no picture or the input cannot hold one; Usage for options that make no sense.
Result<Tensor> load_image(const std::string& path, const TensorInfo& wanted, const ImageOptions& options, ImageFacts* facts = nullptr);

/// The shape that load_image() would give, by the file's header and the same rules; errors likewise.
Result<std::vector<int64_t>> image_shape(const std::string& path, const TensorInfo& wanted, const ImageOptions& options);

}  // namespace optima
