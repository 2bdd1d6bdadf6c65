// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: graphs of artifacts whose attributes, operands, types and sizes somebody has changed: what is loaded is planned, so the
// planner and the lowerings meet what no check() has seen. They are refused, or planned; nothing else.
#include <limits>

#include "tests/unit/llvm_cpu_fit/forged.hpp"

using namespace llvm_cpu_test;

namespace {

using Random = std::mt19937;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 400;  // of each net
#else
constexpr int kRounds = 2000;
#endif

/// Images [n, 8, h, w], by as many operators as have kernels for them.
OpenNet images_net() {
  OpenNet net;
  const uint32_t x = net.input({-1, 8, -1, -1}), none = net.constant<float>({0}, {}, OPTIMA_F32);
  const uint32_t v = net.op("Clip", 13, {net.conv2d(x, 8, 24, 3, 2), net.constant<float>({}, {0}, OPTIMA_F32), net.constant<float>({}, {6}, OPTIMA_F32)}, 4);
  net.output(net.op("MaxPool", 12, {v}, 4, {Net::ints("kernel_shape", {3, 3}), Net::ints("pads", {1, 1, 1, 1}), Net::ints("strides", {2, 2}), Net::ints("dilations", {1, 1}), Net::integer("ceil_mode", 0)}));
  net.output(net.op("AveragePool", 22, {v}, 4, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2}), Net::integer("count_include_pad", 1), Net::text("auto_pad", "NOTSET")}));
  net.output(net.op("ConvTranspose", 11, {v, net.weights({24, 3, 2, 2})}, 4, {Net::ints("kernel_shape", {2, 2}), Net::ints("strides", {2, 2}), Net::ints("output_padding", {0, 0}), Net::integer("group", 1)}));
  net.output(net.conv2d(net.conv2d(v, 24, 24, 3, 1, 24), 24, 6, 1, 1));
  net.output(net.op("Resize", 19, {v, none, net.constant<float>({4}, {1, 1, 2, 2}, OPTIMA_F32)}, 4, {Net::text("mode", "linear"), Net::ints("axes", {0, 1, 2, 3})}));
  net.output(net.op("InstanceNormalization", 6, {v, net.weights({24}), net.weights({24})}, 4, {Net::real("epsilon", 1e-5)}));
  net.output(net.op("DepthToSpace", 13, {v}, 4, {Net::integer("blocksize", 2), Net::text("mode", "CRD")}));
  net.output(net.op("Pad", 21, {v, net.integers({0, 0, 1, 2, 0, 0, 3, 4})}, 4, {Net::text("mode", "reflect")}));
  const uint32_t mean = net.op("ReduceMean", 18, {v, net.integers({2, 3})}, 4, {Net::integer("keepdims", 1), Net::integer("noop_with_empty_axes", 0)});
  net.output(net.op("Concat", 13, {net.op("Mul", 14, {v, mean}, 4), v}, 4, {Net::integer("axis", 1)}));
  net.output(net.op("Flatten", 21, {mean}, 2, {Net::integer("axis", 1)}));
  return net;
}

/// Rows [n, length, 20].
OpenNet rows_net() {
  OpenNet net;
  const uint32_t x = net.input({-1, -1, 20});
  const uint32_t v = net.op("MatMul", 13, {x, net.weights({20, 24})}, 3);
  net.output(net.op("LayerNormalization", 17, {v, net.weights({24}), net.weights({24})}, 3, {Net::integer("axis", -1), Net::real("epsilon", 1e-5)}));
  net.output(net.op("Softmax", 13, {v}, 3, {Net::integer("axis", 1)}));
  net.output(net.op("Transpose", 21, {net.op("Reshape", 21, {v, net.integers({0, -1, 4, 6})}, 4, {Net::integer("allowzero", 0)})}, 4, {Net::ints("perm", {0, 2, 1, 3})}));
  net.output(net.op("Slice", 13, {v, net.integers({1, 0}), net.integers({9, 24}), net.integers({2, 1}), net.integers({2, 3})}, 3));
  net.output(net.op("Gather", 13, {v, net.integers({0, 2, -1})}, 3, {Net::integer("axis", 2)}));
  net.output(net.op("CumSum", 14, {v, net.constant<int64_t>({}, {1}, OPTIMA_I64)}, 3, {Net::integer("exclusive", 1), Net::integer("reverse", 0)}));
  net.output(net.op("ArgMax", 13, {v}, 3, {Net::integer("axis", 2), Net::integer("keepdims", 1), Net::integer("select_last_index", 1)}, OPTIMA_I64));
  net.output(net.op("Tile", 13, {v, net.integers({1, 2, 1})}, 3));
  net.output(net.op("Expand", 13, {v, net.integers({2, 1, 1, 24})}, 4));
  net.output(net.op("Cast", 21, {v}, 3, {Net::integer("to", OPTIMA_F16)}, OPTIMA_F16));
  const auto parts = net.nodes("Split", 18, {v}, {{Dims(3, -1), OPTIMA_F32}, {Dims(3, -1), OPTIMA_F32}});
  net.graph().nodes.back().attrs = {Net::integer("axis", 2), Net::integer("num_outputs", 2)};
  net.output(net.op("Add", 14, {parts[0], parts[1]}, 3));
  net.output(net.op("GRU", 14, {x, net.weights({2, 30, 20}), net.weights({2, 30, 10})}, 4, {Net::integer("hidden_size", 10), Net::text("direction", "bidirectional"), Net::integer("layout", 0)}));
  net.output(net.op("Gemm", 13, {net.op("ReduceSum", 13, {v, net.integers({1})}, 2, {Net::integer("keepdims", 0)}), net.weights({5, 24}), net.weights({5})}, 2,
                    {Net::integer("transB", 1), Net::real("alpha", 0.5), Net::real("beta", 2)}));
  return net;
}

