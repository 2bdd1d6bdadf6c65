// SPDX-License-Identifier: Apache-2.0
// Folders, stacked arrays and raw files as samples: what is read, and what is refused with which sentence.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "core/tensor_io/half.hpp"
#include "tests/unit/samples/data.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::vector<TensorInfo> kOne = {input("x", {1, 2})};
const std::vector<TensorInfo> kTwo = {input("x", {1, 2}), input("mask/in:0", {1, 3})};

Tensor of_type(int32_t dtype, std::vector<int64_t> shape) { return *Tensor::make(dtype, std::move(shape)); }

}  // namespace

TEST_CASE("a folder of .npy is one sample a file, in the order of the numbers in their names") {
  TempFolder t;
  put(t / "10.npy", npy({1, 2}, 10)), put(t / "9.npy", npy({2}, 9)), put(t / "notes.md", "x"), put(t / ".8.npy", "no");
  CHECK(opened(t.path(), kOne) == "folder of .npy: 9.npy|9 10.npy|10");
  CHECK(opened(t.path() + "//", kOne) == "folder of .npy: 9.npy|9 10.npy|10");
  CHECK(opened(t.path(), kOne, {{}, 1}) == "folder of .npy: 9.npy|9");
  const Samples samples = *Samples::open(t.path(), kOne);
  CHECK(samples.read(0)->at(0).shape == std::vector<int64_t>{1, 2});  // a first dim of 1 may be absent
  CHECK(samples.read(0)->at(0).name == "x");
  CHECK(opened(t.path(), kTwo) == "folder '" + t.path() + "': found .npy side by side, which are of one input, and a model of 'x', 'mask/in:0', wanted a folder for each input, or .npz");
}

TEST_CASE("a folder for each input has the i-th file of each as sample i, arrays or pictures") {
  TempFolder t;
  put(t / "x/a.npy", npy({1, 2}, 1)), put(t / "x/b.npy", npy({1, 2}, 2));
  put(t / "mask_in_0/1.npy", npy({1, 3}, 3)), put(t / "mask_in_0/2.npy", npy({1, 3}, 4));
  CHECK(opened(t.path(), kTwo) == "a folder an input of .npy: x/a.npy|1|3 x/b.npy|2|4");
  put(t / "mask_in_0/3.npy", npy({1, 3}));
  CHECK(opened(t.path(), kTwo) == "input 'mask/in:0': found 3 samples in '" + (t / "mask_in_0") + "', wanted 2 as input 'x' has");
  std::filesystem::remove_all(t / "mask_in_0");
  CHECK(opened(t.path(), kTwo) == "input 'mask/in:0' has no data: found folders x in '" + t.path() + "', wanted 'mask_in_0', too");
  put(t / "mask_in_0/3.txt", "");
  CHECK(opened(t.path(), kTwo) == "input 'mask/in:0' has no data: found 1 files in '" + (t / "mask_in_0") + "', wanted .npy or pictures");
  put(t / "mask_in_0/3.tga", tga(3, 2, 255));
  put(t / "mask_in_0/4.tga", tga(3, 2, 0));
  const std::vector<TensorInfo> image = {kTwo[0], input("mask/in:0", {1, 3, 2, 3})};
  CHECK(opened(t.path(), image) == "a folder an input of .npy and pictures: x/a.npy|1|1 x/b.npy|2|0");
  put(t / "y:0/a.npy", npy({1, 3}, 8)), put(t / "y:0/b.npy", npy({1, 3}, 9));  // by its own name where a folder can have it
  CHECK(opened(t.path(), {kTwo[0], input("y:0", {1, 3})}) == "a folder an input of .npy: x/a.npy|1|8 x/b.npy|2|9");
}

