// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan that the run loop drives over bodies of a fake plugin.
#include <thread>

#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// One node that the host drives, and one subgraph in each of its bodies.
struct FlowBench : Bench {
  FlowNode node;

  void in(const std::string& name, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) {
    tensor(name, std::move(shape), dtype).attr = "input";
    package.inputs.push_back(name);
    node.inputs.push_back({name, "", OPTIMA_UNDEFINED, {}});
  }
  void out(const std::string& name, std::vector<int64_t> shape, int32_t dtype = OPTIMA_F32) {
    tensor(name, std::move(shape), dtype).attr = "output";
    package.outputs.push_back(name);
    node.outputs.push_back(name);
  }

  struct Named {
    std::string name;
    std::vector<int64_t> shape;
    int32_t dtype = OPTIMA_F32;
  };
  // `captures`: tensors of the model that the body's last inputs are.
  void body(const std::string& name, std::vector<Named> inputs, std::vector<Named> outputs, std::function<Status(Tensors, Outputs)> execute,
            std::vector<std::string> captures = {}) {
    if (package.variants[0].subgraphs.empty()) {
      PackageSubgraph driven;
      driven.device = "host";
      package.variants[0].subgraphs.push_back(driven);
    }
    FlowBody b;
    b.name = name;
    b.first = static_cast<uint32_t>(package.variants[0].subgraphs.size());
    b.count = 1;
    b.captures = std::move(captures);
    std::vector<std::string> in, out;
    const size_t tensors = package.tensors.size();
    for (Named& n : inputs) b.tensors.push_back(tensor(n.name, n.shape, n.dtype)), in.push_back(n.name);
    for (Named& n : outputs) b.tensors.push_back(tensor(n.name, n.shape, n.dtype)), out.push_back(n.name);
    b.inputs = in, b.outputs = out;
    subgraph(in, out, std::move(execute));
    package.tensors.resize(tensors);  // they are the body's
    std::sort(b.tensors.begin(), b.tensors.end(), [](const auto& x, const auto& y) { return x.name < y.name; });
    node.bodies.push_back(std::move(b));
  }
  // The node is the whole model.
  void finish(const std::string& op) {
    node.name = "node_1";
    node.op = op;
    PackageSubgraph& driven = package.variants[0].subgraphs[0];
    driven.inputs = package.inputs;
    driven.outputs = package.outputs;
    driven.flow = {node};
    package.variants[0].main = 1;
  }
};

// Runs until the counter says stop: a + 1 on each trip, one piece of a scan output, which is the new a.
struct LoopBench : FlowBench {
  std::atomic<int64_t> trips{0};
  int64_t stop_after = INT64_MAX;
  explicit LoopBench(bool bounded = true) {
    if (bounded) in("n", {}, OPTIMA_I64);
    else node.inputs.emplace_back();
    node.inputs.emplace_back();
    in("a", {2});
    out("y", {2});
    out("all", {-1, 2});
    node.scan_outputs = {{}};
    body("body", {{"i", {}, OPTIMA_I64}, {"c", {}, OPTIMA_BOOL}, {"p", {2}}}, {{"go", {}, OPTIMA_BOOL}, {"q", {2}}, {"piece", {2}}}, [this](Tensors in, Outputs out) {
      ++trips;
      int64_t i = 0;
      std::memcpy(&i, in[0].data, sizeof i);
      *static_cast<uint8_t*>(out[0].data) = i + 1 < stop_after;
      for (size_t k = 0; k < 2; ++k) floats(out[1])[k] = floats(out[2])[k] = floats(in[2])[k] + 1;
      return Status();
    });
    finish("Loop");
  }
};

Tensor count(int64_t n) {
  Tensor t = *Tensor::make(OPTIMA_I64, {});
  t.as<int64_t>()[0] = n;
  return t;
}

std::vector<float> values(const Tensor& t) { return {reinterpret_cast<const float*>(t.data), reinterpret_cast<const float*>(t.data) + t.size / sizeof(float)}; }

}  // namespace

