// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: what is read out of a bmodel, and what is said of one that is wrong.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "plugins/bmcompiler/bmodel/bmodel.hpp"
#include "tests/unit/bmcompiler_bmodel/sample.hpp"

using namespace optima;
using namespace optima::test;
using namespace bmcompiler_plugin;

namespace {

std::string refusal_of(const std::string& bytes) {
  try {
    read_bmodel(bytes);
  } catch (const sdk::Error& e) {
    CHECK(e.code == OPTIMA_CORRUPT);
    return e.text;
  }
  FAIL("no error");
  return {};
}

}  // namespace

TEST_CASE("a bmodel tells its chip, networks, stages and tensors") {
  BmodelSample sample;
  sample.nets = 2, sample.type = 2;
  const Bmodel m = read_bmodel(sample.bytes());
  CHECK(m.chip == "BM1684X");
  CHECK(m.version == "2.2+v1.30.2");
  REQUIRE(m.nets.size() == 2);
  CHECK(m.nets[1].name == "net1");
  REQUIRE(m.nets[0].stages.size() == 2);
  const NetStage& stage = m.nets[0].stages[1];
  REQUIRE(stage.inputs.size() == 1);
  CHECK(stage.inputs[0].name == "x");
  CHECK(stage.inputs[0].dtype == OPTIMA_I8);
  CHECK(stage.inputs[0].dims == std::vector<int64_t>{4, 3, 8, 8});
  CHECK(stage.inputs[0].scale == 0.5f);
  CHECK(stage.inputs[0].zero_point == 3);
  CHECK(stage.outputs[0].dims == std::vector<int64_t>{4, 10});
  CHECK(stage.weights == 128);
  CHECK(stage.working == 123);
}

TEST_CASE("element types have the numbers of the runtime, and a number that is not known is none") {
  constexpr int32_t types[] = {OPTIMA_F32, OPTIMA_F16, OPTIMA_I8, OPTIMA_U8, OPTIMA_I16, OPTIMA_U16, OPTIMA_I32, OPTIMA_U32, OPTIMA_BF16, OPTIMA_I4, OPTIMA_U4, OPTIMA_UNDEFINED};
  BmodelSample sample;
  for (; sample.type < std::size(types); ++sample.type) CHECK(read_bmodel(sample.bytes()).nets[0].stages[0].inputs[0].dtype == types[sample.type]);
}

TEST_CASE("what is wrong with a bmodel is said") {
  BmodelSample sample;
  std::string bytes = sample.bytes();
  CHECK(refusal_of("") == "bmodel has 0 bytes, wanted a header of 64");
  CHECK(refusal_of(std::string(64, 'x')) == "bmodel does not begin with its magic number");
  CHECK(refusal_of(bytes.substr(0, bytes.size() - 1)).starts_with("bmodel is cut short: its header tells of "));
  BmodelSample::put<uint32_t>(bytes, 4, 65);
  CHECK(refusal_of(bytes) == "bmodel has a header of 65 bytes, wanted 64");
  bytes = sample.bytes();
  BmodelSample::put<uint32_t>(bytes, 8, 0);
  CHECK(refusal_of(bytes) == "bmodel has a damaged table of contents");
  bytes = sample.bytes();
  BmodelSample::put<uint64_t>(bytes, 12, ~uint64_t{0});
  CHECK(refusal_of(bytes).starts_with("bmodel is cut short"));
}

TEST_CASE("blobs and sizes that no file can have are refused") {
  BmodelSample sample;
  sample.weights_start = 200;
  CHECK(refusal_of(sample.bytes()) == "bmodel has weights at 200 of 128 bytes, past the 256 that it has");
  sample = {};
  sample.weights_start = ~uint64_t{0} - 3;  // the sum is small
  CHECK(refusal_of(sample.bytes()).starts_with("bmodel has weights at 18446744073709551612"));
  sample = {};
  sample.commands_size = 129;
  CHECK(refusal_of(sample.bytes()) == "bmodel has commands at 128 of 129 bytes, past the 256 that it has");
  sample = {};
  sample.batches = {{uint64_t{1} << 32, uint64_t{1} << 32}};
  CHECK(refusal_of(sample.bytes()) == "bmodel has tensor 'x' larger than any");
  sample.batches = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  CHECK(refusal_of(sample.bytes()) == "bmodel has tensor 'x' with 9 dims, wanted at most 8");
  sample = {};
  sample.has_shape = false;
  CHECK(refusal_of(sample.bytes()) == "bmodel has tensor 'x' without a shape");
  sample = {};
  sample.batches.clear();
  CHECK(refusal_of(sample.bytes()) == "bmodel has network 'net0' without a stage");
  sample = {};
  sample.nets = 0;
  CHECK(refusal_of(sample.bytes()) == "bmodel has no network");
}

TEST_CASE("a bmodel is described as JSON") {
  const auto json = nlohmann::json::parse(describe(read_bmodel(BmodelSample().bytes())));
  CHECK(json["chip"] == "BM1684X");
  CHECK(json["networks"][0]["stages"][1]["inputs"][0]["dims"] == nlohmann::json{4, 3, 8, 8});
  CHECK(json["networks"][0]["stages"][0]["outputs"][0]["type"] == "f32");
}

TEST_CASE("names that are no text are described all the same") {
  BmodelSample sample;
  sample.chip = "BM\xff";
  CHECK(nlohmann::json::parse(describe(read_bmodel(sample.bytes())))["networks"].size() == 1);
}

TEST_CASE("a cvimodel is known by its header") {
  std::string bytes = std::string("CviModel") + std::string("\4\0\0\0\1\4", 6) + std::string(16, 's') + "cv183x" + std::string(12, '\0') + "body";
  require_cvimodel(bytes, "cv183x");
  const auto refusal = [](const std::string& b, const char* chip) {
    try {
      require_cvimodel(b, chip);
    } catch (const sdk::Error& e) {
      CHECK(e.code == OPTIMA_CORRUPT);
      return e.text;
    }
    return std::string("taken");
  };
  CHECK(refusal(bytes, "cv182x") == "bmodel (cvimodel) was made for 'cv183x', wanted cv182x");
  CHECK(refusal(bytes.substr(0, 51), "cv183x") == "bmodel (cvimodel) is cut short: its header tells of 4 bytes, behind it are 3");
  CHECK(refusal(bytes.substr(1), "cv183x") == "bmodel is no cvimodel: it does not begin with CviModel");
  CHECK(refusal("CviModel", "cv183x") == "bmodel is no cvimodel: it does not begin with CviModel");
}
