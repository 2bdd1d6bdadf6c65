// SPDX-License-Identifier: Apache-2.0
// plugins/spirv on a small net: what artifacts, GPUs and drivers do that are not as they should be. Every GPU here is the software driver's.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "optima/plugin/checksum.hpp"
#include "optima/plugin/sha256.hpp"

#ifndef SPIRV_PLUGIN

TEST_CASE("plugins/spirv runs") { MESSAGE("SKIP: glslang, SPIRV-Tools or volk is not here; scripts/setup installs them"); }

#else

#include "core/support/json_value.hpp"
#include "optima/ext/cost.h"
#include "tests/support/seam_refusals.hpp"
#include "tests/unit/spirv/layer.hpp"
#include "tests/unit/spirv/net.hpp"
#include "tests/unit/spirv/ways.hpp"

using namespace optima;
using namespace optima::spirv_test;

TEST_CASE("a net's kernels give the reference's answer, with Vulkan's validation silent, and not silent once they no longer wait for each other") {
  const Validation validation;
  Halves halves;
  const Net net;
  seam::MemorySink sink;
  compiled(halves, net, sink);
  seam::Status status;
  std::vector<reference::Tensor> out;
  {
    const seam::Artifact artifact(sink, nullptr);
    const seam::Program program(*halves.runtime, artifact, kGpu);
    REQUIRE_MESSAGE(program.raw, program.status.message);
    REQUIRE_MESSAGE(seam::run(program, {input()}, out, status) == OPTIMA_OK, status.message);
  }
  CHECK(apart(out.at(0), reference::run(net.packed.raw, {input()}).at(0)) < 1e-6);
  CHECK_MESSAGE(validation.messages().empty(), validation.messages());

  // Without the lists of steps to wait for there are no barriers: the answer may still be right here, the layer sees it.
  std::string meta = sink.files.at("subgraph_0.meta");
  for (size_t at = meta.find("\"after\": ["); at != meta.npos; at = meta.find("\"after\": [", at + 1)) meta.erase(at + 10, meta.find(']', at) - at - 10);
  forge(sink, meta);
  const seam::Artifact artifact(sink, nullptr);
  const seam::Program program(*halves.runtime, artifact, kGpu);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  REQUIRE(seam::run(program, {input()}, out, status) == OPTIMA_OK);
  CHECK(validation.messages().find("SYNC-HAZARD") != std::string::npos);
}

TEST_CASE("kernels that look at every index find none outside of its buffer, and say so of a buffer that is too short") {
  Halves halves;
  const Net net;
  seam::MemorySink sink;
  compiled(halves, net, sink, {guarded()});
  seam::Status status;
  std::vector<reference::Tensor> out;
  {
    const seam::Artifact artifact(sink, nullptr);
    const seam::Program program(*halves.runtime, artifact, kGpu);
    REQUIRE_MESSAGE(program.raw, program.status.message);
    REQUIRE_MESSAGE(seam::run(program, {input()}, out, status) == OPTIMA_OK, status.message);
    CHECK(apart(out.at(0), reference::run(net.packed.raw, {input()}).at(0)) < 1e-6);
  }
  // The product's weights, as the GPU is told of them, end one number too early.
  const std::string meta = sink.files.at("subgraph_0.meta");
  forge(sink, test::replaced(meta, "\"bytes\": 5760", "\"bytes\": 5756"));
  const seam::Artifact artifact(sink, nullptr);
  const seam::Program program(*halves.runtime, artifact, kGpu);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  CHECK(seam::run(program, {input()}, out, status) == OPTIMA_INTERNAL);
  CHECK(status.message.find("reached outside of their buffers") != std::string::npos);
}

TEST_CASE("forms that the node tests have not give the reference's answers") {
  const char* const forms[] = {
      "{ p = Constant<value = int64[4] {9, 1, 7, 0}>() a = Constant<value = int64[2] {2, -1}>() y = Pad<mode = \"reflect\">(x, p, , a) }",  // further than the axis is long
      "{ p = Constant<value = int64[2] {-1, 2}>() a = Constant<value = int64[1] {3}>() y = Pad<mode = \"wrap\">(x, p, , a) }",
      "{ b = Constant<value = int64[1] {-1}>() e = Constant<value = int64[1] {-9223372036854775808}>() a = Constant<value = int64[1] {3}>() t = Constant<value = int64[1] {-1}>() y = Slice(x, b, e, a, t) }",
      "{ s = Constant<value = float[4] {1, 1, 2.5, 0.6}>() y = Resize<mode = \"cubic\", exclude_outside = 1>(x, , s) }",
      "{ k = Sigmoid(x) m = Mul(x, k) n = Add(m, x) y = Clip(n) }",                                                                    // a value that several read
      "{ c = Cast<to = 7>(x) d = Cast<to = 1>(c) y = CastLike(d, x) }",
  };
  Halves halves;
  for (const std::string form : forms) {
    CAPTURE(form);
    const std::string dims = form == forms[0] ? "1,3,8,8" : "N,C,H,W";  // what no inference tells of it
    const Net net("<ir_version: 9, opset_import: [\"\" : 19]> g (float[1,3,8,8] x) => (float[" + dims + "] y) " + form);
    std::string wrong;
    const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, {input(0.5F)}, wrong, {guarded()});
    CHECK_MESSAGE(wrong.empty(), wrong);
    if (wrong.empty()) CHECK(apart(out.at(0), reference::run(net.packed.raw, {input(0.5F)}).at(0)) < 1e-5);
  }
}

