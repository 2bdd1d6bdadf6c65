// SPDX-License-Identifier: Apache-2.0
// What a subgraph's backend hears of the whole model's encodings and data.
#include "core/compile/calibration.hpp"

#include <doctest/doctest.h>

#include "core/support/text.hpp"

using namespace optima;

namespace {

Tensor floats(const std::string& name, std::vector<float> values) {
  Result<Tensor> out = Tensor::make(OPTIMA_F32, {static_cast<int64_t>(values.size())});
  REQUIRE(out.ok());
  std::copy(values.begin(), values.end(), out->as<float>().begin());
  out->name = name;
  return std::move(*out);
}

/// Values x, p, q, r and the codes c; p and q are the graph's inputs.
image::Graph piece() {
  image::Graph out;
  for (const char* name : {"x", "p", "q", "r"}) out.values.push_back({name, OPTIMA_F32, {}});
  out.values.push_back({"c", OPTIMA_I8, {}});
  out.inputs = {1, 2};
  return out;
}
enum : uint32_t { kX, kP, kQ, kR, kC };

/// A model whose input is x = {sample}, whose p, q and c are floats, and that knows no r.
struct Source : CalibrationSource {
  int reads = 0, runs = 0;
  std::vector<std::set<std::string>> asked;
  Status failure;

  Source() {
    samples = 3;
    inputs = [this](uint32_t sample) -> Result<std::vector<Tensor>> {
      ++reads;
      return std::vector{floats("x", {static_cast<float>(sample)})};
    };
    compute = [this](const std::vector<Tensor>& given, const std::set<std::string>& values) -> Result<std::vector<Tensor>> {
      ++runs;
      asked.push_back(values);
      if (!failure.ok()) return failure;
      std::vector<Tensor> out;
      for (const char* name : {"p", "q", "c"})
        if (values.contains(name)) out.push_back(floats(name, {given[0].as<float>()[0] * 10, static_cast<float>(name[0])}));
      return out;
    };
  }
  Source(const Source&) = delete;
};

std::string shown(const Result<std::optional<SampleValue>>& read) {
  if (!read.ok()) return read.status().message();
  if (!*read) return "none";
  std::string out;
  for (uint64_t k = 0; k < (*read)->bytes.size / sizeof(float); ++k) out += cat(reinterpret_cast<const float*>((*read)->bytes.data)[k], " ");
  return out + cat("rank ", (*read)->shape.size());
}

}  // namespace

TEST_CASE("a model's input is read, an inner value computed, together with all inputs of the subgraph") {
  Source source;
  const image::Graph graph = piece();
  const detail::SubgraphCalibration calibration(source, graph);
  CHECK(calibration.samples() == 3);
  CHECK(shown(calibration.read(2, kX)) == "2 rank 1");
  CHECK(source.runs == 0);
  CHECK(shown(calibration.read(2, kP)) == "20 112 rank 1");
  CHECK(shown(calibration.read(2, kQ)) == "20 113 rank 1");
  CHECK(source.asked == std::vector<std::set<std::string>>{{"p", "q"}});
  CHECK(shown(calibration.read(1, kQ)) == "10 113 rank 1");
  CHECK(source.reads == 2);
  CHECK(source.runs == 2);
}

TEST_CASE("what the model does not know, and what are codes here and floats there, cannot be computed; nobody tries twice") {
  Source source;
  const image::Graph graph = piece();
  const detail::SubgraphCalibration calibration(source, graph);
  CHECK(shown(calibration.read(0, kR)) == "none");
  CHECK(shown(calibration.read(0, kR)) == "none");
  CHECK(source.runs == 1);
  CHECK(shown(calibration.read(0, kC)) == "none");
  source.compute = {};
  CHECK(shown(calibration.read(1, kP)) == "none");
  CHECK(shown(calibration.read(1, kX)) == "1 rank 1");
}

TEST_CASE("a failure is told, and the next read tries again") {
  Source source;
  const image::Graph graph = piece();
  const detail::SubgraphCalibration calibration(source, graph);
  source.failure = invalid_input("no");
  CHECK(shown(calibration.read(0, kP)) == "no");
  source.failure = {};
  CHECK(shown(calibration.read(0, kP)) == "0 112 rank 1");
}

TEST_CASE("encodings are found by the value's name, of weights, too") {
  Source source;
  Encoding p, r;
  p.dtype = OPTIMA_U8, p.scale = {0.5F}, p.zero_point = {128};
  r.dtype = OPTIMA_I4, r.scale = {1, 2}, r.zero_point = {0, 1}, r.axis = 1, r.block = 32;
  source.encodings.activations["p"] = p;
  source.encodings.weights["r"] = r;
  const image::Graph graph = piece();
  const detail::SubgraphCalibration calibration(source, graph);
  const std::optional<ValueCodes> of_p = calibration.encoding(kP), of_r = calibration.encoding(kR);
  REQUIRE(of_p);
  CHECK((of_p->dtype == OPTIMA_U8 && of_p->scales[0] == 0.5F && of_p->zero_points[0] == 128 && of_p->axis == -1));
  REQUIRE(of_r);
  CHECK((of_r->dtype == OPTIMA_I4 && of_r->scales.size() == 2 && of_r->zero_points[1] == 1 && of_r->axis == 1 && of_r->block == 32));
  CHECK_FALSE(calibration.encoding(kQ));
}
