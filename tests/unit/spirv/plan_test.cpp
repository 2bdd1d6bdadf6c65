// SPDX-License-Identifier: Apache-2.0
// plugins/spirv/plan: the .meta file and SPIR-V words as a stranger may have written them, and limits. Needs neither glslang nor Vulkan.
#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "plugins/spirv/plan/describe.hpp"
#include "plugins/spirv/plan/half.hpp"
#include "plugins/spirv/plan/plan.hpp"
#include "plugins/spirv/plan/quirks.hpp"

using namespace spirv_plugin;

namespace {

Plan small_plan() {
  Plan p;
  p.target = "VULKAN", p.generator = "spirv 1", p.graph = std::string(64, 'a');
  p.arena_bytes = 1024, p.weights_bytes = 256, p.weights_sum = 7;
  p.tensors = {{"x", Element::F32, Place::Arena, 0, 64}, {"w", Element::F16, Place::Weights, 0, 32}, {"y", Element::I32, Place::Arena, 256, 64}};
  p.inputs = {{"x", OPTIMA_F32, {4, 4}, 0}};
  p.outputs = {{"y", OPTIMA_I64, {16}, 2}};
  Requirements needs;
  needs.spirv = 0x00010300, needs.features = {"storageBuffer16BitAccess"}, needs.extensions = {"SPV_KHR_16bit_storage"}, needs.local = {64, 1, 1}, needs.storage_buffers = 3;
  p.kernels = {{"k1.spv", 400, 9, needs, std::string(64, '7')}};
  p.steps = {{"node", 3, {0, 1, 2}, {2}, {{0, {1, 1, 1}}}, {}, 100, 200}, {"next", 4, {2, 1, 0}, {2}, {{0, {2, 1, 1}}}, {0}, 1, 2}};
  return p;
}

std::string error_of(const std::string& text) {
  try {
    read_plan(text);
    return "";
  } catch (const sdk::Error& e) {
    CHECK(e.code == OPTIMA_CORRUPT);
    return e.text;
  }
}

/// A module without code: a capability, a mode, workgroup memory, a storage buffer.
std::vector<uint32_t> words() {
  return {0x07230203, 0x00010300, 0, 30, 0,                  //
          2u << 16 | 17, 1,                                  // OpCapability Shader
          2u << 16 | 17, 4433,                               // OpCapability StorageBuffer16BitAccess
          6u << 16 | 16, 4, 17, 8, 4, 2,                     // OpExecutionMode LocalSize 8 4 2
          3u << 16 | 22, 5, 32,                              // OpTypeFloat 32
          4u << 16 | 21, 6, 32, 0,                           // OpTypeInt 32
          4u << 16 | 43, 6, 7, 64,                           // OpConstant 64
          4u << 16 | 28, 8, 5, 7,                            // OpTypeArray
          4u << 16 | 32, 9, 4, 8,                            // OpTypePointer Workgroup
          4u << 16 | 59, 9, 10, 4,                           // OpVariable Workgroup
          4u << 16 | 59, 9, 11, 12};                         // OpVariable StorageBuffer
}

}  // namespace

TEST_CASE("a plan that was written is read back as it was") {
  const std::string text = write_plan(small_plan());
  CHECK(write_plan(read_plan(text)) == text);
  const Plan p = read_plan(text);
  CHECK(p.steps.at(1).after == std::vector<uint32_t>{0});
  CHECK(p.kernels.at(0).needs.local == std::array<uint32_t, 3>{64, 1, 1});
  CHECK(p.generator == "spirv 1");
  CHECK(p.graph == std::string(64, 'a'));
  CHECK(p.kernels.at(0).sha256 == std::string(64, '7'));
}

TEST_CASE("a plan that names neither who wrote it nor hashes is read as one of an older compiler") {
  Plan old = small_plan();
  old.generator.clear(), old.graph.clear(), old.kernels[0].sha256.clear();
  const std::string text = write_plan(old);
  for (const char* key : {"generator", "graph", "sha256"}) CHECK(text.find(key) == text.npos);
  CHECK(write_plan(read_plan(text)) == text);
}

