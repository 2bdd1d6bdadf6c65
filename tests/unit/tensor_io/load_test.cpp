// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "core/support/json.hpp"
#include "core/tensor_io/element.hpp"
#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/save.hpp"
#include "core/tensor_io/tensor_proto.hpp"
#include "core/tensor_io/zip.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/zip.hpp"

using namespace optima;
using namespace optima::test;

namespace {

TensorInfo info(std::string name, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) { return {std::move(name), dtype, std::move(shape), {}, false}; }

Tensor ramp(std::vector<int64_t> shape) {
  Tensor t = *Tensor::make(OPTIMA_F32, std::move(shape));
  float next = 0;
  for (float& f : t.as<float>()) f = next, next += 0.5f;
  return t;
}

std::string key(uint32_t field, uint32_t wire) { return little(field << 3 | wire, 1); }

}  // namespace

TEST_CASE("an npy input must have the model's type and shape") {
  TempFolder t;
  put(t / "a.npy", write_npy(ramp({1, 4})));
  CHECK(load_input(t / "a.npy", info("x", {1, 4}))->name == "x");
  CHECK(load_input(t / "a.npy", info("x", {-1, 4})).ok());
  CHECK(load_input(t / "a.npy", info("x", {1, 5})).status().message() == "input 'x': found float32 1x4, wanted float32 1x5");
  CHECK(load_input(t / "a.npy", info("x", {1, 4}, OPTIMA_F64)).status().message() == "input 'x': found float32 1x4, wanted float64 1x4");
  CHECK(load_input(t / "none.npy", info("x", {1, 4})).status().message() == "cannot open '" + (t / "none.npy") + "': No such file or directory");
}

TEST_CASE("an npz gives the array of the input's name, stored or deflated, or its only one") {
  TempFolder t;
  put(t / "two.npz", zip({stored("x.npy", write_npy(ramp({2}))), deflated("y.npy", write_npy(ramp({3})))}));
  CHECK(load_input(t / "two.npz", info("x", {2}))->size == 8);
  CHECK(load_input(t / "two.npz", info("y", {3}))->as<float>()[2] == 1);
  CHECK(load_input(t / "two.npz", info("z", {3})).status().message() == "'" + (t / "two.npz") + "': has no array 'z' (nearest: 'x', 'y'), found x, y");
  put(t / "one.npz", zip({stored("arr_0.npy", write_npy(ramp({2})))}));
  CHECK(load_input(t / "one.npz", info("x", {2})).ok());
}

TEST_CASE("damaged archives are refused") {
  TempFolder t;
  const std::string bytes = write_npy(ramp({2}));
  const auto message = [&](const std::string& archive) {
    put(t / "a.npz", archive);
    const auto r = load_input(t / "a.npz", info("x", {2}));
    return r.ok() ? std::string("read") : r.status().message().substr(t.path().size() + 10);
  };
  CHECK(message("not a zip") == "is damaged: no end of a zip archive");
  CHECK(message("") == "is damaged: no end of a zip archive");
  Member wrong_crc = stored("x.npy", bytes);
  wrong_crc.crc ^= 1;
  CHECK(message(zip({wrong_crc})) == "is damaged: member 'x.npy' has a wrong checksum");
  Member bomb = deflated("x.npy", bytes);
  bomb.size = uint64_t{1} << 31;
  CHECK(message(zip({bomb})) == "is damaged: member 'x.npy' claims 2147483648 bytes of " + std::to_string(bomb.packed.size()));
  Member broken = deflated("x.npy", bytes);
  broken.packed[0] = 7;
  CHECK(message(zip({broken})) == "is damaged: member 'x.npy' does not unpack");
  Member odd = stored("x.npy", bytes);
  odd.method = 12;
  CHECK(message(zip({odd})) == "member 'x.npy' has compression 12, wanted stored or deflated");
  const std::string good = zip({stored("x.npy", bytes), deflated("y.npy", bytes)});
  uint64_t random = 3;
  for (int round = 0; round < 3000; ++round) {
    std::string archive = good;
    random = random * 6364136223846793005u + 1442695040888963407u;
    archive[(random >> 33) % archive.size()] = static_cast<char>(random >> 56);
    if (const auto members = list_zip({reinterpret_cast<const std::byte*>(archive.data()), archive.size()}, "x"); members.ok())
      for (const ZipMember& m : *members) (void)unpack(m, "x");
  }
}

