// SPDX-License-Identifier: Apache-2.0
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

struct Two : Bench {
  Two() {
    tensor("in", {4}), tensor("cut", {4}), tensor("out", {4});
    package.inputs = {"in"};
    package.outputs = {"out"};
    subgraph({"in"}, {"cut"}, affine(1, 0));
    subgraph({"cut"}, {"out"}, affine(1, 0));
  }
  Status fail() { return load().status(); }
};

}  // namespace

TEST_CASE("artifacts are judged before they are loaded, and each verdict has its error") {
  Two b;
  const auto with = [&](uint32_t verdict, const std::string& text) {
    b.plugin.verdicts["subgraph_1"] = {verdict, text};
    return b.fail();
  };
  CHECK(with(OPTIMA_COMPAT_RECOMPILE, "made by version 1, this is 2").message() ==
        "package 'm': subgraph 1: plugin fake says that its artifact must be compiled again: made by version 1, this is 2");
  CHECK(with(OPTIMA_COMPAT_RECOMPILE, "").kind() == StatusKind::Plugin);
  CHECK(with(OPTIMA_COMPAT_WRONG_DEVICE, "needs AVX-512").message() == "package 'm': subgraph 1: plugin fake says that its artifact is for another device: needs AVX-512");
  CHECK(with(OPTIMA_COMPAT_CORRUPT, "bad magic").message() == "package 'm': subgraph 1: plugin fake says that its artifact is corrupt: bad magic");
  CHECK(with(OPTIMA_COMPAT_CORRUPT, "").kind() == StatusKind::InvalidInput);
  CHECK(with(OPTIMA_COMPAT_UNKNOWN, "").message() == "package 'm': subgraph 1: plugin fake says that its artifact cannot be judged");
  CHECK(std::count(b.plugin.loaded.begin(), b.plugin.loaded.end(), "subgraph_1") == 0);
}

TEST_CASE("an artifact that is usable is loaded, with the plugin's advice kept") {
  Two b;
  b.plugin.verdicts["subgraph_0"] = {OPTIMA_COMPAT_USABLE, "newer CPU here"};
  CHECK(b.model().subgraphs()[0].note == "newer CPU here");
  CHECK(b.model().subgraphs()[1].note.empty());
}

TEST_CASE("a plugin that is not there is named, and what is there too") {
  Two b;
  b.package.variants[0].subgraphs[0].plugin = "acme";
  CHECK(b.fail().message() == "package 'm': subgraph 0: needs the runtime side of plugin 'acme', found fake");
  CHECK(b.fail().kind() == StatusKind::Plugin);
}

TEST_CASE("the first variant whose artifacts are good is taken") {
  Two b;
  PackageVariant second = b.package.variants[0];
  b.package.variants.insert(b.package.variants.begin(), second);
  for (uint32_t i = 0; i < 2; ++i) {
    b.package.variants[0].subgraphs[i].stem = "other_" + std::to_string(i);
    b.package.variants[1].subgraphs[i].index = i + 2;
  }
  b.plugin.programs["other_0"] = b.plugin.programs["subgraph_0"];
  b.plugin.programs["other_1"] = b.plugin.programs["subgraph_1"];
  b.plugin.verdicts["other_1"] = {OPTIMA_COMPAT_WRONG_DEVICE, "no"};
  std::vector<std::string> told;
  set_log([&](LogLevel, std::string_view, std::string_view text) { told.emplace_back(text); }, LogLevel::Warn);
  CHECK(b.model().subgraphs()[0].index == 2);
  CHECK(told.empty());
  b.package.variants[0].subgraphs[1].plugin = "acme";
  CHECK(b.load().ok());
  CHECK(told == std::vector<std::string>{"package 'm': a better variant needs the runtime side of plugin 'acme', found fake"});
  b.package.variants[0].subgraphs[1].plugin = "fake";
  set_log({});
  b.plugin.verdicts["subgraph_0"] = {OPTIMA_COMPAT_RECOMPILE, "no"};
  CHECK(b.fail().message() == "package 'm': subgraph 1: plugin fake says that its artifact is for another device: no");
}

