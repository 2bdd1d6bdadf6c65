// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>

#include "core/tensor_io/image.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

TensorInfo info(std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) { return {"x", dtype, std::move(shape), {}, false}; }

/// An uncompressed TGA whose pixel (x, y) is red = 10x, green = 10y, blue = 200.
std::string tga(int width, int height) {
  std::string out("\0\0\2\0\0\0\0\0\0\0\0\0", 12);
  for (const int n : {width, height}) out += static_cast<char>(n), out += static_cast<char>(n >> 8);
  out += std::string("\x18\x20", 2);  // 24 bits, rows from the top
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) out += static_cast<char>(200), out += static_cast<char>(10 * y), out += static_cast<char>(10 * x);
  return out;
}

}  // namespace

TEST_CASE("a picture fills NCHW and NHWC inputs, planes by channel or pixels one after another") {
  TempFolder t;
  put(t / "a.tga", tga(4, 3));
  const auto planes = load_image(t / "a.tga", info({1, 3, 3, 4}), {});
  REQUIRE_MESSAGE(planes.ok(), planes.status().message());
  CHECK(planes->as<float>()[3] == doctest::Approx(30 / 255.0));           // red of (3, 0)
  CHECK(planes->as<float>()[12 + 8] == doctest::Approx(20 / 255.0));      // green of (0, 2)
  CHECK(planes->as<float>()[24] == doctest::Approx(200 / 255.0));         // blue
  const auto pixels = load_image(t / "a.tga", info({1, 3, 4, 3}, OPTIMA_U8), {"", "", {}, {}, "NHWC", ""});
  REQUIRE_MESSAGE(pixels.ok(), pixels.status().message());
  CHECK(pixels->as<uint8_t>()[3 * 3] == 30);
  CHECK(pixels->as<uint8_t>()[2] == 200);
}

TEST_CASE("BGR swaps channels, mean and std go by output channel, GRAY is one channel") {
  TempFolder t;
  put(t / "a.tga", tga(2, 2));
  const auto bgr = load_image(t / "a.tga", info({3, 2, 2}), {"", "", {0.5, 0, 0}, {2, 1, 1}, "", "BGR"});
  REQUIRE_MESSAGE(bgr.ok(), bgr.status().message());
  CHECK(bgr->as<float>()[0] == doctest::Approx((200 / 255.0 - 0.5) / 2));
  CHECK(bgr->as<float>()[8 + 1] == doctest::Approx(10 / 255.0));
  CHECK(load_image(t / "a.tga", info({1, 1, 2, 2}), {"", "", {}, {}, "", "GRAY"}).ok());
}

TEST_CASE("resize takes a short side or a size, crop takes the middle") {
  TempFolder t;
  put(t / "a.tga", tga(20, 10));
  ImageFacts facts;
  const auto image = load_image(t / "a.tga", info({1, 3, 4, 4}), {"5", "4", {}, {}, "", ""}, &facts);
  REQUIRE_MESSAGE(image.ok(), image.status().message());
  CHECK(facts.width == 20);
  CHECK(facts.resized_width == 10);
  CHECK(facts.resized_height == 5);
  CHECK(facts.input_width == 4);
  const auto crop = load_image(t / "a.tga", info({1, 3, 2, 4}), {"20x10", "4x2", {}, {}, "", ""});
  REQUIRE(crop.ok());
  CHECK(crop->as<float>()[0] == doctest::Approx(80 / 255.0));  // left edge of the middle: (20 - 4) / 2
  CHECK(crop->as<float>()[8] == doctest::Approx(40 / 255.0));  // top: (10 - 2) / 2
  CHECK(load_image(t / "a.tga", info({1, 3, 7, 9}), {}).ok());
}

TEST_CASE("shrinking averages pixels instead of skipping them") {
  TempFolder t;
  std::string stripes = tga(64, 2);
  for (size_t i = 0; i < 64 * 2; ++i)
    for (size_t c = 0; c < 3; ++c) stripes[18 + 3 * i + c] = static_cast<char>(i % 2 ? 255 : 0);
  put(t / "a.tga", stripes);
  const auto image = load_image(t / "a.tga", info({1, 1, 2, 8}), {});
  REQUIRE(image.ok());
  for (size_t i = 2; i < 6; ++i) CHECK(image->as<float>()[i] == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("options and inputs that make no sense are refused") {
  TempFolder t;
  put(t / "a.tga", tga(4, 3));
  put(t / "b.jpg", "this is no picture");
  const auto message = [&](const TensorInfo& wanted, const ImageOptions& o, const std::string& file = "a.tga") { return load_image(t / file, wanted, o).status().message(); };
  CHECK(message(info({1, 10}), {}) == "input 'x' of shape 1x10 holds no picture, wanted 1xCxHxW or 1xHxWxC");
  CHECK(message(info({1, 3, 4, 4}, OPTIMA_I64), {}) == "input 'x' is int64, wanted float32 or uint8 for a picture");
  CHECK(message(info({1, 5, 4, 4}), {}) == "input 'x' has 4 channels, wanted 1 or 3");
  CHECK(message(info({1, 3, 4, 4}), {"0", "", {}, {}, "", ""}) == "found --resize '0', wanted a number or WIDTHxHEIGHT, up to 32768");
  CHECK(message(info({1, 3, 4, 4}), {"8", "9", {}, {}, "", ""}).find("found --crop 9x9 of a picture of ") == 0);
  CHECK(message(info({1, 3, 4, 4}), {"5x5", "", {}, {}, "", ""}) == "the picture is 5x5 after --resize and --crop, wanted 4x4");
  CHECK(message(info({1, 3, 4, 4}), {"", "", {1, 2}, {}, "", ""}) == "found 2 values for --mean, wanted 1 or 3");
  CHECK(message(info({1, 3, 4, 4}), {"", "", {}, {0}, "", ""}) == "found 0 in --std, wanted numbers other than 0");
  CHECK(message(info({1, 3, 4, 4}), {"", "", {}, {}, "CHW", ""}) == "found --layout 'CHW', wanted NCHW or NHWC");
  CHECK(message(info({1, 3, 4, 4}), {"", "", {}, {}, "", "GRAY"}) == "found --color 'GRAY', wanted RGB or BGR for three channels");
  CHECK(message(info({1, 3, 4, 4}), {}, "b.jpg").find("': is no picture that can be read: ") != std::string::npos);
}

TEST_CASE("a real photograph in JPEG is read") {
  const std::string photo = std::string(OPTIMA_SOURCE_DIR) + "/../shared/models/group.jpg";
  if (!std::filesystem::exists(photo)) {
    MESSAGE("SKIP: a real photograph in JPEG is read: ../shared/models/group.jpg is not there");
    return;
  }
  ImageFacts facts;
  const auto image = load_image(photo, info({1, 3, 240, 320}), {"", "", {127 / 255.0}, {128 / 255.0}, "", ""}, &facts);
  REQUIRE_MESSAGE(image.ok(), image.status().message());
  CHECK(facts.width > 320);
  CHECK(facts.low >= -1);
  CHECK(facts.high > 0.5);
}
