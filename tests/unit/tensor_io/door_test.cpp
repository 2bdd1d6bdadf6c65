// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_io/door.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "core/support/text.hpp"

using namespace optima;

namespace {

Door door_of(int32_t dtype, std::vector<int64_t> shape, std::string layout = "") {
  Door d;
  d.dtype = dtype, d.shape = std::move(shape), d.layout = std::move(layout);
  return d;
}

/// 0, 1, 2, ... as they lie.
Tensor counting(const Door& door) {
  Tensor t = *Tensor::make(door.dtype, door.shape);
  t.name = "t";
  if (door.dtype == OPTIMA_F32) std::iota(t.as<float>().begin(), t.as<float>().end(), 0.0F);
  else std::iota(t.as<int8_t>().begin(), t.as<int8_t>().end(), int8_t{0});
  return t;
}

std::vector<float> read(const Door& door, std::vector<int64_t> shape) {
  const Result<Tensor> t = read_through(counting(door), door, OPTIMA_F32, shape);
  REQUIRE_MESSAGE(t.ok(), t.status().message());
  CHECK(t->shape == shape);
  CHECK(t->name == "t");
  return {t->as<float>().begin(), t->as<float>().end()};
}

std::string refusal(const Door& door, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) {
  return std::string(read_through(counting(door), door, dtype, std::move(shape)).status().message());
}

std::string json_refusal(const char* text) {
  const Result<Json> json = parse_json(text, "d");
  REQUIRE(json.ok());
  return std::string(door_from_json(JsonReader(*json, "d")).status().message());
}

}  // namespace

TEST_CASE("dims in another order are put back") {
  CHECK(read(door_of(OPTIMA_F32, {1, 2, 2, 3}, "NHWC"), {1, 3, 2, 2}) == std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  CHECK(read(door_of(OPTIMA_F32, {3, 2}, "CN"), {2, 3}) == std::vector<float>{0, 2, 4, 1, 3, 5});
  CHECK(read(door_of(OPTIMA_F32, {2, 3}), {2, 3}) == std::vector<float>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("channels in blocks are put in a row, and lanes past the last channel are left out") {
  const std::vector<float> want = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12};
  CHECK(read(door_of(OPTIMA_F32, {1, 2, 1, 2, 4}, "NCHW4c"), {1, 5, 1, 2}) == want);
  CHECK(read(door_of(OPTIMA_F32, {1, 2, 1, 2, 4}, "NCHW4c*"), {1, 5, 1, 2}) == want);
  CHECK(read(door_of(OPTIMA_F32, {1, 2, 2, 4}, "NCW4c"), {1, 5, 2}) == want);
}

TEST_CASE("scales and zero points give the values, of the tensor or of each channel") {
  Door one = door_of(OPTIMA_I8, {1, 2, 1, 2});
  one.scales = {0.5F}, one.zero_points = {2};
  CHECK(read(one, {1, 2, 1, 2}) == std::vector<float>{-1, -0.5F, 0, 0.5F});
  Door each = door_of(OPTIMA_I8, {1, 1, 2, 2}, "NHWC");
  each.scales = {1, 10}, each.scale_axis = 1;
  CHECK(read(each, {1, 2, 1, 2}) == std::vector<float>{0, 2, 10, 30});
}

TEST_CASE("what is not read is named") {
  CHECK(refusal(door_of(OPTIMA_F32, {4, 4}, "TILE2"), {4, 4}) == "it lies as TILE2 float32[4x4], which is not read here");
  for (const char* layout : {"NCHW4", "NCHW4C", "NCHWc", "NCH4w", "NNHW", "NHW", "4cNCHW", "NCHW4c4c", "NCHW4h4h", "NCHW99999999999c", "*"})
    CHECK(refusal(door_of(OPTIMA_F32, {1, 1, 2, 2, 4}, layout), {1, 4, 2, 2}).ends_with("which is not read here"));
  CHECK(refusal(door_of(OPTIMA_F32, {1, 2, 2, 3}, "NHWC"), {1, 4, 2, 2}).ends_with("which is not read here"));
  Door eight = door_of(OPTIMA_I8, {4});
  eight.scales = {1};
  CHECK(refusal(eight, {4}, OPTIMA_F16) == "it lies as int8[4], which is read as float32 or float64 only, not as float16");
}

TEST_CASE("a door written as JSON is read back") {
  Door d = door_of(OPTIMA_I8, {1, 2, 3}, "NWC");
  d.scales = {0.1F, 1e-30F, 3}, d.zero_points = {-128, 0, 7}, d.scale_axis = 1;
  const Json json = door_to_json(d);
  const Result<Door> back = door_from_json(JsonReader(json, "d"));
  REQUIRE_MESSAGE(back.ok(), back.status().message());
  CHECK(*back == d);
  const Json plain = door_to_json(door_of(OPTIMA_F32, {}));
  CHECK(to_line(plain) == R"({"dtype":"float32","shape":[]})");
  CHECK(*door_from_json(JsonReader(plain, "d")) == door_of(OPTIMA_F32, {}));
  CHECK(door_text(d) == "NWC int8[1x2x3]");
}

TEST_CASE("a door of JSON that cannot be is refused with its place") {
  CHECK(json_refusal(R"({"dtype":"int9","shape":[1]})") == "d.dtype: found 'int9', wanted a type name");
  CHECK(json_refusal(R"({"dtype":"string","shape":[1]})") == "d: the door has dtype 8, wanted one of fixed size");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[0]})") == "d: the door has the size 0 in dim 0, wanted 1 or more");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[4611686018427387904, 4]})") == "d: the door stores more than 140737488355328 bytes");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[1],"scales":["a"]})") == R"(d.scales[0]: found "a", wanted a number)");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[1],"scales":[1e300]})") == "d: the door has the scale inf, wanted a finite one above 0");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[1],"scales":[1],"zero_points":[1,2]})") == "d: the door has 2 zero points for 1 scales");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[1],"zero_points":[3000000000]})") == "d.zero_points: found 3000000000, wanted a number of 32 bits");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[1],"scale_axis":-7})") == "d.scale_axis: found -7, wanted -1 or more");
  CHECK(json_refusal(R"({"dtype":"int8","shape":[1],"layout":"A\nB"})") == "d: the door has a layout that is no printable word of ASCII");
}
