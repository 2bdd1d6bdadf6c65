// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: between two slots a blocked tensor stays blocked, and the answers stay the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "core/compile/compile.hpp"
#include "core/runtime/context.hpp"
#include "core/runtime/request.hpp"
#include "core/support/text.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// Two convolutions with `channels` between them, and an element-wise chain in each half; weights are folded.
std::string cnn(int channels) {
  return cat(R"(<ir_version: 10, opset_import: ["" : 21]>
cnn (float[1,3,16,16] x) => (float[1,8,5,5] y)
<float zero = {0}, float one = {1}, float end1 = {)", channels * 27, R"(}, float end2 = {)", channels * 72, R"(},
 int64[4] shape1 = {)", channels, R"(, 3, 3, 3}, int64[4] shape2 = {8, )", channels, R"(, 3, 3}> {
  r1 = Range(zero, end1, one)  s1 = Sin(r1)  w1 = Reshape(s1, shape1)
  r2 = Range(zero, end2, one)  s2 = Cos(r2)  w2 = Reshape(s2, shape2)
  [conv1] a = Conv<strides = [1, 1], pads = [1, 1, 1, 1]>(x, w1)
  [relu1] b = Relu(a)
  [conv2] c = Conv<strides = [3, 3], pads = [0, 0, 0, 0]>(b, w2)
  [relu2] y = Relu(c)
})");
}

struct Compiling {
  TempFolder folder;
  std::optional<Registry> registry;
  Plan plan;

  Compiling(int channels, const std::string& doors,
            std::vector<std::string> pins = {"conv1=llvm_cpu/X64:0", "relu1=llvm_cpu/X64:0", "conv2=llvm_cpu/X64:1", "relu2=llvm_cpu/X64:1"}) {
    CompileRequest request;
    request.plan.model = folder.file("model.onnxtxt", cnn(channels).c_str());
    request.plan.devices = {"llvm_cpu/X64:0", "llvm_cpu/X64:1", "llvm_cpu/ARM64:0"};
    request.plan.pins = std::move(pins);
    request.out = folder / "out";
    request.options = {{"llvm_cpu.doors", doors}};
    HostServices services;
    services.name = "test", services.version = "1", services.cache_folder = OPTIMA_BINARY_DIR "/llvm_cpu_test_cache";
    ScanOptions scan;
    scan.folders = {OPTIMA_BINARY_DIR "/lib/optima/plugins"};
    auto scanned = Registry::scan(scan, std::move(services));
    REQUIRE_MESSAGE(scanned.ok(), scanned.status().message());
    registry = std::move(*scanned);
    REQUIRE(registry->set_options(request.options).ok());
    auto done = compile_model(request, *registry);
    REQUIRE_MESSAGE(done.ok(), done.status().message());
    plan = std::move(done->planned.plan);
  }

  /// Steps of the artifact that only carry a tensor from one layout to the other, or out.
  std::vector<std::string> moves(int subgraph) const {
    std::vector<std::string> out;
    const std::string stem = cat("out/model/Subgraph_", subgraph, "/subgraph_", subgraph, ".meta");
    for (const llvm_cpu::Plan::Step& step : llvm_cpu::parse_plan(get(folder / stem)).steps)
      if (step.label == "to plain" || step.label == "to blocked" || step.label == "copy out") out.push_back(step.label);
    return out;
  }

  struct Answers {
    std::vector<float> y, cut;
  };
  Answers run() {
    RuntimeContext context(borrow_plugins(*registry));
    auto reader = PackageReader::open(folder / "out/model");
    REQUIRE_MESSAGE(reader.ok(), reader.status().message());
    auto model = LoadedModel::load(context, std::move(*reader), {.keep_cuts = true});
    REQUIRE_MESSAGE(model.ok(), model.status().message());
    auto request = std::move(*Request::create(**model));
    Tensor x = *Tensor::make(OPTIMA_F32, {1, 3, 16, 16});
    for (size_t i = 0; i < x.as<float>().size(); ++i) x.as<float>()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    REQUIRE(request->set_input(0, x).ok());
    const Status ran = request->run();
    REQUIRE_MESSAGE(ran.ok(), ran.message());
    const Tensor y = *request->output(0), cut = request->cuts()->at(0);
    return {{y.as<float>().begin(), y.as<float>().end()}, {cut.as<float>().begin(), cut.as<float>().end()}};
  }
};

bool same(const std::vector<float>& a, const std::vector<float>& b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; }

}  // namespace

TEST_CASE("between two slots a convolution's result stays blocked, without a conversion, and the answers are the same bytes") {
  Compiling with(32, "true"), without(32, "false");
  REQUIRE(with.plan.cuts.size() == 1);
  const Door& door = with.plan.cuts[0].door;
  CHECK(door.dtype == OPTIMA_F32);
  REQUIRE(door.shape.size() == 5);
  CHECK(door.layout == cat("NCHW", door.shape[4], "c"));
  CHECK(door.shape[1] * door.shape[4] == 32);
  CHECK(with.plan.cuts[0].stored_bytes() == with.plan.cuts[0].bytes);
  CHECK(without.plan.cuts[0].door.is_usual());

  CHECK(without.moves(0) == std::vector<std::string>{"to plain"});
  CHECK(without.moves(1).front() == "to blocked");
  CHECK(with.moves(0).empty());
  CHECK(with.moves(1).size() + 1 == without.moves(1).size());

  const Compiling::Answers a = with.run(), b = without.run();
  CHECK(same(a.y, b.y));
  CHECK(same(a.cut, b.cut));
  CHECK(std::any_of(a.y.begin(), a.y.end(), [](float v) { return v > 0; }));
}

TEST_CASE("a last block that is not full is told in the layout's name, and its lanes past the end change nothing") {
  Compiling with(36, "true"), without(36, "false");
  const Door& door = with.plan.cuts[0].door;
  CHECK(door.layout == cat("NCHW", door.shape.back(), 36 % door.shape.back() ? "c*" : "c"));
  const Compiling::Answers a = with.run(), b = without.run();
  CHECK(same(a.y, b.y));
  CHECK(same(a.cut, b.cut));
}

TEST_CASE("an element-wise chain on the other side works on blocks, too") {
  const std::vector<std::string> pins = {"conv1=llvm_cpu/X64:0", "relu1=llvm_cpu/X64:1", "conv2=llvm_cpu/X64:1", "relu2=llvm_cpu/X64:1"};
  Compiling with(32, "true", pins), without(32, "false", pins);
  CHECK_FALSE(with.plan.cuts[0].door.is_usual());
  CHECK(with.moves(0).empty());
  const Compiling::Answers a = with.run(), b = without.run();
  CHECK(same(a.y, b.y));
}

TEST_CASE("where one side would have to convert, the tensor goes through the usual door") {
  // Fewer channels than a vector are not blocked on the way.
  const Compiling narrow(3, "true");
  CHECK(narrow.plan.cuts[0].door.is_usual());
}

TEST_CASE("targets whose vectors differ in width do not meet") {
  const Compiling c(32, "true", {"conv1=llvm_cpu/X64:0", "relu1=llvm_cpu/X64:0", "conv2=llvm_cpu/ARM64:0", "relu2=llvm_cpu/ARM64:0"});
  CHECK(c.plan.cuts[0].door.is_usual());
  CHECK(c.moves(0) == std::vector<std::string>{"to plain"});
}
