// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: inputs that do not belong to an artifact of open sizes, and sizes that break a rule of some node: what is said, and
// that the next run is right.
#include "tests/unit/llvm_cpu_fit/forged.hpp"

using namespace llvm_cpu_test;

namespace {

using Raw = std::vector<optima_tensor>;

/// y = relu(a) and z = a b of a [-1, 3] and b [3, -1].
struct Pair {
  Forged forged;
  Loaded loaded;
  Tensors in;
  Pair() : forged(made()), loaded(forged), in(random_tensors(forged.model->raw, {{4, 3}, {3, 5}})) {}

  static Forged made() {
    OpenNet net;
    const uint32_t a = net.input({-1, 3}), b = net.input({3, -1});
    net.output(net.op("Relu", 14, {a}, 2));
    net.output(net.op("MatMul", 13, {a, b}, 2));
    return Forged(std::move(net));
  }

  /// What an execution says, which must be of this code, when `change` was done to the inputs; then a good run is right.
  std::string said(void (*change)(Raw&), int32_t wanted = OPTIMA_INVALID_ARGUMENT) {
    Raw raw;
    for (const auto& t : in) raw.push_back(seam::lend(t));
    change(raw);
    seam::AnyBuffer y(binding()), z(binding());
    std::vector<optima_tensor> out{y.raw, z.raw};
    y.handed = &out[0], z.handed = &out[1];
    seam::Status status;
    const int32_t code = loaded.runtime().execute(loaded.context(), raw.data(), static_cast<uint32_t>(raw.size()), out.data(), static_cast<uint32_t>(out.size()), &status.raw);
    CHECK(code == wanted);
    check_run(in);
    return status.message;
  }
  /// A run beside the reference.
  void check_run(const Tensors& inputs) {
    const Tensors want = optima::reference::run(forged.model->raw, inputs);
    const Came came = loaded.run(inputs);
    REQUIRE_MESSAGE(came.code == OPTIMA_OK, came.message);
    for (size_t k = 0; k < want.size(); ++k) CHECK(far(came.outputs.at(k), want[k], 1e-6) == "");
  }
  static optima_binding binding() {
    static const int64_t open[] = {-1, -1};
    optima_binding b{};
    b.struct_size = sizeof b, b.dtype = OPTIMA_F32, b.rank = 2, b.shape = open;
    return b;
  }
};

/// Runs a net at sizes that some rule forbids, between runs at sizes that are right; what the graph's node says.
std::string broken(const OpenNet& net, const Shapes& good, const Shapes& bad, uint32_t node = 10) {
  const Forged f(net);
  Loaded loaded(f);
  REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
  const auto run = [&](const Shapes& shapes) { return loaded.run(random_tensors(f.model->raw, shapes)); };
  CHECK(run(good).code == OPTIMA_OK);
  const Came came = run(bad);
  const Tensors in = random_tensors(f.model->raw, good), want = optima::reference::run(f.model->raw, in);
  const Came again = loaded.run(in);
  REQUIRE_MESSAGE(again.code == OPTIMA_OK, again.message);
  CHECK(far(again.outputs.at(0), want[0], 1e-6) == "");
  CHECK(came.code == OPTIMA_INVALID_GRAPH);
  CHECK(came.node == node);
  return came.message;
}

}  // namespace

TEST_CASE("an input of another type, rank, fixed dim or number is refused in the seam's words") {
  Pair p;
  static const int64_t flat[] = {12}, wide[] = {4, 4}, deep[] = {1, 4, 3};
  CHECK(p.said([](Raw& in) { in[0].dtype = OPTIMA_I32; }) == "tensor 'x0' is i32, wanted f32");
  CHECK(p.said([](Raw& in) { in[0].shape = flat, in[0].rank = 1; }) == "tensor 'x0' has shape [12], wanted [-1, 3]");
  CHECK(p.said([](Raw& in) { in[0].shape = deep, in[0].rank = 3; }) == "tensor 'x0' has shape [1, 4, 3], wanted [-1, 3]");
  CHECK(p.said([](Raw& in) { in[1].shape = wide; }) == "tensor 'x1' has shape [4, 4], wanted [3, -1]");
  CHECK(p.said([](Raw& in) { in.pop_back(); }) == "execution has 1 input and 2 output buffers, wanted 2 and 2");
  CHECK(p.said([](Raw& in) { in.push_back(in[0]); }) == "execution has 3 input and 2 output buffers, wanted 2 and 2");
}

