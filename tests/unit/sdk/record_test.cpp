// SPDX-License-Identifier: Apache-2.0
// sdk: records of an artifact's files, whole and hostile, and JSON files read member by member.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "optima/plugin/meta_json.hpp"
#include "optima/plugin/record.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/failure.hpp"

using namespace optima;
using test::failure;
using Json = nlohmann::ordered_json;

namespace {

std::pair<int32_t, std::string> corrupt(std::string text) { return {OPTIMA_CORRUPT, std::move(text)}; }

/// A record of a chip, read back.
struct Read {
  std::string chip, mode;
  std::vector<sdk::RecordedFile> files;
  explicit Read(std::string_view text) : files(sdk::read_record(text, {{"chip", &chip}, {"mode", &mode}})) {}
};
std::pair<int32_t, std::string> reading(const std::string& text) {
  return failure([&] { Read{text}; });
}

/// An artifact of one file.
struct Sample {
  seam::MemorySink sink;
  Sample() { sink.files["subgraph_0.bin"] = "bytes of it", sink.format = "acme.bin/1"; }
  std::pair<int32_t, std::string> verify(const sdk::RecordedFile& file) const {
    const seam::Artifact artifact(sink, nullptr);
    return failure([&] { sdk::verify_file(sdk::Artifact(&artifact.raw), file); });
  }
};

}  // namespace

TEST_CASE("a record is read as it was written, and fields that nobody asks for are passed over") {
  const std::string text = sdk::write_record({{"chip", "a=b c"}, {"mode", ""}, {"later", "x"}}, {sdk::record_bytes("*.bin", "bytes"), {"a name", 7, 255}});
  CHECK(text.find("chip=a=b c\nmode=\nlater=x\nfile=5 ") == 0);
  CHECK(text.find("file=7 00000000000000ff a name\n") != text.npos);
  const Read r(text);
  CHECK(r.chip == "a=b c");
  CHECK(r.mode.empty());
  REQUIRE(r.files.size() == 2);
  CHECK(r.files[0].name == "*.bin");
  CHECK(r.files[0].sum == sdk::checksum_of("bytes").value());
  CHECK(r.files[1].name == "a name");
  CHECK(r.files[1].size == 7);
  CHECK(r.files[1].sum == 255);
}

TEST_CASE("a record that is not whole is told by what is wrong in it") {
  const std::string good = "chip=x\nmode=\n";
  CHECK(reading(good).first == OPTIMA_OK);
  CHECK(reading("") == corrupt("compat record has no 'chip'"));
  CHECK(reading("chip=x\n") == corrupt("compat record has no 'mode'"));
  CHECK(reading("chip=x\nmode=") == corrupt("compat record is truncated"));
  CHECK(reading("chi\x01p\n") == corrupt("compat record has 'chi?p', wanted key=value"));
  CHECK(reading(good + "file=7\n") == corrupt("compat record has a file '7', wanted size, sum and name"));
  CHECK(reading(good + "file=x 0 a\n") == corrupt("compat record has 'x', wanted a number"));
  CHECK(reading(good + "file=-1 0 a\n") == corrupt("compat record has '-1', wanted a number"));
  CHECK(reading(good + "file=1 10000000000000000 a\n") == corrupt("compat record has '10000000000000000', wanted a number"));
  for (const std::string name : {"", ".", "..", "a/b", "../a", "a\x1f"})
    CHECK(reading(good + "file=1 0 " + name + "\n") == corrupt("compat record has file " + sdk::shown(name) + ", wanted a file name"));
  CHECK(reading(good + "file=1 0 " + std::string(256, 'a') + "\n").first == OPTIMA_CORRUPT);
  CHECK(reading(good + "file=1 0 " + std::string(255, 'a') + "\n").first == OPTIMA_OK);
}

