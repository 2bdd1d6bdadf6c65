// SPDX-License-Identifier: Apache-2.0
// bench/llvm_cpu: general kernels (compiler/general.hpp) beside literal ones: CPU time of a run and of making them.
//   bench_llvm_cpu_general [part of a name]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "plugins/llvm_cpu/codegen/specialise.hpp"
#include "plugins/llvm_cpu/compiler/general.hpp"
#include "tests/unit/llvm_cpu_general/workbench.hpp"
#include "tests/unit/llvm_cpu_ops/codes_net.hpp"

namespace {

using namespace llvm_cpu_test;
using Make = std::function<void(CodesNet&, int64_t)>;

struct Case {
  const char* name;
  const char* label;  ///< of the step that is measured: it begins like this
  int64_t size, other;  ///< `other`: words that differ there are slots
  Make make;
  bool by_dots = false;  ///< codes are multiplied without a matrix unit
};

/// Seconds of this thread.
double cpu_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

uint32_t layer(Net& n, const Dims& in, int64_t out, int64_t kernel, int64_t stride, int64_t group = 1) {
  return n.same("Relu", 14, n.conv(n.input(in), out, kernel, stride, kernel / 2, group));
}
/// Height and width in one number.
constexpr int64_t plane(int64_t h, int64_t w) { return h * 4096 + w; }
Make image(int64_t channels, int64_t out, int64_t kernel, int64_t stride, int64_t group = 1) {
  return [=](Net& n, int64_t size) { n.output(layer(n, {1, channels, size / 4096, size % 4096}, out, kernel, stride, group)); };
}
Make product(int64_t K, int64_t N) {
  return [=](Net& n, int64_t m) { n.output(n.node("MatMul", 13, {n.input({m, K}), n.weights({K, N})}, {m, N})); };
}
Make scores(int64_t heads, int64_t depth) {
  return [=](Net& n, int64_t s) {
    const uint32_t k = n.node("Transpose", 13, {n.input({1, heads, s, depth})}, {1, heads, depth, s}, {Net::ints("perm", {0, 1, 3, 2})});
    n.output(n.node("MatMul", 13, {n.input({1, heads, s, depth}), k}, {1, heads, s, s}));
  };
}
Make values(int64_t heads, int64_t depth) {
  return [=](Net& n, int64_t s) { n.output(n.node("MatMul", 13, {n.input({1, heads, s, s}), n.input({1, heads, s, depth})}, {1, heads, s, depth})); };
}
Make chain(int64_t rows, bool broadcast) {
  return [=](Net& n, int64_t s) {
    const Dims dims{rows, s}, other{rows, broadcast ? 1 : s};
    const uint32_t x = n.input(dims), y = n.input(other);
    uint32_t v = x;
    for (int i = 0; i < 3; ++i) v = n.node("Add", 14, {n.node("Mul", 14, {v, y}, dims), x}, dims);
    n.output(v);
  };
}
Make rows(const char* op) {
  return [=](Net& n, int64_t s) { n.output(n.same(op, 13, n.input({64, s}), {Net::integer("axis", 1)})); };
}

constexpr CodeSteps kX{OPTIMA_U8, 0.02f, 117}, kY{OPTIMA_U8, 0.5f, 99};
Make coded_image(int64_t channels, int64_t out, int64_t kernel, int64_t stride, int64_t group = 1) {
  return [=](CodesNet& n, int64_t size) {
    Chance r(9);
    n.output(n.coded_layer(n.dequantize(n.input({1, channels, size / 4096, size % 4096}, OPTIMA_U8), kX), out, kernel, stride, group, r));
  };
}
Make coded_product(int64_t K, int64_t N) {
  return [=](CodesNet& n, int64_t m) {
    Chance r(9);
    std::vector<float> scales;
    const uint32_t w = n.weights_of_codes({K, N}, 1, r, scales);
    n.output(n.quantize(n.node("MatMul", 13, {n.dequantize(n.input({m, K}, OPTIMA_U8), kX), w}, {m, N}), kY));
  };
}
/// Of two computed operands: heads of [M][K] by [K][N], of which `size` gives the open ones.
Make coded_heads(int64_t heads, int64_t K, int64_t N) {
  return [=](CodesNet& n, int64_t s) {
    const Dims a{1, heads, s, K ? K : s}, b{1, heads, K ? K : s, N ? N : s}, out{1, heads, s, N ? N : s};
    n.output(n.quantize(n.node("MatMul", 13, {n.dequantize(n.input(a, OPTIMA_U8), kX), n.dequantize(n.input(b, OPTIMA_I8), {OPTIMA_I8, 0.02f, 0})}, out), kY));
  };
}

const Case kCases[] = {
    {"1x1 48->48 @80x120", "conv ", plane(80, 120), plane(40, 64), image(48, 48, 1, 1)},
    {"1x1 384->384 @10x15", "conv ", plane(10, 15), plane(8, 17), image(384, 384, 1, 1)},
    {"1x1 64->128 @7x7", "conv ", plane(7, 7), plane(8, 17), image(64, 128, 1, 1)},
    {"3x3 3->24 s2 @160x240", "conv ", plane(160, 240), plane(96, 130), image(3, 24, 3, 2)},
    {"3x3 s2 64->64 @50x62", "conv ", plane(50, 62), plane(40, 34), image(64, 64, 3, 2)},
    {"5x5 64->64 @25x31", "conv ", plane(25, 31), plane(20, 36), image(64, 64, 5, 1)},
    {"3x3 256->256 s2 @20x30", "conv ", plane(20, 30), plane(16, 24), image(256, 256, 3, 2)},
    {"Winograd 96->24 @80x120", "conv ", plane(80, 120), plane(40, 64), image(96, 24, 3, 1)},
    {"Winograd 96->24 @20x30", "conv ", plane(20, 30), plane(16, 24), image(96, 24, 3, 1)},
    {"depthwise 5x5 192 @20x30", "conv ", plane(20, 30), plane(16, 24), image(192, 192, 5, 1, 192)},
    {"depthwise 5x5 384 @10x15", "conv ", plane(10, 15), plane(8, 17), image(384, 384, 5, 1, 384)},
    {"depthwise 3x3 s2 192 @40x60", "conv ", plane(40, 60), plane(32, 48), image(192, 192, 3, 2, 192)},
    {"matmul 43x120x360", "matmul", 43, 80, product(120, 360)},
    {"matmul 77x768x768", "matmul", 77, 120, product(768, 768)},
    {"scores, 12 heads of 64, 128", "matmul", 128, 77, scores(12, 64)},
    {"scores, 12 heads of 64, 77", "matmul", 77, 128, scores(12, 64)},
    {"scores, 8 heads of 15, 40", "matmul", 40, 77, scores(8, 15)},
    {"weights x values, 12 heads, 77", "matmul", 77, 100, values(12, 64)},
    {"chain of 6, contiguous 200,000", "Mul", 2000, 1999, chain(100, false)},
    {"chain of 6, rows of 97", "Mul", 97, 113, chain(200, true)},
    {"chain of 6, rows of 13", "Mul", 13, 11, chain(200, true)},
    {"softmax, rows of 97", "Softmax", 97, 40, rows("Softmax")},
    {"softmax, rows of 384", "Softmax", 384, 40, rows("Softmax")},
    {"int8 1x1 48->48 @80x120", "conv ", plane(80, 120), plane(40, 64), coded_image(48, 48, 1, 1)},
    {"int8 1x1 64->128 @7x7", "conv ", plane(7, 7), plane(8, 17), coded_image(64, 128, 1, 1)},
    {"int8 3x3 64->64 @56x56", "conv ", plane(56, 56), plane(40, 34), coded_image(64, 64, 3, 1)},
    {"int8 3x3 s2 128->256 @28x28", "conv ", plane(28, 28), plane(40, 34), coded_image(128, 256, 3, 2)},
    {"int8 depthwise 3x3 192 @28x28", "conv ", plane(28, 28), plane(32, 48), coded_image(192, 192, 3, 1, 192)},
    {"int8 depthwise 5x5 s2 96 @25x31", "conv ", plane(25, 31), plane(32, 48), coded_image(96, 96, 5, 2, 96)},
    {"int8 product 77x768x768", "product", 77, 120, coded_product(768, 768)},
    {"int8 scores, 12 heads of 64, 128", "matmul", 128, 77, coded_heads(12, 64, 0)},
    {"int8 scores, 12 heads of 64, 77", "matmul", 77, 128, coded_heads(12, 64, 0)},
    {"int8 values, 12 heads of 64, 128", "matmul", 128, 77, coded_heads(12, 0, 64)},
    {"dots 1x1 48->48 @80x120", "conv ", plane(80, 120), plane(40, 64), coded_image(48, 48, 1, 1), true},
    {"dots 1x1 64->128 @7x7", "conv ", plane(7, 7), plane(8, 17), coded_image(64, 128, 1, 1), true},
    {"dots 3x3 64->64 @56x56", "conv ", plane(56, 56), plane(40, 34), coded_image(64, 64, 3, 1), true},
    {"dots 3x3 s2 128->256 @28x28", "conv ", plane(28, 28), plane(40, 34), coded_image(128, 256, 3, 2), true},
    {"dots product 77x768x768", "product", 77, 120, coded_product(768, 768), true},
    {"dots scores, 12 heads of 64, 128", "matmul", 128, 77, coded_heads(12, 64, 0), true},
    {"dots scores, 12 heads of 64, 77", "matmul", 77, 128, coded_heads(12, 64, 0), true},
    {"dots values, 12 heads of 64, 128", "matmul", 128, 77, coded_heads(12, 0, 64), true},
};

struct Step {
  cpu::KernelSpec spec;
  size_t number = 0;
};
Step step_of(const cpu::Draft& d, const std::string& label) {
  for (size_t s = 0; s < d.plan.steps.size(); ++s)
    if (d.plan.steps[s].label.starts_with(label)) return {d.specs[d.plan.steps[s].kernel], s};
  for (size_t s = 0; s < d.plan.steps.size(); ++s) std::fprintf(stderr, "  step %s\n", d.plan.steps[s].label.c_str());
  throw std::runtime_error("no step " + label);
}

/// Words that differ at another size; all when the kernel there is another one, and of products on codes, as the compiler has it.
cpu::KernelSpec general_of(const cpu::KernelSpec& spec, const cpu::KernelSpec& other) {
  const cpu::KernelSpec all = cpu::general(spec, cpu::sizes(spec));
  if (!cpu::matches(all, other) || spec.entry.starts_with("k_codes")) return all;
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < spec.literals.size(); ++i)
    if (spec.literals[i] != other.literals[i]) slots.push_back(i);
  return cpu::general(spec, slots);
}

