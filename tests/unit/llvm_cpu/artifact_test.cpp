// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: artifacts: what they contain, that they repeat, and that damaged or foreign ones are refused.
#include "plugins/llvm_cpu/codegen/build_kernels.hpp"
#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/kernels/conv.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/kernels/pointwise.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"
#include "tests/support/process.hpp"
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;
namespace cpu = optima::llvm_cpu;

namespace {

uint32_t add_block(Net& net, uint32_t x) { return net.same("Relu", 14, net.conv(x, 32, 3, 2, 1)); }

int files_of(const Compiled& c, const std::string& family) {
  int n = 0;
  for (const auto& [name, bytes] : c.sink.files) n += name.rfind(family, 0) == 0;
  return n;
}

uint32_t compatible(Bench& bench, const Compiled& c, std::string& why) {
  const seam::Artifact artifact(c.sink, c.model.get());
  uint32_t verdict = 0;
  std::tie(verdict, why) = seam::compatibility(*bench.runtime, artifact, seam::device("X64"));
  return verdict;
}

int32_t load_code(Bench& bench, const Compiled& c, std::string& why) {
  const seam::Artifact artifact(c.sink, c.model.get());
  bench.write_files(artifact);
  const seam::Program p(*bench.runtime, artifact, seam::device("X64"));
  why = p.status.message;
  return p.code;
}

}  // namespace

TEST_CASE("two equal convolutions share one kernel file") {
  Bench bench;
  Net net;
  const uint32_t x = net.input({1, 32, 9, 9});
  const uint32_t a = net.conv(x, 32, 3, 1, 1);
  net.output(net.conv(a, 32, 3, 1, 1));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  CHECK(files_of(*c, "conv_") + files_of(*c, "winograd_") == 1);
}

TEST_CASE("compiling twice, with and without cache, on one thread and on two, gives equal bytes") {
  Bench fresh(false), cached;
  Net net;
  net.output(add_block(net, add_block(net, net.input({1, 20, 15, 15}))));
  const auto a = compile(fresh, net, {number_option(OPTIMA_OPTION_THREADS, 1)}), b = compile(cached, net, {number_option(OPTIMA_OPTION_THREADS, 2)}), c = compile(cached, net);
  CHECK(a->code == OPTIMA_OK);
  CHECK(a->sink.files == b->sink.files);
  CHECK(b->sink.files == c->sink.files);
  CHECK(a->sink.compat == c->sink.compat);
}

TEST_CASE("a damaged cache file is not believed") {
  Bench bench(false);
  bench.cache = bench.folder / "cache";
  bench.host.exposed.table.cache_dir = seam::str(bench.cache);
  bench.compiler = std::make_unique<seam::Instance>(kPlugins + "optima_llvm_cpu.so", bench.host);
  Net net;
  net.output(add_block(net, net.input({1, 20, 15, 15})));
  const auto first = compile(bench, net);
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(bench.cache + "/kernels")) {
    std::string bytes = optima::test::get(entry.path());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    optima::test::put(entry.path(), bytes);
    ++damaged;
  }
  CHECK(damaged > 0);
  CHECK(compile(bench, net)->sink.files == first->sink.files);
}

TEST_CASE("no linker is needed, and one that is named links") {
  Bench bench;
  Net net;
  net.output(add_block(net, net.input({1, 20, 15, 15})));
  const char* path = std::getenv("PATH");
  const std::string before = path ? path : "";
  setenv("PATH", "/nowhere", 1);
  const auto own = compile(bench, net);
  setenv("PATH", before.c_str(), 1);
  CHECK(own->code == OPTIMA_OK);
  const auto named = compile(bench, net, {seam::option("llvm_cpu.linker", "ld.lld-19")});
  CHECK(named->code == OPTIMA_OK);
  CHECK(named->sink.files != own->sink.files);
  for (const auto& c : {&own, &named}) {
    std::string why;
    CHECK(load_code(bench, **c, why) == OPTIMA_OK);
    CHECK(why == "");
  }
}

