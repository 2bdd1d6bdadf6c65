// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/encodings.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "core/support/file.hpp"
#include "core/support/json_value.hpp"
#include "core/support/text.hpp"

using namespace optima;

namespace {

std::string data(const std::string& name) { return OPTIMA_SOURCE_DIR "/tests/unit/quantize/data/" + name; }

Encoding coded(int32_t dtype, std::vector<float> scale, std::vector<int32_t> zero_point, int axis = -1, int64_t block = 0) {
  Encoding out;
  out.dtype = dtype, out.scale = std::move(scale), out.zero_point = std::move(zero_point), out.axis = axis, out.block = block;
  return out;
}

Encodings read(const std::string& file) {
  Result<Encodings> out = read_encodings(data(file));
  REQUIRE_MESSAGE(out.ok(), out.status().message());
  return std::move(*out);
}

Encodings parsed(const std::string& text) {
  Result<Encodings> out = parse_encodings(text, "e");
  REQUIRE_MESSAGE(out.ok(), out.status().message());
  return std::move(*out);
}

std::string written(const Encodings& e, EncodingsFormat format) {
  Result<std::string> out = write_encodings(e, format);
  REQUIRE_MESSAGE(out.ok(), out.status().message());
  return *out;
}

std::string golden(const std::string& file) {
  Result<std::string> out = read_file(data(file));
  REQUIRE(out.ok());
  return *out;
}

std::string error_of(const std::string& text) {
  const Result<Encodings> out = parse_encodings(text, "e");
  REQUIRE(!out.ok());
  CHECK(out.status().kind() == StatusKind::InvalidInput);
  return out.status().message();
}

std::string cannot(const Encodings& e, EncodingsFormat format) {
  const Result<std::string> out = write_encodings(e, format);
  REQUIRE(!out.ok());
  CHECK(out.status().kind() == StatusKind::InvalidInput);
  return out.status().message();
}

Encodings one(Encoding e) {
  Encodings out;
  out.activations["v"] = std::move(e);
  return out;
}

/// As of a file that says neither ranges nor axes.
Encodings bare(Encodings e) {
  for (auto* all : {&e.activations, &e.weights})
    for (auto& [name, each] : *all) each.low = each.high = 0, each.axis = -1;
  return e;
}

/// The text with one part replaced.
std::string with(std::string text, const std::string& old, const std::string& now) {
  const size_t at = text.find(old);
  REQUIRE(at != text.npos);
  return text.replace(at, old.size(), now);
}

std::string own(const std::string& entry) { return R"({"format": "optima.encodings/1", "activations": {"v": )" + entry + "}}"; }
std::string old(const std::string& entries) { return R"({"param_encodings": {"v": [)" + entries + "]}}"; }
std::string one_0_0(const std::string& members) {
  return R"({"version": "1.0.0", "activation_encodings": [{"name": "v", "dtype": "INT", "bw": 8, "enc_type": "PER_TENSOR", "is_sym": false, )" + members + "}]}";
}

}  // namespace

TEST_CASE("our own format says all of it, and what is written again is the same text") {
  const Encodings e = read("optima.json");
  CHECK(e.model_hash == "00ff");
  CHECK(e.data_hash == "11ee");
  CHECK(e.precision == "int8");
  CHECK(e.scheme == "shared");
  CHECK(e.range == "mse");
  CHECK(e.samples == 100);
  CHECK(e.left_float == std::vector<LeftFloat>{{"softmax_1", "found Softmax, which stays float"}});
  CHECK(e.activations.size() == 4);
  CHECK(e.activations.at("mask") == coded(OPTIMA_F32, {}, {}));
  Encoding relu = coded(OPTIMA_U8, {0.1F}, {0});
  relu.high = 31.5F;
  CHECK(e.activations.at("relu") == relu);
  CHECK(e.activations.at("sum") == coded(OPTIMA_U16, {1.0F / 32767}, {32768}));
  CHECK(e.weights.at("w") == coded(OPTIMA_I8, {0.1F, 0.2F}, {0, 0}, 0));
  CHECK(e.weights.at("blocks") == coded(OPTIMA_I4, {0.5F, 0.25F, 0.125F, 1}, {0, -1, 0, 7}, 1, 32));
  CHECK(e.weights.at("bias") == coded(OPTIMA_I32, {0.0003937008F, 0.0007874016F}, {0, 0}, 0));
  CHECK(e.smoothed == std::map<std::string, std::vector<float>>{{"norm", {0.5F, 2.25F}}});
  CHECK(e.corrected == std::map<std::string, std::vector<float>>{{"y", {-0.125F, 0.0625F}}});
  CHECK(written(e, EncodingsFormat::Optima) == golden("optima.json"));
}