double making(const cpu::KernelSpec& spec, const Workbench& bench, size_t& bytes) {
  const double before = cpu_time();
  bytes = cpu::specialise(spec, bench.target()).size();
  return cpu_time() - before;
}

void measure(const Case& c) {
  CodesNet here(1), there(1);  // models borrow their weights
  Workbench& bench = c.by_dots ? workbench("x86-64-v4", "+avx512vnni") : workbench();
  c.make(here, c.size), c.make(there, c.other);
  const auto model = here.model(), other = there.model();
  // as the compiler does: tiles that spill are left out
  std::set<std::string> spilled;
  cpu::Draft draft;
  for (int round = 0; round < 4; ++round) {
    draft = bench.plan(*model, [&](const cpu::KernelSpec& s) { return spilled.count(cpu::to_text(s)) != 0; });
    bench.build(draft.specs);
    const size_t before = spilled.size();
    for (const cpu::KernelSpec& s : draft.specs)
      if (s.has_tile && bench.kernel(s).loops.spills()) spilled.insert(cpu::to_text(s));
    if (spilled.size() == before) break;
  }
  const Step step = step_of(draft, c.label);
  const cpu::KernelSpec general = general_of(step.spec, step_of(bench.plan(*other), c.label).spec);
  bench.build({step.spec, general});
  const Tensors in = inputs_of(*model, 0);
  Execution run(draft, *model, in);
  for (size_t s = 0; s < step.number; ++s) {
    bench.build({draft.specs[draft.plan.steps[s].kernel]});
    run.run(s, bench.function(draft.specs[draft.plan.steps[s].kernel]));
  }
  const KernelFunction kernels[] = {bench.function(step.spec), bench.function(general)};
  const std::vector<int64_t> row = cpu::row(general, step.spec);
  double best[] = {1e9, 1e9};
  int repeat = 1;
  for (const double end = cpu_time() + 0.6; cpu_time() < end;)
    for (int k : {0, 1}) {
      const double before = cpu_time();
      for (int i = 0; i < repeat; ++i) run.run(step.number, kernels[k], row);
      const double took = (cpu_time() - before) / repeat;
      best[k] = std::min(best[k], took);
      repeat = std::max(1, static_cast<int>(2e-4 / best[k]));
    }
  size_t bytes[2];
  const double made[] = {making(step.spec, bench, bytes[0]), making(general, bench, bytes[1])};
  const auto &l0 = bench.kernel(step.spec).loops, &l1 = bench.kernel(general).loops;
  std::printf("%-32s %9.2f %9.2f %6.3f   %5.0f %5.0f ms  %6.1f %6.1f KB  stack %u/%u %u/%u  %s\n", c.name, best[0] * 1e6, best[1] * 1e6, best[1] / best[0], made[0] * 1e3,
              made[1] * 1e3, static_cast<double>(bytes[0]) / 1024, static_cast<double>(bytes[1]) / 1024, l0.stack_accesses, l0.multiply_adds, l1.stack_accesses,
              l1.multiply_adds, cpu::to_text(general).substr(0, 40).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-32s %9s %9s %6s   %s\n", "CPU time on one thread", "literal", "general", "ratio", "making each, object, stack accesses per multiply-adds");
  for (const Case& c : kCases)
    if (argc < 2 || std::string(c.name).find(argv[1]) != std::string::npos) measure(c);
  return 0;
}
