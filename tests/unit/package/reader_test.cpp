// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/forged_meta.hpp"
#include "tests/unit/package/sample.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

struct Sample {
  TempFolder t;
  std::string folder = t / "out/m";
  PackageOptions options{false, t / "cache"};
  Package package = write_sample(t / "out");
  Status open() const { return PackageReader::open(folder, options).status(); }
};

std::vector<std::pair<std::string, Blob>> in_memory(const std::string& folder) {
  std::vector<std::pair<std::string, Blob>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) {
      const std::string bytes = get(entry.path().string());
      files.emplace_back(fs::relative(entry.path(), folder).string(), Blob::copy(bytes.data(), bytes.size()));
    }
  return files;
}

}  // namespace

TEST_CASE("a package opens from a folder, a descriptor and memory alike") {
  Sample s;
  CHECK(s.open().ok());
  const int fd = open(s.folder.c_str(), O_RDONLY | O_DIRECTORY);
  const auto by_fd = PackageReader::open(fd, s.options);
  close(fd);
  REQUIRE_MESSAGE(by_fd.ok(), by_fd.status().message());
  const auto by_memory = PackageReader::open(in_memory(s.folder), s.options);
  REQUIRE_MESSAGE(by_memory.ok(), by_memory.status().message());
  CHECK(by_fd->package().hash == s.package.hash);
  CHECK(by_memory->package().hash == s.package.hash);
  CHECK(by_memory->package().folder.empty());
  CHECK(by_memory->artifact(0, "kernels/a.so").ok());
}

TEST_CASE("a weight in memory that is not aligned is handed out aligned") {
  Sample s;
  auto files = in_memory(s.folder);
  for (auto& [name, bytes] : files)
    if (name.find("weights/") == 0) {
      const std::string shifted = "x" + kWeightBytes;
      bytes = slice(Blob::copy(shifted.data(), shifted.size()), 1, kWeightBytes.size());
    }
  const auto reader = PackageReader::open(files, s.options);
  REQUIRE(reader.ok());
  const auto weight = reader->weight(reader->package().weights.begin()->first);
  REQUIRE(weight.ok());
  CHECK(reinterpret_cast<uintptr_t>(weight->data) % 64 == 0);
}

TEST_CASE("what is no package is said so") {
  TempFolder t;
  put(t / "file", "x");
  fs::create_directories(t / "empty");
  CHECK(PackageReader::open(t / "none").status().message() == "cannot open package '" + (t / "none") + "': No such file or directory");
  CHECK(PackageReader::open(t / "file").status().message() == "'" + (t / "file") + "' is not a folder, wanted a package");
  CHECK(PackageReader::open(t / "empty").status().message() == "'" + (t / "empty") + "' is not a package: it has no model.meta");
  CHECK(PackageReader::open(t / "none").status().kind() == StatusKind::InvalidInput);
}

TEST_CASE("a newer format is refused with both numbers, before anything else is judged") {
  Sample s;
  put(s.folder + "/model.meta", "{\"format\": 6, \"everything\": \"else is new\"}");
  CHECK(s.open().kind() == StatusKind::InvalidInput);
  CHECK(s.open().message() == "'" + s.folder + "/model.meta': found package format 6, wanted 5 or older: a newer optima made it");
}

TEST_CASE("a flipped byte in model.meta is found") {
  Sample s;
  put(s.folder + "/model.meta", replaced(get(s.folder + "/model.meta"), "znver4", "znver5"));
  CHECK(s.open().message().find("the file was changed or damaged") != std::string::npos);
}

TEST_CASE("a flipped byte, a cut and a missing artifact file are found and named") {
  Sample s;
  const std::string path = s.folder + "/Subgraph_1/kernels/a.so";
  put(path, "cOde");
  CHECK(s.open().message() == "'" + path + "': found sha256 " + to_hex(sha256("cOde", 4)) + ", wanted " + to_hex(sha256("code", 4)) +
                                  ": the file was changed or damaged");
  put(path, "cod");
  CHECK(s.open().message() == "'" + path + "': found 3 bytes, wanted 4");
  fs::remove(path);
  CHECK(s.open().message() == "cannot open '" + path + "': No such file or directory");
}