TEST_CASE("a TensorProto is read with raw, packed and single values") {
  const std::string dims = key(1, 0) + "\x02" + key(1, 0) + "\x01", name = key(8, 2) + "\x02in";
  const auto read = [](const std::string& s) { return read_tensor_proto({reinterpret_cast<const std::byte*>(s.data()), s.size()}, "x"); };
  const float values[] = {1.5f, -2};
  const std::string raw(reinterpret_cast<const char*>(values), 8);
  for (const std::string& data : {key(9, 2) + "\x08" + raw, key(4, 2) + "\x08" + raw, key(4, 5) + raw.substr(0, 4) + key(4, 5) + raw.substr(4)}) {
    const auto t = read(dims + key(2, 0) + "\x01" + data + name);
    REQUIRE_MESSAGE(t.ok(), t.status().message());
    CHECK(t->name == "in");
    CHECK(t->shape == std::vector<int64_t>{2, 1});
    CHECK(t->as<float>()[1] == -2);
  }
  const auto ints = read(key(1, 2) + "\x01\x02" + key(2, 0) + "\x03" + key(5, 2) + "\x0b\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");  // int8: 5, -1
  REQUIRE_MESSAGE(ints.ok(), ints.status().message());
  CHECK(ints->as<int8_t>()[1] == -1);
  CHECK(read(dims + key(2, 0) + "\x01" + key(9, 2) + "\x04" + raw.substr(0, 4)).status().message() == "x: is too short for float32 2x1");
  CHECK(read(dims + key(2, 0) + "\x01" + key(9, 2) + "\x08" + raw.substr(0, 5)).status().message() == "x: is not a TensorProto, or is cut off");
  CHECK(read(dims + key(2, 0) + "\x01" + key(14, 0) + "\x01").status().message() == "x: keeps its data in another file, wanted it inside");
  CHECK(read(dims + key(2, 0) + "\x08").status().message() == "x: found type string, wanted a number or truth value");
}

TEST_CASE("raw bytes take the model's type, and one unknown dim follows from their number") {
  TempFolder t;
  put(t / "a.raw", std::string(24, '\0'));
  CHECK(load_input(t / "a.raw", info("x", {2, 3})).ok());
  CHECK(load_input(t / "a.raw", info("x", {-1, 3}))->shape == std::vector<int64_t>{2, 3});
  CHECK(load_input(t / "a.raw", info("x", {2, 4})).status().message() == "'" + (t / "a.raw") + "': found 24 raw bytes, wanted 32 for float32 2x4");
  CHECK_FALSE(load_input(t / "a.raw", info("x", {-1, 4})).ok());
}

TEST_CASE("random inputs repeat by seed and differ by name") {
  const auto a = load_input("random:5", info("a", {100})), again = load_input("random:5", info("a", {100}));
  const auto other_name = load_input("random:5", info("b", {100})), other_seed = load_input("random:6", info("a", {100}));
  const auto same = [](const auto& x, const auto& y) { return std::equal(x->bytes().begin(), x->bytes().end(), y->bytes().begin()); };
  CHECK(same(a, again));
  CHECK_FALSE(same(a, other_name));
  CHECK_FALSE(same(a, other_seed));
  for (const float f : a->template as<float>()) CHECK((f >= 0 && f < 1));
  CHECK(load_input("random", info("a", {-1, 2}))->shape == std::vector<int64_t>{1, 2});
  const Tensor whole = *load_input("random", info("a", {50}, OPTIMA_I64));
  for (const int64_t i : whole.as<int64_t>()) CHECK((i >= 0 && i < 2));  // an index into the smallest tables
  const Tensor halves = *load_input("random", info("a", {50}, OPTIMA_F16));
  for (uint64_t i = 0; i < 50; ++i) CHECK((element_as_double(halves, i) >= 0 && element_as_double(halves, i) < 1));
  CHECK(load_input("random:x", info("a", {1})).status().message() == "found 'random:x', wanted random or random:SEED with a number");
}

TEST_CASE("words of --input find their inputs, whatever order they come in") {
  TempFolder t;
  put(t / "a.npy", write_npy(ramp({2})));
  put(t / "all.npz", zip({stored("x.npy", write_npy(ramp({2}))), stored("y:0.npy", write_npy(ramp({3})))}));
  const std::vector<TensorInfo> both = {info("x", {2}), info("y:0", {3})};
  const auto two = load_inputs({"y:0=random", "x=" + (t / "a.npy")}, both);
  REQUIRE_MESSAGE(two.ok(), two.status().message());
  CHECK((*two)[0].name == "x");
  CHECK((*two)[0].as<float>()[1] == 0.5f);
  CHECK(load_inputs({t / "all.npz"}, both).ok());
  CHECK(load_inputs({"random:3"}, both).ok());
  CHECK(load_inputs({t / "a.npy"}, {info("only", {2})}).ok());
  CHECK(load_inputs({"z=random", "x=random"}, both).status().message() == "the model has no input 'z' (nearest: 'x'), wanted one of x, y:0");
  CHECK(load_inputs({"x=random"}, both).status().message() == "input 'y:0' is not given, wanted --input y:0=FILE or =random");
  CHECK(load_inputs({"x=random", "x=random", "y:0=random"}, both).status().message() == "input 'x' is given twice");
  CHECK(load_inputs({t / "a.npy"}, both).status().kind() == StatusKind::Usage);
}