TEST_CASE("two compiles give the same bytes, on any number of threads") {
  Halves halves;
  const Net net;
  seam::MemorySink one, other, alone;
  optima_option threads = seam::option(OPTIMA_OPTION_THREADS, "");
  threads.type = OPTIMA_OPTION_I64, threads.i64 = 1;
  compiled(halves, net, one), compiled(halves, net, other), compiled(halves, net, alone, {threads});
  for (const seam::MemorySink* sink : {&other, &alone}) {
    CHECK(one.files == sink->files);
    CHECK(one.compat == sink->compat);
  }
}

TEST_CASE("kernels that were made once are taken from the cache, whose damaged files are made again, and the bytes are the same") {
  namespace fs = std::filesystem;
  const test::TempFolder folder;
  const std::string cache = folder / "cache", kept = cache + "/spirv-kernels";
  Halves halves;
  const Net net;
  seam::MemorySink without, first, second, third;
  compiled(halves, net, without);
  halves.host.exposed.table.cache_dir = seam::str(cache);
  halves.compiler = std::make_unique<seam::Instance>(SPIRV_PLUGIN, halves.host);
  const auto files = [&] {  // a file that is made again has a number of its own
    std::map<std::string, ino_t> out;
    for (const fs::directory_entry& e : fs::directory_iterator(kept)) {
      struct stat s {};
      REQUIRE(::stat(e.path().c_str(), &s) == 0);
      out[e.path()] = s.st_ino;
    }
    return out;
  };
  compiled(halves, net, first);
  const std::map<std::string, ino_t> made = files();
  CHECK(made.size() == static_cast<size_t>(std::count_if(first.files.begin(), first.files.end(), [](const auto& f) { return f.first.ends_with(".spv"); })));
  compiled(halves, net, second);
  CHECK(files() == made);
  const std::string victim = made.begin()->first;
  std::string bytes = test::get(victim);
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 1);
  test::put(victim, bytes);
  compiled(halves, net, third);
  std::map<std::string, ino_t> mended = files();
  CHECK(mended.at(victim) != made.at(victim));
  mended[victim] = made.at(victim);
  CHECK(mended == made);
  for (const seam::MemorySink* sink : {&first, &second, &third}) {
    CHECK(sink->files == without.files);
    CHECK(sink->compat == without.compat);
  }
}

TEST_CASE("what a driver makes of kernels is kept on disk and given to it again, and what is damaged or of another GPU is not") {
  namespace fs = std::filesystem;
  const test::TempFolder folder;
  Layer layer;
  Halves halves;
  halves.host.exposed.table.cache_dir = seam::str(folder.path());
  halves.runtime = std::make_unique<seam::Instance>(SPIRV_RT_PLUGIN, halves.host);
  const Net net;
  const auto files = [&] {
    std::vector<std::string> out;
    for (const fs::directory_entry& e : fs::directory_iterator(std::string(folder.path())))
      if (e.path().filename().string().starts_with("spirv-pipelines-")) out.push_back(e.path());
    return out;
  };
  /// Bytes that the driver got when the net was loaded.
  const auto given = [&] {
    layer.told().cached = SIZE_MAX;
    const Loaded loaded(halves, net);
    return layer.told().cached;
  };
  CHECK(given() == 0);
  REQUIRE(files().size() == 1);
  const std::string path = files()[0], good = test::get(path);
  constexpr size_t kOwn = 24, kHeader = 32;  // what is ahead of the driver's bytes; VkPipelineCacheHeaderVersionOne
  REQUIRE(good.size() >= kOwn + kHeader);
  CHECK(given() == good.size() - kOwn);
  std::string damaged = good, other = good;
  damaged[good.size() - 1] = static_cast<char>(damaged[good.size() - 1] ^ 1);
  other[kOwn + 8] = static_cast<char>(other[kOwn + 8] ^ 1);  // its vendor
  const uint64_t sum = sdk::checksum_of(std::string_view(other).substr(kOwn)).value();
  std::memcpy(other.data() + 16, &sum, sizeof sum);
  for (const std::string& bad : {std::string("abc"), good.substr(0, kOwn + kHeader - 1), good + "more", damaged, other}) {
    test::put(path, bad);
    CHECK(given() == 0);
    CHECK(files() == std::vector<std::string>{path});
    CHECK(test::get(path) != bad);  // made anew
  }
}

