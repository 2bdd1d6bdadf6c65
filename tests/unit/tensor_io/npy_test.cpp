// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "core/tensor_io/element.hpp"
#include "core/tensor_io/npy.hpp"

using namespace optima;

namespace {

std::span<const std::byte> bytes_of(const std::string& s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }

/// An npy file of any version with the given header text.
std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + data;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

std::string error_of(const std::string& file) {
  const auto t = read_npy(bytes_of(file), "'x.npy'");
  REQUIRE_FALSE(t.ok());
  CHECK(t.status().kind() == StatusKind::InvalidInput);
  return t.status().message();
}

}  // namespace

TEST_CASE("npy versions 1, 2 and 3 are read") {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
  for (const int version : {1, 2, 3}) {
    const auto t = read_npy(bytes_of(npy(header, raw<float>({1, 2, 3, 4}), version)), "x");
    REQUIRE_MESSAGE(t.ok(), t.status().message());
    CHECK(t->shape == std::vector<int64_t>{2, 2});
    CHECK(t->as<float>()[3] == 4);
  }
}

TEST_CASE("scalars, one-element tuples, empty arrays and Python 2 headers are read") {
  const auto scalar = read_npy(bytes_of(npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", raw<int64_t>({7}))), "x");
  REQUIRE(scalar.ok());
  CHECK(scalar->shape.empty());
  CHECK(scalar->as<int64_t>()[0] == 7);
  CHECK(read_npy(bytes_of(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc")), "x")->size == 3);
  CHECK(read_npy(bytes_of(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 4), }", "")), "x")->size == 0);
  CHECK(read_npy(bytes_of(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2L,), }", raw<int16_t>({1, 2}))), "x")->as<int16_t>()[1] == 2);
}

TEST_CASE("big-endian data is converted") {
  const auto t = read_npy(bytes_of(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", std::string("\0\0\1\2\xff\xff\xff\xfe", 8))), "x");
  REQUIRE(t.ok());
  CHECK(t->as<int32_t>()[0] == 258);
  CHECK(t->as<int32_t>()[1] == -2);
}

TEST_CASE("Fortran-ordered data is turned to rows") {
  // [[0, 1, 2], [3, 4, 5]] column by column; then three dims.
  const auto t = read_npy(bytes_of(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", raw<float>({0, 3, 1, 4, 2, 5}))), "x");
  REQUIRE(t.ok());
  for (int i = 0; i < 6; ++i) CHECK(t->as<float>()[static_cast<size_t>(i)] == i);
  const auto cube = read_npy(bytes_of(npy("{'descr': '<i1', 'fortran_order': True, 'shape': (2, 2, 2), }", raw<int8_t>({0, 4, 2, 6, 1, 5, 3, 7}))), "x");
  for (int i = 0; i < 8; ++i) CHECK(cube->as<int8_t>()[static_cast<size_t>(i)] == i);
}

TEST_CASE("what cannot be read is refused by name") {
  const std::string shape4 = "'fortran_order': False, 'shape': (4,), }";
  CHECK(error_of("hello world") == "'x.npy': is not an npy file");
  CHECK(error_of("") == "'x.npy': is not an npy file");
  CHECK(error_of(npy("{}", "", 4)) == "'x.npy': found npy format version 4, wanted 1 to 3");
  CHECK(error_of(npy("{'descr': '|O', " + shape4, "")) == "'x.npy': holds pickled Python objects, which are never read; save it as a plain array");
  CHECK(error_of(npy("{'descr': [('a', '<f4'), ('b', 'O')], " + shape4, "")).find("holds pickled Python objects") != std::string::npos);
  CHECK(error_of(npy("{'descr': '<U5', " + shape4, "")) == "'x.npy': found array type '<U5', wanted a number or truth value");
  CHECK(error_of(npy("{'descr': [('a', '<f4')], " + shape4, "")) == "'x.npy': found array type '[('a', '<f4')]', wanted a number or truth value");
  CHECK(error_of(npy("{'descr': '<f4', " + shape4, raw<float>({1, 2, 3}))) == "'x.npy': is cut off: found 12 bytes of data, wanted 16 for float32 4");
  CHECK(error_of(npy("{'descr': '<f4', 'shape': (4,)}", "")).find("'x.npy': has a header that cannot be read: '{'descr'") == 0);
  CHECK(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", "")).find("has a header that cannot be read") != std::string::npos);
  CHECK(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}", "")) ==
        "'x.npy': is cut off: found 0 bytes of data, wanted more than there can be for float32 9999999999x9999999999");
  std::string cut = npy("{'descr': '<f4', " + shape4, "");
  cut.resize(30);
  CHECK(error_of(cut) == "'x.npy': is cut off in the header: found 20 bytes, wanted 57");
}

TEST_CASE("what is written is read back, and its header fills blocks of 64 bytes") {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {3}, {2, 0}, {2, 3, 1}}) {
    Tensor t = *Tensor::make(OPTIMA_F64, shape);
    for (double& v : t.as<double>()) v = 1.5;
    const std::string file = write_npy(t);
    CHECK((file.size() - t.size) % 64 == 0);
    const auto back = read_npy(bytes_of(file), "x");
    REQUIRE(back.ok());
    CHECK(back->shape == shape);
    CHECK(back->dtype == OPTIMA_F64);
    CHECK(std::memcmp(back->data, t.data, t.size) == 0);
  }
  CHECK(write_npy(*Tensor::make(OPTIMA_F32, {3})).substr(10, 57) == "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
}

TEST_CASE("types that NumPy lacks are written as what holds them") {
  Tensor packed = *Tensor::make(OPTIMA_I4, {3});
  packed.data[0] = std::byte{0x2F};
  packed.data[1] = std::byte{0x08};
  const auto back = read_npy(bytes_of(write_npy(packed)), "x");
  REQUIRE(back.ok());
  CHECK(back->dtype == OPTIMA_I8);
  CHECK(back->as<int8_t>()[0] == -1);
  CHECK(back->as<int8_t>()[1] == 2);
  CHECK(back->as<int8_t>()[2] == -8);
  CHECK(read_npy(bytes_of(write_npy(*Tensor::make(OPTIMA_BF16, {2}))), "x")->dtype == OPTIMA_U16);
}

TEST_CASE("mutated npy files never crash the reader") {
  const std::string good = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", raw<float>({0, 3, 1, 4, 2, 5}));
  uint64_t random = 7;
  for (int round = 0; round < 5000; ++round) {
    std::string file = good;
    for (int edits = 0; edits < 3; ++edits) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      file[(random >> 33) % file.size()] = static_cast<char>(random >> 56);
    }
    if (round % 4 == 0) file.resize((random >> 20) % file.size());
    if (const auto t = read_npy(bytes_of(file), "x"); t.ok()) CHECK(byte_size(t->dtype, t->shape) == t->size);
  }
}

TEST_CASE("elements of every float type have their IEEE value") {
  const auto value = [](int32_t dtype, std::initializer_list<int> bytes) {
    Tensor t = *Tensor::make(dtype, {1});
    size_t i = 0;
    for (const int b : bytes) t.data[i++] = static_cast<std::byte>(b);
    return element_as_double(t, 0);
  };
  CHECK(value(OPTIMA_F16, {0x00, 0x3C}) == 1);
  CHECK(value(OPTIMA_F16, {0x01, 0x00}) == std::ldexp(1.0, -24));
  CHECK(value(OPTIMA_F16, {0xFF, 0x7B}) == 65504);
  CHECK(std::isinf(value(OPTIMA_F16, {0x00, 0xFC})));
  CHECK(value(OPTIMA_BF16, {0x80, 0xBF}) == -1);
  CHECK(value(OPTIMA_F8E4M3FN, {0x7E}) == 448);
  CHECK(std::isnan(value(OPTIMA_F8E4M3FN, {0x7F})));
  CHECK(value(OPTIMA_F8E5M2, {0x7B}) == 57344);
  CHECK(std::isnan(value(OPTIMA_F8E4M3FNUZ, {0x80})));
  CHECK(value(OPTIMA_F8E4M3FNUZ, {0x7F}) == 240);
  CHECK(value(OPTIMA_F4E2M1, {0x07}) == 6);
  CHECK(value(OPTIMA_F4E2M1, {0x09}) == -0.5);
  CHECK(value(OPTIMA_I2, {0x03}) == -1);
  CHECK(value(OPTIMA_F8E8M0, {0x80}) == 2);
}

TEST_CASE("texts go through npy and come back, of any order and byte order") {
  const TextArray texts{{2, 2}, {"a", "größer", "", "\xF0\x9F\x8D\x8E"}};
  const std::string file = write_npy_texts(texts);
  const auto bytes = [](const std::string& s) { return std::span(reinterpret_cast<const std::byte*>(s.data()), s.size()); };
  const auto read = [&](const std::string& s) { return read_npy_texts(bytes(s), "file"); };
  REQUIRE(read(file).ok());
  CHECK(read(file)->texts == texts.texts);
  CHECK(read(file)->shape == texts.shape);
  std::string turned = file;
  turned.replace(turned.find("False"), 5, "True ");
  CHECK(read(turned)->texts == std::vector<std::string>{"a", "", "größer", "\xF0\x9F\x8D\x8E"});
  std::string swapped = file;
  swapped.replace(swapped.find("<U6"), 3, ">U6");
  for (size_t at = swapped.size() - 2 * 2 * 6 * 4; at < swapped.size(); at += 4) std::swap(swapped[at], swapped[at + 3]), std::swap(swapped[at + 1], swapped[at + 2]);
  CHECK(read(swapped)->texts == texts.texts);
  CHECK(read(write_npy_texts({{0, 3}, {}}))->shape == std::vector<int64_t>{0, 3});
}

TEST_CASE("an array that is no texts, or is cut off, is one sentence") {
  const auto said = [](std::string file, const std::string& from, const std::string& to) {
    if (!from.empty()) file.replace(file.find(from), from.size(), to);
    return read_npy_texts(std::span(reinterpret_cast<const std::byte*>(file.data()), file.size()), "file").status().message();
  };
  const std::string file = write_npy_texts({{2}, {"ab", "c"}});
  CHECK(said(file, "'<U2'", "'<i8'") == "file: found array type '<i8', wanted texts such as '<U7'");
  CHECK(said(file, "'<U2'", "'|O' ").find("pickled Python objects") != std::string::npos);
  CHECK(said(file, "(2,)", "(3,)") == "file: is cut off: found 16 bytes of data, wanted 8 for each text of 3");
  std::string strange = file;
  strange[strange.size() - 6] = '\x7F';
  CHECK(said(strange, "", "").find("wanted one of Unicode") != std::string::npos);
}