TEST_CASE("outputs are saved under safe, distinct names with a manifest, and read back") {
  TempFolder t;
  CHECK(output_file_names({"a/b", "a_b", "a_b", "..", ""}) == std::vector<std::string>{"a_b.npy", "a_b_2.npy", "a_b_3.npy", "_...npy", "_.npy"});
  const std::string long_name(199, 'a');
  CHECK(output_file_names({long_name + "\u00e9", long_name + "bc"}) == std::vector<std::string>{long_name + ".npy", long_name + "b.npy"});  // no half of a character
  Tensor a = ramp({2, 2}), b = ramp({3});
  a.name = "out/0", b.name = "out_0";
  REQUIRE(save_outputs(t / "deep/out", {a, b}, {{{"x", "random:1"}}, "m", "hash", {{"optima", "0.1.0"}}, {}}).ok());
  CHECK(get(t / "deep/out/manifest.json") ==
        "{\n  \"outputs\": [\n    {\n      \"name\": \"out/0\",\n      \"file\": \"out_0.npy\",\n      \"dtype\": \"float32\",\n      \"shape\": [\n        2,\n"
        "        2\n      ]\n    },\n    {\n      \"name\": \"out_0\",\n      \"file\": \"out_0_2.npy\",\n      \"dtype\": \"float32\",\n      \"shape\": [\n        3\n"
        "      ]\n    }\n  ],\n  \"inputs\": {\n    \"x\": \"random:1\"\n  },\n  \"package\": \"m\",\n  \"package_sha256\": \"hash\",\n  \"versions\": {\n"
        "    \"optima\": \"0.1.0\"\n  }\n}\n");
  const auto back = load_outputs(t / "deep/out");
  REQUIRE(back.ok());
  CHECK((*back)[1].name == "out_0");
  CHECK((*back)[1].shape == std::vector<int64_t>{3});
  put(t / "deep/out/manifest.json", R"({"outputs": [{"name": "a", "file": "../x.npy", "dtype": "float32"}]})");
  CHECK(load_outputs(t / "deep/out").status().message().find("found '../x.npy', wanted a file of the same folder") != std::string::npos);
}

TEST_CASE("types that NumPy lacks survive a round trip through npy") {
  TempFolder t;
  Tensor half = *Tensor::make(OPTIMA_BF16, {3}), packed = *Tensor::make(OPTIMA_I4, {3});
  half.as<uint16_t>()[1] = 0x3F80;
  packed.data[0] = std::byte{0x2F}, packed.data[1] = std::byte{0x08};
  half.name = "h", packed.name = "p";
  REQUIRE(save_outputs(t / "o", {half, packed}, {}).ok());
  const auto back = load_outputs(t / "o");
  REQUIRE(back.ok());
  CHECK((*back)[0].dtype == OPTIMA_BF16);
  CHECK(element_as_double((*back)[0], 1) == 1);
  CHECK((*back)[1].dtype == OPTIMA_I4);
  CHECK(std::equal(packed.bytes().begin(), packed.bytes().end(), (*back)[1].bytes().begin()));
  CHECK(load_input(t / "o/p.npy", info("x", {3}, OPTIMA_I4)).ok());
}

TEST_CASE("sizes by name go to every input that has the name, by place to one, and what nobody has is refused with what there is") {
  const auto fixed = [](const std::map<std::string, int64_t>& dims) {
    std::vector<TensorInfo> inputs = {{"x", OPTIMA_F32, {-1, 3, -1}, {"n", "", "width"}, false}, {"z", OPTIMA_F32, {-1}, {"n"}, false}};
    const Status status = fix_dims(dims, inputs);
    return status.ok() ? shape_text(inputs[0].shape) + " " + shape_text(inputs[1].shape) : status.message();
  };
  CHECK(fixed({{"n", 4}}) == "4x3x? 4");
  CHECK(fixed({{"n", 4}, {"width", 7}}) == "4x3x7 4");
  CHECK(fixed({{"x.2", 7}}) == "?x3x7 ?");
  CHECK(fixed({{"height", 7}}) == "--dim: no input has an open dim 'height', the model has n, width");
  CHECK(fixed({{"x.1", 7}}) == "--dim: no input has an open dim 'x.1', the model has n, width");
}

TEST_CASE("random inputs have the sizes that matter most where somebody said them, else 1, and the line says so") {
  TensorInfo x{"x", OPTIMA_F32, {-1, 3, -1}, {"n", "", "width"}, false, {-1, -1, 320}};
  CHECK(random_tensor(x, 0)->shape == std::vector<int64_t>{1, 3, 320});
  const std::string line = "input x: float32 1x3x320, sizes that the model leaves open are ", sets = " (--shape x=... sets them)";
  CHECK(shape_line(*random_tensor(x, 0), x, x, true) == line + "those that it was compiled for most, else 1" + sets);
  x.usual[0] = 1;
  CHECK(shape_line(*random_tensor(x, 0), x, x, true) == line + "those that it was compiled for most" + sets);
  CHECK(shape_line(*random_tensor(x, 0), x, x, false) == "input x: float32 1x3x320");
}