TEST_CASE("an input that is strided, too small or nowhere is refused in the seam's words") {
  Pair p;
  static const int64_t turned[] = {1, 4};
  CHECK(p.said([](Raw& in) { in[0].strides = turned; }, OPTIMA_UNSUPPORTED) == "tensor 'x0' is strided, wanted a dense one");
  CHECK(p.said([](Raw& in) { in[1].size = 59; }) == "tensor 'x1' has 59 bytes, wanted 60");
  CHECK(p.said([](Raw& in) { in[1].data = nullptr; }) == "tensor 'x1' has no memory");
}

TEST_CASE("the question for the shapes of outputs refuses what a run would, and needs no elements") {
  Pair p;
  std::vector<optima_tensor> in;
  for (const auto& t : p.in) in.push_back(seam::lend(t)), in.back().data = nullptr;
  const auto asked = [&](std::string& shapes) {
    std::vector<Dims> room(2, Dims(8));
    std::vector<optima_shape> out;
    for (Dims& d : room) out.push_back({sizeof(optima_shape), 8, 0, 0, d.data()});
    seam::Status status;
    const int32_t code = p.loaded.runtime().output_shapes(p.loaded.context(), in.data(), static_cast<uint32_t>(in.size()), out.data(), 2, &status.raw);
    shapes = status.message;
    if (code == OPTIMA_OK) shapes = std::to_string(out[0].rank) + ": " + std::to_string(room[0][0]) + "x" + std::to_string(room[0][1]) + ", " +
                                    std::to_string(out[1].rank) + ": " + std::to_string(room[1][0]) + "x" + std::to_string(room[1][1]);
    return code;
  };
  std::string said;
  CHECK(asked(said) == OPTIMA_OK);
  CHECK(said == "2: 4x3, 2: 4x5");
  static const int64_t wide[] = {4, 4};
  in[0].shape = wide;
  CHECK(asked(said) == OPTIMA_INVALID_ARGUMENT);
  CHECK(said == "tensor 'x0' has shape [4, 4], wanted [-1, 3]");
  in.pop_back();
  CHECK(asked(said) == OPTIMA_INVALID_ARGUMENT);
  CHECK(said == "execution has 1 input and 2 output buffers, wanted 2 and 2");
  p.check_run(p.in);
}

TEST_CASE("an output that was made for other sizes is refused, and one too small") {
  Pair p;
  seam::AnyBuffer y(Pair::binding()), z(Pair::binding());
  y.make({4, 3}), z.make({5, 5});
  std::vector<optima_tensor> in, out{y.raw, z.raw};
  for (const auto& t : p.in) in.push_back(seam::lend(t));
  seam::Status status;
  const auto run = [&] { return p.loaded.runtime().execute(p.loaded.context(), in.data(), 2, out.data(), 2, &status.raw); };
  CHECK(run() == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.message == "output 1 was made for another shape than [4,5]");
  z.make({4, 5});
  out[1] = z.raw;
  out[1].size = 79;
  CHECK(run() == OPTIMA_INVALID_ARGUMENT);
  out[1].size = 80;
  CHECK(run() == OPTIMA_OK);
  p.check_run(p.in);
}

