// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/image.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/support/blob.hpp"
#include "core/support/file.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/stb.hpp"

namespace optima {
namespace {

constexpr int kLongestSide = 32768;

struct Size {
  int width = 0, height = 0;  // height 0: one number was given
};

// Where the picture's axes lie in the tensor.
struct Layout {
  bool channels_first = true;
  int64_t channels = 3, height = -1, width = -1;
};

Result<Size> parse_size(const std::string& text, std::string_view option) {
  Size s;
  const char *at = text.data(), *end = at + text.size();
  auto [stop, error] = std::from_chars(at, end, s.width);
  bool good = error == std::errc() && s.width > 0 && s.width <= kLongestSide;
  if (good && stop != end && *stop == 'x') {
    const auto [last, wrong] = std::from_chars(stop + 1, end, s.height);
    good = wrong == std::errc() && s.height > 0 && s.height <= kLongestSide;
    stop = last;
  }
  if (!good || stop != end) return usage_error(cat("found ", option, " ", quote(text), ", wanted a number or WIDTHxHEIGHT, up to ", kLongestSide));
  return s;
}

Result<Layout> layout_of(const TensorInfo& wanted, const ImageOptions& options) {
  const std::vector<int64_t>& shape = wanted.shape;
  const auto holds = [](int64_t channels) { return channels == 1 || channels == 3; };
  if (wanted.unranked || shape.size() < 3 || shape.size() > 4 || (shape.size() == 4 && shape[0] > 1))
    return invalid_input(cat("input ", quote(wanted.name), " of shape ", wanted.unranked ? "?" : shape_text(shape), " holds no picture, wanted 1xCxHxW or 1xHxWxC"));
  const size_t base = shape.size() - 3;
  bool first = holds(shape[base]) || (shape[base] < 0 && !holds(shape.back()));
  if (!options.layout.empty()) {
    if (options.layout != "NCHW" && options.layout != "NHWC") return usage_error(cat("found --layout ", quote(options.layout), ", wanted NCHW or NHWC"));
    first = options.layout == "NCHW";
  }
  Layout l{first, first ? shape[base] : shape[base + 2], first ? shape[base + 1] : shape[base], first ? shape[base + 2] : shape[base + 1]};
  if (l.channels < 0) l.channels = options.color == "GRAY" ? 1 : 3;
  if (!holds(l.channels)) return invalid_input(cat("input ", quote(wanted.name), " has ", l.channels, " channels, wanted 1 or 3"));
  return l;
}

Status check_color(const std::string& color, int64_t channels) {
  const bool good = color.empty() || (channels == 1 ? color == "GRAY" : color == "RGB" || color == "BGR");
  return good ? Status() : usage_error(cat("found --color ", quote(color), ", wanted ", channels == 1 ? "GRAY for one channel" : "RGB or BGR for three channels"));
}

Result<Size> resized_size(const Size& from, const Layout& layout, const ImageOptions& options, const Size& crop) {
  if (options.resize.empty()) {
    if (!options.crop.empty() && from.width >= crop.width && from.height >= crop.height) return from;
    return Size{layout.width > 0 ? static_cast<int>(layout.width) : from.width, layout.height > 0 ? static_cast<int>(layout.height) : from.height};
  }
  OPTIMA_ASSIGN(Size s, parse_size(options.resize, "--resize"));
  if (s.height) return s;
  const double scale = static_cast<double>(s.width) / std::min(from.width, from.height);
  return Size{std::max(1, static_cast<int>(std::lround(from.width * scale))), std::max(1, static_cast<int>(std::lround(from.height * scale)))};
}

// A picture of some size on its way into the input.
struct Sizes {
  Size resized, cropped;
};

Result<Sizes> sizes_of(const Size& from, const Layout& layout, const ImageOptions& options) {
  Size crop;
  if (!options.crop.empty()) {
    OPTIMA_ASSIGN(crop, parse_size(options.crop, "--crop"));
    if (!crop.height) crop.height = crop.width;
  }
  OPTIMA_ASSIGN(const Size size, resized_size(from, layout, options, crop));
  if (size.width > kLongestSide || size.height > kLongestSide)
    return usage_error(cat("found a picture of ", size.width, "x", size.height, " after resizing, wanted sides up to ", kLongestSide));
  if (!crop.width) crop = size;
  if (crop.width > size.width || crop.height > size.height)
    return usage_error(cat("found --crop ", crop.width, "x", crop.height, " of a picture of ", size.width, "x", size.height, ", wanted a smaller one"));
  if ((layout.width > 0 && layout.width != crop.width) || (layout.height > 0 && layout.height != crop.height))
    return usage_error(cat("the picture is ", crop.width, "x", crop.height, " after --resize and --crop, wanted ", layout.width, "x", layout.height));
  return Sizes{size, crop};
}

stb::Pixels crop_middle(const stb::Pixels& from, const Size& to) {
  stb::Pixels out{to.width, to.height, from.channels, {}};
  const auto c = static_cast<size_t>(from.channels);
  const auto left = static_cast<size_t>((from.width - to.width) / 2), top = static_cast<size_t>((from.height - to.height) / 2);
  for (size_t y = 0; y < static_cast<size_t>(to.height); ++y) {
    const uint8_t* row = from.data.data() + ((top + y) * static_cast<size_t>(from.width) + left) * c;
    out.data.insert(out.data.end(), row, row + static_cast<size_t>(to.width) * c);
  }
  return out;
}

Status check_channels(const std::vector<double>& values, int64_t channels, std::string_view option) {
  if (values.size() <= 1 || values.size() == static_cast<size_t>(channels)) return {};
  return usage_error(cat("found ", values.size(), " values for ", option, ", wanted 1 or ", channels));
}

double at_or(const std::vector<double>& values, size_t i, double fallback) {
  return values.empty() ? fallback : values.size() == 1 ? values[0] : values[i];
}

void store(Tensor& t, size_t i, double value) {
  const auto f = static_cast<float>(value);
  if (t.dtype == OPTIMA_U8) t.data[i] = static_cast<std::byte>(value);
  else std::memcpy(t.data + i * sizeof f, &f, sizeof f);
}

void write_pixels(Tensor& t, const stb::Pixels& p, const Layout& layout, const ImageOptions& options, ImageFacts& facts) {
  const auto channels = static_cast<size_t>(p.channels), plane = static_cast<size_t>(p.width) * static_cast<size_t>(p.height);
  facts.low = INFINITY, facts.high = -INFINITY;
  for (size_t c = 0; c < channels; ++c) {
    const size_t from = options.color == "BGR" ? channels - 1 - c : c;
    const double mean = at_or(options.mean, c, 0), scale = at_or(options.std, c, 1);
    for (size_t i = 0; i < plane; ++i) {
      const double pixel = p.data[i * channels + from];
      const double value = t.dtype == OPTIMA_U8 ? pixel : (pixel / 255 - mean) / scale;
      store(t, layout.channels_first ? c * plane + i : i * channels + c, value);
      facts.low = std::min(facts.low, value);
      facts.high = std::max(facts.high, value);
    }
  }
}

Result<stb::Pixels> prepare(const std::string& path, const Layout& layout, const ImageOptions& options, ImageFacts& facts) {
  OPTIMA_ASSIGN(const Blob file, map_file(expand_home(path)));
  OPTIMA_ASSIGN(stb::Pixels pixels, stb::decode_image({file.data, file.size}, static_cast<int>(layout.channels), quote(path)));
  OPTIMA_ASSIGN(const Sizes sizes, sizes_of({pixels.width, pixels.height}, layout, options));
  facts.width = pixels.width, facts.height = pixels.height;
  if (sizes.resized.width != pixels.width || sizes.resized.height != pixels.height) {
    OPTIMA_ASSIGN(pixels, stb::resize(pixels, sizes.resized.width, sizes.resized.height));
  }
  facts.resized_width = pixels.width, facts.resized_height = pixels.height;
  if (!options.crop.empty()) pixels = crop_middle(pixels, sizes.cropped);
  facts.input_width = pixels.width, facts.input_height = pixels.height;
  return pixels;
}

/// Where the picture goes, if input and options go together.
Result<Layout> checked_layout(const TensorInfo& wanted, const ImageOptions& options) {
  if (wanted.dtype != OPTIMA_F32 && wanted.dtype != OPTIMA_U8)
    return invalid_input(cat("input ", quote(wanted.name), " is ", dtype_name(wanted.dtype), ", wanted float32 or uint8 for a picture"));
  if (wanted.dtype == OPTIMA_U8 && !(options.mean.empty() && options.std.empty()))
    return usage_error(cat("--mean and --std are for float inputs, but input ", quote(wanted.name), " is uint8 and gets the picture's bytes as they are"));
  OPTIMA_ASSIGN(const Layout layout, layout_of(wanted, options));
  OPTIMA_RETURN_IF_ERROR(check_color(options.color, layout.channels));
  OPTIMA_RETURN_IF_ERROR(check_channels(options.mean, layout.channels, "--mean"));
  OPTIMA_RETURN_IF_ERROR(check_channels(options.std, layout.channels, "--std"));
  if (std::find(options.std.begin(), options.std.end(), 0.0) != options.std.end()) return usage_error("found 0 in --std, wanted numbers other than 0");
  return layout;
}

std::vector<int64_t> shape_of(const TensorInfo& wanted, const Layout& layout, int64_t width, int64_t height) {
  std::vector<int64_t> out(wanted.shape.size() - 3, 1);
  const auto axes = layout.channels_first ? std::array{layout.channels, height, width} : std::array{height, width, layout.channels};
  out.insert(out.end(), axes.begin(), axes.end());
  return out;
}

}  // namespace

Status check_used(const ImageOptions& options, bool any_picture) {
  if (any_picture) return {};
  const char* given = !options.resize.empty() ? "--resize"
                      : !options.crop.empty() ? "--crop"
                      : !options.mean.empty() ? "--mean"
                      : !options.std.empty()  ? "--std"
                      : !options.layout.empty() ? "--layout"
                      : !options.color.empty()  ? "--color"
                                                : nullptr;
  return given ? usage_error(cat(given, " is for pictures, found no --image with it")) : Status();
}

Result<Tensor> load_image(const std::string& path, const TensorInfo& wanted, const ImageOptions& options, ImageFacts* facts) {
  OPTIMA_ASSIGN(const Layout layout, checked_layout(wanted, options));
  ImageFacts own;
  ImageFacts& f = facts ? *facts : own;
  OPTIMA_ASSIGN(const stb::Pixels pixels, prepare(path, layout, options, f));
  OPTIMA_ASSIGN(Tensor t, Tensor::make(wanted.dtype, shape_of(wanted, layout, pixels.width, pixels.height)));
  t.name = wanted.name;
  write_pixels(t, pixels, layout, options, f);
  return t;
}

Result<std::vector<int64_t>> image_shape(const std::string& path, const TensorInfo& wanted, const ImageOptions& options) {
  OPTIMA_ASSIGN(const Layout layout, checked_layout(wanted, options));
  OPTIMA_ASSIGN(const Blob file, map_file(expand_home(path)));
  OPTIMA_ASSIGN(const auto size, stb::image_size({file.data, file.size}, quote(path)));
  OPTIMA_ASSIGN(const Sizes sizes, sizes_of({size.first, size.second}, layout, options));
  return shape_of(wanted, layout, sizes.cropped.width, sizes.cropped.height);
}

}  // namespace optima
