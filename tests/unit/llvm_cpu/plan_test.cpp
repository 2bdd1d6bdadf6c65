// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu: the plan's bytes are hostile; arenas do not overlap; packing puts every weight where it belongs.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "optima/abi.h"
#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/compiler/arena.hpp"
#include "plugins/llvm_cpu/plan/half.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"

using namespace optima::llvm_cpu;

namespace {

Plan sample() {
  Plan p;
  p.triple = "x86_64-unknown-linux-gnu", p.cpu = "znver4", p.features = {"avx2", "fma"};
  p.arena_bytes = 4096, p.scratch_bytes = 128;
  p.inputs = {{"x", OPTIMA_F32, {1, 3, 4}, 48}}, p.outputs = {{"y", OPTIMA_I64, {2}, 16}};
  p.kernels = {"conv_0123456789abcdef.so"};
  Plan::Constant scale, weight;
  scale.size = scale.packed_bytes = 64;
  weight.weight = "w0", weight.size = 4 * 16 * 8, weight.scale = 0;
  weight.pack.kind = Pack::Dense, weight.pack.vector_width = 16, weight.pack.oc = 16, weight.pack.ic = 8;
  weight.pack.oc_stride = 8, weight.pack.ic_stride = 1, weight.packed_bytes = 4 * 16 * 8;
  p.constants = {scale, weight};
  Plan::Step s;
  s.units = 3, s.turns = 5, s.slices = 2, s.work = 100, s.label = "conv", s.node_ids = {7};
  s.args = {{Plan::Arg::Input, 0, 0}, {Plan::Arg::Constant, 1, 0}, {Plan::Arg::Arena, 0, 64}, {Plan::Arg::Output, 0, 0}, {}};
  p.steps = {s};
  return p;
}

std::string refusal(const Plan& p) {
  try {
    parse_plan(to_bytes(p));
  } catch (const optima::sdk::Error& e) {
    CHECK(e.code == OPTIMA_CORRUPT);
    return e.text;
  }
  return "";
}

}  // namespace

TEST_CASE("a plan is read as it was written") {
  const std::string bytes = to_bytes(sample());
  CHECK(to_bytes(parse_plan(bytes)) == bytes);
}

TEST_CASE("every wrong number of a plan is refused by name") {
  const auto with = [](auto change) {
    Plan p = sample();
    change(p);
    return refusal(p);
  };
  CHECK(with([](Plan& p) { p.steps[0].kernel = 1; }) == "plan: kernel 1 does not exist");
  CHECK(with([](Plan& p) { p.steps[0].units = 0; }) == "plan: step with 0 units");
  CHECK(with([](Plan& p) { p.steps[0].turns = 0; }) == "plan: step with 0 turns of 2 slices");
  CHECK(with([](Plan& p) { p.steps[0].turns = p.steps[0].slices = int64_t{1} << 32; }) == "plan: step with 4294967296 turns of 4294967296 slices");
  CHECK(with([](Plan& p) { p.steps[0].turns = int64_t{1} << 39; }) == "plan: step with 549755813888 turns of 2 slices");  // of 3 units
  CHECK(with([](Plan& p) { p.steps[0].grain = 0; }) == "plan: step with work 100 and grain 0");
  CHECK(with([](Plan& p) { p.steps[0].args[0].index = 5; }) == "plan: input 5 does not exist");
  CHECK(with([](Plan& p) { p.steps[0].args[1].index = 2; }) == "plan: constant 2 does not exist");
  CHECK(with([](Plan& p) { p.steps[0].args[2].offset = 5000; }) == "plan: operand offset 5000 is past 4096");
  CHECK(with([](Plan& p) { p.steps[0].args[3].offset = 17; }) == "plan: operand offset 17 is past 16");
  CHECK(with([](Plan& p) { p.kernels[0] = "../../lib/libc.so"; }) == "plan: \"../../lib/libc.so\" is no name of a kernel file");
  CHECK(with([](Plan& p) { p.inputs[0].bytes = 40; }) == "plan: tensor x says 40 bytes, its shape 48");
  CHECK(with([](Plan& p) { p.inputs[0].dims[1] = -1; }) == "plan: tensor x has dim -1");
  CHECK(with([](Plan& p) { p.outputs[0].dtype = OPTIMA_STRING; }) == "plan: tensor y has dtype 8");
  CHECK(with([](Plan& p) { p.constants[1].packed_bytes = 8; }) == "constant: packs to 512 bytes, says 8");
  CHECK(with([](Plan& p) { p.constants[1].pack.oc_stride = 9; }) == "constant: packing reads outside its 512 bytes");
  CHECK(with([](Plan& p) { p.constants[1].pack.ic_stride = -1; }) == "constant: packing reads outside its 512 bytes");
  CHECK(with([](Plan& p) { p.constants[1].pack.source = static_cast<Pack::Source>(3); }) == "constant: packing source 3");
  CHECK(with([](Plan& p) { p.constants[1].pack.source = Pack::F16; }) == "");  // half of its bytes are left over
  CHECK(with([](Plan& p) { p.constants[0].size = p.constants[0].packed_bytes = 60; }) == "constant: too few scale factors");
  CHECK(with([](Plan& p) { p.arena_bytes = UINT64_MAX; }) == "plan: memory size is out of range");
  CHECK_THROWS_WITH(parse_plan(to_bytes(sample()) + "x"), "plan: bytes after the end");
  CHECK_THROWS_WITH(parse_plan("GIF89a"), "plan: not a plan of format 1");
}

