// SPDX-License-Identifier: Apache-2.0
// Classifies a picture with a compiled model, saying each step of the way: what docs/deploy.md builds for a target.
//   run_model NAME ARTIFACTS PICTURE LABELS INPUT [--normalize]
// The package is ARTIFACTS/NAME, as `optima-host compile NAME.onnx -o ARTIFACTS` leaves it. LABELS has a line for each class. Plugins come from
// OPTIMA_PLUGINS, else from ../lib/optima/plugins beside the program. Exit codes: 0 done, 2 usage, 1 anything else.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optima/runtime.hpp>
#include <stdexcept>

#include "picture.hpp"

namespace {

namespace rt = optima::runtime;

constexpr std::array<float, 3> kMean = {0.485f, 0.456f, 0.406f}, kStd = {0.229f, 0.224f, 0.225f};  // of ImageNet
constexpr size_t kTop = 5;
constexpr int kOpenSide = 224;  // where the model leaves height or width open
constexpr int kLongestSide = 4096;

struct Words {
  std::string name, artifacts, picture, labels, input;
  bool normalize = false;
};

struct Sides {
  int channels, height, width;
};

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + (shape[i] < 0 ? std::string("?") : std::to_string(shape[i]));
  return out + ")";
}

std::string plugin_folder() {
  if (const char* named = std::getenv("OPTIMA_PLUGINS"); named && *named) return named;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib/optima/plugins").lexically_normal().string();
}

std::vector<std::string> read_labels(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(line);
  }
  if (!file.eof() || file.bad()) throw std::runtime_error("cannot read labels '" + path + "': " + std::strerror(errno));
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  return labels;
}

Sides sides_of(const rt::Model& model, const std::string& name) {
  const std::vector<rt::TensorInfo> inputs = model.getInputInfos();
  const auto it = std::find_if(inputs.begin(), inputs.end(), [&](const rt::TensorInfo& i) { return i.name == name; });
  if (it == inputs.end()) {
    std::string names;
    for (const rt::TensorInfo& i : inputs) names += (names.empty() ? "'" : ", '") + i.name + "'";
    throw std::runtime_error("the model has no input '" + name + "', wanted one of " + names);
  }
  if (inputs.size() != 1) throw std::runtime_error("the model has " + std::to_string(inputs.size()) + " inputs, wanted one");
  const std::vector<int64_t>& shape = it->shape;
  const auto fits = [](int64_t side) { return side != 0 && side <= kLongestSide; };
  if (it->type != rt::ElementType::Float32 || shape.size() != 4 || shape[0] > 1 || (shape[1] != 1 && shape[1] != 3) || !fits(shape[2]) || !fits(shape[3]))
    throw std::runtime_error("input '" + name + "' has shape " + shape_text(shape) + ", wanted (1, 3, height, width) or (1, 1, height, width) of float32, sides from 1 to 4096");
  const auto side = [](int64_t size) { return size < 0 ? kOpenSide : static_cast<int>(size); };
  return {static_cast<int>(shape[1]), side(shape[2]), side(shape[3])};
}

// A picture of the input's size as (1, channels, height, width).
rt::Tensor to_tensor(const Picture& picture, bool normalize) {
  rt::Tensor tensor(rt::ElementType::Float32, {1, picture.channels, picture.height, picture.width});
  const auto channels = static_cast<size_t>(picture.channels), plane = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height);
  float* out = tensor.data<float>();
  for (size_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < plane; ++i) {
      const float value = static_cast<float>(picture.pixels[i * channels + c]) / 255.0f;
      *out++ = normalize ? (value - kMean[c]) / kStd[c] : value;
    }
  return tensor;
}

rt::Tensor prepare(const Words& words, const Sides& sides) {
  if (words.normalize && sides.channels != 3) throw std::runtime_error("--normalize has mean and std of three channels, the input has one");
  const Picture picture = read_picture(words.picture, sides.channels);
  std::printf("original size: %d x %d\n", picture.width, picture.height);
  const Picture resized = resize_for(picture, sides.width, sides.height);
  std::printf("resized size: %d x %d, centre crop %d x %d\n", resized.width, resized.height, sides.width, sides.height);
  rt::Tensor tensor = to_tensor(crop_middle(resized, sides.width, sides.height), words.normalize);
  std::printf("colour order: %s\n", sides.channels == 3 ? "RGB" : "grey");
  std::printf("scaling: pixel / 255\n");
  if (words.normalize) std::printf("mean: %g %g %g, std: %g %g %g\n", kMean[0], kMean[1], kMean[2], kStd[0], kStd[1], kStd[2]);
  else std::printf("mean: 0, std: 1 (no --normalize)\n");
  const float* data = tensor.data<float>();
  const auto [low, high] = std::minmax_element(data, data + tensor.size() / sizeof(float));
  std::printf("input tensor: %s %s, range %g to %g\n", words.input.c_str(), shape_text(tensor.shape()).c_str(), *low, *high);
  return tensor;
}

