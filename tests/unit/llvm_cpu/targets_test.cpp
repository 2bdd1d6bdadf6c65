// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: what is compiled for by default: the machine's processor without what its hypervisor or kernel hides.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"
#include "plugins/llvm_cpu/runtime/cpu_features.hpp"

using namespace optima::llvm_cpu;

namespace {

const char* own_kind() { return running_arch() == "x86_64" ? "X64" : "ARM64"; }

bool contains(const std::vector<std::string>& all, std::string_view part) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& s) { return s.find(part) != std::string::npos; });
}

bool is_x86() {
  if (running_arch() != "x86_64") std::puts("SKIP: this machine is no x86-64");
  return running_arch() == "x86_64";
}

}  // namespace

TEST_CASE("code for this machine needs nothing that the machine lacks") {
  const Target t = make_target(own_kind(), "", "", "");
  CHECK(missing_features(required_features(t)) == std::vector<std::string>());
}

TEST_CASE("a machine that masks AVX-512 gets code without it, whatever the name of its processor promises") {
  if (!is_x86()) return;
  HostCpu host{"znver4", {{"avx512f", false}, {"avx512vl", false}, {"avx2", true}, {"fma", true}, {"gfni", false}}};
  const Target t = make_target("X64", "", "", "", host);
  CHECK(t.cpu == "znver4");
  CHECK(t.vector_width == 8);
  CHECK_FALSE(contains(required_features(t), "avx512"));
  CHECK_FALSE(contains(required_features(t), "gfni"));
  CHECK(contains(required_features(t), "avx2"));
  CHECK(make_target("X64", "", "host", "", host).vector_width == 8);
  CHECK(make_target("X64", "", "znver4", "", host).vector_width == 16);  // somebody else's machine, by name
  CHECK(make_target("X64", "", "", "+gfni", host).features == t.features + ",+gfni");
  host.features["avx2"] = false;
  CHECK_THROWS_WITH_AS(make_target("X64", "", "", "", host), "cpu \"znver4\" has no AVX2 and FMA, wanted at least x86-64-v3", optima::sdk::Error);
}

TEST_CASE("a machine with AMX gets code for it, whatever the name of its processor promises, and no other machine does") {
  if (!is_x86()) return;
  const HostCpu host{"rocketlake", {{"amx-int8", true}, {"amx-tile", true}}};
  const Target t = make_target("X64", "", "", "", host);
  CHECK(t.features == "+amx-int8,+amx-tile");
  CHECK(t.amx);
  CHECK_FALSE(make_target("X64", "", "rocketlake", "", host).amx);
  CHECK_FALSE(make_target("X64", "", "", "", {"sapphirerapids", {{"amx-int8", false}, {"amx-tile", false}}}).amx);
}

TEST_CASE("how bytes are multiplied follows from the processor's features") {
  CHECK(make_target("X64", "", "znver4", "").dot == k::Dot::Vnni);
  CHECK(make_target("X64", "", "x86-64-v4", "").dot == k::Dot::Pairs);
  CHECK(make_target("X64", "", "haswell", "").dot == k::Dot::Pairs);
  CHECK(make_target("X64", "", "alderlake", "").dot == k::Dot::AvxVnni);
  CHECK(make_target("ARM64", "", "cortex-a53", "").dot == k::Dot::Widened);
  CHECK(make_target("ARM64", "", "neoverse-n1", "").dot == k::Dot::Signed);
}

TEST_CASE("a machine that hides nothing changes nothing, and another kind is not this machine") {
  if (!is_x86()) return;
  CHECK(make_target("X64", "", "", "", {"znver4", {{"avx512f", true}}}).vector_width == 16);
  CHECK(make_target("ARM64", "", "", "", {"znver4", {{"neon", false}}}).features.empty());
}

TEST_CASE("a matrix unit is used where the machine has it, whatever its name, and where a named processor has it") {
  if (!is_x86()) return;
  const HostCpu blurred{"rocketlake", {{"amx-tile", true}, {"amx-bf16", true}}}, hidden{"sapphirerapids", {{"amx-tile", false}, {"amx-bf16", false}}};
  CHECK(make_target("X64", "", "", "", blurred).bf16 == Bf16::Tiles);
  CHECK_FALSE(contains(required_features(make_target("X64", "", "", "", blurred)), "amx-tile"));  // of artifacts whose kernels use it only
  CHECK(make_target("X64", "", "", "", hidden).bf16 == Bf16::None);
  CHECK(make_target("X64", "", "sapphirerapids", "", hidden).bf16 == Bf16::Tiles);
  CHECK(make_target("X64", "", "sapphirerapids", "-amx-bf16").bf16 == Bf16::None);
  CHECK(make_target("X64", "", "znver4", "").bf16 == Bf16::Dots);
  CHECK(make_target("X64", "", "haswell", "").bf16 == Bf16::None);
}

TEST_CASE("only kernels that run on a matrix unit ask for it") {
  KernelSpec plain, bytes, halves;
  bytes.matrix = "amx-int8", halves.matrix = "amx-bf16";
  CHECK(matrix_features({plain, plain}).empty());
  CHECK(matrix_features({plain, bytes, bytes}) == std::vector<std::string>{"amx-int8", "amx-tile"});
  CHECK(matrix_features({halves, bytes}) == std::vector<std::string>{"amx-bf16", "amx-int8", "amx-tile"});
  for (const std::string& name : matrix_features({halves, bytes})) CHECK((!is_x86() || is_known_feature(name)));
}

TEST_CASE("the machine can be asked for every feature that an artifact may name") {
  if (!is_x86()) return;
  for (const char* cpu : {"znver4", "sapphirerapids", "bdver4", "alderlake", "haswell"})
    for (const std::string& name : required_features(make_target("X64", "", cpu, ""))) {
      CAPTURE(name);
      CHECK(is_known_feature(name));
    }
  const auto none = [](std::string_view name) { return name != "avx512f"; };
  CHECK(missing_features({"avx2", "avx512f", "bmi"}, none) == std::vector<std::string>{"avx512f"});
  CHECK(missing_features({"quantum"}) == std::vector<std::string>{"quantum"});
}
