// SPDX-License-Identifier: Apache-2.0
// Weights as NumPy reads them.
#include <doctest/doctest.h>

#include "optima/plugin/error.hpp"
#include "plugins/bmcompiler/top/module.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace bmcompiler_plugin::top;

namespace {

std::deque<Weight> some() {
  Module m("net");
  m.weight("layer/w:0", {2, 3}, {1, 2, 3, 4, 5, 6.5f});
  m.weight({"codes", {2}, "si8", std::string("\xff\x02", 2)});
  m.weight({"one", {1}, "si32", std::string("\x05\x00\x00\x80", 4)});
  return m.weights();
}

}  // namespace

TEST_CASE("NumPy reads the arrays back, and the file's sums are right") {
  const optima::test::TempFolder folder;
  const std::string path = folder.file("w.npz", npz(some()));
  const std::string python = "import zipfile, numpy as np; z = zipfile.ZipFile('" + path + "'); assert z.testzip() is None; a = np.load('" + path +
                             "'); print(sorted(a.files), a['layer/w:0'].tolist(), a['codes'].dtype, a['codes'].tolist(), a['one'].tolist())";
  const optima::test::Ran ran = optima::test::run({std::string(OPTIMA_SOURCE_DIR) + "/.deps/py/bin/python", "-c", python});
  CHECK(ran.code == 0);
  CHECK(ran.out == "['codes', 'layer/w:0', 'one'] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]] int8 [-1, 2] [-2147483643]\n");
}

TEST_CASE("the same weights are the same bytes, arrays begin at multiples of 64 in theirs") {
  const std::string bytes = npz(some());
  CHECK(bytes == npz(some()));
  const size_t head = bytes.find("\x93NUMPY");
  REQUIRE(head != bytes.npos);
  CHECK((10 + static_cast<unsigned char>(bytes[head + 8]) + 256 * static_cast<unsigned char>(bytes[head + 9])) % 64 == 0);
}

TEST_CASE("a weight of no known type is a fault of who wrote it") {
  std::deque<Weight> weights;
  weights.push_back({"w", {1}, "f64", std::string(8, '\0')});
  CHECK_THROWS_WITH_AS(npz(weights), "weight has elements of type f64, wanted f32, si32, si8, ui8 or f16", optima::sdk::Error);
}
