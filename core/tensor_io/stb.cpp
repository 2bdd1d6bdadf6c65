// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/stb.hpp"

#include <algorithm>
#include <memory>

#include "core/support/text.hpp"
#include "core/tensor_io/sound_jpeg.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wpedantic"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_NO_PIC
#define STBI_NO_PNM
#define STBI_MAX_DIMENSIONS 32768
#include <stb/stb_image.h>
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize.h>
#pragma GCC diagnostic pop

namespace optima::stb {
namespace {

Status check_file(std::span<const std::byte> file, std::string_view what) {
  if (file.size() > INT32_MAX) return invalid_input(cat(what, ": found ", file.size(), " bytes, wanted a picture under 2 GiB"));
  if (!has_sound_tables({reinterpret_cast<const char*>(file.data()), file.size()})) return invalid_input(cat(what, ": is no picture that can be read: a Huffman table of the JPEG has over 256 codes"));
  return {};
}

}  // namespace

Result<std::pair<int, int>> image_size(std::span<const std::byte> file, std::string_view what) {
  OPTIMA_RETURN_IF_ERROR(check_file(file, what));
  std::pair<int, int> out;
  int stored = 0;
  if (!stbi_info_from_memory(reinterpret_cast<const stbi_uc*>(file.data()), static_cast<int>(file.size()), &out.first, &out.second, &stored))
    return invalid_input(cat(what, ": is no picture that can be read: ", stbi_failure_reason()));
  return out;
}

Result<Pixels> decode_image(std::span<const std::byte> file, int channels, std::string_view what) {
  OPTIMA_RETURN_IF_ERROR(check_file(file, what));
  Pixels out;
  int stored = 0;
  const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
  const std::unique_ptr<stbi_uc, void (*)(void*)> data(
      stbi_load_from_memory(bytes, static_cast<int>(file.size()), &out.width, &out.height, &stored, channels), stbi_image_free);
  if (!data) return invalid_input(cat(what, ": is no picture that can be read: ", stbi_failure_reason()));
  out.channels = channels;
  out.data.assign(data.get(), data.get() + static_cast<size_t>(out.width) * static_cast<size_t>(out.height) * static_cast<size_t>(channels));
  return out;
}

Result<Pixels> resize(const Pixels& from, int width, int height) {
  Pixels out{width, height, from.channels, {}};
  out.data.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(from.channels));
  const int done = stbir_resize_uint8_generic(from.data.data(), from.width, from.height, 0, out.data.data(), width, height, 0, from.channels,
                                              STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr);
  if (!done) return io_error(cat("no memory to resize a picture to ", width, "x", height));
  return out;
}

uint64_t inflate(std::span<const std::byte> from, std::span<std::byte> to) {
  const int n = stbi_zlib_decode_noheader_buffer(reinterpret_cast<char*>(to.data()), static_cast<int>(to.size()),
                                                 reinterpret_cast<const char*>(from.data()), static_cast<int>(from.size()));
  return n < 0 ? UINT64_MAX : static_cast<uint64_t>(n);
}

}  // namespace optima::stb