TEST_CASE("a named linker that is missing is a missing dependency, with the package to install") {
  Bench bench;
  Net net;
  net.output(add_block(net, net.input({1, 20, 15, 15})));
  const auto c = compile(bench, net, {seam::option("llvm_cpu.linker", "/nowhere/ld.lld")});
  CHECK(c->code == OPTIMA_DEPENDENCY);
  CHECK(c->status.message.find("linker \"/nowhere/ld.lld\" does not run") == 0);
  CHECK(c->status.message.find("install the package lld-19") != std::string::npos);
}

TEST_CASE("an unknown cpu, a foreign triple and a cpu without AVX2 are refused by name") {
  Bench bench;
  Net net;
  net.output(add_block(net, net.input({1, 20, 15, 15})));
  const auto a = compile(bench, net, {seam::option("llvm_cpu.cpu", "znver99")});
  CHECK(a->code == OPTIMA_INVALID_ARGUMENT);
  CHECK(a->status.message == "cpu \"znver99\" is unknown for x86_64-unknown-linux-gnu");
  const auto b = compile(bench, net, {seam::option("llvm_cpu.cpu", "nehalem")});
  CHECK(b->code == OPTIMA_UNSUPPORTED);
  CHECK(b->status.message == "cpu \"nehalem\" has no AVX2 and FMA, wanted at least x86-64-v3");
}

TEST_CASE("an artifact for another processor is refused with what is missing") {
  Bench bench;
  std::string why;
  Net net;
  net.output(add_block(net, net.input({1, 20, 15, 15})));
  const auto arm = compile(bench, net, {}, "ARM64");
  REQUIRE(arm->code == OPTIMA_OK);
  CHECK(compatible(bench, *arm, why) == OPTIMA_COMPAT_WRONG_DEVICE);
  CHECK(why == "artifact is for aarch64, this machine is x86_64");
  CHECK(load_code(bench, *arm, why) == OPTIMA_WRONG_DEVICE);
  auto native = compile(bench, net);
  CHECK(compatible(bench, *native, why) == OPTIMA_COMPAT_OPTIMAL);
  native->sink.compat += " quantum";
  CHECK(compatible(bench, *native, why) == OPTIMA_COMPAT_WRONG_DEVICE);
  CHECK(why == "artifact needs a processor with quantum, which this one has not");
  native->sink.format = "optima.llvm_cpu/99";
  CHECK(compatible(bench, *native, why) == OPTIMA_COMPAT_RECOMPILE);
  CHECK(load_code(bench, *native, why) == OPTIMA_RECOMPILE);
}

TEST_CASE("missing and cut files are corrupt, not fatal") {
  Bench bench;
  std::string why;
  Net net;
  net.output(net.batch_norm(net.conv(net.input({1, 20, 15, 15}), 32, 3, 2, 1)));
  const auto c = compile(bench, net);
  REQUIRE(c->code == OPTIMA_OK);
  const auto files = c->sink.files;
  for (const auto& [name, bytes] : files) {
    CAPTURE(name);
    c->sink.files = files;
    c->sink.files.erase(name);
    CHECK(load_code(bench, *c, why) == OPTIMA_CORRUPT);
    c->sink.files[name] = bytes.substr(0, bytes.size() / 3);
    CHECK(load_code(bench, *c, why) == OPTIMA_CORRUPT);
  }
  c->sink.files = files;
  CHECK(load_code(bench, *c, why) == OPTIMA_OK);
}

TEST_CASE("kernel files need no library and no function but memcpy, memmove and memset") {
  Bench bench;
  Net net;
  net.output(net.same("Sigmoid", 13, net.conv(net.input({1, 3, 30, 30}), 40, 3, 1, 1)));
  const auto c = compile(bench, net);
  for (const auto& [name, bytes] : c->sink.files) {
    if (name.find(".so") == std::string::npos) continue;
    CAPTURE(name);
    const std::string path = bench.folder.file(name, bytes);
    const auto dynamic = optima::test::run({"readelf", "-d", path});
    CHECK(dynamic.out.find("NEEDED") == std::string::npos);
    const auto symbols = optima::test::run({"readelf", "--dyn-syms", "-W", path});
    CHECK(symbols.out.find(" kernel\n") != std::string::npos);
  }
}

