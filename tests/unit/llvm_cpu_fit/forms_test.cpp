// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: into how many forms plans of many sizes pack one weight, and which of them are packed when an artifact is loaded.
#include <set>

#include "plugins/llvm_cpu/compiler/tiles.hpp"
#include "plugins/llvm_cpu/fit/packed_forms.hpp"
#include "plugins/llvm_cpu/fit/sampler.hpp"
#include "plugins/llvm_cpu/plan/pack.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

using namespace llvm_cpu_test;
namespace cpu = optima::llvm_cpu;

namespace {

cpu::Target wide() {
  cpu::Target t;
  t.triple = "x86_64-linux-gnu";
  return t;
}

/// Of the weight of the net's one convolution, over pictures of 2 to 130 pixels a side.
std::set<std::string> forms_of(OpenNet& net, int64_t channels) {
  const auto model = net.model();
  const cpu::Fitter fitter(model->raw, wide(), true);
  std::set<std::string> out;
  for (int64_t side = 2; side < 131; ++side) {
    const auto leg = fitter.first({{1, channels, side, side + side % 5}});
    for (const cpu::Plan::Constant& c : leg->draft.plan.constants)
      if (!c.weight.empty() && c.pack.kind != cpu::Pack::None && c.pack.kind != cpu::Pack::Channels) out.insert(cpu::key_of(c.pack));
  }
  return out;
}

}  // namespace

TEST_CASE("blocks of a tile are those of the layer and not of its rows where plans are made for many sizes") {
  cpu::Target many = wide();
  many.many_sizes = true;
  const auto none = [](cpu::Tile) { return false; };
  for (int64_t blocks = 1; blocks <= 40; ++blocks) {
    std::set<int64_t> of_one, of_many;
    for (int64_t row = 1; row < 70; ++row) {
      of_one.insert(cpu::choose_tile(wide(), {blocks, row, 1}, none).oc_blocks);
      const cpu::Tile tile = cpu::choose_tile(many, {blocks, row, 1}, none);
      of_many.insert(tile.oc_blocks);
      CHECK(tile.width <= row);
      CHECK(tile.oc_blocks <= blocks);
    }
    CAPTURE(blocks);
    CHECK(of_many.size() == 1);
      CHECK((blocks < 4 || of_one.size() > 1));
  }
}

TEST_CASE("tiles for many sizes leave registers for a weight of each block and an input: their kernels are made once, and would spill accumulators") {
  for (const int64_t vector_width : {4, 8, 16}) {
    cpu::Target many = wide();
    many.many_sizes = true, many.vector_width = vector_width, many.registers = vector_width == 8 ? 16 : 32;
    for (int64_t blocks = 1; blocks <= 40; ++blocks)
      for (const int64_t row : {1, 2, 7, 24, 56, 112, 5040}) {
        const cpu::Tile tile = cpu::choose_tile(many, {blocks, row, 1}, [](cpu::Tile) { return false; });
        CAPTURE(blocks);
        CAPTURE(row);
        CHECK(tile.oc_blocks * tile.width + tile.oc_blocks + 1 <= many.registers);
      }
  }
}

TEST_CASE("a weight of a convolution has at most two forms for all sizes, direct and one transform") {
  for (const int64_t channels : {16, 48, 80, 128, 400}) {
    CAPTURE(channels);
    OpenNet net;
    net.output(net.conv2d(net.input({1, channels, -1, -1}), channels, channels, 3, 1));
    CHECK(forms_of(net, channels).size() <= 2);
  }
}

TEST_CASE("samples say which forms are packed at load: those of the first, and others up to twice its bytes") {
  OpenNet net;
  const uint32_t x = net.input({1, 3, -1, -1});
  uint32_t v = net.conv2d(x, 3, 64, 3, 2);
  for (int k = 0; k < 3; ++k) v = net.conv2d(net.conv2d(v, 64, 64, 3, 2), 64, 64, 3, 1);
  net.output(v);
  const auto model = net.model();
  const cpu::Sampled sampled = cpu::sample(model->raw, wide(), true);
  REQUIRE_FALSE(sampled.also.empty());
  const cpu::Fitter fitter(model->raw, wide(), true);
  cpu::PackedForms forms;
  const auto first = fitter.first(sampled.shapes);
  const uint64_t bytes = forms.new_bytes(*first);
  forms.add(*first);
  CHECK(forms.new_bytes(*first) == 0);
  uint64_t others = 0;
  for (const Shapes& shapes : sampled.also) {
    const auto leg = fitter.first(shapes);
    CHECK(forms.new_bytes(*leg) > 0);
    others += forms.new_bytes(*leg);
    forms.add(*leg);
  }
  CHECK(others <= 2 * bytes);
}