TEST_CASE("a plan whose numbers do not fit each other is refused by name") {
  const auto with = [](const std::function<void(Plan&)>& change) {
    Plan p = small_plan();
    change(p);
    return error_of(write_plan(p));
  };
  CHECK(with([](Plan& p) { p.tensors[0].offset = 1024; }).find("'x' outside of its arena") != std::string::npos);
  CHECK(with([](Plan& p) { p.tensors[0].offset = 4; }).find("'x' outside of its arena") != std::string::npos);
  CHECK(with([](Plan& p) { p.tensors[1].bytes = 260; }).find("'w' outside of its weights") != std::string::npos);
  CHECK(with([](Plan& p) { p.inputs[0].dims = {17}; }).find("'x' in a tensor that does not hold it") != std::string::npos);
  CHECK(with([](Plan& p) { p.outputs[0].tensor = 1; }).find("'y' in a tensor that does not hold it") != std::string::npos);
  CHECK(with([](Plan& p) { p.steps[0].written = {1}; }).find("writes a weight") != std::string::npos);
  CHECK(with([](Plan& p) { p.steps[0].after = {0}; }).find("'after'") != std::string::npos);
  CHECK(with([](Plan& p) { p.steps[0].tensors = {0, 3}; }).find("'tensors'") != std::string::npos);
  CHECK(with([](Plan& p) { p.steps[0].ways.clear(); }).find("without a kernel") != std::string::npos);
  CHECK(with([](Plan& p) { p.steps[0].ways[0].groups[1] = 0; }).find("without a workgroup") != std::string::npos);
  CHECK(with([](Plan& p) { p.kernels[0].file = "a/b"; }).find("file name") != std::string::npos);
  CHECK(with([](Plan& p) { p.kernels[0].needs.storage_buffers = 4; }).find("fewer tensors than its kernel binds") != std::string::npos);
  CHECK(with([](Plan& p) { p.kernels[0].sha256.pop_back(); }) == "meta file has sha256 '" + std::string(60, '7') + "', wanted 64 hexadecimal digits");
  CHECK(with([](Plan& p) { p.graph[3] = 'g'; }).find("has graph 'aaag") != std::string::npos);
  CHECK(with([](Plan& p) { p.guard = 1; }).find("guard among the weights") != std::string::npos);
  CHECK(error_of("{").find("not JSON") != std::string::npos);
}

TEST_CASE("files are described for people, hostile ones by what is wrong with them") {
  const std::string plan = write_plan(small_plan());
  const std::string text = described("subgraph_0.meta", plan).value();
  CHECK(text.find("\"compiled for\":\"VULKAN\"") != std::string::npos);
  CHECK(text.find("\"waits for\":1") != std::string::npos);
  CHECK(text.find("\"made by\":\"spirv 1\"") != std::string::npos);
  CHECK(text.find("\"subgraph\":\"aaaa") != std::string::npos);
  CHECK(text.find("storageBuffer16BitAccess") != std::string::npos);
  const std::vector<uint32_t> w = words();
  const std::string_view bytes(reinterpret_cast<const char*>(w.data()), w.size() * 4);
  CHECK(described("k1.spv", bytes).value().find("\"invocations\":\"8x4x2\"") != std::string::npos);
  CHECK_FALSE(described("subgraph_0.meta", "{\"format\": \"other\"}").has_value());
  CHECK_FALSE(described("a.bin", plan).has_value());
  CHECK_THROWS_AS(described("k1.spv", "abc"), sdk::Error);
  CHECK_THROWS_AS(described("a.meta", plan.substr(0, 200)), sdk::Error);
}

TEST_CASE("no change of a byte of a plan and no cut brings its reader down") {
  const std::string good = write_plan(small_plan());
  std::mt19937 random(3);
  for (int k = 0; k < 2000; ++k) {
    std::string bytes = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>("0123456789{}[]\",:-.e"[random() % 20]);
    if (k % 4 == 0) bytes.resize(random() % bytes.size());
    (void)error_of(bytes);
  }
}

TEST_CASE("quirks are those of vendor, GPU, driver and its version, and what the user says is in their place") {
  const auto names = [](const DriverInfo& of, const std::string& said = "") {
    std::string out;
    for (const auto& [name, why] : quirks_of(of, said, "option spirv.quirks")) out += name + " (" + why.substr(0, 19) + ") ";
    return out;
  };
  const auto nvidia = [](uint32_t major, uint32_t minor, uint32_t patch) { return DriverInfo{0x10de, 0x2204, 4, major << 22 | minor << 14 | patch << 6}; };
  CHECK(names({0x1002, 0x73bf, 1, 7}) == "shaderIntegerDotProduct (https://github.com/) ");
  CHECK(names({0x1002, 0x73bf, 1, 7}, "auto") == names({0x1002, 0x73bf, 1, 7}));
  CHECK(names({0x1002, 0x73bf, 3, 7}).empty());  // RADV
  CHECK(names({0x1002, 0x744c, 1, 7}).empty());  // RDNA 3
  CHECK(names({0x8086, 0x73bf, 1, 7}).empty());
  CHECK(names(nvidia(470, 57, 2)) == "pipelineCache (https://github.com/) ");
  CHECK(names(nvidia(470, 62, 1)) == "pipelineCache (https://github.com/) ");
  CHECK(names(nvidia(470, 62, 2)).empty());
  CHECK(names(nvidia(465, 31, 0)).empty());
  CHECK(names({}).empty());
  CHECK(names(nvidia(470, 57, 2), "none").empty());
  CHECK(names(nvidia(470, 57, 2), "subgroupArithmetic,shaderInt8") == "shaderInt8 (option spirv.quirks) subgroupArithmetic (option spirv.quirks) ");
  for (const std::string bad : {"speed", "shaderInt8,", "none,shaderInt8", "SHADERINT8"}) {
    CAPTURE(bad);
    try {
      names({}, bad);
      FAIL("no error");
    } catch (const sdk::Error& e) {
      CHECK(e.code == OPTIMA_INVALID_ARGUMENT);
      CHECK_MESSAGE(e.text.starts_with("option spirv.quirks has '" + (bad == "shaderInt8," ? "" : bad.substr(0, bad.find(','))) + "', wanted auto, none, or some of pipelineCache, "), e.text);
    }
  }
}