TEST_CASE("a changed weight is found on first sight, after a change, and with verify") {
  Sample s;
  const std::string path = s.folder + "/" + weight_path(s.package.weights.begin()->first);
  SUBCASE("first sight") {
    put(path, std::string(1000, 'x'));
    CHECK(s.open().message().find("'" + path + "': found sha256 ") == 0);
  }
  SUBCASE("after a change") {
    REQUIRE(s.open().ok());
    put(path, std::string(1000, 'x'));
    CHECK(s.open().message().find("'" + path + "': found sha256 ") == 0);
  }
  SUBCASE("with verify, even when the stamp was seen") {
    REQUIRE(s.open().ok());
    put(path, std::string(1000, 'x'));
    // A record that claims to have seen the damaged file.
    const std::string record = s.t / ("cache/weights/" + s.package.hash);
    put(record, s.package.weights.begin()->first + " forged\n");
    s.options.verify = true;
    CHECK(s.open().message().find("'" + path + "': found sha256 ") == 0);
  }
  SUBCASE("by size at once") {
    REQUIRE(s.open().ok());
    fs::resize_file(path, 999);
    CHECK(s.open().message() == "'" + path + "': found 999 bytes, wanted 1000");
  }
}

TEST_CASE("weights seen before are not hashed again") {
  Sample s;
  REQUIRE(s.open().ok());
  const std::string record = s.t / ("cache/weights/" + s.package.hash);
  const std::string before = get(record);
  CHECK(before.find(s.package.weights.begin()->first) == 0);
  CHECK(s.open().ok());
  CHECK(get(record) == before);
}

TEST_CASE("a damaged record of seen weights only costs a full check") {
  Sample s;
  put(s.t / ("cache/weights/" + s.package.hash), std::string("\0garbage", 8) + std::string(300, 'z'));
  CHECK(s.open().ok());
}

TEST_CASE("file names that leave the package are refused before anything is opened") {
  Sample s;
  put(s.t / "out/secret", "code");
  for (const std::string bad : {"../../secret", "/etc/passwd", "kernels/../../../secret", "./a.so", "kernels//a.so", "kernels\\\\a.so"}) {
    put(s.folder + "/model.meta", forged(s.folder, "\"kernels/a.so\"", "\"" + bad + "\""));
    CHECK_MESSAGE(s.open().kind() == StatusKind::InvalidInput, bad);
    const std::string message = s.open().message();
    CHECK_MESSAGE((message.find("leaves the package") != std::string::npos || message.find("not allowed") != std::string::npos), message);
    put(s.folder + "/model.meta", forged(s.folder, "\"" + bad + "\"", "\"kernels/a.so\""));
  }
}

TEST_CASE("symbolic links below the package are not followed") {
  Sample s;
  put(s.t / "elsewhere/a.so", "code");
  SUBCASE("a file") {
    fs::remove(s.folder + "/Subgraph_0/kernels/a.so");
    fs::create_symlink(s.t / "elsewhere/a.so", s.folder + "/Subgraph_0/kernels/a.so");
    CHECK(s.open().message() == "'" + s.folder + "/Subgraph_0/kernels/a.so' is a symbolic link, wanted a regular file");
  }
  SUBCASE("a folder") {
    fs::remove_all(s.folder + "/Subgraph_0/kernels");
    fs::create_symlink(s.t / "elsewhere", s.folder + "/Subgraph_0/kernels");
    CHECK(s.open().kind() == StatusKind::InvalidInput);
  }
}

TEST_CASE("a pipe or a folder in place of a file is refused and does not hang") {
  Sample s;
  const std::string path = s.folder + "/Subgraph_0/kernels/a.so";
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(s.open().message() == "'" + path + "' is not a regular file");
}

TEST_CASE("absurd numbers in model.meta are refused with their place") {
  Sample s;
  const std::string what = "'" + s.folder + "/model.meta'";
  const auto check = [&](const std::string& from, const std::string& to, const std::string& message) {
    const std::string good = get(s.folder + "/model.meta");
    put(s.folder + "/model.meta", forged(s.folder, from, to));
    CHECK(s.open().message() == what + message);
    put(s.folder + "/model.meta", good);
  };
  check("\"size\": 6", "\"size\": -6", ".variants[0].subgraphs[0].files[0].size: found size -6, wanted 0 to 70368744177664");
  check("\"index\": 1", "\"index\": 7", ".variants[0].subgraphs[1].index: found 7, wanted 1");
  check("\"slot\": 0", "\"slot\": 4294967296", ".variants[0].subgraphs[0].target.slot: found 4294967296, wanted 0 to 4294967295");
  check("\"format\": 1", "\"format\": 0", ".format: found 0, wanted 1 to 5");
  check("\"format\": 1", "\"format\": \"1\"", ".format: found string, wanted an integer");
  check("\"shape\": [\n        4\n      ]", "\"shape\": [\n        4611686018427387904, 8\n      ]",
        ".tensors.cut.shape: a tensor of shape 4611686018427387904x8 is absurdly large");
  check("\"record\": \"00abff\"", "\"record\": \"0\"",
        ".variants[0].subgraphs[0].compat.record: wanted pairs of lower-case hexadecimal digits, at most 65536 bytes");
}