TEST_CASE("AIMET 0.6: offsets count codes from 0, symmetric is signed, a list is one encoding a channel") {
  const Encodings e = read("aimet-0.6.json");
  Encoding x = coded(OPTIMA_U8, {0.25F}, {200});
  x.low = -50, x.high = 13.75F;
  CHECK(e.activations.at("x") == x);
  CHECK(bare(e).activations.at("relu") == coded(OPTIMA_U8, {0.5F}, {0}));
  CHECK(bare(e).activations.at("wide") == coded(OPTIMA_U16, {0.0009765625F}, {32768}));
  CHECK(e.activations.at("mask") == coded(OPTIMA_F16, {}, {}));
  CHECK(bare(e).weights.at("b") == coded(OPTIMA_I32, {0.000244140625F}, {0}));
  Encoding w = coded(OPTIMA_I8, {0.125F, 0.25F}, {0, 0});
  w.low = -32, w.high = 31.75F;
  CHECK(e.weights.at("w") == w);
  CHECK(written(e, EncodingsFormat::AimetOld) == golden("aimet-0.6.json"));
}

TEST_CASE("AIMET 1.0.0: lists of entries, per tensor, channel and block") {
  const Encodings e = read("aimet-1.0.json");
  CHECK(e.activations.at("x") == coded(OPTIMA_U16, {0.0009765625F}, {35799}));
  CHECK(e.activations.at("relu") == coded(OPTIMA_U8, {0.1F}, {0}));
  CHECK(e.activations.at("mask") == coded(OPTIMA_F32, {}, {}));
  CHECK(e.weights.at("w") == coded(OPTIMA_I8, {0.1F, 0.2F}, {0, 0}));
  CHECK(e.weights.at("blocks") == coded(OPTIMA_I4, {0.5F, 0.25F, 0.125F, 1}, {0, 0, 0, 0}, -1, 32));
  CHECK(written(e, EncodingsFormat::Aimet1) == golden("aimet-1.0.json"));
}

TEST_CASE("a calibration table: 127 steps to the threshold, 255 where never negative") {
  const Encodings e = read("tpu.table");
  Encoding conv = coded(OPTIMA_U8, {0.1F}, {128});
  conv.low = -12.8F, conv.high = 12.7F;
  CHECK(e.activations.at("122_Conv") == conv);
  CHECK(bare(e).activations.at("model/relu:0") == coded(OPTIMA_U8, {0.1F}, {0}));
  CHECK(e.weights.at("w") == coded(OPTIMA_I8, {0.1F, 0.2F}, {0, 0}));
  CHECK(written(e, EncodingsFormat::TpuTable) == golden("tpu.table"));

  const Encodings theirs = parsed("# generated time: 2022-08-11 10:00:59.743675\n# histogram number: 2048\n###\n# op_name    threshold    min    max\r\n"
                                  "images 1.0000080 0.0000000 1.0000080\r\n  122_Conv   56.4281803\t-102.5830231 97.6811752  # widest\n\n#int4_th\n#weight_scale\n");
  CHECK(theirs.activations.at("images").scale[0] == 1.000008F / 255);
  CHECK(theirs.activations.at("122_Conv").scale[0] == static_cast<float>(56.4281803 / 127));
  CHECK(theirs.activations.at("122_Conv").low == -102.5830231F);
}

TEST_CASE("what AIMET's converters leave out follows from min and max, as SNPE's worked example has it") {
  const Encoding e = parsed(old(R"({"bitwidth": 8, "min": -1.8, "max": 0.5})")).weights.at("v");
  CHECK(e.dtype == OPTIMA_U8);
  CHECK(e.zero_point[0] == 200);
  CHECK(std::abs(e.scale[0] - 0.009019608) < 1e-8);
  const Encoding positive = parsed(old(R"({"bitwidth": 8, "min": 1.5, "max": 2.55, "is_symmetric": false})")).weights.at("v");
  CHECK(positive.zero_point[0] == 0);
  CHECK(positive.scale[0] == 0.01F);
  const Encoding both = parsed(old(R"({"bitwidth": 8, "min": -1, "max": 1.27, "is_symmetric": true})")).weights.at("v");
  CHECK(bare(one(both)).activations.at("v") == coded(OPTIMA_I8, {0.01F}, {0}));
}