TEST_CASE("a folder of .npz is one sample a file, arrays by name or by position") {
  TempFolder t;
  put(t / "1.npz", zip({stored("x.npy", npy({1, 2}, 1)), deflated("mask/in:0.npy", npy({1, 3}, 5))}));
  put(t / "2.npz", zip({stored("arr_1.npy", npy({1, 3}, 6)), stored("arr_0.npy", npy({1, 2}, 2))}));
  CHECK(opened(t.path(), kTwo) == "folder of .npz: 1.npz|1|5 2.npz|2|6");
  put(t / "3.npz", zip({stored("x.npy", npy({1, 2}))}));
  CHECK(opened(t.path(), kTwo) == "sample '3.npz': '" + (t / "3.npz") + "': has no array 'mask/in:0', found x");
  put(t / "3.npz", zip({stored("x.npy", npy({1, 2})), stored("mask/in:0.npy", npy({1, 4}))}));
  CHECK(opened(t.path(), kTwo) == "sample '3.npz': input 'mask/in:0': found float32 1x4, wanted float32 1x3");
  put(t / "3.npz", zip({stored("x.npy", write_npy(of_type(OPTIMA_F64, {1, 2}))), stored("mask/in:0.npy", npy({1, 3}))}));
  CHECK(opened(t.path(), kTwo) == "sample '3.npz': input 'x': found float64 1x2, wanted float32 1x2");
  put(t / "3.npz", "no zip");
  CHECK(opened(t.path(), kTwo) == "sample '3.npz': '" + (t / "3.npz") + "': is damaged: no end of a zip archive");
  put(t / "3.npz", zip({stored("x.npy", npy({1, 2}).substr(0, 132)), stored("mask/in:0.npy", npy({1, 3}))}));
  CHECK(opened(t.path(), kTwo) == "sample '3.npz': '" + (t / "3.npz") + "' array 'x.npy': is cut off: found 4 bytes of data, wanted 8 for float32 1x2");
  put(t / "3.npz", zip({stored("only.npy", npy({2}, 3))}));
  std::filesystem::remove(t / "1.npz"), std::filesystem::remove(t / "2.npz");
  CHECK(opened(t.path(), kOne) == "folder of .npz: 3.npz|3");
}

TEST_CASE("rows of a stacked array are samples, with or without the input's own batch, stored, deflated or column-major") {
  TempFolder t;
  put(t / "rows.npy", npy({3, 2}, 7)), put(t / "batched.npy", npy({3, 1, 2}, 7));
  CHECK(opened(t / "rows.npy", kOne) == "stacked .npy: rows.npy[0]|7 rows.npy[1]|9 rows.npy[2]|11");
  CHECK(opened(t / "batched.npy", kOne) == "stacked .npy: batched.npy[0]|7 batched.npy[1]|9 batched.npy[2]|11");
  CHECK(opened(t / "rows.npy", kOne, {{}, 2}) == "stacked .npy: rows.npy[0]|7 rows.npy[1]|9");
  CHECK(Samples::open(t / "rows.npy", kOne)->read(2)->at(0).shape == std::vector<int64_t>{1, 2});
  CHECK(opened(t / "rows.npy", {input("x", {2})}) == "stacked .npy: rows.npy[0]|7 rows.npy[1]|9 rows.npy[2]|11");
  CHECK(opened(t / "rows.npy", {input("x", {-1, 2})}) == "stacked .npy: rows.npy[0]|7 rows.npy[1]|9 rows.npy[2]|11");
  std::filesystem::create_directory(t / "folder");
  std::filesystem::rename(t / "batched.npy", t / "folder/batched.npy");
  CHECK(opened(t / "folder", kOne) == "stacked .npy: batched.npy[0]|7 batched.npy[1]|9 batched.npy[2]|11");

  std::string turned = npy({2, 3}, 7);  // columns of 3 x 2
  turned.replace(turned.find("False"), 5, "True ").replace(turned.find("(2, 3)"), 6, "(3, 2)");
  put(t / "turned.npy", turned);
  CHECK(opened(t / "turned.npy", kOne) == "stacked .npy: turned.npy[0]|7 turned.npy[1]|8 turned.npy[2]|9");
  CHECK(Samples::open(t / "turned.npy", kOne)->read(1)->at(0).as<float>()[1] == 11);
  std::string big_endian = npy({2, 2});
  big_endian.replace(big_endian.find("<f4"), 3, ">f4").replace(big_endian.size() - 16, 16, std::string("\x3F\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0", 16));
  put(t / "big.npy", big_endian);
  CHECK(opened(t / "big.npy", kOne) == "stacked .npy: big.npy[0]|1 big.npy[1]|3");

  put(t / "all.npz", zip({stored("x.npy", npy({3, 2}, 7)), deflated("mask/in:0.npy", npy({3, 1, 3}, 1))}));
  CHECK(opened(t / "all.npz", kTwo) == "stacked .npz: all.npz[0]|7|1 all.npz[1]|9|4 all.npz[2]|11|7");
  put(t / "large.npz", zip({deflated("x.npy", npy({6000, 2}))}));  // in one block that is longer than what is looked at first
  CHECK(Samples::open(t / "large.npz", kOne)->read(5999)->at(0).as<float>()[1] == 11999);
}

