// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "reference/tensor.hpp"
#include "tests/unit/reference/node.hpp"

using namespace optima::test;
namespace reference = optima::reference;

namespace {

using Complex = std::complex<double>;

Tensor f64(Ints dims, const std::vector<double>& x) { return tensor(OPTIMA_F64, std::move(dims), x); }

std::vector<double> noise(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> out(n);
  for (double& e : out) e = static_cast<double>(random() % 2001) / 1000 - 1;
  return out;
}

/// By its definition.
std::vector<Complex> transformed(const std::vector<double>& pairs, bool inverse) {
  const size_t n = pairs.size() / 2;
  std::vector<Complex> out(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i)
      out[k] += Complex(pairs[2 * i], pairs[2 * i + 1]) * std::polar(1.0, (inverse ? 1 : -1) * 2 * std::acos(-1.0) * static_cast<double>(k * i % n) / static_cast<double>(n));
    if (inverse) out[k] /= static_cast<double>(n);
  }
  return out;
}

double largest_error(const Tensor& got, const std::vector<Complex>& wanted) {
  const std::vector<double> y = reference::load<double>(got);
  double most = 0;
  for (size_t k = 0; k < wanted.size(); ++k) most = std::max(most, std::abs(Complex(y[2 * k], y[2 * k + 1]) - wanted[k]));
  return most;
}

}  // namespace

TEST_CASE("DFT is the sum of its definition at every length, and its inverse") {
  for (size_t n = 1; n <= 130; ++n)
    for (const bool inverse : {false, true}) {
      const std::vector<double> x = noise(2 * n, static_cast<uint32_t>(n));
      const Tensor y = OneNode("DFT", 20).integer("inverse", inverse)({f64({static_cast<int64_t>(n), 2}, x)});
      CHECK(y.dims == Ints{static_cast<int64_t>(n), 2});
      CHECK_MESSAGE(largest_error(y, transformed(x, inverse)) < 1e-11, n);
    }
}

TEST_CASE("DFT of real numbers is that of complex ones without an imaginary part, all of it or the first half, and a line without numbers spoils no other") {
  for (size_t n = 1; n <= 70; ++n) {
    const std::vector<double> x = noise(n, static_cast<uint32_t>(n));
    std::vector<double> pairs(2 * n);
    for (size_t k = 0; k < n; ++k) pairs[2 * k] = x[k];
    const auto length = static_cast<int64_t>(n);
    for (const bool inverse : {false, true}) {
      const Tensor y = OneNode("DFT", 20).integer("inverse", inverse)({f64({length, 1}, x)});
      CHECK(y.dims == Ints{length, 2});
      CHECK_MESSAGE(largest_error(y, transformed(pairs, inverse)) < 1e-11, n);
    }
    std::vector<Complex> half = transformed(pairs, false);
    half.resize(n / 2 + 1);
    CHECK_MESSAGE(largest_error(OneNode("DFT", 20).integer("onesided", 1)({f64({length, 1}, x)}), half) < 1e-11, n);
    std::vector<double> two(x);
    two.insert(two.end(), n, std::numeric_limits<double>::quiet_NaN());
    const Tensor y = OneNode("DFT", 20).integer("onesided", 1)({f64({2, length, 1}, two)});
    CHECK_MESSAGE(largest_error(y, half) < 1e-11, n);
  }
}

TEST_CASE("DFT takes long signals of any length, a large prime among them, and gives them back") {
  for (const int64_t n : {1 << 16, 65537, 44100, 2 * 32749}) {
    const std::vector<double> x = noise(static_cast<size_t>(n), 5);
    const Tensor spectrum = OneNode("DFT", 20).integer("onesided", 1)({f64({n, 1}, x)});
    CHECK(spectrum.dims == Ints{n / 2 + 1, 2});
    const Tensor back = OneNode("DFT", 20).integer("onesided", 1).integer("inverse", 1)({spectrum, i64({}, {n})});
    CHECK(back.dims == Ints{n, 1});
    const std::vector<double> y = elements<double>(back);
    double most = 0;
    for (size_t k = 0; k < x.size(); ++k) most = std::max(most, std::fabs(x[k] - y[k]));
    CHECK_MESSAGE(most < 1e-11, n);
  }
}

TEST_CASE("DFT of older models has its axis as an attribute, the first but one by default") {
  const Tensor x = f64({2, 3, 1, 1}, noise(6, 1));
  CHECK(OneNode("DFT", 17)({x, i64({}, {5})}).dims == Ints{2, 5, 1, 2});
  CHECK(OneNode("DFT", 17).integer("axis", 0)({x, i64({}, {5})}).dims == Ints{5, 3, 1, 2});
  CHECK(OneNode("DFT", 20)({x, i64({}, {5})}).dims == Ints{2, 3, 5, 2});
}

TEST_CASE("DFT says what it does not transform") {
  const Tensor real = f64({2, 4, 1}, noise(8, 1)), complex = f64({2, 2, 2}, noise(8, 1)), none;
  const auto why = [](const OneNode& node, const std::vector<Tensor>& inputs) { return OneNode(node).refusal(inputs, OPTIMA_INVALID_GRAPH).substr(14); };
  CHECK(why(OneNode("DFT", 20), {f64({8}, noise(8, 1))}) == "input 0 has shape [8], must be a signal with 1 or 2 as its last dim");
  CHECK(why(OneNode("DFT", 20), {f64({2, 4}, noise(8, 1))}) == "input 0 has shape [2, 4], must be a signal with 1 or 2 as its last dim");
  CHECK(why(OneNode("DFT", 20), {real, none, i64({}, {2})}) == "axis is 2, the dim of real and imaginary parts");
  CHECK(why(OneNode("DFT", 20), {real, none, i64({}, {-4})}) == "axis is -4, must be within rank 3");
  CHECK(why(OneNode("DFT", 20), {real, i64({}, {0})}) == "dft_length is 0, must be 1 to 2^26");
  CHECK(why(OneNode("DFT", 20), {real, i64({}, {INT64_MAX})}) == "dft_length is 9223372036854775807, must be 1 to 2^26");
  CHECK(why(OneNode("DFT", 20).integer("onesided", 1), {complex}) ==
        "input 0 of shape [2, 2, 2] is complex, with onesided a spectrum goes back from complex numbers and forward from real ones");
  CHECK(why(OneNode("DFT", 20).integer("onesided", 1).integer("inverse", 1), {real}).find("is real, with onesided") != std::string::npos);
}