TEST_CASE("no damage to a plan's bytes does more than refuse it") {
  const std::string good = to_bytes(sample());
  std::mt19937 random(3);
  int refused = 0;
  for (size_t cut = 0; cut < good.size(); ++cut) CHECK_THROWS_AS(parse_plan(good.substr(0, cut)), optima::sdk::Error);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int k = static_cast<int>(random() % 4); k >= 0; --k) bad[random() % bad.size()] = static_cast<char>(random() % 3 ? random() : 0xFF);
    try {
      const Plan p = parse_plan(bad);
      CHECK(to_bytes(p) == bad);
    } catch (const optima::sdk::Error& e) {
      CHECK(e.code == OPTIMA_CORRUPT);
      ++refused;
    }
  }
  CHECK(refused > 5000);
}

TEST_CASE("buffers that live at the same time never overlap, and dead ones are reused") {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> all(40);
    uint64_t sum = 0;
    for (Lifetime& l : all) {
      l.bytes = 1 + random() % 5000, l.first = random() % 60, l.last = l.first + random() % 8;
      sum += l.bytes;
    }
    const uint64_t end = place(all);
    for (size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].offset % 64 == 0);
      CHECK(all[i].offset + all[i].bytes <= end);
      for (size_t j = 0; j < i; ++j) {
        const bool together = all[i].first <= all[j].last && all[j].first <= all[i].last;
        const bool apart = all[i].offset + all[i].bytes <= all[j].offset || all[j].offset + all[j].bytes <= all[i].offset;
        CHECK((!together || apart));
      }
    }
    CHECK(end < sum);
  }
}

TEST_CASE("a chain of equal buffers needs the room of two") {
  std::vector<Lifetime> all;
  for (size_t i = 0; i < 10; ++i) all.push_back({1000, i, i + 1});
  CHECK(place(all) == 2 * 1024);
}