TEST_CASE("stacked arrays that do not fit, differ in length or are empty are refused by input") {
  TempFolder t;
  put(t / "a.npy", npy({3, 4}));
  CHECK(opened(t / "a.npy", kOne) == "sample 'a.npy[0]': input 'x': found float32 1x4, wanted float32 1x2");
  CHECK(opened(t / "a.npy", {input("x", {5, 4, 1})}) ==
        "'" + (t / "a.npy") + "': input 'x': found an array of float32 3x4, wanted samples along its first dim, each float32 5x4x1");
  CHECK(opened(t / "a.npy", kTwo) == "'" + (t / "a.npy") + "': is an array for one input, found a model of 'x', 'mask/in:0', wanted a .npz");
  put(t / "none.npy", npy({0, 2}));
  CHECK(opened(t / "none.npy", kOne) == "'" + (t / "none.npy") + "' (stacked .npy) holds no sample, wanted one at least");
  put(t / "b.npz", zip({stored("x.npy", npy({3, 2})), stored("mask/in:0.npy", npy({2, 3}))}));
  CHECK(opened(t / "b.npz", kTwo) == "'" + (t / "b.npz") + "': input 'mask/in:0': found 2 samples, wanted 3 as input 'x' has");
  std::string bad = zip({stored("x.npy", npy({3, 2}))});
  bad[bad.size() - 120] ^= 1;
  put(t / "crc.npz", bad);
  CHECK(opened(t / "crc.npz", kOne).find("sample 'crc.npz[0]': '" + (t / "crc.npz") + "' array 'x.npy': is damaged: member 'x.npy' has a wrong checksum") == 0);
  std::string endless = npy({3, 2});
  endless.replace(endless.find("(3, 2), "), 8, "(9" + std::string(13, '9') + ", 0)").erase(endless.find('\n') - 7, 7);
  put(t / "endless.npy", endless);
  CHECK(opened(t / "endless.npy", {input("x", {1, 0})}).find("found an array of float32") != std::string::npos);
}

TEST_CASE("a stacked array may be read by many threads at once") {
  TempFolder t;
  put(t / "all.npz", zip({deflated("x.npy", npy({64, 2}))}));
  const Samples samples = *Samples::open(t / "all.npz", kOne);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (uint64_t s = 0; s < 64; ++s) right += samples.read(s)->at(0).as<float>()[1] == static_cast<float>(2 * s + 1);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 256);
}

