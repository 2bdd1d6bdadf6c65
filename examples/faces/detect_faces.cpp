// SPDX-License-Identifier: Apache-2.0
// A program on the runtime's C++ wrapper: runs a compiled face detector on a picture, turns scores and boxes into faces, and
// prints one line a face. Model: Ultra-Light-Fast-Generic-Face-Detector, input 1x3x240x320, RGB, (x - 127) / 128.
//   detect_faces PACKAGE PICTURE PLUGIN_FOLDER [SCORE]
#include <stb/stb_image_resize.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optima/runtime.hpp>
#include <stdexcept>
#include <vector>

#include "../run_model/picture.hpp"

namespace {

constexpr int kWidth = 320, kHeight = 240;
constexpr float kSameFace = 0.3f;  // intersection over union above which two boxes are one face

struct Face {
  float left, top, right, bottom;  // shares of the picture, 0 to 1
  float score;
};

// Resized to the model's input, planar, normalised.
optima::runtime::Tensor to_input(const Picture& picture) {
  std::vector<unsigned char> small(3 * kWidth * kHeight);
  if (!stbir_resize_uint8(picture.pixels.data(), picture.width, picture.height, 0, small.data(), kWidth, kHeight, 0, 3))
    throw std::runtime_error("not enough memory to resize the picture");
  optima::runtime::Tensor input(optima::runtime::ElementType::Float32, {1, 3, kHeight, kWidth});
  float* out = input.data<float>();
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < kWidth * kHeight; ++i) *out++ = (static_cast<float>(small[static_cast<size_t>(3 * i + c)]) - 127) / 128;
  return input;
}

float overlap(const Face& a, const Face& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left), height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const Face& f) { return (f.right - f.left) * (f.bottom - f.top); };
  return width * height / (area(a) + area(b) - width * height);
}

// Non-maximum suppression: best first, each drops the boxes that overlap it too much.
std::vector<Face> suppress(std::vector<Face> found) {
  std::sort(found.begin(), found.end(), [](const Face& a, const Face& b) { return a.score > b.score; });
  std::vector<Face> kept;
  for (const Face& f : found)
    if (std::none_of(kept.begin(), kept.end(), [&](const Face& k) { return overlap(k, f) > kSameFace; })) kept.push_back(f);
  return kept;
}

// scores: n x {background, face}; boxes: n x {left, top, right, bottom}.
std::vector<Face> faces_of(const optima::runtime::Tensor& scores, const optima::runtime::Tensor& boxes, float least) {
  std::vector<Face> found;
  const float *s = scores.data<float>(), *b = boxes.data<float>();
  for (int64_t i = 0; i < scores.shape().at(1); ++i)
    if (s[2 * i + 1] >= least) found.push_back({b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3], s[2 * i + 1]});
  return suppress(std::move(found));
}

void detect(const char* package, const char* path, const char* plugins, float least) {
  const Picture picture = read_picture(path, 3);
  optima::runtime::ContextOptions options;
  options.plugin_folders = {plugins};
  optima::runtime::Context context(options);
  optima::runtime::Model model = context.loadModel(package);
  optima::runtime::InferRequest request = model.createRequest();
  const optima::runtime::Tensor input = to_input(picture);
  request.setInputTensor("input", input);
  request.run();
  const std::vector<Face> faces = faces_of(request.getOutputTensor("scores"), request.getOutputTensor("boxes"), least);
  const auto width = static_cast<float>(picture.width), height = static_cast<float>(picture.height);
  for (const Face& f : faces)
    std::printf("face %4.0f,%4.0f to %4.0f,%4.0f  score %.3f\n", f.left * width, f.top * height, f.right * width, f.bottom * height, f.score);
  std::printf("%zu faces\n", faces.size());
}

}  // namespace

int main(int count, char** words) {
  if (count < 4 || count > 5) {
    std::fprintf(stderr, "usage: detect_faces PACKAGE PICTURE PLUGIN_FOLDER [SCORE]\n");
    return 2;
  }
  try {
    detect(words[1], words[2], words[3], count == 5 ? std::strtof(words[4], nullptr) : 0.7f);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "detect_faces: %s\n", e.what());
    return 1;
  }
}