TEST_CASE("programs that contradict the package are refused") {
  Two b;
  FakeProgram& p = b.plugin.programs["subgraph_1"];
  const std::vector<Binding> good = p.bindings;
  const auto message = [&](size_t at, auto change) {
    p.bindings = good;
    change(p.bindings[at]);
    return b.fail().message();
  };
  const std::string place = "package 'm': subgraph 1 of plugin fake: ";
  CHECK(message(0, [](Binding& x) { x.name = "cat"; }) == place + "found binding 'cat', wanted 'cut'");
  CHECK(message(0, [](Binding& x) { x.dtype = OPTIMA_F64; }) == place + "binding 'cut' is float64, wanted float32");
  CHECK(message(0, [](Binding& x) { x.shape = {5}; }) == place + "binding 'cut' has shape 5, wanted 4");
  CHECK(message(0, [](Binding& x) { x.shape = {1, 4}; }) == place + "binding 'cut' has shape 1x4, wanted 4");
  CHECK(message(1, [](Binding& x) { x.direction = OPTIMA_INPUT; }) == place + "binding 'out' has the wrong direction");
  CHECK(message(1, [](Binding& x) { x.alignment = 48; }) == place + "binding 'out' wants alignment 48, wanted a power of two up to 1048576");
  p.bindings = good;
  p.bindings.pop_back();
  CHECK(b.fail().message() == place + "found 1 bindings, wanted 2");
}

TEST_CASE("strings do not cross subgraphs") {
  Bench b;
  b.tensor("in", {4}, OPTIMA_STRING), b.tensor("out", {4});
  b.package.inputs = {"in"};
  b.package.outputs = {"out"};
  b.subgraph({"in"}, {"out"}, affine(1, 0));
  CHECK(b.load().status().message() == "package 'm': tensor 'in' has type string, wanted a type of fixed size");
}

TEST_CASE("alignment and size that a reader asks for hold for the arena") {
  Two b;
  b.plugin.programs["subgraph_1"].bindings[0].alignment = 4096;
  b.plugin.programs["subgraph_1"].bindings[0].min_size = 10000;
  auto r = b.request();
  REQUIRE(r->set_input(0, filled({4})).ok());
  REQUIRE(r->run().ok());
  CHECK(reinterpret_cast<uintptr_t>(r->bound_address(1, true, 0)) % 4096 == 0);
  CHECK(b.model().arena_bytes() == 10000);
}

TEST_CASE("progress of a load is that of the whole model, and never goes back") {
  Two b;
  std::vector<std::string> told;
  LoadOptions options;
  options.progress = [&](double fraction, std::string_view stage) { told.push_back(cat(fraction, " ", stage)); };
  b.plugin.programs["subgraph_1"].load = [](const LoadJob& job) {
    job.progress(0.5, "reading");
    job.progress(-1, "thinking");
    job.progress(0.25, "back");
    return Status();
  };
  REQUIRE(b.load(options).ok());
  CHECK(told == std::vector<std::string>{"0.5 subgraph 0 on X64:0: loaded", "0.75 subgraph 1 on X64:0: reading", "0.75 subgraph 1 on X64:0: thinking",
                                         "0.75 subgraph 1 on X64:0: back", "1 subgraph 1 on X64:0: loaded"});
}

TEST_CASE("a cancelled load loads nothing more, whatever variants are left") {
  Two b;
  b.package.variants.push_back(b.package.variants[0]);
  for (uint32_t i = 0; i < 2; ++i) b.package.variants[1].subgraphs[i].index = 2 + i;
  std::atomic<bool> stop{false};
  LoadOptions options;
  options.cancelled = &stop;
  b.plugin.programs["subgraph_0"].load = [&](const LoadJob& job) {
    CHECK(job.cancelled == &stop);
    stop = true;
    return Status();
  };
  const Status status = b.load(options).status();
  CHECK(status.kind() == StatusKind::Cancelled);
  CHECK(status.message() == "interrupted");
  CHECK(b.plugin.loaded == std::vector<std::string>{"subgraph_0"});
  b.plugin.programs["subgraph_0"].load = {};
  stop = false;
  CHECK(b.load(options).ok());
}