int64_t nasty(Random& random) {
  static constexpr int64_t numbers[] = {0, -1, 1, 2, 3, 4, 7, -2, -5, 16, 255, 65536, int64_t{1} << 31, -(int64_t{1} << 31), int64_t{1} << 40, INT64_MAX, INT64_MIN};
  return numbers[random() % std::size(numbers)];
}

void alter(image::Attr& a, Random& random) {
  static const char* const words[] = {"", "SAME_UPPER", "VALID", "linear", "nearest", "cubic", "DCR", "edge", "wrap", "forward", "reverse", "x"};
  if (random() % 8 == 0) a.name = words[random() % std::size(words)];
  else if (a.type == OPTIMA_ATTR_STRING) a.s = words[random() % std::size(words)];
  else if (a.type == OPTIMA_ATTR_FLOAT) a.f = random() % 2 ? std::numeric_limits<double>::quiet_NaN() : -1e300;
  else if (a.type == OPTIMA_ATTR_INT) a.i = nasty(random);
  else if (a.ints.empty() || random() % 4 == 0) a.ints.push_back(nasty(random));
  else if (random() % 4 == 0) a.ints.pop_back();
  else a.ints[random() % a.ints.size()] = nasty(random);
}

/// One thing about the net, its image may not even verify.
void alter(OpenNet& net, Random& random) {
  image::Graph& g = net.graph();
  image::Node& n = g.nodes[random() % g.nodes.size()];
  const auto value = [&] { return static_cast<uint32_t>(random() % g.values.size()); };
  switch (n.inputs.empty() ? 4 + random() % 6 : random() % 10) {
    case 0: n.inputs[random() % n.inputs.size()] = value(); break;
    case 1: n.inputs[random() % n.inputs.size()] = OPTIMA_NONE; break;
    case 2: n.inputs.pop_back(); break;
    case 3: n.inputs.push_back(value()); break;
    case 4: g.values[value()].dtype = static_cast<int32_t>(random() % 24); break;
    case 5:
      if (auto& dims = g.values[value()].dims; dims && !dims->empty()) (*dims)[random() % dims->size()].value = static_cast<int64_t>(random() % 40) - 1;
      break;
    case 6: n.since_version = static_cast<int32_t>(random() % 25); break;
    default:
      if (!n.attrs.empty()) alter(n.attrs[random() % n.attrs.size()], random);
  }
}

/// Loads of altered nets; how many were refused.
void survives(const OpenNet& good, const Shapes& first, uint32_t seed) {
  Random random(seed);
  int loaded = 0, refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    OpenNet net = good;
    for (uint32_t edits = 1 + random() % 3; edits > 0; --edits) alter(net, random);
    std::unique_ptr<Forged> f;
    try {
      f = std::make_unique<Forged>(std::move(net), first);
    } catch (const std::exception&) {
      continue;  // no image: no reader lets it through
    }
    const Loaded l(*f);
    INFO("round " << round << ": " << l.message());
    CHECK((l.code() == OPTIMA_OK || l.code() == OPTIMA_CORRUPT));
    if (l.code() == OPTIMA_CORRUPT) CHECK(l.message().rfind("file subgraph_0.", 0) == 0);
    ++(l.code() == OPTIMA_OK ? loaded : refused);
  }
  MESSAGE(loaded << " loaded, " << refused << " refused");
  CHECK(loaded > kRounds / 20);
  CHECK(refused > kRounds / 20);
}

}  // namespace

TEST_CASE("graphs of images that were altered are refused or planned") { survives(images_net(), {{2, 8, 17, 16}}, 1); }

TEST_CASE("graphs of rows that were altered are refused or planned") { survives(rows_net(), {{2, 7, 20}}, 2); }