TEST_CASE("tensors read before they are written, written twice, or never written are refused") {
  Sample s;
  const std::string good = get(s.folder + "/model.meta");
  const auto message = [&](const std::string& from, const std::string& to) {
    put(s.folder + "/model.meta", forged(s.folder, from, to));
    const std::string out = s.open().message();
    put(s.folder + "/model.meta", good);
    return out.substr(out.find("model.meta'") + 11);
  };
  const std::string in_of_0 = "\"inputs\": [\n            \"in\"\n          ]", in_of_1 = "\"inputs\": [\n            \"cut\"\n          ]";
  CHECK(message(in_of_0, "\"inputs\": [\n            \"cut\"\n          ]") == ".variants[0].subgraphs[0]: input 'cut' is not written before it is read");
  CHECK(message("\"outputs\": [\n            \"out\"\n          ]", "\"outputs\": [\n            \"cut\"\n          ]") ==
        ".variants[0].subgraphs[1]: tensor 'cut' is written twice");
  CHECK(message("\"outputs\": [\n            \"out\"\n          ]", "\"outputs\": []") == ".variants[0]: output 'out' of the model is never written");
  CHECK(message("\"output\": \"in\",\n          \"input\": \"in\"", "\"output\": \"in\",\n          \"input\": \"no\"") ==
        ".variants[0].pass_through: 'no' is not an input of the model");
}

TEST_CASE("a door is read as it was written, in a package of format 3") {
  Sample s;
  PackageTensor& cut = s.package.tensors[0];
  REQUIRE(cut.name == "cut");
  cut.door.dtype = OPTIMA_I8, cut.door.layout = "N2n", cut.door.shape = {2, 2}, cut.door.scales = {0.1F}, cut.door.zero_points = {-7};
  s.package.variants[0].main = 2;
  const std::string meta = write_meta(s.package);
  CHECK(meta.find("\"format\": 3") != std::string::npos);
  const Result<Package> back = read_meta(meta, "m");
  REQUIRE_MESSAGE(back.ok(), back.status().message());
  CHECK(back->find_tensor("cut")->door == cut.door);
  CHECK(back->find_tensor("cut")->shape == std::vector<int64_t>{4});
  CHECK(back->find_tensor("out")->door.is_usual());
  CHECK(write_meta(*back) == meta);
}

TEST_CASE("doors that cannot be, and those of inputs and outputs, are refused with their place") {
  Sample s;
  const std::string good = get(s.folder + "/model.meta");
  const auto message = [&](const std::string& attr, const std::string& door) {
    put(s.folder + "/model.meta", forged(s.folder, "\"attr\": \"" + attr + "\"", "\"attr\": \"" + attr + "\", \"door\": " + door));
    const std::string out = s.open().message();
    put(s.folder + "/model.meta", good);
    return out.empty() ? out : out.substr(out.find("model.meta'") + 11);
  };
  const std::string fine = R"({"dtype": "int8", "shape": [4], "scales": [1]})";
  CHECK(message("intermediate", fine).empty());
  CHECK(message("output", fine) == ".tensors.out.door: found one of an output, wanted none");
  CHECK(message("input", fine) == ".tensors.in.door: found one of an input, wanted none");
  CHECK(message("intermediate", "7") == ".tensors.cut.door: found number, wanted an object");
  CHECK(message("intermediate", R"({"dtype": "float32", "shape": [4]})") == ".tensors.cut.door: the door is the usual one, wanted another");
  CHECK(message("intermediate", R"({"dtype": "int8", "shape": [1000000000000000]})") == ".tensors.cut.door: the door stores more than 140737488355328 bytes");
  CHECK(message("intermediate", R"({"dtype": "int8", "shape": [4], "scales": [1, 2], "scale_axis": 0})") ==
        ".tensors.cut.door: the door has 2 scales, wanted 0, 1 or 4 (dim 0 of the tensor)");
}