TEST_CASE("STFT is the transform of each frame times the window") {
  const std::vector<double> x = noise(11, 3), w{0.5, 1, 0.25, 2};
  const Tensor y = OneNode("STFT", 17).integer("onesided", 0)({f64({1, 11, 1}, x), i64({}, {3}), f64({4}, w)});
  REQUIRE(y.dims == Ints{1, 3, 4, 2});
  std::vector<Complex> wanted;
  for (size_t f = 0; f < 3; ++f) {
    std::vector<double> frame;
    for (size_t k = 0; k < 4; ++k) frame.insert(frame.end(), {x[3 * f + k] * w[k], 0});
    for (const Complex& e : transformed(frame, false)) wanted.push_back(e);
  }
  CHECK(largest_error(y, wanted) < 1e-12);
  const Tensor none;
  CHECK(OneNode("STFT", 17)({f64({2, 6}, noise(12, 1)), i64({}, {4})}).dims == Ints{2, 1, 4, 2});
  const auto why = [&](const std::vector<Tensor>& inputs) { return OneNode("STFT", 17).refusal(inputs, OPTIMA_INVALID_GRAPH).substr(15); };
  const Tensor signal = f64({1, 6, 1}, noise(6, 1)), window = f64({4}, w);
  CHECK(why({f64({6}, noise(6, 1)), i64({}, {1})}) == "input 0 has shape [6], must be [batch, samples], or that and 1 or 2");
  CHECK(why({signal, i64({}, {0}), window}) == "frame_step is 0, must be 1 to 2^26");
  CHECK(why({signal, i64({}, {1}), window, i64({}, {5})}) == "window has 4 elements, must be frame_length, 5");
  CHECK(why({signal, i64({}, {1}), none, i64({}, {7})}) == "a frame of 7 does not fit into 6 samples");
  CHECK(why({signal, i64({}, {1}), f64({2, 2}, w)}) == "window has shape [2, 2], must have rank 1");
}

TEST_CASE("windows are periodic or symmetric, of any type of numbers, and may have no element") {
  CHECK(floats(OneNode("HannWindow", 17)({i64({}, {4})}))[1] == doctest::Approx(0.5f));
  const std::vector<float> even = floats(OneNode("HannWindow", 17).integer("periodic", 0)({i64({}, {5})}));
  CHECK(even[0] == doctest::Approx(0.0f));
  CHECK(even[2] == 1);
  CHECK(even[1] == doctest::Approx(even[3]));
  CHECK(floats(OneNode("HammingWindow", 17)({i64({1}, {1})})) == std::vector<float>{0.08695652f});
  CHECK(std::fabs(elements<double>(OneNode("BlackmanWindow", 17).integer("output_datatype", OPTIMA_F64)({i64({}, {6})}))[3] - 1) < 1e-15);
  CHECK(OneNode("BlackmanWindow", 17)({i64({}, {0})}).dims == Ints{0});
  CHECK(OneNode("HannWindow", 17).refusal({i64({}, {-1})}, OPTIMA_INVALID_GRAPH) == "HannWindow node 'n': size is -1, must be 0 to 2^26");
  CHECK(OneNode("HannWindow", 17).refusal({i64({2}, {1, 2})}, OPTIMA_INVALID_GRAPH).find("size") != std::string::npos);
}

TEST_CASE("mel filters rise to 1 and fall, and are refused beyond the spectrum") {
  const auto made = [](int64_t filters, int64_t length, int64_t rate, float low, float high) {
    return std::vector<Tensor>{i64({}, {filters}), i64({}, {length}), i64({}, {rate}), f32({}, {low}), f32({}, {high})};
  };
  const Tensor y = OneNode("MelWeightMatrix", 17)(made(2, 32, 8000, 0, 3000));
  REQUIRE(y.dims == Ints{17, 2});
  float top[2] = {0, 0};
  for (size_t k = 0; k < 34; ++k) top[k % 2] = std::max(top[k % 2], floats(y)[k]);
  CHECK(top[0] == 1);
  CHECK(top[1] == 1);
  const auto why = [&](const std::vector<Tensor>& inputs) { return OneNode("MelWeightMatrix", 17).refusal(inputs, OPTIMA_INVALID_GRAPH).substr(26); };
  CHECK(why(made(4, 16, 8000, 0, 8000)) == "upper_edge_hertz is 8000.000000, a filter reaches beyond the 9 bins of the spectrum");
  CHECK(why(made(4, 16, 8000, 500, 500)) == "edges are 500.000000 and 500.000000 hertz, must rise from 0 or more");
  CHECK(why(made(4, 16, 0, 0, 500)) == "sample_rate is 0, must be positive");
  CHECK(why(made(-1, 16, 8000, 0, 500)) == "num_mel_bins is -1, must be 0 to 2^26");
  CHECK(why(made(4, 16, 8000, 0, NAN)).find("must rise") != std::string::npos);
}