TEST_CASE("a file is recorded from its path as from its bytes") {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/f";
  std::ofstream(path) << "bytes";
  CHECK(sdk::record_file("f", path).sum == sdk::record_bytes("f", "bytes").sum);
  CHECK(sdk::record_file("f", path).size == 5);
  CHECK(failure([&] { sdk::record_file("f", path + "x"); }).first == OPTIMA_IO);
}

TEST_CASE("a file that is missing, cut or changed is found, and one without bytes is not judged") {
  const Sample s;
  const sdk::RecordedFile good = sdk::record_bytes("subgraph_0.bin", "bytes of it");
  CHECK(s.verify(good).first == OPTIMA_OK);
  CHECK(s.verify({"other", 1, 1}) == corrupt("file 'other' is missing"));
  CHECK(s.verify({good.name, 7, good.sum}) == corrupt("file 'subgraph_0.bin' has 11 bytes, wanted 7"));
  CHECK(s.verify({good.name, good.size, 1}) == corrupt("file 'subgraph_0.bin' is damaged: its sum is " + sdk::sum_text(good.sum) + ", wanted 0000000000000001"));
  optima_blob bare = seam::blob_of(nullptr, 11, 1);
  bare.fd = -1;
  const optima_named_blob named{sizeof named, 0, seam::str(good.name), &bare};
  optima_artifact raw{};
  raw.struct_size = sizeof raw, raw.files = &named, raw.file_count = 1;
  CHECK_FALSE(sdk::verify_file(sdk::Artifact(&raw), {good.name, good.size, 1}));
}

TEST_CASE("a star at the beginning of a name is the artifact's stem, elsewhere it is a star") {
  const Sample s;
  const seam::Artifact artifact(s.sink, nullptr);
  const sdk::Artifact a(&artifact.raw);
  std::string name = "*.bin", other = "a*", none;
  sdk::name_stem(name, a), sdk::name_stem(other, a), sdk::name_stem(none, a);
  CHECK(name == std::string(a.stem()) + ".bin");
  CHECK(other == "a*");
  CHECK(none.empty());
  CHECK(sdk::has_file({{"a", 0, 0}}, "a"));
  CHECK_FALSE(sdk::has_file({{"a", 0, 0}}, "b"));
  CHECK(failure([&] { sdk::require_format(a, "acme.bin/2"); }) ==
        std::pair<int32_t, std::string>(OPTIMA_RECOMPILE, "artifact has format 'acme.bin/1', wanted acme.bin/2"));
  CHECK(failure([&] { sdk::require_format(a, "acme.bin/1"); }).first == OPTIMA_OK);
}

TEST_CASE("what load() would throw is what check_artifact() says, and errors of another sort pass") {
  const auto said = [](int32_t code) {
    return sdk::compatibility_of([&] {
             if (code != OPTIMA_OK) throw sdk::Error(code, "why");
           }).verdict;
  };
  CHECK(said(OPTIMA_OK) == OPTIMA_COMPAT_OPTIMAL);
  CHECK(said(OPTIMA_RECOMPILE) == OPTIMA_COMPAT_RECOMPILE);
  CHECK(said(OPTIMA_CORRUPT) == OPTIMA_COMPAT_CORRUPT);
  CHECK(said(OPTIMA_WRONG_DEVICE) == OPTIMA_COMPAT_WRONG_DEVICE);
  CHECK(failure([&] { said(OPTIMA_IO); }) == std::pair<int32_t, std::string>(OPTIMA_IO, "why"));
  CHECK(sdk::compatibility_of([] { throw sdk::Error(OPTIMA_CORRUPT, "why"); }).text == "why");
}