TEST_CASE("members of a later optima are ignored") {
  Sample s;
  put(s.folder + "/model.meta", forged(s.folder, "\"options\": {", "\"mood\": [1, {\"x\": null}],\n  \"options\": {"));
  CHECK(s.open().ok());
}

TEST_CASE("another file of the package is checked when it is read, and all of them with verify") {
  Sample s;
  put(s.folder + "/placement.json", "[]\n");
  const auto reader = PackageReader::open(s.folder, s.options);
  REQUIRE(reader.ok());
  CHECK(reader->file("placement.json").status().message().find("the file was changed or damaged") != std::string::npos);
  CHECK(reader->file("self_test/input_0.npy").ok());
  CHECK(reader->file("nothing").status().message() == "the package has no file 'nothing'");
  s.options.verify = true;
  CHECK(s.open().kind() == StatusKind::InvalidInput);
}

namespace {

/// The sample with sizes of its input's last dim.
struct BoundedSample : Sample {
  BoundedSample() {
    auto writer = PackageWriter::create({t / "out", "m", true});
    REQUIRE(writer.ok());
    Package p = fill(*writer);
    p.sizes = {{"width", *parse_size_range("32..960:32@320")}};
    p.variants[0].main = 2;
    auto made = writer->commit(std::move(p));
    REQUIRE_MESSAGE(made.ok(), made.status().message());
    package = *made;
  }
};

}  // namespace

TEST_CASE("bounds of open sizes are written and read, and make the package one of format 4; without any nothing of them is written") {
  const BoundedSample bounded;
  const std::string text = get(bounded.folder + "/model.meta");
  CHECK(text.find("\"format\": 4,") != std::string::npos);
  CHECK(text.find("\"sizes\": {\n    \"width\": {\n      \"min\": 32,\n      \"max\": 960,\n      \"step\": 32,\n      \"opt\": 320\n    }\n  }") != std::string::npos);
  const auto reader = PackageReader::open(bounded.folder, bounded.options);
  REQUIRE_MESSAGE(reader.ok(), reader.status().message());
  CHECK(reader->package().sizes == SizeRanges{{"width", *parse_size_range("32..960:32@320")}});
  const Sample plain;
  CHECK(get(plain.folder + "/model.meta").find("\"format\": 1,") != std::string::npos);
  CHECK(get(plain.folder + "/model.meta").find("\"sizes\"") == std::string::npos);
}

TEST_CASE("lists of sizes are written and read") {
  Package p = Sample().package;
  p.sizes = {{"width", *parse_size_range("4,1,8")}};
  const Result<Package> read = read_meta(write_meta(p), "meta");
  REQUIRE_MESSAGE(read.ok(), read.status().message());
  CHECK(read->sizes == p.sizes);
}

TEST_CASE("damaged bounds of sizes are one sentence each") {
  const BoundedSample s;
  const auto said = [&](const std::string& from, const std::string& to) {
    const Status status = read_meta(forged(s.folder, from, to), "meta").status();
    CHECK(status.kind() == StatusKind::InvalidInput);
    return status.message();
  };
  CHECK(said("\"min\": 32", "\"min\": 992") == "meta.sizes.width: found sizes from 992 to 960, wanted a least and a largest one from 0 to 2147483647");
  CHECK(said("\"min\": 32", "\"min\": -32") == "meta.sizes.width: found sizes from -32 to 960, wanted a least and a largest one from 0 to 2147483647");
  CHECK(said("\"max\": 960", "\"max\": 9223372036854775807").find("found sizes from 32 to 9223372036854775807, wanted") != std::string::npos);
  CHECK(said("\"step\": 32", "\"step\": 0") == "meta.sizes.width: found steps of 0, wanted 1 or more");
  CHECK(said("\"step\": 32", "\"step\": 31") == "meta.sizes.width: found steps of 31 from 32, which miss the largest size 960, wanted steps that reach it");
  CHECK(said("\"opt\": 320", "\"opt\": 321") == "meta.sizes.width: found 321 as the size that matters most, wanted 32 to 960 in steps of 32");
  CHECK(said("\"opt\": 320", "\"opt\": -1") == "meta.sizes.width.opt: found -1, wanted 0 or more");
  CHECK(said("\"width\": {", "\"depth\": {") == "meta.sizes.depth: no input has a dim 'depth', wanted the name of one");
  CHECK(said("\"min\": 32", "\"values\": []") == "meta.sizes.width.values: is empty, wanted at least one size");
  CHECK(said("\"min\": 32", "\"values\": [8, 4]") == "meta.sizes.width: found sizes from 8 to 4, wanted a least and a largest one from 0 to 2147483647");
  CHECK(said("\"min\": 32", "\"values\": [4, 4]") == "meta.sizes.width: found a list of 2 sizes, wanted 1 to 256 ascending ones, each once");
}