TEST_CASE("a loop carries values from trip to trip and puts its scan outputs together; no trips, none and fewer than none, leave the start") {
  LoopBench b;
  const auto request = b.request();
  for (const int64_t n : {3, 0, 5, -2}) {
    CAPTURE(n);
    REQUIRE(request->set_input(0, count(n)).ok());
    REQUIRE(request->set_input(1, filled({2}, 10)).ok());
    REQUIRE_MESSAGE(request->run().ok(), request->run().message());
    const float made = static_cast<float>(std::max<int64_t>(n, 0));
    CHECK(values(*request->output(0)) == std::vector<float>{10 + made, 11 + made});
    const Tensor all = *request->output(1);
    CHECK(all.shape == std::vector<int64_t>{std::max<int64_t>(n, 0), 2});
    if (n > 0) CHECK(values(all)[2 * static_cast<size_t>(n) - 2] == 10 + made);
  }
}

TEST_CASE("the body's condition ends a loop before its trip count does") {
  LoopBench b;
  b.stop_after = 4;
  const auto request = b.request();
  REQUIRE(request->set_input(0, count(100)).ok());
  REQUIRE(request->set_input(1, filled({2})).ok());
  REQUIRE(request->run().ok());
  CHECK(b.trips == 4);
  CHECK(request->output(1)->shape == std::vector<int64_t>{4, 2});
}

TEST_CASE("a cancel ends a loop that nothing else would end") {
  LoopBench b(false);
  const auto request = b.request();
  REQUIRE(request->set_input(0, filled({2})).ok());
  REQUIRE(request->start().ok());
  while (b.trips < 100) std::this_thread::yield();
  request->cancel();
  CHECK(request->wait(60000).kind() == StatusKind::Cancelled);
}

TEST_CASE("requests of one model loop side by side") {
  LoopBench b;
  std::vector<std::unique_ptr<Request>> requests;
  for (int r = 0; r < 4; ++r) requests.push_back(b.request());
  std::vector<std::thread> threads;
  std::vector<Status> outcomes(4);
  for (int r = 0; r < 4; ++r)
    threads.emplace_back([&, r] {
      Status s = requests[static_cast<size_t>(r)]->set_input(0, count(50 + r));
      if (s.ok()) s = requests[static_cast<size_t>(r)]->set_input(1, filled({2}, 0));
      for (int k = 0; k < 5 && s.ok(); ++k) s = requests[static_cast<size_t>(r)]->run();
      outcomes[static_cast<size_t>(r)] = s;
    });
  for (std::thread& t : threads) t.join();
  for (size_t r = 0; r < 4; ++r) {
    REQUIRE(outcomes[r].ok());
    CHECK(values(*requests[r]->output(0))[0] == 50 + static_cast<float>(r));
  }
}

TEST_CASE("an error inside a body names the node, the trip and the subgraph") {
  LoopBench b;
  b.plugin.programs["subgraph_1"].execute = [n = 0](Tensors, Outputs out) mutable {
    *static_cast<uint8_t*>(out[0].data) = 1;
    return ++n == 3 ? plugin_error("it broke") : Status();
  };
  const auto request = b.request();
  REQUIRE(request->set_input(0, count(9)).ok());
  REQUIRE(request->set_input(1, filled({2})).ok());
  CHECK(request->run().message() == "node 'node_1': trip 2: subgraph 1 on X64:0: it broke");
}

TEST_CASE("a branch runs one body, and reads what it captures in place") {
  for (const bool condition : {true, false}) {
    FlowBench b;
    b.in("c", {}, OPTIMA_BOOL);
    b.out("y", {3});
    b.tensor("x", {3}).attr = "input";
    b.package.inputs.push_back("x");
    b.body("then_branch", {{"seen", {3}}}, {{"t", {3}}}, affine(2, 0), {"x"});
    b.body("else_branch", {{"seen", {3}}}, {{"e", {3}}}, affine(-1, 0), {"x"});
    b.finish("If");
    const auto request = b.request();
    Tensor c = *Tensor::make(OPTIMA_BOOL, {});
    *c.data = std::byte{condition};
    REQUIRE(request->set_input(0, c).ok());
    REQUIRE(request->set_input(1, filled({3})).ok());
    request->set_profiling(true);
    REQUIRE(request->run().ok());
    CHECK(values(*request->output(0)) == (condition ? std::vector<float>{2, 4, 6} : std::vector<float>{-1, -2, -3}));
    std::vector<std::string> ran;
    for (const ProfileEvent& e : request->take_events())
      if (e.kind == ProfileKind::SubgraphExecute || e.kind == ProfileKind::FlowExecute) ran.push_back(e.name);
    CHECK(ran == std::vector<std::string>{"subgraph 0 on host", condition ? "subgraph 1 on X64:0" : "subgraph 2 on X64:0"});
  }
}