TEST_CASE("pictures become samples with the options of run, also in folders of classes") {
  TempFolder t;
  put(t / "cat/2.tga", tga(4, 4, 255)), put(t / "cat/10.tga", tga(8, 6, 0)), put(t / "dog/1.tga", tga(4, 4, 255)), put(t / "dog/readme", "x");
  const std::vector<TensorInfo> image = {input("image", {1, 3, 4, 4})};
  CHECK(opened(t.path(), image) == "folder of pictures: cat/2.tga|1 cat/10.tga|0 dog/1.tga|1");
  SampleOptions options;
  options.pictures[""].mean = {-1};
  CHECK(opened(t.path(), image, options) == "folder of pictures: cat/2.tga|2 cat/10.tga|1 dog/1.tga|2");
  options.pictures["image"].mean = {-4};
  CHECK(opened(t.path(), image, options) == "folder of pictures: cat/2.tga|5 cat/10.tga|4 dog/1.tga|5");
  options.pictures["image"].crop = "5";
  CHECK(opened(t.path(), {input("image", {1, 3, 5, 5})}, options) == "folder of pictures: cat/2.tga|5 cat/10.tga|4 dog/1.tga|5");
  options.pictures["image"].resize = "4x4";
  CHECK(opened(t.path(), image, options) == "sample 'cat/2.tga': found --crop 5x5 of a picture of 4x4, wanted a smaller one");
  put(t / "dog/1.tga", "none");
  CHECK(opened(t.path(), image).find("sample 'dog/1.tga': '" + (t / "dog/1.tga") + "': is no picture that can be read") == 0);
  CHECK(opened(t.path(), kOne) == "sample 'cat/2.tga': input 'x' of shape 1x2 holds no picture, wanted 1xCxHxW or 1xHxWxC");
}

TEST_CASE("options of pictures are refused where no picture is, and for inputs that there are not") {
  TempFolder t;
  put(t / "a.npy", npy({1, 2}));
  SampleOptions options;
  options.pictures[""].crop = "4";
  CHECK(opened(t.path(), kOne, options) == "options of pictures are given, but the data is a folder of .npy, found no picture in it");
  options.pictures = {{"xx", {}}};
  CHECK(opened(t.path(), kOne, options) == "options of pictures for 'xx' (nearest: 'x'), wanted one of x");
}

TEST_CASE("a BinDataset is raw float32, as many samples as the file has room for, by itself or in its folder") {
  TempFolder t;
  put(t / "weights/tune_input.bin", raw({1, 2, 3, 4})), put(t / "weights/test_input.bin", "x"), put(t / "weights/tune_labels.bin", "1234");
  CHECK(opened(t / "weights", kOne) == "BinDataset: tune_input.bin[0]|1 tune_input.bin[1]|3");
  CHECK(opened(t / "weights/tune_input.bin", {input("x", {-1, 2})}) == "BinDataset: tune_input.bin[0]|1 tune_input.bin[1]|3");
  CHECK(opened(t / "weights/tune_input.bin", {input("x", {1, 3})}) == "'" + (t / "weights/tune_input.bin") + "': input 'x': found 16 bytes, wanted a multiple of 12 (float32 1x3)");
  CHECK(opened(t / "weights/tune_input.bin", {input("x", {1, -1})}) ==
        "'" + (t / "weights/tune_input.bin") + "': raw float32 for input 'x' of shape 1x?, wanted a model of fixed sizes (--shape)");
  CHECK(opened(t / "weights", kTwo) == "'" + (t / "weights/tune_input.bin") + "': is a BinDataset, of one input, found a model of 'x', 'mask/in:0'");
}

TEST_CASE("sizes that the model leaves open are each sample's own, but the same wherever they are called the same") {
  TempFolder t;
  const std::vector<TensorInfo> open = {input("ids", {1, -1}, OPTIMA_F32, {"", "seq"}), input("mask", {1, -1}, OPTIMA_F32, {"", "seq"})};
  put(t / "ids/1.npy", npy({1, 4})), put(t / "ids/2.npy", npy({1, 7}));
  put(t / "mask/1.npy", npy({1, 4})), put(t / "mask/2.npy", npy({1, 7}));
  const Result<Samples> samples = Samples::open(t.path(), open);
  REQUIRE_MESSAGE(samples.ok(), samples.status().message());
  CHECK(*samples->shapes(0) == std::vector<std::vector<int64_t>>{{1, 4}, {1, 4}});
  CHECK(*samples->shapes(1) == std::vector<std::vector<int64_t>>{{1, 7}, {1, 7}});
  put(t / "mask/2.npy", npy({1, 6}));
  CHECK(opened(t.path(), open) == "sample 'ids/2.npy': input 'mask': found 1x6, wanted dim 1 to be 7, as 'seq' is in input 'ids'");
}