TEST_CASE("symmetric offsets of AIMET: from -128, strictly from -127, signed from 0, and unsigned where nothing is negative") {
  const auto type_of = [](const std::string& text, bool weight) { return (weight ? parsed(text).weights : parsed(text).activations).at("v").dtype; };
  const auto entry = [](const std::string& offset, const std::string& more) {
    return R"({"bitwidth": 8, "scale": 0.5, "is_symmetric": "True", "offset": )" + offset + more + "}";
  };
  for (const char* offset : {"-128", "-127", "0", "-128.0"}) CHECK(type_of(old(entry(offset, "")), true) == OPTIMA_I8);
  CHECK(type_of(old(entry("0", R"(, "min": -3, "max": 3)")), true) == OPTIMA_I8);
  CHECK(type_of(old(entry("0", R"(, "min": 0, "max": 3)")), true) == OPTIMA_U8);
  CHECK(type_of(with(one_0_0(R"("scale": [0.5], "offset": [0.0])"), "false", "true"), false) == OPTIMA_U8);
  CHECK(type_of(with(with(one_0_0(R"("scale": [0.5], "offset": [0])"), "false", "true"), "activation", "param"), true) == OPTIMA_I8);
}

TEST_CASE("every format gives back the scales and zero points that it was given, to the last bit") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> exponent(-40, 30);
  Encodings shared, any;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = cat("v", i);
    const float scale = std::exp2(exponent(random));
    shared.activations[name] = coded(OPTIMA_U8, {scale}, {i % 2 ? 128 : 0});
    shared.weights["w" + name] = coded(OPTIMA_I8, {scale, scale * 3}, {0, 0});
    any.activations[name] = i % 2 ? coded(OPTIMA_U16, {scale}, {static_cast<int32_t>(random() % 65536)}) : coded(OPTIMA_U8, {scale}, {static_cast<int32_t>(random() % 256)});
  }
  any.weights = shared.weights;
  any.weights["i4"] = coded(OPTIMA_I4, {0.1F, 0.3F}, {0, 0}, -1, 16);
  CHECK(bare(parsed(written(shared, EncodingsFormat::TpuTable))) == shared);
  CHECK(bare(parsed(written(any, EncodingsFormat::Aimet1))) == any);
  CHECK(parsed(written(any, EncodingsFormat::Optima)) == any);
  any.weights.erase("i4");
  CHECK(bare(parsed(written(any, EncodingsFormat::AimetOld))) == any);
}

TEST_CASE("an entry that is wrong is named, with what was found and what was wanted") {
  CHECK(error_of("") == "e: is empty, wanted encodings");
  CHECK(error_of("{}") == "e: found neither 'format' nor 'activation_encodings', wanted encodings of optima, AIMET or tpu_mlir");
  CHECK(error_of(R"({"format": "optima.encodings/2"})") == "e: found format 'optima.encodings/2', wanted optima.encodings/1");
  CHECK(error_of("{\n\"format\": }").find("line 2") != std::string::npos);
  const std::string who = "e: activations: 'v'";
  CHECK(error_of(own(R"({"dtype": "u8"})")) == who + ": found no scale, wanted one or more");
  CHECK(error_of(own(R"({"dtype": "u7", "scale": 1, "zero_point": 0})")) ==
        who + ".dtype: found 'u7', wanted u8, i8, u16, i16, u4, i4, i32, f32, f16 or bf16");
  CHECK(error_of(own(R"({"dtype": "u8", "scale": 0, "zero_point": 0})")) == who + ": found scale 0, wanted a finite number above 0");
  CHECK(error_of(own(R"({"dtype": "u8", "scale": -1, "zero_point": 0})")) == who + ": found scale -1, wanted a finite number above 0");
  CHECK(error_of(own(R"({"dtype": "u8", "scale": 1e39, "zero_point": 0})")) == who + ": found scale inf, wanted a finite number above 0");
  CHECK(error_of(own(R"({"dtype": "u8", "scale": 1, "zero_point": 256})")) == who + ": found zero point 256, wanted 0..255 for u8");
  CHECK(error_of(own(R"({"dtype": "i8", "scale": 1, "zero_point": -129})")) == who + ": found zero point -129, wanted -128..127 for i8");
  CHECK(error_of(own(R"({"dtype": "i8", "scale": 1, "zero_point": 0.5})")) == who + ".zero_point: found 0.5, wanted an integer");
  CHECK(error_of(own(R"({"dtype": "i8", "scale": 1, "zero_point": 9999999999})")) == who + ".zero_point: found 9999999999, wanted a number of 32 bits");
  CHECK(error_of(own(R"({"dtype": "i8", "scale": [1, 2, 3], "zero_point": [0, 0]})")) == who + ": found 3 scales and 2 zero points, wanted as many");
  CHECK(error_of(own(R"({"dtype": "i8", "scale": 1, "zero_point": 0, "axis": -1})")) == who + ".axis: found -1, wanted 0..63");
  CHECK(error_of(own(R"({"dtype": "f32", "scale": 1, "zero_point": 0})")) == who + ": found a scale, wanted none for f32");
  CHECK(error_of(own(R"({"dtype": "i8", "scale": 1, "zero_point": 0, "range": [1, 0]})")) == who + ": found range 1..0, wanted two finite numbers in order");
  CHECK(error_of(own(R"({"dtype": "i8", "scales": 1, "zero_point": 0})")) == who + ": unknown member 'scales' (nearest: 'scale')");
  CHECK(error_of(R"({"format": "optima.encodings/1", "activations": {"v": {}, "v": {}}})").find("'v'") != std::string::npos);
}

