// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: meta files and compat records, whole and hostile.
#include <doctest/doctest.h>

#include <random>

#include "plugins/snpe/artifact.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/snpe_run/sample.hpp"

using namespace optima;
using namespace optima::test;
using namespace snpe_plugin;

namespace {

std::string corrupt_meta(const std::string& text) {
  return error_of([&] { Meta::read(text); }, OPTIMA_CORRUPT);
}

}  // namespace

TEST_CASE("a meta file is read as it was written") {
  const Meta m = Sample().meta;
  const Meta back = Meta::read(m.write());
  CHECK(back.write() == m.write());
  CHECK(back.kind == "HEXAGON");
  CHECK(back.dlcs == std::vector<std::string>{"subgraph_0.dlc"});
  REQUIRE(back.contexts.size() == 2);
  CHECK(back.contexts[1].soc == "sm8650");
  CHECK(back.contexts[1].wrapper == "subgraph_0.sm8650.onnx");
  REQUIRE(back.inputs.size() == 1);
  CHECK(back.inputs[0].dims == std::vector<int64_t>{1, 4});
  CHECK(back.inputs[0].dtype == OPTIMA_F32);
}

TEST_CASE("file names and layouts of ports survive, names may hold anything that is UTF-8") {
  Meta m = Sample().meta;
  m.inputs = {{"a \"b\"\n\\ \xc3\xa9", OPTIMA_I4, {0, 3, 2, 2}, "a_b", "NHWC"}};
  const Meta back = Meta::read(m.write());
  CHECK(back.inputs[0].name == m.inputs[0].name);
  CHECK(back.inputs[0].dtype == OPTIMA_I4);
  CHECK(back.inputs[0].file_name == "a_b");
  CHECK(back.inputs[0].layout == "NHWC");
  m.inputs[0].name = "\xff";
  CHECK(error_of([&] { m.write(); }, OPTIMA_UNSUPPORTED) == "a name of the graph is not UTF-8, which the meta file cannot hold");
}

TEST_CASE("what is wrong in a meta file is told") {
  const std::string good = Sample().meta.write();
  CHECK(corrupt_meta("") == "meta file is not JSON, or truncated");
  CHECK(corrupt_meta("[]") == "meta file is no JSON object");
  CHECK(corrupt_meta(replaced(good, "snpe.dlc/1", "snpe.dlc/2")) == "meta file has format 'snpe.dlc/2', wanted snpe.dlc/1");
  CHECK(corrupt_meta(replaced(good, "HEXAGON", "X64")) == "meta file has kind 'X64', wanted HEXAGON, ADRENO or SNPE_CPU");
  CHECK(corrupt_meta(replaced(good, "\"subgraph_0.dlc\"", "\"../etc/passwd\"")) == "meta file has a DLC whose name is no file name");
  CHECK(corrupt_meta(replaced(good, "\"subgraph_0.sm8550.bin\"", "\"..\"")) == "meta file has file '..', wanted a file name");
  CHECK(corrupt_meta(replaced(good, "\"f32\"", "\"f33\"")) == "meta file has 'x' of type 'f33', wanted an element type");
  CHECK(corrupt_meta(replaced(good, "\"type\": \"f32\"", "\"type\": 1")) == "meta file has 'type' as number, wanted a text");
  CHECK(corrupt_meta(replaced(good, "\"inputs\"", "\"outlets\"")) == "meta file has no 'inputs'");
  CHECK(corrupt_meta(R"({"format":"snpe.dlc/1","kind":"HEXAGON","route":"","tools":"","precision":"","dlcs":[],"contexts":[]})") ==
        "meta file names neither a DLC nor a context");
  Meta m = Sample().meta;
  m.inputs[0].dims = {-1, 4};
  CHECK(corrupt_meta(m.write()) == "meta file has a dim of 'x' that is no size");
  m.inputs[0].dims = {int64_t{1} << 40, int64_t{1} << 40};
  CHECK(corrupt_meta(m.write()) == "meta file has 'x' larger than any tensor");
  m.inputs[0].dims.assign(65, 1);
  CHECK(corrupt_meta(m.write()) == "meta file has 'x' with more than 64 dims");
  m.inputs[0].dims = {1, 4}, m.inputs[0].layout = "NHWC";
  CHECK(corrupt_meta(m.write()) == "meta file has layout NHWC of 'x', which has 2 dims");
  m.inputs[0].layout = "HWCN";
  CHECK(corrupt_meta(m.write()) == "meta file has layout 'HWCN' of 'x', wanted NCHW, NHWC, NCDHW, NDHWC, NCF or NFC");
}

TEST_CASE("a compat record is read as it was written, and what is wrong in one is told") {
  const Record r = Sample().record();
  const Record back = Record::read(r.write());
  CHECK(back.write() == r.write());
  CHECK(back.socs == "sm8550,sm8650");
  CHECK(back.files.size() == 6);
  const auto corrupt = [](const std::string& text) { return error_of([&] { Record::read(text); }, OPTIMA_CORRUPT); };
  CHECK(corrupt("") == "compat record has no 'kind'");
  CHECK(corrupt("kind=HEXAGON") == "compat record is truncated");
  CHECK(corrupt("kind\n") == "compat record has 'kind', wanted key=value");
  CHECK(corrupt(replaced(r.write(), "kind=HEXAGON", "kind=DSP")) == "compat record has kind 'DSP', wanted HEXAGON, ADRENO or SNPE_CPU");
  CHECK(corrupt(r.write() + "file=7\n") == "compat record has a file '7', wanted size, sum and name");
  CHECK(corrupt(r.write() + "file=x 0 a\n") == "compat record has 'x', wanted a number");
  CHECK(corrupt(r.write() + "file=7 0 ../a\n") == "compat record has file '../a', wanted a file name");
}