TEST_CASE("types that NumPy lacks are read from what holds them") {
  TempFolder t;
  Tensor bfloats = of_type(OPTIMA_BF16, {1, 2});
  bfloats.as<uint16_t>()[0] = bfloat_of(6);
  put(t / "a.npy", write_npy(bfloats));
  CHECK(opened(t.path(), {input("x", {1, 2}, OPTIMA_BF16)}) == "folder of .npy: a.npy|6");
}

TEST_CASE("the hash is of names and contents, whatever the folder is called") {
  TempFolder a, b;
  for (const TempFolder* t : {&a, &b}) put(*t / "1.npy", npy({1, 2})), put(*t / "2.npy", npy({1, 2}, 5));
  const std::string first = *Samples::open(a.path(), kOne)->hash();
  CHECK(first.size() == 64);
  CHECK(*Samples::open(b.path(), kOne)->hash() == first);
  put(b / "2.npy", npy({1, 2}, 6));
  CHECK(*Samples::open(b.path(), kOne)->hash() != first);
  put(b / "2.npy", npy({1, 2}, 5));
  std::filesystem::rename(b / "2.npy", b / "3.npy");
  CHECK(*Samples::open(b.path(), kOne)->hash() != first);
}

TEST_CASE("what is no form of data is refused with the forms that there are") {
  TempFolder t;
  const std::string forms = "wanted a folder of samples, a list of files (.txt), a stacked .npy or .npz, or a .bin (docs/quantization.md#data)";
  CHECK(opened(t / "none", kOne) == "no such file or folder '" + (t / "none") + "', " + forms);
  CHECK(opened(t.path(), kOne) ==
        "folder '" + t.path() + "' holds no sample: found 0 files and 0 folders, wanted <input>/*.npy, <input>/*.jpg, *.npz, or for one input *.npy or pictures");
  put(t / "a.md", "x");
  CHECK(opened(t / "a.md", kOne) == "'" + (t / "a.md") + "' is of no form that is read, " + forms);
  ::mkfifo((t / "pipe.npy").c_str(), 0600);
  CHECK(opened(t / "pipe.npy", kOne) == "'" + (t / "pipe.npy") + "' is no file and no folder, " + forms);
  put(t / "b.npy", npy({1, 2})), put(t / "c.npz", "x");
  CHECK(opened(t.path(), kOne) == "folder '" + t.path() + "': found .npy and .npz ('c.npz'), wanted one kind");
  CHECK(opened(t.path(), {}) == "the model has no inputs, so there is nothing that samples could be of");
}

TEST_CASE("a file that shrinks or goes away after it was opened is the error of its sample") {
  TempFolder t;
  put(t / "1.npy", npy({1, 2})), put(t / "2.npy", npy({1, 2}));
  const Samples samples = *Samples::open(t.path(), kOne);
  std::filesystem::remove(t / "2.npy");
  CHECK(samples.read(0).ok());
  CHECK(samples.read(1).status().message().find("sample '2.npy': ") == 0);
  put(t / "1.npy", npy({1, 3}));
  CHECK(samples.read(0).status().message() == "sample '1.npy': input 'x': found float32 1x3, wanted float32 1x2");
  put(t / "rows.npz", zip({stored("x.npy", npy({3000, 2}))}));
  const Samples rows = *Samples::open(t / "rows.npz", kOne);
  std::filesystem::resize_file(t / "rows.npz", 100);
  CHECK(rows.read(2999).status().message().find("array 'x.npy': was cut off after it was opened: found 100 bytes, wanted 24") != std::string::npos);
}