TEST_CASE("branches of different rank give their output the rank of the moment") {
  const auto bench = [](FlowBench& b) {
    b.in("c", {}, OPTIMA_BOOL);
    b.out("y", {});
    b.package.tensors.back().unranked = true;
    b.tensor("x", {2}).attr = "input";
    b.package.inputs.push_back("x");
    b.body("then_branch", {{"seen", {2}}}, {{"t", {2}}}, affine(2, 0), {"x"});
    b.body("else_branch", {{"seen", {2}}}, {{"e", {1, 2}}}, affine(-1, 0), {"x"});
    b.finish("If");
  };
  FlowBench b;
  bench(b);
  const auto request = b.request();
  CHECK(request->model().outputs()[0].unranked);
  REQUIRE(request->set_input(1, filled({2})).ok());
  for (const bool condition : {true, false, true}) {
    Tensor c = *Tensor::make(OPTIMA_BOOL, {});
    *c.data = std::byte{condition};
    REQUIRE(request->set_input(0, c).ok());
    REQUIRE(request->run().ok());
    CHECK(request->output(0)->shape == (condition ? std::vector<int64_t>{2} : std::vector<int64_t>{1, 2}));
    CHECK(values(*request->output(0)) == (condition ? std::vector<float>{2, 4} : std::vector<float>{-1, -2}));
  }
}

TEST_CASE("a package whose bodies have other names, or stand the other way round, is refused") {
  const auto refused = [](const std::string& first, const std::string& second) {
    FlowBench b;
    b.in("c", {}, OPTIMA_BOOL);
    b.out("y", {2});
    b.tensor("x", {2}).attr = "input";
    b.package.inputs.push_back("x");
    b.body(first, {{"seen", {2}}}, {{"t", {2}}}, affine(2, 0), {"x"});
    b.body(second, {{"seen", {2}}}, {{"e", {2}}}, affine(-1, 0), {"x"});
    b.finish("If");
    const auto loaded = b.load();
    return loaded.ok() ? std::string() : loaded.status().message();
  };
  CHECK(refused("then_branch", "else_branch").empty());
  CHECK(refused("else_branch", "then_branch").ends_with(".bodies[0].name: found 'else_branch', wanted 'then_branch'"));
  CHECK(refused("then_branch", "then_branch").ends_with(".bodies[1].name: found 'then_branch', wanted 'else_branch'"));
}

TEST_CASE("a scan runs along several inputs, backwards too, and wants them of one length") {
  FlowBench b;
  b.in("s", {2});
  b.in("x", {-1, 2});
  b.in("w", {2, -1});
  b.out("h", {2});
  b.out("all", {2, -1});
  b.node.scan_inputs = {{0, false}, {1, true}};
  b.node.scan_outputs = {{-1, true}};
  b.body("body", {{"p", {2}}, {"xt", {2}}, {"wt", {2}}}, {{"q", {2}}, {"piece", {2}}}, [](Tensors in, Outputs out) {
    for (size_t k = 0; k < 2; ++k) {
      floats(out[0])[k] = floats(in[0])[k] + floats(in[1])[k];
      floats(out[1])[k] = floats(in[2])[k];
    }
    return Status();
  });
  b.finish("Scan");
  const auto request = b.request();
  REQUIRE(request->set_input(0, filled({2}, 0)).ok());
  REQUIRE(request->set_input(1, filled({3, 2}, 1)).ok());
  REQUIRE(request->set_input(2, filled({2, 3}, 1)).ok());
  REQUIRE_MESSAGE(request->run().ok(), request->run().message());
  CHECK(values(*request->output(0)) == std::vector<float>{9, 13});
  CHECK(values(*request->output(1)) == std::vector<float>{1, 2, 3, 4, 5, 6});  // twice backwards
  REQUIRE(request->set_input(2, filled({2, 4}, 1)).ok());
  CHECK(request->run().message() == "node 'node_1': scan input 1 has length 4, wanted 3 as scan input 0 has");
}

