// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: sizes that samples find hard: large batches, sizes that data decides, and dims of one valid size.
#include "tests/unit/llvm_cpu_fit/kernels_for.hpp"

using namespace llvm_cpu_test;
using optima::llvm_cpu::Fitter;

namespace {

/// Nodes, of all legs, that have kernels where every kernel is at hand and none with those of the samples; every size that data decides is `count`.
std::string uncovered(Net& net, const Shapes& shapes, int64_t count) {
  const auto model = net.model();
  const optima_graph& graph = model->raw;
  const cpu::Target target = targets()[1];
  const std::vector<cpu::KernelSpec> made = cpu::sample(graph, target, true).kernels;
  const Fitter some(graph, target, true, [&](const cpu::KernelSpec& spec) {
    return std::any_of(made.begin(), made.end(), [&](const cpu::KernelSpec& k) { return cpu::matches(k, spec); });
  });
  const Fitter all(graph, target, true);
  std::string out;
  auto got = some.first(shapes), best = all.first(shapes);
  for (;;) {
    const std::set<uint32_t> wanted = cpu::nodes_by_reference(best->draft);
    std::set<uint32_t> without = cpu::nodes_by_reference(got->draft);
    for (const uint32_t id : wanted) without.erase(id);
    out += cpu::names_of(graph, without);
    if (got->is_last) return out;
    std::vector<Fitter::Found> found;
    for (const auto& stop : got->walk.stops()) {
      const optima_node& node = *optima_get_node(graph.image, stop.node);
      for (uint32_t k = 0; k < node.outputs.count; ++k) {
        const uint32_t v = optima_output(graph.image, &node, k);
        optima::reference::Tensor t;
        t.dtype = optima_get_value(graph.image, v)->dtype;
        t.dims = node.outputs.count == 1 ? Dims{static_cast<int64_t>(shapes[0].size()), count} : Dims{count};
        found.push_back({v, t});
      }
    }
    got = some.next(*got, found), best = all.next(*best, found);
  }
}

}  // namespace

TEST_CASE("kernels of fixed sizes do where weights are far from caches, of which the plan of a run knows nothing") {
  OpenNet net;
  const uint32_t x = net.input({2, 32, 9, 9}), c = net.op("Conv", 11, {x, net.weights({48, 32, 3, 3}), net.weights({48})}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("strides", {2, 2})});
  const uint32_t mean = net.op("GlobalAveragePool", 1, {c}, 4);
  net.output(net.op("MatMul", 13, {net.op("Reshape", 21, {mean, net.integers({2, 48})}, 2), net.weights({48, 200})}, 2));
  for (cpu::Target target : targets()) {
    target.far_weights = true;
    const auto model = net.model();
    const std::vector<cpu::KernelSpec> made = cpu::sample(model->raw, target, true).kernels;
    target.far_weights = false;
    const Fitter fitter(model->raw, target, true, [&](const cpu::KernelSpec& spec) {
      return std::any_of(made.begin(), made.end(), [&](const cpu::KernelSpec& k) { return cpu::matches(k, spec); });
    });
    CHECK(cpu::names_of(model->raw, cpu::nodes_by_reference(fitter.first({{2, 32, 9, 9}})->draft)) == "");
  }
}

TEST_CASE("a net along one axis has kernels at batches of any size") {
  OpenNet net;
  const uint32_t x = net.input({-1, 12, -1});
  const auto layer = [&](uint32_t in, int64_t ic, int64_t oc, int64_t k, int64_t stride) {
    const uint32_t c = net.op("Conv", 11, {in, net.weights({oc, ic, k}, -0.2f, 0.2f), net.weights({oc})}, 3,
                              {Net::ints("kernel_shape", {k}), Net::ints("strides", {stride}), Net::ints("pads", {k / 2, k / 2})});
    return net.op("Relu", 14, {c}, 3);
  };
  const uint32_t v = layer(layer(layer(x, 12, 48, 5, 2), 48, 40, 3, 1), 40, 56, 7, 2);
  const uint32_t mean = net.op("GlobalAveragePool", 1, {v}, 3);
  net.output(net.op("MatMul", 13, {net.op("Reshape", 21, {mean, net.integers({-1, 56})}, 2), net.weights({56, 10}, -1, 1)}, 2));
  std::vector<Shapes> sizes;
  for (const Dims& d : std::vector<Dims>{{24, 100}, {31, 7}, {50, 1}, {64, 300}, {77, 13}, {128, 20}, {5, 1000}, {200, 3}}) sizes.push_back({{d[0], 12, d[1]}});
  kernels_for(net, sizes);
}

