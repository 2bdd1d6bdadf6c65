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
  put(s.folder + "/model.meta", "{\"format\": 4, \"everything\": \"else is new\"}");
  CHECK(s.open().kind() == StatusKind::InvalidInput);
  CHECK(s.open().message() == "'" + s.folder + "/model.meta': found package format 4, wanted 3 or older: a newer optima made it");
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
  check("\"format\": 1", "\"format\": 0", ".format: found 0, wanted 1 to 3");
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
    p.variants[0].shapes["in" + std::to_string(i)] = {1, 2};
  }
  const auto committed = writer->commit(std::move(p));
  REQUIRE_MESSAGE(committed.ok(), committed.status().message());
  CHECK(committed->options.at("fake.99999") == "v");
  CHECK(committed->variants[0].shapes.at("in99999") == std::vector<int64_t>{1, 2});
}
