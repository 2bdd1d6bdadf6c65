// SPDX-License-Identifier: Apache-2.0
// Sizes that the user allows: what is planned when the package is made, and nothing else.
#include "plugins/llvm_cpu/fit/sampler.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

using namespace llvm_cpu_test;
namespace cpu = optima::llvm_cpu;
namespace sdk = optima::sdk;

namespace {

/// A convolution and a product behind it, of a batch and a width that have names.
struct Named {
  OpenNet net;
  Named() {
    const uint32_t x = net.input({-1, 3, 32, -1});
    std::vector<image::Dim>& dims = *net.graph().values[x].dims;
    dims[0].symbol = "batch", dims[3].symbol = "width";
    const uint32_t v = net.op("GlobalAveragePool", 1, {net.op("Relu", 14, {net.conv2d(x, 3, 24, 3, 1)}, 4)}, 4);
    net.output(net.op("MatMul", 13, {net.op("Flatten", 13, {v}, 2), net.weights({24, 10})}, 2));
  }
  cpu::Sampled sample(const std::vector<sdk::SizeRange>& said) {
    cpu::Target target;
    target.triple = "x86_64-linux-gnu";
    const auto model = net.model();
    return cpu::sample(model->raw, target, true, said);
  }
};

}  // namespace

TEST_CASE("the first sample is of the sizes that matter most, where the user says which") {
  Named named;
  CHECK(named.sample({}).shapes == Shapes{{1, 3, 32, 224}});
  CHECK(named.sample({{"width", 32, 960, 32, 320, {}}}).shapes == Shapes{{1, 3, 32, 320}});
  CHECK(named.sample({{"width", 32, 960, 32, 320, {}}, {"batch", 2, 9, 1, 5, {}}}).shapes == Shapes{{5, 3, 32, 320}});
}

TEST_CASE("what the user says of another symbol, or without a size that matters most, leaves the first sample in its bounds") {
  Named named;
  CHECK(named.sample({{"height", 7, 7, 1, 7, {}}}).shapes == Shapes{{1, 3, 32, 224}});
  CHECK(named.sample({{"width", 100, 960, 10, -1, {}}}).shapes == Shapes{{1, 3, 32, 220}});
  CHECK(named.sample({{"batch", 3, 8, 1, -1, {}}}).shapes == Shapes{{3, 3, 32, 224}});
}

TEST_CASE("only sizes that are allowed are planned") {
  Named named;
  const int64_t batches[] = {1, 4, 8}, widths[] = {64, 200};
  const cpu::Sampled listed = named.sample({{"batch", 1, 8, 1, 4, batches}, {"width", 64, 200, 1, 64, widths}});
  CHECK(listed.shapes == Shapes{{4, 3, 32, 64}});
  CHECK(listed.samples == 4);
  CHECK(named.sample({{"batch", 1, 1, 1, 1, {}}, {"width", 320, 320, 1, 320, {}}}).samples == 1);
  CHECK(listed.samples < named.sample({}).samples);
}