TEST_CASE("what lies behind sizes that data decides has kernels at any number of them") {
  OpenNet net;
  const uint32_t x = net.input({-1, 24});
  const uint32_t where = net.op("NonZero", 13, {x}, 2, {}, OPTIMA_I64);
  const uint32_t rows = net.op("Gather", 13, {where, net.integers({0})}, 2, {Net::integer("axis", 0)}, OPTIMA_I64);
  const uint32_t picked = net.op("Gather", 13, {x, net.op("Squeeze", 13, {rows, net.integers({0})}, 1, {}, OPTIMA_I64)}, 2, {Net::integer("axis", 0)});
  const uint32_t h = net.op("Relu", 14, {net.op("MatMul", 13, {picked, net.weights({24, 40}, -1, 1)}, 2)}, 2);
  const uint32_t turned = net.op("Transpose", 21, {h}, 2, {Net::ints("perm", {1, 0})});
  net.output(net.op("Softmax", 13, {net.op("MatMul", 13, {h, turned}, 2)}, 2, {Net::integer("axis", -1)}));
  for (const int64_t count : {1, 2, 3, 7, 16, 20, 33, 100, 333})
    for (const int64_t batch : {1, 4, 50}) {
      CAPTURE(count);
      CAPTURE(batch);
      CHECK(uncovered(net, {{batch, 24}}, count) == "");
    }
}

