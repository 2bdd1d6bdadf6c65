// SPDX-License-Identifier: Apache-2.0
// Lists of files as SNPE and tpu_mlir write them, and raw float32 in every type of input.
#include <doctest/doctest.h>

#include <cmath>

#include "core/support/text.hpp"
#include "core/tensor_io/half.hpp"
#include "tests/unit/samples/data.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::vector<TensorInfo> kOne = {input("x", {1, 2})};
const std::vector<TensorInfo> kTwo = {input("x", {1, 2}), input("y:0", {1, 3})};

struct Lists : TempFolder {
  std::string read(const std::string& text, const std::vector<TensorInfo>& inputs) const {
    put(*this / "list.txt", text);
    std::string out = opened(*this / "list.txt", inputs);
    for (size_t at; (at = out.find(path() + "/")) != std::string::npos;) out.erase(at, path().size() + 1);
    return out;
  }
};

/// What raw float32 become for an input of a type.
std::string as_type(int32_t dtype, const std::vector<float>& values) {
  TempFolder t;
  put(t / "a.raw", raw(values)), put(t / "list.txt", "a.raw\n");
  const Result<Samples> samples = Samples::open(t / "list.txt", {input("x", {static_cast<int64_t>(values.size())}, dtype)});
  if (!samples.ok()) return samples.status().message();
  const Result<std::vector<Tensor>> read = samples->read(0);
  if (!read.ok()) return read.status().message().substr(read.status().message().find("input"));
  std::string out;
  for (uint64_t i = 0; i < values.size(); ++i) out += cat(element_as_double(read->at(0), i), " ");
  return out;
}

}  // namespace

TEST_CASE("SNPE's list has a sample a line, of one file or of NAME:=FILE for each input, beside it or anywhere") {
  Lists t;
  put(t / "sub/a.raw", raw({1, 2})), put(t / "b c.raw", raw({3, 4})), put(t / "y.raw", raw({5, 6, 7}));
  CHECK(t.read("#output_layer\n%out_1 out_2\n\nsub/a.raw\r\n  b c.raw  \n" + (t / "sub/a.raw") + "\n", kOne) == "SNPE list: sub/a.raw|1 b c.raw|3 sub/a.raw|1");
  CHECK(t.read("x:=sub/a.raw y:0:=y.raw\ny:0:=y.raw\tx:=sub/a.raw", kTwo) == "SNPE list: sub/a.raw|1|5 y.raw|1|5");
  CHECK(t.read("sub/a.raw\n", {input("x", {-1, 1})}) == "SNPE list: sub/a.raw|1");
}

TEST_CASE("lines of SNPE's list that make no sample are refused by their numbers, files by their samples") {
  Lists t;
  put(t / "a.raw", raw({1, 2})), put(t / "y.raw", raw({5, 6, 7}));
  CHECK(t.read("# x\na.raw\n", kTwo) == "'list.txt' line 2: found 'a.raw', wanted INPUT:=FILE for each of 'x', 'y:0'");
  CHECK(t.read("x:=a.raw\n", kTwo) == "'list.txt' line 1: input 'y:0' has no data");
  CHECK(t.read("x:=a.raw x:=a.raw y:0:=y.raw\n", kTwo) == "'list.txt' line 1: input 'x' is given twice");
  CHECK(t.read("x:=a.raw z:=y.raw\n", kTwo) == "'list.txt' line 1: the model has no input 'z' (nearest: 'x'), wanted one of x, y:0");
  CHECK(t.read("x:=a.raw y.raw\n", kTwo) == "'list.txt' line 1: found 'y.raw', wanted INPUT:=FILE");
  CHECK(t.read("x:= y:0:=y.raw\n", kTwo) == "'list.txt' line 1: input 'x' has no file");
  CHECK(t.read("a.raw\nnone.raw\n", kOne).find("sample 'none.raw': ") == 0);
  CHECK(t.read("a.raw\ny.raw\n", kOne) == "sample 'y.raw': 'y.raw': input 'x': found 12 bytes, wanted 8 of float32 1x2");
  CHECK(t.read("# nothing\n", kOne) == "'list.txt' (SNPE list) holds no sample, wanted one at least");
  CHECK(t.read(std::string("a.raw\0\n", 7), kOne) == "'list.txt': is no list of files, found bytes that are no text");
}

TEST_CASE("tpu_mlir's list has a sample a line, files with commas between or one .npz") {
  Lists t;
  put(t / "a.npy", npy({1, 2}, 1)), put(t / "b.npy", npy({1, 3}, 2)), put(t / "all.npz", zip({stored("y:0.npy", npy({1, 3}, 4)), stored("x.npy", npy({1, 2}, 3))}));
  put(t / "x.npz", zip({stored("x.npy", npy({1, 2}, 5))})), put(t / "p.tga", tga(3, 1, 255));
  CHECK(t.read("a.npy,b.npy\nall.npz\n x.npz , b.npy \n", kTwo) == "tpu_mlir list: a.npy|1|2 all.npz|3|4 x.npz|5|2");
  CHECK(t.read("a.npy,p.tga\n", {kTwo[0], input("y:0", {1, 3, 1, 3})}) == "tpu_mlir list: a.npy|1|1");
  CHECK(t.read("a.npy\n", kTwo) == "'list.txt' line 1: found 1 files, wanted 2 for inputs 'x', 'y:0'");
  CHECK(t.read("a.npy,b.npy\na.npy,b.raw\n", kTwo) == "'list.txt' line 2: input 'y:0': found 'b.raw', wanted .npz, .npy or a picture");
  CHECK(t.read("a.npy,b.npy\nb.npy,a.npy\n", kTwo) == "sample 'b.npy': input 'x': found float32 1x3, wanted float32 1x2");
}

TEST_CASE("raw float32 is rounded for floats and has to be whole for whole numbers") {
  CHECK(as_type(OPTIMA_F32, {1.5f, -2}) == "1.5 -2 ");
  CHECK(as_type(OPTIMA_F64, {1.5f, -2}) == "1.5 -2 ");
  CHECK(as_type(OPTIMA_F16, {1.5f, 65519, -1e9f}) == "1.5 65504 -inf ");
  CHECK(as_type(OPTIMA_BF16, {1.5f, 1.00390625f}) == "1.5 1 ");
  CHECK(as_type(OPTIMA_I64, {101, -7}) == "101 -7 ");
  CHECK(as_type(OPTIMA_U8, {0, 255}) == "0 255 ");
  CHECK(as_type(OPTIMA_I8, {-128, 127}) == "-128 127 ");
  CHECK(as_type(OPTIMA_BOOL, {0, 1}) == "0 1 ");
  CHECK(as_type(OPTIMA_U8, {0, 256}) == "input 'x': found 256 at position 1, wanted uint8");
  CHECK(as_type(OPTIMA_I32, {0, 2147483648.0f}) == "input 'x': found 2.14748e+09 at position 1, wanted int32");
  CHECK(as_type(OPTIMA_I32, {0.5f}) == "input 'x': found 0.5 at position 0, wanted int32");
  CHECK(as_type(OPTIMA_I64, {NAN}) == "input 'x': found nan at position 0, wanted int64");
  CHECK(as_type(OPTIMA_BOOL, {2}) == "input 'x': found 2 at position 0, wanted bool");
  CHECK(as_type(OPTIMA_U4, {2, 3}) == "input 'x': found raw float32, wanted uint4, which it is not turned into");
}