TEST_CASE("pipelines are made by as many threads at once as a load may use, to the same bits, and errors name the first step in order whose kernel fails") {
  Layer layer;
  Halves halves;
  const Net net;
  seam::MemorySink sink;
  compiled(halves, net, sink);
  optima_option threads = seam::option(OPTIMA_OPTION_THREADS, "");
  threads.type = OPTIMA_OPTION_I64;
  const auto outputs = [&](int64_t count, int meet) {
    layer.told().make_meet = meet, layer.told().make_most = 0;
    threads.i64 = count;
    const seam::Artifact artifact(sink, nullptr);
    const seam::Program program(*halves.runtime, artifact, kGpu, {threads});
    REQUIRE_MESSAGE(program.raw, program.status.message);
    CHECK(layer.told().make_most == meet);
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE_MESSAGE(seam::run(program, {input()}, out, status) == OPTIMA_OK, status.message);
    return floats(out.at(0));
  };
  CHECK(outputs(1, 1) == outputs(2, 2));
  CHECK(layer.told().alive == 0);

  // Both threads fail, the one with the first step's kernel after the other.
  const auto meta = Json::parse(sink.files.at("subgraph_0.meta"));
  const auto size_at = [&](size_t step) { return meta.at("kernels").at(meta.at("steps").at(step).at("ways").at(0).at("kernel").get<size_t>()).at("size").get<size_t>(); };
  const auto name_of = [&](size_t step) { return meta.at("steps").at(step).at("name").get<std::string>(); };
  REQUIRE(std::set<size_t>{size_at(0), size_at(1), size_at(2)}.size() == 3);
  layer.told() = {};
  layer.told().make = VK_ERROR_OUT_OF_DEVICE_MEMORY, layer.told().late = size_at(0), layer.told().make_meet = 2;
  int32_t code = OPTIMA_OK;
  CHECK(load_error(halves, sink, code, {threads}).starts_with("making the kernel of " + name_of(0) + " on GPU '"));
  CHECK(code == OPTIMA_MEMORY);
  layer.told() = {};
  layer.told().make = VK_ERROR_DEVICE_LOST, layer.told().well = size_at(0);
  CHECK(load_error(halves, sink, code, {threads}).starts_with("making the kernel of " + name_of(1) + " on GPU '"));
  CHECK(code == OPTIMA_DEVICE);
  CHECK(layer.told().pipelines >= 2);
  CHECK(layer.told().alive == 0);
  layer.told() = {};
  CHECK(load_error(halves, sink, code, {threads}).empty());
}