TEST_CASE("signals of hours, of whose frames plans know no positions") {
  OpenNet net;
  const uint32_t x = net.op("Unsqueeze", 13, {net.input({1, -1}), net.integers({1})}, 3);
  const uint32_t frames = net.op("Conv", 11, {x, net.weights({34, 1, 100})}, 3, {Net::ints("kernel_shape", {100}), Net::ints("strides", {40})});
  const uint32_t count = net.op("Squeeze", 21, {net.size(frames, 2)}, 0, {}, OPTIMA_I64), zero = net.constant<int64_t>({}, {0}, OPTIMA_I64), one = net.constant<int64_t>({}, {1}, OPTIMA_I64);
  const uint32_t places = net.op("Range", 11, {zero, count, one}, 1, {}, OPTIMA_I64);
  const uint32_t lies = net.op("Less", 13, {places, net.input({1}, OPTIMA_I64)}, 1, {}, OPTIMA_BOOL);
  net.output(net.op("Where", 16, {lies, net.op("Sigmoid", 13, {frames}, 3), net.constant<float>({}, {0}, OPTIMA_F32)}, 3));
  std::vector<Shapes> sizes;
  for (const int64_t samples : {16'000, 50'001, 480'000, 2'000'000, 9'600'000}) sizes.push_back({{1, samples}, {1}});
  kernels_for(net, sizes);
}

TEST_CASE("photos, tables of many rows, and many finds") {
  OpenNet photos;
  const uint32_t c = photos.op("Relu", 14, {photos.conv2d(photos.input({-1, 3, -1, -1}), 3, 24, 3, 2)}, 4);
  photos.output(photos.op("GlobalAveragePool", 1, {photos.conv2d(c, 24, 40, 3, 1)}, 4));
  kernels_for(photos, {{{1, 3, 3000, 4000}}, {{1, 3, 6001, 3999}}, {{30, 3, 1080, 1920}}});
  OpenNet table;
  table.output(table.op("Sigmoid", 13, {table.op("MatMul", 13, {table.input({-1, 24}), table.weights({24, 7})}, 2)}, 2));
  kernels_for(table, {{{5'000, 24}}, {{1'000'000, 24}}});
  OpenNet finds;
  const uint32_t x = finds.input({-1, 24}), where = finds.op("NonZero", 13, {x}, 2, {}, OPTIMA_I64);
  const uint32_t rows = finds.op("Squeeze", 13, {finds.op("Gather", 13, {where, finds.integers({0})}, 2, {}, OPTIMA_I64), finds.integers({0})}, 1, {}, OPTIMA_I64);
  finds.output(finds.op("MatMul", 13, {finds.op("Gather", 13, {x, rows}, 2), finds.weights({24, 7})}, 2));
  for (const int64_t count : {2'049, 30'000, 500'000}) CHECK(uncovered(finds, {{100'000, 24}}, count) == "");
}

TEST_CASE("a dim that only one size fits has that size in the samples, and the others are covered around it") {
  OpenNet net;
  const uint32_t x = net.input({-1, 4, -1});
  const uint32_t c = net.op("Conv", 11, {x, net.weights({6, 4, 5}, -0.2f, 0.2f), net.weights({6})}, 3, {Net::ints("kernel_shape", {5})});
  const uint32_t flat = net.op("Flatten", 21, {net.op("Relu", 14, {c}, 3)}, 2);
  net.output(net.op("MatMul", 13, {flat, net.weights({6 * 93, 10}, -1, 1)}, 2));  // 97 samples, no other number
  CHECK(cpu::sample(net.model()->raw, targets()[1], true).samples > 3);
  std::vector<Shapes> sizes;
  for (const int64_t batch : {1, 2, 5, 24, 31, 77}) sizes.push_back({{batch, 4, 97}});
  kernels_for(net, sizes);
}

namespace {

uint32_t conv_of(OpenNet& net, uint32_t x, Dims weights) {
  const Dims kernel(weights.begin() + 2, weights.end());
  const int64_t outputs = weights[0];
  return net.op("Conv", 11, {x, net.weights(std::move(weights), -0.2f, 0.2f), net.weights({outputs})}, 4, {Net::ints("kernel_shape", kernel)});
}

/// [frames, bins, 1] or [frames, bins, channels] as a picture of one batch.
uint32_t picture_of(OpenNet& net, uint32_t x) {
  return net.op("Transpose", 21, {net.op("Unsqueeze", 13, {x, net.integers({0})}, 4)}, 4, {Net::ints("perm", {0, 3, 1, 2})});
}

}  // namespace

TEST_CASE("two dims that one node holds against a constant, and a first dim that is a length") {
  OpenNet net;
  const uint32_t scaled = net.op("Mul", 14, {net.input({-1, -1, -1}), net.weights({80, 3}, 0.5f, 1)}, 3);
  const uint32_t c = net.op("Tanh", 13, {conv_of(net, picture_of(net, scaled), {10, 3, 7, 3})}, 4);  // 3 channels and 78 bins, no other numbers
  const uint32_t frames = net.op("Transpose", 21, {c}, 4, {Net::ints("perm", {0, 2, 1, 3})});
  net.output(net.op("MatMul", 13, {net.op("Reshape", 21, {frames, net.integers({-1, 780})}, 2), net.weights({780, 16}, -1, 1)}, 2));
  CHECK(cpu::sample(net.model()->raw, targets()[1], true).samples > 10);
  std::vector<Shapes> sizes;
  for (const int64_t frames_in : {7, 8, 20, 33, 100, 250}) sizes.push_back({{frames_in, 80, 3}});
  kernels_for(net, sizes);
}

TEST_CASE("sizes that only happen to make whole rows are not what samples keep to") {
  for (const int64_t bins : {142, 144}) {
    CAPTURE(bins);
    OpenNet net;
    const int64_t row = 10 * (bins - 36);
    const uint32_t x = net.op("Unsqueeze", 13, {net.input({-1, -1}), net.integers({2})}, 3);
    const uint32_t c = net.op("Elu", 6, {conv_of(net, net.op("Elu", 6, {conv_of(net, picture_of(net, x), {30, 1, 3, 3})}, 4), {10, 30, 1, 35})}, 4);
    const uint32_t frames = net.op("Transpose", 21, {c}, 4, {Net::ints("perm", {0, 2, 1, 3})});
    net.output(net.op("MatMul", 13, {net.op("Reshape", 21, {frames, net.integers({-1, row})}, 2), net.weights({row, 88}, -1, 1)}, 2));
    std::vector<Shapes> sizes;
    for (const int64_t frames_in : {3, 5, 20, 33, 100, 201}) sizes.push_back({{frames_in, bins}});
    kernels_for(net, sizes);
  }
}

TEST_CASE("batches of many inputs, each a dim of its own, of which none moves by itself") {
  OpenNet net;
  const uint32_t letters = net.input({-1}, OPTIMA_I64), pixels = net.input({-1, -1, 9}), state = net.input({-1, 7}), text = net.input({-1, 6, 7});
  const uint32_t hot = net.op("OneHot", 11, {letters, net.constant<int64_t>({}, {5}, OPTIMA_I64), net.constant<float>({2}, {0, 1}, OPTIMA_F32)}, 2);
  const uint32_t seen = net.op("ReduceMean", 18, {pixels, net.integers({1})}, 2, {Net::integer("keepdims", 0)});
  const uint32_t both = net.op("Concat", 13, {seen, hot}, 2, {Net::integer("axis", 1)});
  const uint32_t next = net.op("Tanh", 13, {net.op("Add", 14, {net.op("MatMul", 13, {both, net.weights({14, 7})}, 2), state}, 2)}, 2);
  const uint32_t shape = net.shape(net.op("Slice", 13, {text, net.integers({2}), net.integers({3}), net.integers({1})}, 3));
  const uint32_t row = net.op("Expand", 13, {net.op("Unsqueeze", 13, {next, net.integers({1})}, 3), shape}, 3);
  const uint32_t at = net.op("Expand", 13, {net.constant<int64_t>({1, 1, 1}, {2}, OPTIMA_I64), shape}, 3, {}, OPTIMA_I64);
  net.output(net.op("ScatterElements", 18, {text, at, row}, 3, {Net::integer("axis", 1)}));
  std::vector<Shapes> sizes;
  for (const int64_t batch : {1, 2, 3, 5, 16, 40})
    for (const int64_t many : {1, 6, 77}) sizes.push_back({{batch}, {batch, many, 9}, {batch, 7}, {batch, 6, 7}});
  kernels_for(net, sizes);
}