TEST_CASE("texts are written and read, and make the package one of format 5; damaged ones are one sentence each") {
  const Sample s;
  Package p = s.package;
  p.tensors[1].dtype = OPTIMA_I64;
  REQUIRE(p.tensors[1].name == "in");
  p.texts = {{"in", {"low", "größer", ""}}};
  const std::string meta = write_meta(p);
  CHECK(meta.find("\"format\": 5,") != std::string::npos);
  const Result<Package> read = read_meta(meta, "meta");
  REQUIRE_MESSAGE(read.ok(), read.status().message());
  CHECK(read->texts == p.texts);
  const auto said = [&](const TextTables& texts, int32_t dtype) {
    Package damaged = p;
    damaged.tensors[1].dtype = dtype;
    damaged.texts = texts;
    const Status status = read_meta(write_meta(damaged), "meta").status();
    CHECK(status.kind() == StatusKind::InvalidInput);
    return status.message();
  };
  CHECK(said({{"in", {"a", "b", "a"}}}, OPTIMA_I64) == "meta.texts.in: found text 'a' twice, wanted each once");
  CHECK(said({{"in", {"a"}}}, OPTIMA_F32) == "meta.texts.in: tensor 'in' is float32, wanted int64 of codes");
  CHECK(said({{"cut", {"a"}}}, OPTIMA_I64) == "meta.texts: there is no input or output 'cut', wanted the name of one");
  CHECK(said({{"in", {std::string("a\0b", 3)}}}, OPTIMA_I64) == "meta.texts.in: found text 'a\\x00b', wanted UTF-8 without NUL");
}

TEST_CASE("a variant for certain shapes only is refused: no reader looks at shapes when it takes a variant") {
  const Sample s;
  const Status status = read_meta(forged(s.folder, "\"shapes\": {}", "\"shapes\": {\"in\": [1, 3, 32]}"), "meta").status();
  CHECK(status.message() == "meta.variants[0].shapes: found a variant for certain shapes of the inputs, wanted none");
}

TEST_CASE("mutated model.meta texts never crash the reader") {
  Sample s;
  const std::string good = get(s.folder + "/model.meta");
  uint64_t random = 88172645463325252ull;
  const auto next = [&](uint64_t below) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return random % below;
  };
  static constexpr const char* kSplices[] = {"null", "[]", "{}", "-1", "1e999", "\"\\u0000\"", "[[[[", "18446744073709551615", "\"in\"", ","};
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (uint64_t edits = 1 + next(3); edits; --edits) {
      const size_t at = next(text.size());
      switch (next(4)) {
        case 0: text[at] = static_cast<char>(next(256)); break;
        case 1: text.erase(at, 1 + next(40)); break;
        case 2: text.insert(at, kSplices[next(std::size(kSplices))]); break;
        default: text.insert(at, text.substr(next(text.size()), next(60)));
      }
    }
    text = with_own_hash(std::move(text));
    const auto package = read_meta(text, "x");
    refused += !package.ok();
    if (!package.ok()) CHECK(package.status().kind() == StatusKind::InvalidInput);
  }
  CHECK(refused > 2000);
}

TEST_CASE("tables of very many members are written and read without searching them for each") {
  TempFolder t;
  auto writer = PackageWriter::create({t / "out", "m"});
  REQUIRE(writer.ok());
  Package p = fill(*writer);
  for (int i = 0; i < 100000; ++i) {  // minutes otherwise
    p.options["fake." + std::to_string(i)] = "v";
  }
  const auto committed = writer->commit(std::move(p));
  REQUIRE_MESSAGE(committed.ok(), committed.status().message());
  CHECK(committed->options.at("fake.99999") == "v");
}