TEST_CASE("what a driver does wrong is not used of it, the way behind is taken, and option and environment say otherwise") {
  const LimitsFile dots("\"shaderIntegerDotProduct\"");
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g (uint8[2,8] x) => (int32[2,3] y) <int8[8,3] w = {1,2,3,4,5,6,7,8,9,10,11,12,-13,14,15,16,17,-18,19,20,21,22,23,24}> { y = MatMulInteger(x, w) }");
  Layer layer;
  layer.told().vendor = 0x1002, layer.told().device = 0x73bf, layer.told().driver = VK_DRIVER_ID_AMD_PROPRIETARY, layer.told().version = 1;
  Halves halves;
  seam::MemorySink sink, only;
  seam::Status status;
  REQUIRE_MESSAGE(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", dots.path)}) == OPTIMA_OK, status.message);
  REQUIRE(ways_of(sink) == std::vector<size_t>{2});
  without_plain_ways(sink, only);
  int32_t code = OPTIMA_OK;
  const auto refused = [&](const std::vector<optima_option>& options = {}) {
    const std::string text = load_error(halves, only, code, options);
    CHECK_MESSAGE(code == (text.empty() ? OPTIMA_OK : OPTIMA_WRONG_DEVICE), text);
    CHECK_MESSAGE((text.empty() || text.find("shaderIntegerDotProduct") != std::string::npos), text);
    return !text.empty();
  };
  halves.host.quiet = false, halves.host.lines.clear();
  CHECK(refused());
  REQUIRE(halves.host.lines.size() == 1);
  CHECK(halves.host.lines[0].starts_with("spirv: of GPU 'llvmpipe"));
  CHECK(halves.host.lines[0].ends_with(" shaderIntegerDotProduct is not used: https://github.com/0xShug0/audio.cpp/pull/193"));
  halves.host.quiet = true;
  CHECK_FALSE(refused({seam::option("spirv.quirks", "none")}));
  CHECK_FALSE(refused({seam::option("spirv.quirks", "pipelineCache")}));
  CHECK(refused({seam::option("spirv.quirks", "pipelineCache,shaderIntegerDotProduct")}));
  ::setenv("OPTIMA_SPIRV_QUIRKS", "none", 1);
  CHECK_FALSE(refused());
  CHECK(refused({seam::option("spirv.quirks", "auto")}));
  ::setenv("OPTIMA_SPIRV_QUIRKS", "speed", 1);
  CHECK(load_error(halves, only, code).starts_with("OPTIMA_SPIRV_QUIRKS has 'speed', wanted auto, none, or some of pipelineCache, "));
  CHECK(code == OPTIMA_INVALID_ARGUMENT);
  ::unsetenv("OPTIMA_SPIRV_QUIRKS");
  void* data = nullptr;
  const reference::Tensor x = reference::Tensor::make(OPTIMA_U8, {2, 8}, &data);
  for (int k = 0; k < 16; ++k) static_cast<uint8_t*>(data)[k] = static_cast<uint8_t>(k * 37);
  CHECK(reference::load<double>(ran(halves, sink, {x}).at(0)) == reference::load<double>(reference::run(net.packed.raw, {x}).at(0)));
}

TEST_CASE("a driver whose caches of pipelines take too much is given none, and the next version of it is") {
  for (const uint32_t minor : {57u, 62u}) {
    const test::TempFolder folder;
    Layer layer;
    layer.told().vendor = 0x10de, layer.told().device = 0x2204, layer.told().driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY, layer.told().version = 470u << 22 | minor << 14 | 2u << 6;
    layer.told().cached = SIZE_MAX;
    Halves halves;
    halves.host.exposed.table.cache_dir = seam::str(folder.path());
    halves.runtime = std::make_unique<seam::Instance>(SPIRV_RT_PLUGIN, halves.host);
    const Net net;
    const Loaded loaded(halves, net);
    CHECK((layer.told().cached == SIZE_MAX) == (minor == 57));
    CHECK(std::filesystem::is_empty(std::string(folder.path())) == (minor == 57));
    seam::Status status;
    std::vector<reference::Tensor> out;
    REQUIRE_MESSAGE(seam::run(*loaded.program, {input()}, out, status) == OPTIMA_OK, status.message);
    CHECK(apart(out.at(0), reference::run(net.packed.raw, {input()}).at(0)) < 1e-6);
  }
}

TEST_CASE("a driver on the processor is told of by the half that runs, and not by the one that plans, which must not take it unasked") {
  Halves halves;
  const auto kinds = [](const seam::Instance& half, std::string& why_none) {
    std::vector<std::string> out;
    seam::Status status;
    CHECK(half.api->devices(half.self, [](void* all, const optima_device* d) -> int32_t {
      static_cast<std::vector<std::string>*>(all)->push_back(seam::text(d->kind));
      return OPTIMA_OK;
    }, &out, &status.raw) == OPTIMA_OK);
    why_none = status.message;
    return out;
  };
  std::string why_none;
  CHECK(kinds(*halves.runtime, why_none).size() >= 1);
  const std::vector<std::string> planned = kinds(*halves.compiler, why_none);
  CHECK(std::find(planned.begin(), planned.end(), "VULKAN") == planned.end());
  if (planned.empty()) CHECK_MESSAGE(why_none.find("used when named") != std::string::npos, why_none);
}

TEST_CASE("what a node takes is estimated by the rates of the GPU's description: half the rate is twice the time, and a launch is added") {
  Halves halves;
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g (float[256,256] x, float[256,256] z) => (float[256,256] y) { y = MatMul(x, z) }");
  const test::TempFolder folder;
  const auto estimated = [&](const std::string& limits) {
    const std::string path = folder / "limits.json";
    test::put(path, limits);
    const optima_option options[] = {seam::option("spirv.limits", path)};
    const uint32_t node = sdk::Graph(&net.packed.raw)[0].id();
    optima_check_request r{};
    r.struct_size = sizeof r, r.graph = &net.packed.raw, r.nodes = &node, r.node_count = 1, r.options = options, r.option_count = 1, r.device = &kGpu;
    optima_cost cost{};
    seam::Status status;
    REQUIRE_MESSAGE(halves.compiler->extension<optima_cost_model>(OPTIMA_EXT_COST)->estimate(halves.compiler->self, &r, [](void* p, const optima_cost* c, uint32_t) -> int32_t {
      *static_cast<optima_cost*>(p) = *c;
      return OPTIMA_OK;
    }, &cost, &status.raw) == OPTIMA_OK, status.message);
    CHECK(cost.node == node);
    CHECK(cost.device_bytes >= 256 * 256 * 4);
    return cost.microseconds;
  };
  const double work = 2.0 * 256 * 256 * 256;
  CHECK(estimated(R"({"gflops": 100, "gbytes": 1000, "launch_us": 1})") == doctest::Approx(work / 100e3 + 1));
  CHECK(estimated(R"({"gflops": 50, "gbytes": 1000, "launch_us": 1})") == doctest::Approx(work / 50e3 + 1));
  CHECK(estimated(R"({"gflops": 50, "gbytes": 1000, "launch_us": 30})") == doctest::Approx(work / 50e3 + 30));
  CHECK(estimated(R"({"gflops": 1e6, "gbytes": 1, "launch_us": 1})") == doctest::Approx(3 * 256 * 256 * 4 / 1e3 + 1));  // by its bytes
}

TEST_CASE("a GPU that has less than a kernel needs is refused with what and how much, before a pipeline is made") {
  Layer layer;
  Halves halves;
  const Net net;
  seam::MemorySink sink;
  compiled(halves, net, sink);
  const test::TempFolder folder;
  const auto refused = [&](const std::string& limits) {
    const std::string path = folder / "limits.json";
    test::put(path, limits);
    int32_t code = 0;
    const std::string text = load_error(halves, sink, code, {seam::option("spirv.pretend", path)});
    CHECK(code == OPTIMA_WRONG_DEVICE);
    return text;
  };
  CHECK(refused(R"({"invocations": 8})").find("invocations in a workgroup, this GPU has 8") != std::string::npos);
  CHECK(refused(R"({"storage_buffers": 2})").find("storage buffers, this GPU has 2") != std::string::npos);
  CHECK(refused(R"({"size": [16, 16, 16]})").find("invocations along x, this GPU has 16") != std::string::npos);
  CHECK(refused(R"({"buffer_range": 1024})").find("this GPU reaches 1024") != std::string::npos);
  CHECK(refused(R"({"groups": [65535, 0, 65535]})").find("needs 1 workgroups along y, this GPU has 0") != std::string::npos);
  REQUIRE_MESSAGE(layer.told().instances > 0, "the loader has not taken the layer in");
  CHECK(layer.told().pipelines == 0);
  const std::string honest = sink.files.at("subgraph_0.meta");
  auto meta = Json::parse(honest);
  for (auto& kernel : meta.at("kernels")) kernel.at("needs").at("local") = Json::array({1, 1, 1});
  forge(sink, meta.dump(1));  // the words still say it
  CHECK(refused(R"({"invocations": 8})").find("invocations in a workgroup, this GPU has 8") != std::string::npos);
  CHECK(layer.told().pipelines == 0);
  forge(sink, honest);
  int32_t fits = OPTIMA_INTERNAL;
  CHECK_MESSAGE(load_error(halves, sink, fits).empty(), "the same artifact");
  CHECK(fits == OPTIMA_OK);
  CHECK(layer.told().pipelines > 0);

  const std::string path = folder / "limits.json";
  test::put(path, R"({"invocations": 8})");
  seam::Status status;
  seam::MemorySink none;
  CHECK(compile(*halves.compiler, net.packed.raw, none, status, {seam::option("spirv.limits", path)}) == OPTIMA_UNSUPPORTED);
  CHECK(status.message.find("this GPU has 8") != std::string::npos);
  CHECK(status.raw.node != OPTIMA_NONE);
  for (const char* bad : {"[]", "{\"invocations\": -1}", "{\"speed\": 1}", "{\"size\": [1]}", "{\"vulkan\": \"2.0\"}", "{\"features\": [1]}",
                          "{\"features\": [\"storageBuffer16bitAccess\"]}", "{\"features\": [\"nonsense\"]}", "{\"subgroup\": 16}", "{\"product_tile\": [8, 8, 4, 4]}",
                          "{\"product_tile\": [8, 8, 4, 0, 16]}", "{\"product_tile\": [8, 8, 17, 4, 16]}"}) {
    test::put(path, bad);
    CHECK(compile(*halves.compiler, net.packed.raw, none, status, {seam::option("spirv.limits", path)}) == OPTIMA_INVALID_ARGUMENT);
    CHECK_MESSAGE(status.message.find(path) != std::string::npos, status.message);
  }
}

TEST_CASE("a path of limits that is no file is an error with the path, and with the folder where it is relative") {
  Halves halves;
  const Net net;
  const test::TempFolder folder;
  const auto error = [&](const std::string& path) {
    seam::MemorySink sink;
    seam::Status status;
    CHECK(compile(*halves.compiler, net.packed.raw, sink, status, {seam::option("spirv.limits", path)}) == OPTIMA_INVALID_ARGUMENT);
    seam::Verdicts verdicts;
    CHECK(seam::check(*halves.compiler, net.packed.raw, seam::ids_of_nodes(net.packed.raw), kGpu, verdicts, status, {seam::option("spirv.limits", path)}) == OPTIMA_INVALID_ARGUMENT);
    return status.message;
  };
  CHECK(error(std::string(folder.path())) == "file of limits '" + std::string(folder.path()) + "' cannot be read");
  CHECK(error("none.json") == "file of limits 'none.json' cannot be read in folder '" + std::filesystem::current_path().string() + "'");
}

TEST_CASE("check() takes a node where compile() does, whatever the GPU lacks, and says the same of it") {
  const std::string gates = "float[1,400,3] w = {" + numbers(1200) + "}, float[1,400,100] r = {" + numbers(40000) + "}";
  const std::string forms[] = {
      "(float[40,300] x) => (float[40,300] y) { y = Softmax(x) }",
      "(float[40,300] x) => (float[40,300] y) { y = Relu(x) }",
      "(float[40,30] x, float[30,50] z) => (float[40,50] y) { y = MatMul(x, z) }",
      "(float[1,4,14,14] x, float[16,4,3,3] w, float[16] b) => (float[1,16,12,12] y) { y = Conv(x, w, b) }",
      "(int64[5] i) => (float[5,3] y) <float[700,3] w = {" + numbers(2100) + "}> { y = Gather(w, i) }",
      "(float[4,1,3] x) => (float[N,D,B,H] y) <" + gates + "> { y = LSTM<hidden_size = 100>(x, w, r) }",
      "(float[1,4,3,3] x, float[4] s, float[4] b, float[4] m, float[4] v) => (float[1,4,3,3] y) { y = BatchNormalization(x, s, b, m, v) }",
  };
  const char* const lacks[] = {R"({"invocations": 32})", R"({"size": [128, 2, 64]})", R"({"groups": [65535, 65535, 1]})", R"({"groups": [8, 65535, 65535]})", R"({"shared_bytes": 1500})",
                               R"({"storage_buffers": 3})", R"({"buffer_range": 40000})", R"({"buffer_range": 8000})"};
  Halves halves;
  const test::TempFolder folder;
  const std::string path = folder / "limits.json";
  int yes = 0, no = 0;
  for (const std::string& form : forms) {
    const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g " + form);
    for (const char* limits : lacks)
      for (const char* precision : {"f32", "f16"}) {
        CAPTURE(form.substr(0, 80));
        CAPTURE(limits);
        test::put(path, limits);
        const std::vector<optima_option> options{seam::option("spirv.limits", path), seam::option("spirv.precision", precision)};
        const std::map<uint32_t, seam::Said> refused = seam::refusals(*halves.compiler, net.packed.raw, kGpu, options);
        seam::MemorySink sink;
        seam::Status status;
        const int32_t code = compile(*halves.compiler, net.packed.raw, sink, status, options);
        CHECK_MESSAGE((code == OPTIMA_OK) == refused.empty(), status.message);
        ++(refused.empty() ? yes : no);
        if (refused.empty()) continue;
        CHECK(code == OPTIMA_UNSUPPORTED);
        CHECK_MESSAGE(status.message.find(refused.begin()->second.text) != std::string::npos, status.message, " and ", refused.begin()->second.text);
      }
  }
  CHECK(yes > 20);
  CHECK(no > 20);
}

TEST_CASE("indices that come in are looked at, by the smallest of what is taken by them, and constant ones before") {
  Halves halves;
  const TextNet net("<ir_version: 8, opset_import: [\"\" : 17]> g (int32[1,3] i) => (float[3,2] y, float[1,3] z) <float[7,2] w = {" + numbers(14) + "}, float[4] v = {1,2,3,4}, int64[1] s = {3}> "
                    "{ c = Cast<to = 7>(i) r = Reshape(c, s) y = Gather(w, r) z = Gather(v, i) }");
  const auto ran = [&](std::vector<int32_t> ids) {
    void* data = nullptr;
    reference::Tensor x = reference::Tensor::make(OPTIMA_I32, {1, 3}, &data);
    std::copy(ids.begin(), ids.end(), static_cast<int32_t*>(data));
    std::string wrong;
    const std::vector<reference::Tensor> out = computed(halves, net.packed.raw, {x}, wrong);
    if (wrong.empty()) CHECK(apart(out.at(0), reference::run(net.packed.raw, {x}).at(0)) == 0);
    return wrong;
  };
  CHECK(ran({3, 0, -4}).empty());
  CHECK(ran({3, 4, 0}) == "run: input 'i' has index 4, wanted -4 to 3");
  CHECK(ran({3, -5, 0}) == "run: input 'i' has index -5, wanted -4 to 3");
  const TextNet constant("<ir_version: 8, opset_import: [\"\" : 17]> g (float[5,2] x) => (float[2,2] y) <int64[2] i = {4, 5}> { y = Gather(x, i) }");
  const std::map<uint32_t, seam::Said> refused = seam::refusals(*halves.compiler, constant.packed.raw, kGpu);
  REQUIRE(refused.size() == 1);
  CHECK(refused.begin()->second.text == "input 1 has index 5, wanted -5 to 4");
}

TEST_CASE("damaged artifacts are refused by the name of what is wrong") {
  Halves halves;
  const Net net;
  seam::MemorySink good;
  compiled(halves, net, good);
  const auto error = [&](const std::function<void(seam::MemorySink&)>& damage) {
    seam::MemorySink sink;
    sink.files = good.files, sink.format = good.format, sink.compat = good.compat;
    damage(sink);
    int32_t code = 0;
    const std::string text = load_error(halves, sink, code);
    CHECK_MESSAGE(code == OPTIMA_CORRUPT, text);
    return text;
  };
  const std::string kernel = std::find_if(good.files.begin(), good.files.end(), [](const auto& f) { return f.first.ends_with(".spv"); })->first;
  CHECK(error([&](auto& s) { s.files.at(kernel).pop_back(); }).find(kernel) != std::string::npos);
  CHECK(error([&](auto& s) { s.files.at(kernel)[40] ^= 1; }).find("is damaged") != std::string::npos);
  CHECK(error([&](auto& s) { s.files.erase(kernel); }).find("is missing") != std::string::npos);
  CHECK(error([&](auto& s) { s.files.at("subgraph_0.weights")[3] ^= 1; }).find("subgraph_0.weights") != std::string::npos);
  CHECK(error([&](auto& s) { s.files.at("subgraph_0.meta") = "{}"; }).find("subgraph_0.meta") != std::string::npos);
  CHECK(error([&](auto& s) { forge(s, "{}"); }).find("meta file has no 'format'") != std::string::npos);
  const std::string& meta = good.files.at("subgraph_0.meta");
  CHECK(error([&](auto& s) { forge(s, test::replaced(meta, "\"offset\": 0", "\"offset\": 1048576")); }).find("outside of its") != std::string::npos);
  CHECK(error([&](auto& s) { forge(s, test::replaced(meta, "\"kernel\": 0", "\"kernel\": 99")); }).find("'kernel'") != std::string::npos);
  CHECK(error([&](auto& s) { forge(s, test::replaced(meta, kernel, "../" + kernel)); }).find("file name") != std::string::npos);

  // Any byte of the .meta file: refused, or of no consequence; never a crash.
  std::mt19937 random(5);
  for (int k = 0; k < 300; ++k) {
    seam::MemorySink sink;
    sink.files = good.files, sink.format = good.format;
    std::string bytes = meta;
    bytes[random() % bytes.size()] = static_cast<char>("09{}[]\",:-x"[random() % 11]);
    forge(sink, bytes);
    int32_t code = 0;
    const std::string text = load_error(halves, sink, code);
    CHECK_MESSAGE((code == OPTIMA_OK || code == OPTIMA_CORRUPT || code == OPTIMA_WRONG_DEVICE), text);
  }
}

TEST_CASE("the .meta file says who wrote it, of which subgraph, and each kernel's SHA-256, to which a load keeps; without them it is an older one's and runs") {
  Halves halves;
  const Net net;
  seam::MemorySink sink;
  compiled(halves, net, sink);
  const std::string meta = sink.files.at("subgraph_0.meta");
  Json head = Json::parse(meta);
  CHECK_MESSAGE(head.at("generator").get<std::string>().starts_with("spirv 0.1.0, glslang "), head.at("generator"));
  CHECK(head.at("graph") == sdk::hex_text(net.packed.raw.sha256, 32));
  for (const Json& k : head.at("kernels")) CHECK(k.at("sha256") == sdk::sha256_text(sink.files.at(k.at("file"))));

  // Another kernel of the same size, with the sum of its own in the .meta file: only the hash tells.
  seam::MemorySink other;
  other.files = sink.files, other.format = sink.format;
  const std::string file = head.at("kernels").at(0).at("file");
  std::string& bytes = other.files.at(file);
  bytes[8] = static_cast<char>(bytes[8] ^ 1);  // who generated the words, of which nothing depends
  Json forged = head;
  forged.at("kernels").at(0).at("sum") = sdk::checksum_of(bytes).value();
  forge(other, forged.dump(1));
  int32_t code = OPTIMA_OK;
  CHECK(load_error(halves, other, code) == "file '" + file + "' is not the one that was compiled: its SHA-256 is " + sdk::sha256_text(bytes) + ", wanted " + sdk::sha256_text(sink.files.at(file)));
  CHECK(code == OPTIMA_CORRUPT);
  for (Json& k : forged.at("kernels")) k.erase("sha256");
  forged.erase("generator"), forged.erase("graph");
  forge(other, forged.dump(1));
  CHECK(load_error(halves, other, code).empty());
}

TEST_CASE("eight threads on contexts of their own get the bits of one") {
  Halves halves;
  const Net net;
  const Loaded loaded(halves, net);
  const seam::Program& program = *loaded.program;
  std::vector<std::vector<float>> wanted;
  for (int k = 0; k < 8; ++k) {
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE(seam::run(program, {input(static_cast<float>(k))}, out, status) == OPTIMA_OK);
    wanted.push_back(floats(out.at(0)));
  }
  std::vector<std::thread> threads;
  std::array<bool, 8> same{};
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([&, k] {
      bool all = true;
      seam::Status status;
      optima_context* context = nullptr;
      {
        static std::mutex one;  // context_create: one at a time per program
        const std::lock_guard lock(one);
        if (halves.runtime->runtime().context_create(program.raw, &context, &status.raw) != OPTIMA_OK) return;
      }
      for (int round = 0; round < 10; ++round) {
        std::vector<reference::Tensor> out;
        all = all && seam::run_on(context, program, {input(static_cast<float>(k))}, out, status) == OPTIMA_OK && floats(out.at(0)) == wanted[static_cast<size_t>(k)];
      }
      same[static_cast<size_t>(k)] = all;
      static std::mutex one;
      const std::lock_guard lock(one);
      halves.runtime->runtime().context_destroy(context);
    });
  for (std::thread& t : threads) t.join();
  for (const bool ok : same) CHECK(ok);
}

TEST_CASE("a device that is lost is one clear error, the next run is well; memory that runs out is told with the numbers") {
  Layer layer;
  faults& told = layer.told();
  Halves halves;
  const Net net;
  seam::Status status;
  std::vector<reference::Tensor> out;
  {
    const Loaded loaded(halves, net);
    const seam::Program& program = *loaded.program;
    REQUIRE_MESSAGE(told.instances > 0, "the loader has not taken the layer in");
    optima_context* context = nullptr;
    REQUIRE(halves.runtime->runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK);
    REQUIRE(seam::run_on(context, program, {input()}, out, status) == OPTIMA_OK);
    const std::vector<float> wanted = floats(out.at(0));

    told.submit = VK_ERROR_DEVICE_LOST;
    out.clear();
    CHECK(seam::run_on(context, program, {input()}, out, status) == OPTIMA_DEVICE);
    CHECK_MESSAGE(status.message.find("the device is lost") != std::string::npos, status.message);
    CHECK((status.raw.flags & OPTIMA_STATUS_DEVICE_LOST) != 0);
    CHECK((status.raw.flags & OPTIMA_STATUS_RETRYABLE) != 0);
    out.clear();
    REQUIRE_MESSAGE(seam::run_on(context, program, {input()}, out, status) == OPTIMA_OK, status.message);
    CHECK(floats(out.at(0)) == wanted);

    told.allocate = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    optima_context* second = nullptr;
    CHECK(halves.runtime->runtime().context_create(program.raw, &second, &status.raw) == OPTIMA_MEMORY);
    CHECK_MESSAGE(status.message.find("bytes of activations on GPU '") != std::string::npos, status.message);
    CHECK_MESSAGE(status.message.find("out of device memory") != std::string::npos, status.message);
    halves.runtime->runtime().context_destroy(context);
  }
}

TEST_CASE("a GPU is found by its UUID and by a part of its name in letters of either case, and one that is not here is an error with those that are") {
  Halves halves;
  const Net net;
  seam::MemorySink sink;
  compiled(halves, net, sink);
  seam::Status status;
  std::string driver;
  CHECK(halves.runtime->api->devices(halves.runtime->self, [](void* to, const optima_device* d) -> int32_t {
    if (seam::text(d->kind) == "VULKAN") *static_cast<std::string*>(to) = seam::text(d->driver);
    return OPTIMA_OK;
  }, &driver, &status.raw) == OPTIMA_OK);
  const size_t at = driver.find("UUID ");
  REQUIRE_MESSAGE(at != std::string::npos, driver);
  const std::string uuid = driver.substr(at + 5, 36);
  int32_t code = OPTIMA_OK;
  for (const std::string& name : {uuid, std::string("LLVMpipe"), std::string("llvmpipe")}) {
    CHECK(load_error(halves, sink, code, {seam::option("spirv.device", name)}).empty());
    CHECK(code == OPTIMA_OK);
  }
  const std::string text = load_error(halves, sink, code, {seam::option("spirv.device", "GeForce")});
  CHECK(code == OPTIMA_WRONG_DEVICE);
  CHECK_MESSAGE(text.find("called 'GeForce' is here, found 'llvmpipe") != std::string::npos, text);
  CHECK_MESSAGE(text.find(uuid) != std::string::npos, text);
}

TEST_CASE("with no Vulkan driver the runtime says which and how to get one, and models compile all the same") {
  const test::TempFolder folder;
  for (const char* manifest : {"{}", "{ this is no JSON"}) {
    test::put(folder / "none.json", manifest);
    const char* before = std::getenv("VK_ICD_FILENAMES");
    const std::string kept = before ? before : "";
    ::setenv("VK_ICD_FILENAMES", (folder / "none.json").c_str(), 1);
    {
      Halves halves;
      const Net net;
      seam::MemorySink sink;
      compiled(halves, net, sink);
      int32_t code = 0;
      const std::string text = load_error(halves, sink, code);
      CHECK(code == OPTIMA_WRONG_DEVICE);
      CHECK_MESSAGE(text.find("driver") != std::string::npos, text);
    }
    if (before) ::setenv("VK_ICD_FILENAMES", kept.c_str(), 1);
    else ::unsetenv("VK_ICD_FILENAMES");
  }
}

#endif