namespace {

/// A product over 64 channels.
cpu::KernelSpec pointwise(int64_t oc_blocks, int64_t width, k::Tail tail, int64_t pixels, int64_t outputs) {
  return k::Pointwise{.by_tiles = 1, .OCB = oc_blocks, .WT = width, .ICC = 64, .TB = 1 << 20, .PF = 0, .tail = tail, .N = 1, .IC = 64, .P = pixels,
                      .OC = outputs, .in_image = 0, .out_image = 0, .res_image = 0, .ahead = 0};
}

}  // namespace

TEST_CASE("dense kernels are loops of vector multiply-adds that leave the stack alone, for every target") {
  for (const auto& [kind, name] : std::vector<std::pair<const char*, const char*>>{{"X64", "znver4"}, {"X64", "skylake-avx512"}, {"X64", "haswell"}, {"ARM64", "neoverse-n1"}}) {
    CAPTURE(name);
    const cpu::Target target = cpu::make_target(kind, "", name, "");
    const optima::test::TempFolder folder;
    cpu::KernelBuilder builder(target, cpu::Linker::find("", folder.path()), folder.path(), "", 2, [](double) {});
    const int64_t wt = target.registers == 32 ? 8 : 4, vl = target.vector_width;
    const cpu::KernelSpec spec = pointwise(2, wt, {k::kBias, {k::Act::Relu, 0, 0}}, wt * 10, 2 * vl);
    builder.build({spec});
    CHECK(builder.kernel(spec).loops.multiply_adds >= 2 * wt);
    CHECK_FALSE(builder.kernel(spec).loops.spills());
  }
}

TEST_CASE("convolutions with many taps in a row leave the stack alone, of one size and of open ones") {
  const cpu::Target target = cpu::make_target("X64", "", "znver4", "");
  const optima::test::TempFolder folder;
  cpu::KernelBuilder builder(target, cpu::Linker::find("", folder.path()), folder.path(), "", 2, [](double) {});
  std::vector<cpu::KernelSpec> specs;
  for (const auto& [taps, blocks, width] : {std::tuple<int64_t, int64_t, int64_t>{5, 4, 6}, {35, 2, 12}}) {
    const int64_t pixels = 509 - taps, plane = 16 * pixels;
    const cpu::KernelSpec spec = k::Conv{.by_rows = 0, .tiled_from = 0, .tiled_to = pixels, .piece = pixels, .block = 1, .OCB = blocks, .WT = width, .ICC = 32, .PF = 1, .tail = {k::kBias, {k::Act::None, 0, 0}}, .IB = 16, .N = 1, .G = 1,
                                         .IC = 256, .OC = 512, .in = {1, 1, 508}, .out = {1, 1, pixels}, .kernel = {1, 1, taps}, .stride = {1, 1, 1}, .dilation = {1, 1, 1},
                                         .begin = {0, 0, 0}, .in_image = 0, .in_group = 0, .out_image = 0, .out_group = 0, .out_block = plane, .out_plane = plane,
                                         .out_row = plane, .out_pixel = 16, .res_image = 0, .ahead = 0, .far = 0};
    specs.push_back(spec);
    specs.push_back(cpu::general(spec, cpu::sizes(spec)));
  }
  builder.build(specs);
  for (const cpu::KernelSpec& spec : specs) {
    CAPTURE(cpu::to_text(spec));
    CHECK(builder.kernel(spec).loops.multiply_adds > 0);
    CHECK_FALSE(builder.kernel(spec).loops.spills());
  }
}

TEST_CASE("a tile with too many accumulators is seen to spill") {
  const cpu::Target target = cpu::make_target("X64", "", "haswell", "");
  const cpu::KernelSpec spec = pointwise(3, 8, {0, {k::Act::None, 0, 0}}, 80, 24);
  CHECK(cpu::inspect_loops(cpu::specialise(spec, target), target).spills());
}

TEST_CASE("a template that does not exist or takes other literals is an internal error, not a crash") {
  const cpu::Target target = cpu::make_target("X64", "", "haswell", "");
  cpu::KernelSpec spec = k::ToBlocked{.C = 3, .P = 4};
  spec.literals.pop_back();
  CHECK_THROWS_WITH_AS(cpu::specialise(spec, target), "kernel k_to_blocked(3): literals of 8 bytes given, wanted 16", optima::sdk::Error);
  spec.entry = "k_nothing";
  CHECK_THROWS_WITH_AS(cpu::specialise(spec, target), "kernel k_nothing(3): there is no such template", optima::sdk::Error);
}
