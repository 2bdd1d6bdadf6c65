// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: the kernels that sample sizes want: their tiles and their slots. Plans alone; nothing is compiled or run.
#include <algorithm>
#include <bit>

#include "plugins/llvm_cpu/fit/sampler.hpp"
#include "plugins/llvm_cpu/kernels/conv.hpp"
#include "plugins/llvm_cpu/kernels/matmul.hpp"
#include "plugins/llvm_cpu/lower/parts/program.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

using namespace llvm_cpu_test;
using namespace optima::llvm_cpu;

namespace {

std::vector<KernelSpec> kernels_of(OpenNet& net, const std::string& entry) {
  const auto model = net.model();
  Sampled sampled = sample(model->raw, Target(), true);
  std::erase_if(sampled.kernels, [&](const KernelSpec& k) { return k.entry != entry; });
  return sampled.kernels;
}

template <class Literals>
std::vector<Literals> literals_of(const std::vector<KernelSpec>& kernels) {
  std::vector<Literals> out;
  for (const KernelSpec& k : kernels) {
    decltype(words_of(Literals{})) words;
    std::copy(k.literals.begin(), k.literals.end(), words.begin());
    out.push_back(std::bit_cast<Literals>(words));
  }
  return out;
}

}  // namespace

TEST_CASE("an image layer has a kernel with a wide tile, and one for rows that it would do badly") {
  const auto widths_of = [](OpenNet& net) {
    std::vector<int64_t> out;
    for (const k::Conv& c : literals_of<k::Conv>(kernels_of(net, k::Conv::entry))) out.push_back(c.WT);
    return out;
  };
  OpenNet plain(1);  // of three channels, whose tiles lie along rows: pictures of 224 end in rows of 7, of 64 in rows of 2, of 160 in rows of 5
  plain.output(plain.conv2d(plain.input({1, 3, -1, -1}), 3, 16, 3, 32));
  const std::vector<int64_t> two = widths_of(plain);
  REQUIRE(two.size() == 2);
  CHECK(std::max(two[0], two[1]) >= 6);
  CHECK(std::min(two[0], two[1]) == 5);

  OpenNet blocked(1);  // whose tiles have pixels of any short rows
  uint32_t v = blocked.input({1, 16, -1, -1});
  for (int k = 0; k < 5; ++k) v = blocked.conv2d(v, 16, 16, 3, 2);
  blocked.output(v);
  const std::vector<int64_t> one = widths_of(blocked);
  REQUIRE(one.size() == 1);
  CHECK(one[0] >= 6);
}

TEST_CASE("beside an input of open rank the others have their kernels, and it has the rank that the rules tell, or several") {
  OpenNet flagged(1);
  const uint32_t x = flagged.input({-1, 64}), flag = flagged.input({}, OPTIMA_BOOL);
  flagged.unranked(flag);
  const uint32_t not_flag = flagged.op("Not", 1, {flag}, 0, {}, OPTIMA_BOOL);
  flagged.unranked(not_flag);
  flagged.output(flagged.op("MatMul", 13, {x, flagged.weights({64, 256})}, 2));
  flagged.output(not_flag);
  CHECK(kernels_of(flagged, k::Matmul::entry).size() == 1);
  const auto flagged_model = flagged.model();
  CHECK(sample(flagged_model->raw, Target(), true).trouble.empty());

  OpenNet image(1);
  const uint32_t picture = image.input({-1, -1, -1, -1}), y = image.conv2d(picture, 16, 64, 3, 1);
  image.unranked(picture), image.unranked(y);
  image.output(y);
  CHECK(!kernels_of(image, k::Conv::entry).empty());
  const auto image_model = image.model();
  const Sampled sampled = sample(image_model->raw, Target(), true);
  REQUIRE(sampled.shapes.size() == 1);
  CHECK(sampled.shapes[0].size() == 4);
  CHECK(sampled.by_reference.empty());
}