TEST_CASE("a JSON file is read member by member, and what is wrong with one is told") {
  const auto parsing = [](const std::string& text) { return failure([&] { sdk::parse_meta<Json>(text, "acme/1"); }); };
  CHECK(parsing(R"({"format":"acme/1"})").first == OPTIMA_OK);
  CHECK(parsing("{") == corrupt("meta file is not JSON, or truncated"));
  CHECK(parsing("[]") == corrupt("meta file is no JSON object"));
  CHECK(parsing(R"({"format":"acme/2"})") == corrupt("meta file has format 'acme/2', wanted acme/1"));
  const Json all = Json::parse(R"({"name":"n","number":7,"list":[1],"file":"a/b","type":"f16","odd":"f17","text":"string"})");
  CHECK(sdk::meta_text(all, "name") == "n");
  CHECK(sdk::meta_text_or_none(all, "nothing").empty());
  CHECK(sdk::meta_list(all, "list").size() == 1);
  CHECK(sdk::meta_file_name(all, "name") == "n");
  CHECK(sdk::meta_dtype(all, "type", "x") == OPTIMA_F16);
  CHECK(failure([&] { sdk::meta_text(all, "nothing"); }) == corrupt("meta file has no 'nothing'"));
  CHECK(failure([&] { sdk::meta_text(Json(), "name"); }) == corrupt("meta file has no 'name'"));
  CHECK(failure([&] { sdk::meta_text_or_none(all, "number"); }) == corrupt("meta file has 'number' as number, wanted a text"));
  CHECK(failure([&] { sdk::meta_list(all, "name"); }) == corrupt("meta file has 'name' as string, wanted a list"));
  CHECK(failure([&] { sdk::meta_file_name(all, "file"); }) == corrupt("meta file has file 'a/b', wanted a file name"));
  CHECK(failure([&] { sdk::meta_dtype(all, "odd", "x"); }) == corrupt("meta file has 'x' of type 'f17', wanted an element type"));
  CHECK(failure([&] { sdk::meta_dtype(all, "text", "x"); }) == corrupt("meta file has 'x' of type 'string', wanted an element type"));
  CHECK(failure([&] { sdk::write_meta(Json{{"name", "\xff"}}); }) ==
        std::pair<int32_t, std::string>(OPTIMA_UNSUPPORTED, "a name of the graph is not UTF-8, which the meta file cannot hold"));
  CHECK(sdk::write_meta(Json{{"name", "n"}}) == "{\n \"name\": \"n\"\n}\n");
}

TEST_CASE("dims of a JSON file are sizes of a tensor that can be, the first open only where that may be") {
  const auto dims = [](const char* text, bool first_open = false) { return sdk::meta_dims(Json::parse(text), "x", OPTIMA_F32, first_open); };
  CHECK(dims(R"({"dims":[2,0,3]})") == std::vector<int64_t>{2, 0, 3});
  CHECK(dims(R"({"dims":[-1,3]})", true) == std::vector<int64_t>{-1, 3});
  CHECK(dims(R"({"dims":[35184372088832]})") == std::vector<int64_t>{int64_t{1} << 45});
  const auto no_size = corrupt("meta file has a dim of 'x' that is no size");
  CHECK(failure([&] { dims(R"({"dims":[-1,3]})"); }) == no_size);
  CHECK(failure([&] { dims(R"({"dims":[3,-1]})", true); }) == no_size);
  CHECK(failure([&] { dims(R"({"dims":[-2]})", true); }) == no_size);
  CHECK(failure([&] { dims(R"({"dims":[1.5]})"); }) == no_size);
  CHECK(failure([&] { dims(R"({"dims":["1"]})"); }) == no_size);
  CHECK(failure([&] { dims(R"({"dims":[35184372088833]})"); }) == corrupt("meta file has 'x' larger than any tensor"));
  CHECK(failure([&] { dims(R"({"dims":[0,9223372036854775807,2]})"); }) == corrupt("meta file has 'x' larger than any tensor"));
  const std::string many = Json{{"dims", std::vector<int>(65, 1)}}.dump();
  CHECK(failure([&] { dims(many.c_str()); }) == corrupt("meta file has 'x' with more than 64 dims"));
}
