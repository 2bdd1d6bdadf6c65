// SPDX-License-Identifier: Apache-2.0
#include "core/session/bound.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/session/error_sums.hpp"
#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

TEST_CASE("a bound is a least SNR or a least cosine") {
  CHECK(parse_bound("snr=30")->text() == "snr=30");
  CHECK(parse_bound("cosine=0.99")->kind == Bound::Kind::Cosine);
  for (const char* wrong : {"", "30", "snr", "snr=", "snr=x", "snr=inf", "psnr=3", "cosine=1.5"}) {
    CAPTURE(wrong);
    CHECK(parse_bound(wrong).status().kind() == StatusKind::Usage);
  }
}

TEST_CASE("errors gather over samples: SNR is of all signal and all noise, equal values have no noise") {
  detail::ErrorSums sums;
  const std::vector<float> wanted = {3, -4}, equal = wanted, off = {3, -3};
  sums.add(equal, wanted);
  CHECK(std::isinf(sums.figures().snr_db));
  CHECK(sums.figures().cosine == doctest::Approx(1));
  sums.add(off, wanted);
  CHECK(sums.figures().snr_db == doctest::Approx(10 * std::log10(50.0)));
  CHECK(detail::ErrorSums().figures().cosine == 1);
}

TEST_CASE("layers keep their figures in a file, those without a difference too") {
  LayerFigures plain{"x", "", "", "", 0, {std::numeric_limits<double>::infinity(), 1}, std::nullopt};
  LayerFigures coded{"y", "conv", "Conv", "u8 0.5 128", 0.25, {31.5, 0.999}, ErrorFigures{40, 0.9999}};
  const test::TempFolder f;
  const std::string path = f.file("layers.json", to_text(layers_json({plain, coded})));
  const Result<std::vector<LayerFigures>> read = read_layers(path);
  REQUIRE(read.ok());
  REQUIRE(read->size() == 2);
  CHECK(std::isinf((*read)[0].accumulated.snr_db));
  CHECK_FALSE((*read)[0].own);
  CHECK((*read)[1].node == "conv");
  CHECK((*read)[1].encoding == "u8 0.5 128");
  CHECK((*read)[1].saturated == 0.25);
  CHECK((*read)[1].own->snr_db == 40);
  CHECK(read_layers(f.file("bad.json", R"({"format": "optima.layers/1", "layers": [{"value": 3}]})")).status().message().find("layers[0].value") != std::string::npos);
}