TEST_CASE("a whole artifact is accepted, for its kind and its chips") {
  const Sample s;
  CHECK(s.verify().socs == "sm8550,sm8650");
  Sample other;
  other.device = seam::device("ADRENO");
  CHECK(error_of([&] { other.verify(); }, OPTIMA_WRONG_DEVICE) == "files were made for HEXAGON, wanted ADRENO");
  Sample chip;
  chip.soc("sm8650");
  CHECK(chip.verify().kind == "HEXAGON");
  chip.soc("sm8750");
  CHECK(error_of([&] { chip.verify(); }, OPTIMA_WRONG_DEVICE) ==
        "files were made for sm8550,sm8650, the device is 'sm8750', wanted a compilation with snpe.soc=sm8750");
  Sample format;
  format.sink.format = "snpe.dlc/7";
  CHECK(error_of([&] { format.verify(); }, OPTIMA_RECOMPILE) == "artifact has format 'snpe.dlc/7', wanted snpe.dlc/1");
}

TEST_CASE("files that are missing, short, damaged or something else are corrupt") {
  Sample missing;
  missing.sink.files.erase("subgraph_0.dlc");
  CHECK(error_of([&] { missing.verify(); }, OPTIMA_CORRUPT) == "file 'subgraph_0.dlc' is missing");
  Sample shorter;
  shorter.sink.files["subgraph_0.dlc"].pop_back();
  CHECK(error_of([&] { shorter.verify(); }, OPTIMA_CORRUPT).find("file 'subgraph_0.dlc' has ") == 0);
  Sample damaged;
  damaged.sink.files["subgraph_0.sm8550.bin"].back() ^= 1;
  CHECK(error_of([&] { damaged.verify(); }, OPTIMA_CORRUPT).find("file 'subgraph_0.sm8550.bin' is damaged: its sum is ") == 0);
  for (const auto& [name, said] : std::map<std::string, std::string>{{"subgraph_0.dlc", "is no DLC: it does not begin as a zip does"},
                                                                      {"subgraph_0.sm8550.bin", "is no Hexagon context binary"},
                                                                      {"subgraph_0.sm8550.onnx", "is no ONNX file"}}) {
    Sample other;
    other.sink.files[name] = "#!/bin/sh";
    other.seal();
    CHECK(error_of([&] { other.verify(); }, OPTIMA_CORRUPT) == "file '" + name + "' " + said);
    other.sink.files[name] = "";
    other.seal();
    CHECK(error_of([&] { other.verify(); }, OPTIMA_CORRUPT) == "file '" + name + "' " + said);
  }
  Sample no_meta;
  no_meta.sink.files.erase("subgraph_0.meta");
  no_meta.sink.compat = no_meta.record().write();
  CHECK(error_of([&] { no_meta.verify(); }, OPTIMA_CORRUPT) == "compat record has no file 'subgraph_0.meta'");
}

TEST_CASE("a meta file that names files which the record does not have is corrupt") {
  Sample s;
  s.meta.dlcs.push_back("another.dlc");
  s.sink.files["subgraph_0.meta"] = s.meta.write();
  s.seal();
  const Record r = s.verify();
  CHECK(error_of([&] { s.read_meta(r); }, OPTIMA_CORRUPT) == "meta file names 'another.dlc', which is no file of the artifact");
  s.meta.dlcs.pop_back(), s.meta.kind = "ADRENO";
  s.sink.files["subgraph_0.meta"] = s.meta.write();
  s.seal();
  CHECK(error_of([&] { s.read_meta(s.verify()); }, OPTIMA_CORRUPT) == "meta file has kind ADRENO, the compat record HEXAGON");
}

TEST_CASE("a star at the beginning of a file's name is the stem") {
  Sample s;
  const auto starred = [](std::string name) { return replaced(std::move(name), "subgraph_0", "*"); };
  s.meta.dlcs[0] = starred(s.meta.dlcs[0]);
  for (Meta::Context& c : s.meta.contexts) c.file = starred(c.file), c.wrapper = starred(c.wrapper);
  s.sink.files["subgraph_0.meta"] = s.meta.write();
  Record r = s.record();
  for (sdk::RecordedFile& f : r.files) f.name = starred(f.name);
  s.sink.compat = r.write();
  CHECK(s.sink.compat.find("subgraph_0") == std::string::npos);
  const Meta m = s.read_meta(s.verify());
  CHECK(m.dlcs[0] == "subgraph_0.dlc");
  CHECK(m.contexts[1].wrapper == "subgraph_0.sm8650.onnx");
}

TEST_CASE("asked before the bytes are there, names and sizes are enough") {
  const Sample s;
  seam::Artifact artifact(s.sink, nullptr);
  for (optima_blob& b : artifact.blobs) b.data = nullptr;
  CHECK(verify(sdk::Artifact(&artifact.raw), sdk::Device(&s.device)).kind == "HEXAGON");
}

TEST_CASE("whatever is done to the bytes of a meta file or a record, the answer is one error or a whole one") {
  const std::string meta = Sample().meta.write(), record = Sample().record().write();
  std::mt19937 random(7);
  size_t refused = 0;
  for (int k = 0; k < 20000; ++k) {
    const std::string bytes = damaged(k % 2 ? meta : record, random);
    try {
      k % 2 ? void(Meta::read(bytes)) : void(Record::read(bytes));
    } catch (const sdk::Error& e) {
      ++refused;
      CHECK(e.code == OPTIMA_CORRUPT);
      CHECK(e.text.find('\n') == e.text.npos);
    }
  }
  CHECK(refused > 10000);
  CHECK(corrupt_meta(std::string(1 << 20, '[')) == "meta file is not JSON, or truncated");
}