TEST_CASE("a scan over packed elements is refused when the package is read, going in and coming out") {
  for (const bool in : {true, false}) {
    FlowBench b;
    const int32_t given = in ? OPTIMA_I4 : OPTIMA_U8, made = in ? OPTIMA_U8 : OPTIMA_I4;
    b.in("x", {3, 5}, given);
    b.out("all", {3, 5}, made);
    b.node.scan_inputs = b.node.scan_outputs = {{0, false}};
    b.body("body", {{"row", {5}, given}}, {{"piece", {5}, made}}, [](Tensors, Outputs) { return Status(); });
    b.finish("Scan");
    const auto loaded = b.load();
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.status().message().find(in ? "'row' is int4, wanted elements of whole bytes" : "'piece' is int4, wanted elements of whole bytes") !=
          std::string::npos);
  }
}

TEST_CASE("packages with driven nodes that contradict themselves are refused") {
  const auto refused = [](const std::function<void(LoopBench&)>& spoil) {
    LoopBench b;
    spoil(b);
    const auto loaded = b.load();
    CHECK_FALSE(loaded.ok());
    return loaded.ok() ? "" : loaded.status().message();
  };
  const auto node = [](LoopBench& b) -> FlowNode& { return b.package.variants[0].subgraphs[0].flow[0]; };
  CHECK(refused([&](LoopBench& b) { node(b).op = "Jump"; }).find("found 'Jump', wanted If, Loop or Scan") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { node(b).inputs[2].tensor = "nothing"; }).find("input 'nothing' is not written before it is read") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { node(b).inputs[2].tensor.clear(); }).find(".inputs[2]: is null, wanted a tensor") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { node(b).bodies[0].first = 0; }).find("has 1 subgraphs from 0, wanted them from 1 to below 2") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { node(b).bodies[0].outputs.pop_back(); }).find("has 3 inputs and 2 outputs, wanted 3 and 3") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { node(b).bodies[0].inputs[2] = "q"; }).find("input 'p' is not written before it is read") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { node(b).scan_outputs.clear(); }).find("0 scanned outputs, wanted 1, 0 and 1") != std::string::npos);
  const auto type = [](std::vector<PackageTensor>& tensors, const std::string& name, int32_t dtype) {
    for (PackageTensor& t : tensors)
      if (t.name == name) t.dtype = dtype;
  };
  CHECK(refused([&](LoopBench& b) { type(b.package.tensors, "y", OPTIMA_U8); }).find("'q' is float32, wanted uint8 as y") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { type(b.package.tensors, "all", OPTIMA_F64); }).find("'piece' is float32, wanted float64 as all") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { type(b.package.tensors, "n", OPTIMA_I32); }).find("'n' is int32, wanted int64 as a trip count") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { type(b.package.tensors, "a", OPTIMA_F16); }).find("'p' is float32, wanted float16 as a") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { type(node(b).bodies[0].tensors, "go", OPTIMA_U8); }).find("'go' is uint8, wanted bool as a condition") !=
        std::string::npos);
  // Pieces of packed elements do not lie one behind the other: 3 rows of 5 elements of 4 bits are 9 bytes, all 15 of them 8.
  for (const int32_t packed : {OPTIMA_U4, OPTIMA_I4, OPTIMA_F4E2M1, OPTIMA_U2, OPTIMA_I2})
    CHECK(refused([&](LoopBench& b) {
            type(b.package.tensors, "all", packed);
            type(node(b).bodies[0].tensors, "piece", packed);
          }).find(std::string("'piece' is ") + std::string(dtype_name(packed)) + ", wanted elements of whole bytes") != std::string::npos);
  CHECK(refused([&](LoopBench& b) { b.package.variants[0].main = 2; }).find("subgraphs[1]: input 'i' is not written before it is read") != std::string::npos);
}
