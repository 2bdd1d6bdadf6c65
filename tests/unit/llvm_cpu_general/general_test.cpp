// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_general: which literals become slots, which specs a general kernel serves, and what it reads to do so.
#include <doctest/doctest.h>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/codegen/targets.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/kernels/depthwise.hpp"
#include "plugins/llvm_cpu/kernels/elementwise.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/kernels/matmul.hpp"
#include "plugins/llvm_cpu/kernels/softmax.hpp"

namespace cpu = optima::llvm_cpu;

namespace {

cpu::KernelSpec blocked(int64_t channels, int64_t pixels) { return k::ToBlocked{.C = channels, .P = pixels}; }
cpu::KernelSpec depthwise(int64_t width, int64_t size) {
  return k::Depthwise{.WT = width, .tail = {0, {k::Act::None, 0, 0}}, .CB = 2, .H = size, .W = size, .OH = size, .OW = size, .KH = 3, .KW = 3, .SH = 1, .SW = 1,
                      .DH = 1, .DW = 1, .PT = 1, .PL = 1, .out_image = 2, .res_image = 3};
}

}  // namespace

TEST_CASE("a template says which of its literals may be sizes") {
  CHECK(cpu::sizes(blocked(3, 4)) == std::vector<uint32_t>{1});
  CHECK(cpu::sizes(depthwise(7, 20)) == std::vector<uint32_t>{0, 9, 10, 11, 12, 21, 22});
}

TEST_CASE("a general kernel serves the specs that differ from it in slots alone, and reads what they have there") {
  const cpu::KernelSpec made = cpu::general(blocked(3, 4), {1});
  CHECK(made.literals == std::vector<int64_t>{3, 0});
  CHECK(cpu::to_text(made) == "k_to_blocked(3,?)");
  CHECK(cpu::matches(made, blocked(3, 4)));
  CHECK(cpu::matches(made, blocked(3, 999)));
  CHECK_FALSE(cpu::matches(made, blocked(5, 4)));
  CHECK_FALSE(cpu::matches(made, made));
  CHECK(cpu::row(made, blocked(3, 999)) == std::vector<int64_t>{999});
  CHECK_FALSE(made == blocked(3, 0));
}

TEST_CASE("a hint is a slot without being asked for, and keeps its literal") {
  const cpu::KernelSpec made = cpu::general(depthwise(7, 20), {10, 12});
  CHECK(made.slots == std::vector<uint32_t>{0, 10, 12});
  CHECK(made.literals[0] == 7);
  CHECK(cpu::to_text(made).substr(0, 15) == "k_depthwise(?7,");
  cpu::KernelSpec wider = depthwise(5, 20);
  wider.literals[10] = wider.literals[12] = 33;
  CHECK(cpu::matches(made, wider));
  CHECK(cpu::row(made, wider) == std::vector<int64_t>{5, 33, 33});
  CHECK_FALSE(cpu::matches(made, depthwise(7, 21)));  // its height is a literal here
}

TEST_CASE("general kernels are made for every kind of target, and need nothing of a C library") {
  const cpu::KernelSpec product = k::Matmul{.mr = 4, .nb = 2, .mb = 8, .packed = 0, .in_place = 0, .ahead = 0, .epilogue = 0, .act = {k::Act::None, 0, 0}, .alpha = 1, .M = 9,
                                            .N = 20, .K = 7, .sam = 7, .sak = 1, .sbk = 20, .sbn = 1, .scm = 20, .b1 = 1, .sa0 = 0, .sa1 = 0, .sb0 = 0, .sb1 = 0, .sc0 = 0, .sc1 = 0};
  const cpu::KernelSpec softmax = k::Softmax{.log = 0, .len = 9, .inner = 1, .ends = {k::Stored::Floats, k::Stored::Floats}};
  cpu::KernelSpec chain = k::Elementwise{.operands = 2};
  chain.literals = {2, 0, 0, 9, 2}, chain.expression = "loop $1 $2 $3; load 0 f32 $4; exp 0; cast i8 1; store 1 2 1";
  for (const auto& [kind, name] : {std::pair("X64", "skylake-avx512"), {"X64", "haswell"}, {"ARM64", "neoverse-n1"}})
    for (const cpu::KernelSpec& spec : {depthwise(4, 20), product, softmax, chain}) {
      CAPTURE(name);
      if (spec == product && std::string_view(kind) == "X64") continue;  // seconds each: other tests run it on such targets
      const cpu::KernelSpec made = cpu::general(spec, cpu::sizes(spec));
      CAPTURE(cpu::to_text(made));
      CHECK_FALSE(cpu::specialise(made, cpu::make_target(kind, "", name, "")).empty());
    }
}

TEST_CASE("a literal that shapes code cannot be a slot") {
  CHECK_THROWS_WITH_AS(cpu::general(blocked(3, 4), {0}), "kernel k_to_blocked: literal 0 is to be read in the run, but may not be", optima::sdk::Error);
}
