// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: artifacts of open sizes whose files are missing, cut or forged are refused, each with the file's name.
#include "tests/support/damage.hpp"
#include "tests/unit/llvm_cpu_fit/forged.hpp"

using namespace llvm_cpu_test;

namespace {

/// A product with a weight that is shared, a bias in the file, and a Reshape to computed sizes.
void small_net(OpenNet& net) {
  const uint32_t x = net.input({-1, 24});
  const uint32_t v = net.op("Add", 14, {net.op("MatMul", 13, {x, net.weights({24, 48})}, 2), net.weights({48})}, 2);
  net.output(net.op("Reshape", 21, {net.op("Softmax", 13, {v}, 2), net.joined({net.size(x, 0), net.integers({6, 8})})}, 3));
}

Forged forged(Shapes first = {}) {
  OpenNet net;
  small_net(net);
  return Forged(std::move(net), std::move(first));
}

/// What the load of an artifact changed so says; it must be corrupt.
template <class F>
std::string refusal(F&& change) {
  Forged f = forged({{5, 24}});
  change(f);
  const Loaded loaded(f);
  CHECK(loaded.code() == OPTIMA_CORRUPT);
  return loaded.message();
}
std::string refusal_of_first(Shapes first) {
  return refusal([&](Forged& f) { f.file.first = std::move(first), f.write(); });
}

const std::string kGraph = "subgraph_0.graph", kMeta = "subgraph_0.meta";

}  // namespace

TEST_CASE("an artifact without kernels is planned at load and runs by the reference") {
  for (const Shapes& first : std::vector<Shapes>{{}, {{5, 24}}}) {
    const Forged f = forged(first);
    Loaded loaded(f);
    REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
    for (const int64_t n : {3, 1, 40, 3}) {
      const Tensors in = random_tensors(f.model->raw, {{n, 24}}), want = optima::reference::run(f.model->raw, in);
      const Came came = loaded.run(in);
      REQUIRE_MESSAGE(came.code == OPTIMA_OK, came.message);
      CHECK(far(came.outputs.at(0), want[0], 1e-6) == "");
    }
  }
}

TEST_CASE("a missing file is named") {
  CHECK(refusal([](Forged& f) { f.sink.files.erase(kGraph); }) == "file subgraph_0.graph is missing");
  CHECK(refusal([](Forged& f) { f.sink.files.erase(kMeta); }) == "file subgraph_0.meta is missing");
  CHECK(refusal([](Forged& f) { f.sink.weights.clear(); }) == "file subgraph_0.graph: artifact refers to weight 0, which is not there");
  const auto with_kernel = [](Forged& f) {
    f.file.kernels = {{optima::llvm_cpu::KernelSpec(k::ToBlocked{.C = 3, .P = 64}), "to_blocked_2.so"}};
    f.write();
  };
  CHECK(refusal(with_kernel) == "kernel file to_blocked_2.so is missing");
  CHECK(refusal([&](Forged& f) { with_kernel(f), f.sink.files["to_blocked_2.so"] = "\x7f" "ELF"; }) == "kernel file to_blocked_2.so: it is shorter than an ELF header");
  CHECK(refusal([&](Forged& f) { with_kernel(f), f.sink.files["to_blocked_2.so"] = std::string(4096, 'x'); }) == "kernel file to_blocked_2.so: it is no shared object");
}

TEST_CASE("a cut or overwritten file is named, wherever it ends") {
  const Forged good = forged();
  for (const std::string& name : {kGraph, kMeta}) {
    const std::string& bytes = good.sink.files.at(name);
    for (size_t size = 0; size < bytes.size(); size += size < 128 ? 1 : 41) {
      INFO(name << " of " << size);
      CHECK(refusal([&](Forged& f) { f.sink.files[name] = bytes.substr(0, size); }).rfind("file " + name + ": ", 0) == 0);
    }
  }
  CHECK(refusal([](Forged& f) { f.sink.files[kGraph] = "RefGr"; }) == "file subgraph_0.graph: artifact is truncated");
  CHECK(refusal([](Forged& f) { f.sink.files[kGraph][0] = 'X'; }) == "file subgraph_0.graph: artifact has a wrong magic");
  CHECK(refusal([](Forged& f) { f.sink.files[kMeta].resize(40); }) == "file subgraph_0.meta: plan: ends too early");
  CHECK(refusal([](Forged& f) { f.file.target.vector_width = 5, f.write(); }) == "file subgraph_0.meta: plan: vectors of 5 floats");
}

TEST_CASE("sizes to plan first that the inputs cannot have are refused") {
  const std::string first = "file subgraph_0.meta: sizes to plan first: ";
  CHECK(refusal_of_first({{5, 24}, {1}}) == first + "2 inputs, wanted 1");
  CHECK(refusal_of_first({{5}}) == first + "input x0 of shape [5], wanted [-1,24]");
  CHECK(refusal_of_first({{5, 24, 1}}) == first + "input x0 of shape [5,24,1], wanted [-1,24]");
  CHECK(refusal_of_first({{5, 25}}) == first + "input x0 of shape [5,25], wanted [-1,24]");
  CHECK(refusal([](Forged& f) { f.file.also = {{{6, 24}}, {{6, 25}}}, f.write(); }) == first + "input x0 of shape [6,25], wanted [-1,24]");
  CHECK(refusal_of_first({{-5, 24}}) == "file subgraph_0.meta: plan: an input's dim is -5");

  OpenNet net;
  const uint32_t a = net.input({-1}), b = net.input({-1});
  net.output(net.op("Add", 14, {a, b}, 1));
  const Forged f(net, {{79}, {78}});
  const Loaded rule(f);
  CHECK(rule.code() == OPTIMA_CORRUPT);
  CHECK(rule.message() == first + "node 'Add_0': shapes [79] and [78] do not broadcast");
}

TEST_CASE("a node that this build does not run is corrupt, with its name") {
  OpenNet net;
  net.output(net.op("Frobnicate", 1, {net.input({-1})}, 1));
  const Forged f(net);
  const Loaded loaded(f);
  CHECK(loaded.code() == OPTIMA_CORRUPT);
  CHECK(loaded.message() == "file subgraph_0.graph: artifact has a node this build does not run: operator Frobnicate has no reference evaluator");
}

namespace {

/// Loads of a damaged file: each is refused as what it is, with the file's name, or harmless in a run.
void survives(const std::string& name, int rounds, uint32_t seed) {
  Forged f = forged({{5, 24}});
  const std::string good = f.sink.files.at(name);
  const Tensors in = random_tensors(f.model->raw, {{3, 24}});
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    f.sink.files[name] = optima::test::damaged(good, random);
    Loaded loaded(f);
    INFO(round << ": " << loaded.message());
    if (loaded.code() == OPTIMA_OK) {
      (void)loaded.run(in);
      continue;
    }
    ++refused;
    CHECK((loaded.code() == OPTIMA_CORRUPT || loaded.code() == OPTIMA_WRONG_DEVICE || loaded.code() == OPTIMA_RECOMPILE));
    if (loaded.code() == OPTIMA_CORRUPT) CHECK(loaded.message().find("file ") != std::string::npos);
  }
  CHECK(refused > rounds / 4);
  CHECK(refused < rounds);
}

}  // namespace

TEST_CASE("damaged graphs are refused or harmless") { survives(kGraph, 3000, 1); }

TEST_CASE("damaged tables of kernels are refused or harmless when they are loaded") { survives(kMeta, 2000, 2); }