TEST_CASE("wrong entries of AIMET and of tables are named, too") {
  const std::string who = "e: param_encodings: 'v'", activation = "e: activation_encodings: 'v'";
  CHECK(error_of(R"({"version": "2.0.0", "param_encodings": []})") == "e: found version '2.0.0' of AIMET's encodings, wanted 0.x or 1.x");
  CHECK(error_of(old("")) == who + ": found an empty list, wanted a list of encodings");
  CHECK(error_of(old(R"({"bitwidth": 7, "scale": 1, "offset": 0})")) == who + ": found 7 bits, wanted 4, 8, 16, or 32 where symmetric");
  CHECK(error_of(old(R"({"bitwidth": 8, "dtype": "float"})")) == who + ": found 8 bits, wanted 16 or 32 for floats");
  CHECK(error_of(old(R"({"bitwidth": 8, "scale": 1, "offset": 1})")) == who + ": found offset 1, wanted -255..0");
  CHECK(error_of(old(R"({"bitwidth": 8, "scale": 1, "offset": -0.5})")) == who + ": found offset -0.5, wanted an integer");
  CHECK(error_of(old(R"({"bitwidth": 8, "scale": 1, "offset": -5, "is_symmetric": "True"})")) ==
        who + ": found offset -5 of a symmetric encoding, wanted -128, -127 or 0");
  CHECK(error_of(old(R"({"bitwidth": 8, "scale": 1, "offset": 0, "is_symmetric": "yes"})")) == who + ".is_symmetric: found \"yes\", wanted true or false");
  CHECK(error_of(old(R"({"bitwidth": 8, "scale": 1, "offset": 0}, {"bitwidth": 4, "scale": 1, "offset": 0})")) ==
        who + ": channel 1: found another kind of encoding than channel 0 has, wanted one kind for all");
  CHECK(error_of(old(R"({"bitwidth": 8})")) == who + ": member 'scale' is missing, wanted a number");
  CHECK(error_of(one_0_0(R"("scale": [1, 2], "offset": [0, 0])")) == activation + ": found 2 scales, wanted one for PER_TENSOR");
  CHECK(error_of(one_0_0(R"("scale": [1], "offset": [0, 0])")) == activation + ": found 1 scales and 2 offsets, wanted as many");
  CHECK(error_of(with(one_0_0(R"("scale": [1], "offset": [0])"), "PER_TENSOR", "LPBQ")) ==
        activation + ".enc_type: found 'LPBQ', wanted PER_TENSOR, PER_CHANNEL or PER_BLOCK");
  CHECK(error_of(with(one_0_0(R"("scale": [1], "offset": [0], "block_size": 0)"), "PER_TENSOR", "PER_BLOCK")) ==
        activation + ".block_size: found 0, wanted 1 or more");
  CHECK(error_of(R"({"param_encodings": [{"name": "v", "dtype": "FLOAT", "bw": 16}, {"name": "v", "dtype": "FLOAT", "bw": 16}]})") == who + ": was given before");

  CHECK(error_of("# nothing\n") == "e: found no value, wanted lines of NAME THRESHOLD MIN MAX");
  CHECK(error_of("# op\nv 1 2\n") == "e:2: 'v': found 2 numbers, wanted threshold, min and max");
  CHECK(error_of("v 1 x 3") == "e:1: 'v': found min 'x', wanted a finite number");
  CHECK(error_of("v 1 nan 3") == "e:1: 'v': found min 'nan', wanted a finite number");
  CHECK(error_of("v 0 0 3") == "e:1: 'v': found threshold 0, wanted a finite number above 0");
  CHECK(error_of("v 1 0 1\nv 1 0 1") == "e:2: 'v': was given before");
  CHECK(error_of("#int4_th\nv 1 0 1") == "e:2: 'v': found a threshold of a 4-bit value, wanted 8 bits");
  CHECK(error_of("#weight_scale\nv 2 1") == "e:2: 'v': found '2' as the number of scales, wanted at most 1");
  CHECK(error_of("#weight_scale\nv 1 1 1 500") == "e:2: 'v': found zero point 500, wanted an integer, -128..127");
}

