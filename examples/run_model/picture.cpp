// SPDX-License-Identifier: Apache-2.0
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_PNM
#define STBI_MAX_DIMENSIONS 32768
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>

#include "picture.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "../../core/tensor_io/sound_jpeg.hpp"

namespace {

constexpr int kLongestSide = 32768;

size_t bytes_of(int width, int height, int channels) {
  return static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw std::runtime_error("cannot read picture '" + path + "': " + why); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) refuse(path, std::strerror(errno));
  if (bytes.size() > INT_MAX) refuse(path, "found " + std::to_string(bytes.size()) + " bytes, wanted less than 2 GiB");
  return bytes;
}

// stb_image 2.27 ends the program over a damaged PIC file, but where its own four channels are asked for.
bool is_pic(const std::string& bytes) { return bytes.compare(0, 4, "\x53\x80\xF6\x34") == 0; }

// Of four channels one or three, as stb_image converts them.
void drop_alpha(Picture& p, int channels) {
  const std::vector<unsigned char> from = std::move(p.pixels);
  p.channels = channels;
  p.pixels.clear();
  for (size_t i = 0; i + 3 < from.size(); i += 4) {
    if (channels == 1) p.pixels.push_back(static_cast<unsigned char>((from[i] * 77 + from[i + 1] * 150 + from[i + 2] * 29) >> 8));
    else p.pixels.insert(p.pixels.end(), from.begin() + static_cast<std::ptrdiff_t>(i), from.begin() + static_cast<std::ptrdiff_t>(i + 3));
  }
}

}  // namespace

Picture read_picture(const std::string& path, int channels) {
  const std::string bytes = read_file(path);
  if (!optima::stb::has_sound_tables(bytes)) refuse(path, "a Huffman table of the JPEG has over 256 codes");
  Picture p;
  p.channels = is_pic(bytes) ? 4 : channels;
  int found = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> pixels(
      stbi_load_from_memory(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), &p.width, &p.height, &found, p.channels), stbi_image_free);
  if (!pixels) refuse(path, stbi_failure_reason());
  if (p.width < 1 || p.height < 1) refuse(path, "found " + std::to_string(p.width) + "x" + std::to_string(p.height) + " pixels, wanted one or more");
  p.pixels.assign(pixels.get(), pixels.get() + bytes_of(p.width, p.height, p.channels));
  if (p.channels != channels) drop_alpha(p, channels);
  return p;
}

Picture resize_for(const Picture& from, int input_width, int input_height) {
  const double scale = std::max(static_cast<double>(input_width) / from.width, static_cast<double>(input_height) / from.height) * 256 / 224;
  const double width = std::round(from.width * scale), height = std::round(from.height * scale);
  if (width > kLongestSide || height > kLongestSide)
    throw std::runtime_error("found a picture of " + std::to_string(from.width) + "x" + std::to_string(from.height) + ", wanted one whose longer side stays below " +
                             std::to_string(kLongestSide) + " when the shorter one is resized");
  Picture to{static_cast<int>(width), static_cast<int>(height), from.channels, {}};
  if (to.width == from.width && to.height == from.height) return from;
  to.pixels.resize(bytes_of(to.width, to.height, to.channels));
  // Linear, not sRGB: what models were trained on averages the stored numbers.
  if (!stbir_resize_uint8_generic(from.pixels.data(), from.width, from.height, 0, to.pixels.data(), to.width, to.height, 0, to.channels, STBIR_ALPHA_CHANNEL_NONE, 0,
                                  STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr))
    throw std::runtime_error("not enough memory to resize the picture");
  return to;
}

Picture crop_middle(const Picture& from, int width, int height) {
  Picture to{width, height, from.channels, std::vector<unsigned char>(bytes_of(width, height, from.channels))};
  const int left = (from.width - width) / 2, top = (from.height - height) / 2;
  for (int y = 0; y < height; ++y)
    std::memcpy(to.pixels.data() + bytes_of(width, y, to.channels), from.pixels.data() + (bytes_of(from.width, top + y, from.channels) + bytes_of(left, 1, from.channels)),
                bytes_of(width, 1, to.channels));
  return to;
}