// Whether the model ends with a softmax of its own.
bool are_probabilities(const std::vector<float>& scores) {
  return *std::min_element(scores.begin(), scores.end()) >= 0 && std::fabs(std::accumulate(scores.begin(), scores.end(), 0.0) - 1) < 1e-4;
}

std::vector<double> softmax(const std::vector<float>& logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> out;
  for (const float logit : logits) out.push_back(std::exp(static_cast<double>(logit - most)));
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& p : out) p /= sum;
  return out;
}

std::vector<float> scores_of(const rt::Tensor& output) {
  std::printf("output shape: %s\n", shape_text(output.shape()).c_str());
  if (output.type() != rt::ElementType::Float32) throw std::runtime_error("the output is not float32");
  std::vector<float> scores(output.data<float>(), output.data<float>() + output.size() / sizeof(float));
  if (scores.empty()) throw std::runtime_error("the output is empty, wanted a number for each class");
  if (std::any_of(scores.begin(), scores.end(), [](float s) { return !std::isfinite(s); })) throw std::runtime_error("the output has NaN or infinity in it, wanted numbers");
  return scores;
}

void print_top(const std::vector<float>& scores, const std::vector<std::string>& labels) {
  const bool ready = are_probabilities(scores);
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  std::printf("%s range: %g to %g\n", ready ? "probabilities (the model has a softmax)" : "logits", *low, *high);
  const std::vector<double> p = ready ? std::vector<double>(scores.begin(), scores.end()) : softmax(scores);
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t top = std::min(kTop, order.size());
  // Of equals the first one, so that every machine prints the same.
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                    [&](size_t a, size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  std::printf("top %zu:\n", top);
  for (size_t i = 0; i < top; ++i) std::printf("  id=%zu p=%.6f %s\n", order[i], p[order[i]], labels[order[i]].c_str());
  std::printf("predicted class: %s\n", labels[order[0]].c_str());
}

void classify(const Words& words) {
  const std::vector<std::string> labels = read_labels(words.labels);
  rt::ContextOptions options;
  options.plugin_folders = {plugin_folder()};
  rt::Context context(options);
  const rt::Model model = context.loadModel((std::filesystem::path(words.artifacts) / words.name).string());
  if (model.getOutputInfos().size() != 1) throw std::runtime_error("the model has " + std::to_string(model.getOutputInfos().size()) + " outputs, wanted one");
  const rt::Tensor input = prepare(words, sides_of(model, words.input));
  rt::InferRequest request = model.createRequest();
  request.setInputTensor(words.input, input);
  request.run();
  const std::vector<float> scores = scores_of(request.getOutputTensor(uint32_t{0}));
  if (scores.size() != labels.size())
    throw std::runtime_error("'" + words.labels + "' has " + std::to_string(labels.size()) + " labels, wanted one for each of the model's " +
                             std::to_string(scores.size()) + " classes");
  print_top(scores, labels);
}

bool parse(int count, char** given, Words& words) {
  std::vector<std::string> places;
  for (int i = 1; i < count; ++i) {
    const std::string word = given[i];
    if (word == "--normalize") words.normalize = true;
    else if (word.rfind("--", 0) == 0) return false;
    else places.push_back(word);
  }
  if (places.size() != 5) return false;
  words.name = places[0], words.artifacts = places[1], words.picture = places[2], words.labels = places[3], words.input = places[4];
  return true;
}

}  // namespace

int main(int count, char** given) {
  Words words;
  if (!parse(count, given, words)) {
    std::fprintf(stderr, "usage: run_model NAME ARTIFACTS PICTURE LABELS INPUT [--normalize]\n");
    return 2;
  }
  try {
    classify(words);
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "run_model: %s\n", e.what());
    return 1;
  }
}