TEST_CASE("dense packing puts groups, blocks and merged groups where the kernels read them") {
  Pack p;
  p.kind = Pack::Dense, p.vector_width = 4, p.oc_blocks = 2, p.in_block = 4, p.groups = 2, p.diagonal = 3, p.oc = 9, p.ic = 6, p.kh = 2, p.kw = 2;
  p.kw_stride = 1, p.kh_stride = 2, p.ic_stride = 4, p.oc_stride = 2 * 4, p.diagonal_stride = 3 * p.oc_stride, p.group_stride = 9 * p.oc_stride;
  std::vector<float> source(2 * 9 * 2 * 4), scale(18);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<float>(i + 1);
  check_pack(p, source.size() * 4, scale.size() * 4, packed_bytes(p, 0));
  std::vector<float> packed(packed_bytes(p, 0) / 4, -1);
  for (int64_t part = 0; part < pack_parts(p); ++part) pack_part(p, part, source.data(), source.size() * 4, scale.data(), packed.data());
  size_t at = 0;
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t b0 = 0; b0 < 3; b0 += 2)
      for (int64_t ib = 0; ib < 6; ib += 4)
        for (int64_t y = 0; y < 2; ++y)
          for (int64_t i = ib; i < std::min<int64_t>(6, ib + 4); ++i)
            for (int64_t x = 0; x < 2; ++x)
              for (int64_t o = b0 * 4; o < std::min<int64_t>(3, b0 + 2) * 4; ++o) {
                const bool inside = o < 9 && o / 3 == i / 2;
                const float want = inside ? source[static_cast<size_t>(((g * 9 + o) * 2 + i % 2) * 4 + y * 2 + x)] * static_cast<float>(g * 9 + o + 1) : 0.f;
                CHECK(packed[at++] == want);
              }
  CHECK(at == packed.size());
}

TEST_CASE("pairs of bf16 lie two inputs side by side, an odd last one beside 0, from every type of source") {
  Pack p;
  p.kind = Pack::Pairs, p.vector_width = 4, p.oc_blocks = 2, p.oc = 9, p.ic = 3, p.kh = 1, p.kw = 2;
  p.kw_stride = 1, p.ic_stride = 2, p.oc_stride = 6;
  std::vector<float> floats(9 * 6), scale(9, 2.f);
  std::vector<uint16_t> bf16(floats.size()), f16(floats.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    floats[i] = static_cast<float>(i + 1);  // 6 bits, which all types hold
    bf16[i] = to_bf16(floats[i]);
    f16[i] = static_cast<uint16_t>((std::ilogb(floats[i]) + 15) << 10 | (static_cast<int>(std::ldexp(floats[i], 10 - std::ilogb(floats[i]))) & 0x3FF));
  }
  const auto check_from = [&](Pack::Source source, const void* from, uint64_t each) {
    p.source = source;
    const uint64_t bytes = floats.size() * each;
    check_pack(p, bytes, scale.size() * 4, packed_bytes(p, bytes));
    CHECK_THROWS(check_pack(p, bytes - 1, UINT64_MAX, packed_bytes(p, bytes)));
    std::vector<uint16_t> packed(packed_bytes(p, bytes) / 2, 0xFFFF);
    for (int64_t part = 0; part < pack_parts(p); ++part) pack_part(p, part, from, bytes, scale.data(), packed.data());
    size_t at = 0;
    for (int64_t b0 = 0; b0 < 3; b0 += 2)
      for (int64_t x = 0; x < 2; ++x)
        for (int64_t i = 0; i < 4; i += 2)
          for (int64_t o = b0 * 4; o < std::min<int64_t>(3, b0 + 2) * 4; ++o)
            for (int64_t j = i; j < i + 2; ++j) {
              const float want = o < 9 && j < 3 ? 2 * floats[static_cast<size_t>(o * 6 + j * 2 + x)] : 0.f;
              CHECK(from_bf16(packed[at++]) == want);
            }
    CHECK(at == packed.size());
  };
  check_from(Pack::F32, floats.data(), 4);
  check_from(Pack::BF16, bf16.data(), 2);
  check_from(Pack::F16, f16.data(), 2);
  p.groups = 2;
  CHECK_THROWS(check_pack(p, floats.size() * 4, UINT64_MAX, packed_bytes(p, 0)));
}

TEST_CASE("constants of 16-bit floats are widened when nothing else is asked") {
  Pack p;
  p.source = Pack::F16;
  const std::vector<uint16_t> halves{0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00, 0x8000};
  check_pack(p, 12, UINT64_MAX, 24);
  CHECK_THROWS(check_pack(p, 12, UINT64_MAX, 12));
  std::vector<float> wide(6);
  pack_part(p, 0, halves.data(), 12, nullptr, wide.data());
  CHECK(wide == std::vector<float>{1, -2, 0x1p-24f, 65504, INFINITY, 0});
  CHECK(std::signbit(wide[5]));
}