TEST_CASE("what a module needs is read from its words") {
  const std::vector<uint32_t> w = words();
  const Requirements r = requirements_of(w.data(), w.size());
  CHECK(r.spirv == 0x00010300);
  CHECK(r.features == std::vector<std::string>{"storageBuffer16BitAccess"});
  CHECK(r.local == std::array<uint32_t, 3>{8, 4, 2});
  CHECK(r.shared_bytes == 256);
  CHECK(r.storage_buffers == 1);
}

TEST_CASE("no words bring the reader of modules down") {
  const std::vector<uint32_t> good = words();
  std::mt19937 random(4);
  for (int k = 0; k < 20000; ++k) {
    std::vector<uint32_t> w = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) w[random() % w.size()] = random() % 3 ? random() : static_cast<uint32_t>(random() % 40) | static_cast<uint32_t>(random() % 8) << 16;
    if (k % 4 == 0) w.resize(random() % w.size());
    try {
      (void)requirements_of(w.data(), w.size());
    } catch (const sdk::Error& e) {
      CHECK((e.code == OPTIMA_CORRUPT || e.code == OPTIMA_UNSUPPORTED));
    }
  }
}

TEST_CASE("what a GPU lacks is told with both numbers") {
  const std::vector<uint32_t> w = words();
  const Requirements r = requirements_of(w.data(), w.size());
  Limits has;
  CHECK(missing(r, has) == "needs storageBuffer16BitAccess, which this GPU has not");
  has.features = {"storageBuffer16BitAccess"};
  CHECK(missing(r, has).empty());
  has.invocations = 32;
  CHECK(missing(r, has) == "needs 64 invocations in a workgroup, this GPU has 32");
  has.invocations = 128, has.size = {8, 2, 8};
  CHECK(missing(r, has) == "needs 4 invocations along y, this GPU has 2");
  has.size = {128, 128, 64}, has.shared_bytes = 128;
  CHECK(missing(r, has) == "needs 256 bytes of shared memory, this GPU has 128");
  has.shared_bytes = 16384, has.vulkan = 0x00400000;
  CHECK(missing(r, has) == "needs SPIR-V 1.3, this GPU takes 1.0");
}

TEST_CASE("halves are rounded to the nearest, ties to even, and come back exactly") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_value(static_cast<uint16_t>(bits));
    if (value != value) CHECK((half_bits(value) & 0x7e00) == 0x7e00);
    else CHECK(half_bits(value) == bits);
  }
  CHECK(half_bits(65519.0f) == 0x7bff);
  CHECK(half_bits(65520.0f) == 0x7c00);
  CHECK(half_bits(2049.0f) == half_bits(2048.0f));
  CHECK(half_bits(2051.0f) == half_bits(2052.0f));
  CHECK(half_bits(3e-8f) == 1);
  CHECK(half_bits(2e-8f) == 0);
}

TEST_CASE("every bfloat16 comes back from binary32, and what lies between two goes to the nearest") {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float value = brain_value(static_cast<uint16_t>(bits));
    if (value != value) CHECK(brain_value(brain_bits(value)) != brain_value(brain_bits(value)));
    else CHECK(brain_bits(value) == bits);
  }
  CHECK(brain_bits(257.0f) == brain_bits(256.0f));
  CHECK(brain_bits(259.0f) == brain_bits(260.0f));
  CHECK(brain_bits(257.5f) == brain_bits(258.0f));
  CHECK(brain_bits(3.4e38f) == 0x7f80);
  CHECK(brain_value(brain_bits(std::bit_cast<float>(0x7f800001u))) != brain_value(brain_bits(std::bit_cast<float>(0x7f800001u))));
}
