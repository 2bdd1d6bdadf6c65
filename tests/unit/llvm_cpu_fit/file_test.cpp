// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: the table of kernels of an artifact of open sizes: read back as it was written, and refused when it is damaged.
#include <doctest/doctest.h>

#include <random>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/kernels/matmul.hpp"
#include "tests/support/damage.hpp"

using namespace optima;
using namespace optima::llvm_cpu;

namespace {

FitFile some_file() {
  FitFile f;
  f.target.triple = "x86_64-unknown-linux-gnu", f.target.cpu = "haswell", f.target.features = "-sse4a";
  f.target.vector_width = 8, f.target.registers = 16;
  f.features = {"avx2", "fma"};
  const KernelSpec copy(k::CopyBytes{.bytes = 4096}), blocks(k::ToBlocked{.C = 3, .P = 64});
  f.kernels = {{copy, "copy_bytes_1.so"}, {general(blocks, sizes(blocks)), "to_blocked_2.so"}};
  f.first = {{1, 3, 64, 64}, {}};
  f.also = {{{1, 3, 8, 8}, {}}, {{2, 3, 480, 480}, {}}};
  return f;
}

std::string refusal(const std::string& bytes) {
  try {
    parse_fit_file(bytes);
    return "";
  } catch (const sdk::Error& e) {
    CHECK(e.code == OPTIMA_CORRUPT);
    return e.text;
  }
}

std::string with(FitFile f, void (*change)(FitFile&)) {
  change(f);
  return refusal(to_bytes(f));
}

}  // namespace

TEST_CASE("a table of kernels is read as it was written, and finds the kernel with the fewest slots") {
  const FitFile f = parse_fit_file(to_bytes(some_file()));
  CHECK(to_bytes(f) == to_bytes(some_file()));
  CHECK(is_fit_file(to_bytes(f)));
  CHECK(f.target.vector_width == 8);
  CHECK(f.first == some_file().first);
  CHECK(f.also == some_file().also);
  const KernelTable table(f.kernels);
  CHECK(table.find(KernelSpec(k::CopyBytes{.bytes = 4096})) == 0u);
  CHECK_FALSE(table.find(KernelSpec(k::CopyBytes{.bytes = 4097})));
  CHECK(table.find(KernelSpec(k::ToBlocked{.C = 3, .P = 7})) == 1u);  // sizes of the run
  CHECK_FALSE(table.find(KernelSpec(k::ToBlocked{.C = 5, .P = 7})));  // channels are literal
  CHECK_FALSE(table.find(KernelSpec(k::FromBlocked{.C = 3, .P = 64})));
}

TEST_CASE("of kernels with as many slots the table finds the one whose tile suits") {
  const auto product = [](int64_t rows, int64_t blocks, int64_t M) {
    return KernelSpec(k::Matmul{.mr = rows, .nb = blocks, .mb = rows, .packed = 1, .in_place = 0, .ahead = 0, .epilogue = 0, .act = {k::Act::None, 0, 0}, .alpha = 1, .M = M,
                                .N = 256, .K = 64, .sam = 64, .sak = 1, .sbk = 256, .sbn = 1, .scm = 256, .b1 = 1, .sa0 = 0, .sa1 = 0, .sb0 = 0, .sb1 = 0, .sc0 = 0, .sc1 = 0});
  };
  const KernelSpec many = product(8, 3, 64), one = product(1, 8, 1);
  const std::vector<FitFile::Kernel> kernels{{general(many, sizes(many)), "matmul_1.so"}, {general(one, sizes(one)), "matmul_2.so"}};
  const KernelTable table(kernels);
  CHECK(table.find(product(8, 3, 640)) == 0u);
  CHECK(table.find(product(7, 3, 49)) == 0u);   // as good as 8
  CHECK(table.find(product(4, 4, 4)) == 0u);
  CHECK(table.find(product(5, 4, 5)) == 0u);    // in one piece, and accumulators enough
  CHECK(table.find(product(1, 8, 1)) == 1u);
  CHECK(table.find(product(2, 6, 2)) == 0u);    // none suits: one whose tile has the rows
  const std::vector<FitFile::Kernel> turned{kernels[1], kernels[0]};
  CHECK(KernelTable(turned).find(product(2, 6, 2)) == 1u);
}

TEST_CASE("what does not belong into a table of kernels is named") {
  CHECK(refusal("OptimaLlvmCpu") == "plan: not a file of kernels for sizes that come at run time");
  CHECK(refusal(to_bytes(some_file()) + "x") == "plan: bytes after the end");
  CHECK(refusal(to_bytes(some_file()).substr(0, 60)) == "plan: ends too early");
  CHECK(with(some_file(), [](FitFile& f) { f.target.vector_width = 5; }) == "plan: vectors of 5 floats");
  CHECK(with(some_file(), [](FitFile& f) { f.target.threads = 0; }) == "plan: the target is none");
  CHECK(with(some_file(), [](FitFile& f) { f.kernels[0].file = "../evil.so"; }) == "plan: \"../evil.so\" is no name of a kernel file");
  CHECK(with(some_file(), [](FitFile& f) { f.kernels[1].spec.slots = {9}; }) == "plan: kernel to_blocked_2.so has slot 9");
  CHECK(with(some_file(), [](FitFile& f) { f.first[0][1] = -3; }) == "plan: an input's dim is -3");
  CHECK(with(some_file(), [](FitFile& f) { f.also[1][0][2] = -3; }) == "plan: an input's dim is -3");
  CHECK(with(some_file(), [](FitFile& f) { f.also.resize(9); }) == "plan: 9 further sets of sizes to plan first");
}

TEST_CASE("damaged tables of kernels are refused or harmless") {
  const std::string good = to_bytes(some_file());
  std::mt19937_64 random(7);
  int refused = 0;
  constexpr int kRounds = 20000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string bytes = test::damaged(good, random);
    refused += !refusal(bytes).empty();
  }
  CHECK(refused > kRounds / 2);
}