TEST_CASE("sizes that break a rule: the node, what was found and what was wanted") {
  const auto pair_of = [](const char* type, const Dims& a, const Dims& b, std::vector<image::Attr> attrs = {}) {
    OpenNet net;
    const uint32_t x = net.input(a), y = net.input(b);
    net.output(net.op(type, 13, {x, y}, a.size(), std::move(attrs)));
    return net;
  };
  CHECK(broken(pair_of("Add", {-1}, {-1}), {{79}, {79}}, {{79}, {78}}) == "node 'Add_0': shapes [79] and [78] do not broadcast");
  CHECK(broken(pair_of("MatMul", {-1, -1}, {-1, -1}), {{2, 3}, {3, 4}}, {{2, 3}, {4, 4}}) == "node 'MatMul_0': shapes [2, 3] and [4, 4] do not multiply");
  CHECK(broken(pair_of("Concat", {-1, -1}, {-1, -1}, {Net::integer("axis", 0)}), {{2, 3}, {4, 3}}, {{2, 3}, {4, 5}}) ==
        "node 'Concat_0': input 1 has shape [4, 5], which does not join [2, 3]");

  OpenNet reshape;
  reshape.output(reshape.op("Reshape", 21, {reshape.input({-1}), reshape.integers({-1, 4})}, 2));
  CHECK(broken(reshape, {{12}}, {{10}}) == "node 'Reshape_0': shape [10] does not fit into [-1, 4]");
  OpenNet conv;
  conv.output(conv.op("Conv", 11, {conv.input({-1, 2, -1, -1}), conv.weights({3, 2, 3, 3})}, 4));
  CHECK(broken(conv, {{1, 2, 5, 5}}, {{1, 2, 2, 5}}) == "node 'Conv_0': a window of 3 does not fit into 2 padded elements");
}

namespace {

/// Elements of -x at places that come with the inputs, and what is behind them.
OpenNet gathered() {
  OpenNet net;
  const uint32_t x = net.input({-1, 3}), at = net.input({1, -1}, OPTIMA_I64);
  net.output(net.op("Abs", 13, {net.op("GatherElements", 13, {net.op("Neg", 13, {x}, 2), at}, 2)}, 2));
  return net;
}

/// Four rows, and three places in them of which one is `index`.
Tensors places(const Forged& f, int64_t index) {
  return {random_tensors(f.model->raw, {{4, 3}, {1, 3}})[0], optima::reference::make_ints({1, 3}, {0, index, 2})};
}

}  // namespace

TEST_CASE("a rule that only a value breaks fails in the run, and the next run is right") {
  const Forged f(gathered());
  Loaded loaded(f);
  REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
  const Tensors good = places(f, 3), want = optima::reference::run(f.model->raw, good);
  for (int round = 0; round < 2; ++round) {
    const Came bad = loaded.run(places(f, 7));
    CHECK(bad.code == OPTIMA_INVALID_GRAPH);
    CHECK(bad.message == "GatherElements node 'GatherElements_1': an index is 7, must be within 4");
    const Came came = loaded.run(good);
    REQUIRE_MESSAGE(came.code == OPTIMA_OK, came.message);
    CHECK(far(came.outputs.at(0), want[0], 1e-6) == "");
  }
}

TEST_CASE("a run that fails while it is cancelled leaves nothing behind: the next run, which nobody may cancel, is right") {
  const Forged f(gathered());
  Loaded loaded(f);
  REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
  const Tensors good = places(f, 3), want = optima::reference::run(f.model->raw, good);
  for (int at = 0; at < 8; ++at) {
    int left = at;
    const Came bad = loaded.run(places(f, 7), [&] { return left-- <= 0; });
    CHECK((bad.code == OPTIMA_CANCELLED || bad.code == OPTIMA_INVALID_GRAPH));
    const Came came = loaded.run(good);
    REQUIRE_MESSAGE(came.code == OPTIMA_OK, came.message);
    CHECK(far(came.outputs.at(0), want[0], 1e-6) == "");
  }
}
