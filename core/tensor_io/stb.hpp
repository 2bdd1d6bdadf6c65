// SPDX-License-Identifier: Apache-2.0
// core/tensor_io: the one door to the stb libraries. Private to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/support/status.hpp"

namespace optima::stb {

/// 8-bit pixels, rows from the top, channels interleaved.
struct Pixels {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> data;
};

/// Width and height by the file's header; no pixels. Errors as decode_image().
Result<std::pair<int, int>> image_size(std::span<const std::byte> file, std::string_view what);

/// JPG PNG TGA BMP PSD GIF (first frame) HDR, converted to `channels` (1 or 3). InvalidInput naming `what`.
Result<Pixels> decode_image(std::span<const std::byte> file, int channels, std::string_view what);

/// Triangle filter, widened when shrinking so that no pixel is skipped. Io when there is no memory.
Result<Pixels> resize(const Pixels& from, int width, int height);

/// Raw deflate into `to`; bytes written, or UINT64_MAX when the stream is damaged or longer.
uint64_t inflate(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace optima::stb
