// SPDX-License-Identifier: Apache-2.0
// Large models: many nodes, and more bytes than memory should hold.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
namespace {

// Processor time: this runs beside other tests.
double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double seconds_since(double start) { return now() - start; }

// Anonymous memory of this process in MiB.
double anonymous_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("RssAnon:", 0) == 0) return std::stod(line.substr(8)) / 1024;
  return -1;
}

onnx::ModelProto chain(int nodes, int opset) {
  onnx::ModelProto model = test::graph_model("g (float[1,8] x) => (float[1,8] y) { y = Relu(x) }", opset);
  auto& g = *model.mutable_graph();
  g.mutable_node()->Clear();
  for (int k = 0; k < nodes; ++k) {
    auto& node = *g.add_node();
    node.set_op_type(k % 2 ? "Relu" : "Neg");
    node.add_input(k == 0 ? "x" : "v" + std::to_string(k));
    node.add_output(k + 1 == nodes ? "y" : "v" + std::to_string(k + 1));
  }
  return model;
}

}  // namespace

TEST_CASE("a model of a hundred thousand nodes goes through import, passes and packing in seconds") {
  for (int opset : {13, 21}) {
    test::TempFolder folder;
    const std::string path = folder.file("m.onnx", chain(100000, opset).SerializeAsString());
    const auto start = now();
    auto g = onnx_io::load_model(path);
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    const double import = seconds_since(start);
    auto done = passes::run_passes(std::move(*g));
    REQUIRE(done.ok());
    const double passes = seconds_since(start) - import;
    const PackedGraph packed = pack(*done, true);
    MESSAGE("opset ", opset, ": import ", import, " s, passes ", passes, " s, pack ", seconds_since(start) - import - passes, " s");
    CHECK(done->main().nodes.size() == 100000);
    CHECK(seconds_since(start) < 60);
  }
}

TEST_CASE("three gigabytes of external data cost little memory") {
  test::TempFolder folder;
  constexpr int64_t kTensors = 30, kElements = 25 << 20;  // 100 MiB each
  onnx::ModelProto model = test::graph_model("g (float[1] x) => (float[n] y) { y = Relu(x) }");
  auto& g = *model.mutable_graph();
  g.mutable_node()->Clear();
  std::string last = "x";
  for (int64_t k = 0; k < kTensors; ++k) {
    onnx::TensorProto& t = *g.add_initializer();
    t.set_name("w" + std::to_string(k)), t.set_data_type(onnx::TensorProto::FLOAT), t.add_dims(kElements);
    test::make_external(t, "w.bin", k * kElements * 4, kElements * 4);
    auto& node = *g.add_node();
    node.set_op_type("Add"), node.add_input(last), node.add_input(t.name());
    node.add_output(last = k + 1 == kTensors ? "y" : "v" + std::to_string(k));
  }
  const int fd = ::open((folder / "w.bin").c_str(), O_WRONLY | O_CREAT, 0644);
  REQUIRE(fd >= 0);
  REQUIRE(::ftruncate(fd, kTensors * kElements * 4) == 0);  // sparse
  ::close(fd);
  const std::string path = folder.file("m.onnx", model.SerializeAsString());
  onnx_io::ImportOptions options;
  options.hash = false;
  ::malloc_trim(0);  // what the other case freed is not this one's
  const double before = anonymous_mib();
  const auto start = now();
  auto loaded = onnx_io::load_model(path, options);
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  auto done = passes::run_passes(std::move(*loaded));
  REQUIRE(done.ok());
  MESSAGE("import and passes ", seconds_since(start), " s, anonymous memory ", anonymous_mib() - before, " MiB");
  CHECK(anonymous_mib() - before < 200);
}