TEST_CASE("a product has one kernel where its weights are packed, and one for a single row more where they are computed") {
  using Tiles = std::vector<std::pair<int64_t, int64_t>>;
  const auto tiles_of = [](OpenNet& net) {
    Tiles tiles;
    for (const k::Matmul& m : literals_of<k::Matmul>(kernels_of(net, k::Matmul::entry))) tiles.emplace_back(m.mr, m.nb);
    std::sort(tiles.begin(), tiles.end());
    return tiles;
  };
  OpenNet constant(1);
  constant.output(constant.op("MatMul", 13, {constant.input({-1, 64}), constant.weights({64, 256})}, 2));
  CHECK(tiles_of(constant) == Tiles{{8, 3}});
  OpenNet computed(1);
  computed.output(computed.op("MatMul", 13, {computed.input({-1, 64}), computed.input({64, 256})}, 2));
  CHECK(tiles_of(computed) == Tiles{{1, 8}, {8, 3}});
}

TEST_CASE("chains whose rows are one vector of channels know it, and others read the length of their rows in the run") {
  OpenNet net(1);
  const uint32_t x = net.input({1, 16, -1, -1}), a = net.conv2d(x, 16, 64, 3, 1), b = net.op("GlobalAveragePool", 1, {net.conv2d(x, 16, 64, 1, 1)}, 4);
  net.output(net.conv2d(net.op("Mul", 14, {net.op("Sin", 22, {a}, 4), b}, 4), 64, 16, 3, 1));
  const uint32_t rows = net.input({-1, -1}), column = net.input({-1, 1});
  net.output(net.op("Mul", 14, {net.op("Cos", 22, {rows}, 2), column}, 2));
  size_t fixed = 0, open = 0;
  for (const KernelSpec& k : kernels_of(net, "k_elementwise")) {
    const uint32_t length = row_words(k.expression).length;
    const bool is_slot = std::binary_search(k.slots.begin(), k.slots.end(), length);
    const bool is_image = k.expression.find("sin") != std::string::npos;
    if (is_image) fixed += !is_slot && k.literals[length] == Target().vector_width;
    else open += is_slot;
  }
  CHECK(fixed == 1);
  CHECK(open >= 1);
}

TEST_CASE("a number that follows from sizes is an operand of the chains that read it, and one of the model a literal") {
  OpenNet net(1);
  const uint32_t x = net.input({-1, -1, 64}), length = net.op("Cast", 13, {net.size(x, 1)}, 1, {Net::integer("to", 1)});
  const uint32_t scaled = net.op("Mul", 14, {x, net.op("Sqrt", 13, {length}, 1)}, 3);
  net.output(net.op("Sin", 22, {net.op("Add", 14, {scaled, net.constant<float>({}, {0.25f}, OPTIMA_F32)}, 3)}, 3));
  const std::vector<KernelSpec> kernels = kernels_of(net, "k_elementwise");
  REQUIRE(!kernels.empty());
  CHECK(kernels.size() <= 2);  // as dims merge or do not, not one per number
  for (const KernelSpec& k : kernels) {
    CHECK(k.expression.find("load 1 f32") != std::string::npos);
    CHECK(k.expression.find("const f32 0x1p-2") != std::string::npos);
  }
}

TEST_CASE("Einsums that are batches of products have kernels at every size, and what sums along two strides has none") {
  const auto by_reference = [](const std::string& equation, const Dims& a, const Dims& b) {
    OpenNet net(1);
    const uint32_t x = net.input(Dims(a.size(), -1)), z = net.input(Dims(b.size(), -1));
    net.output(net.op("Einsum", 12, {x, z}, equation.size() - equation.find('>') - 1, {Net::text("equation", equation)}));
    const auto model = net.model();
    const auto leg = Fitter(model->raw, Target(), true).first({a, b});
    return nodes_by_reference(leg->draft).size();
  };
  CHECK(by_reference("bqhd,bkhd->bhqk", {2, 20, 3, 16}, {2, 33, 3, 16}) == 0);
  CHECK(by_reference("bqd,dhk->bqhk", {2, 9, 40}, {40, 3, 16}) == 0);
  CHECK(by_reference("bhlm,bmhd->bl", {2, 3, 8, 9}, {2, 9, 3, 5}) == 1);
}