TEST_CASE("what a format cannot state is not written, and the value is named") {
  CHECK(cannot(one(coded(OPTIMA_I8, {1}, {3})), EncodingsFormat::Aimet1) == "value 'v': found zero point 3 of i8, wanted 0 for AIMET, where signed is symmetric");
  CHECK(cannot(one(coded(OPTIMA_BF16, {}, {})), EncodingsFormat::AimetOld) ==
        "value 'v': found type bf16, wanted u4, i4, u8, i8, u16, i16, i32, f16 or f32 for AIMET");
  CHECK(cannot(one(coded(OPTIMA_I4, {1}, {0}, 0, 32)), EncodingsFormat::AimetOld) ==
        "value 'v': found blocks of 32, wanted one scale or one a channel for AIMET 0.6.1");
  CHECK(cannot(one(coded(OPTIMA_U8, {1}, {3})), EncodingsFormat::TpuTable) ==
        "value 'v': found u8 with 1 scales and zero point 3, wanted u8 with 0 or 128, or i8 with 0, for a calibration table");
  CHECK(cannot(one(coded(OPTIMA_U16, {1}, {0})), EncodingsFormat::TpuTable) ==
        "value 'v': found u16 with 1 scales and zero point 0, wanted u8 with 0 or 128, or i8 with 0, for a calibration table");
  Encodings odd;
  odd.activations["a b"] = coded(OPTIMA_U8, {1}, {0});
  CHECK(cannot(odd, EncodingsFormat::TpuTable) == "value 'a b': found blanks or # in the name, wanted a word for a calibration table");
  odd.activations.clear();
  odd.weights["w"] = coded(OPTIMA_I4, {1}, {0}, 0, 32);
  CHECK(cannot(odd, EncodingsFormat::TpuTable) == "value 'w': found i4 in blocks, wanted i8 with zero point 0 for a calibration table");
  odd.weights.clear();
  odd.activations["a\xff"] = coded(OPTIMA_U8, {1}, {0});
  CHECK(cannot(odd, EncodingsFormat::Optima) == "'a\\xff': found bytes that are no UTF-8, wanted text for JSON");
  Encodings smoothed = one(coded(OPTIMA_U8, {1}, {0}));
  smoothed.smoothed["n"] = {2, 3};
  for (const EncodingsFormat format : {EncodingsFormat::Aimet1, EncodingsFormat::AimetOld, EncodingsFormat::TpuTable})
    CHECK(cannot(smoothed, format) == "value 'n' is smoothed, which only encodings of format optima can state");
  CHECK(cannot(one(coded(OPTIMA_U8, {0}, {0})), EncodingsFormat::Optima) == "'v': found scale 0, wanted a finite number above 0");
}

TEST_CASE("formats have names") {
  CHECK(*encodings_format("optima") == EncodingsFormat::Optima);
  CHECK(*encodings_format("aimet-0.6") == EncodingsFormat::AimetOld);
  CHECK(*encodings_format("aimet-1.0") == EncodingsFormat::Aimet1);
  CHECK(*encodings_format("tpu") == EncodingsFormat::TpuTable);
  CHECK(encodings_format("aimet").status().kind() == StatusKind::Usage);
}
