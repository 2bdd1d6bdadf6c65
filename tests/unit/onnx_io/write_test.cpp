// SPDX-License-Identifier: Apache-2.0
// Graph -> ONNX -> Graph.
#include <doctest/doctest.h>

#include <filesystem>
#include <numeric>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/file.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

Graph load(const std::string& text) {
  auto loaded = onnx_io::load_text(text, "model");
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  return std::move(*loaded);
}

// Import, write through the seam's view, import again: what is printed must be the same.
void check_round_trip(Graph g) {
  test::TempFolder folder;
  const PackedGraph packed = pack(g);
  const Status written = onnx_io::write_onnx(packed.raw, folder / "out");
  REQUIRE_MESSAGE(written.ok(), written.message());
  auto again = onnx_io::load_model(folder / "out/model.onnx");
  REQUIRE_MESSAGE(again.ok(), again.status().message());
  g.folded.clear();
  g.model_name = "model";
  CHECK(print(*again) == print(g));
}

}  // namespace

TEST_CASE("real models come back as they were, before and after the passes") {
  for (const char* name : {"mnist.onnx", "version-RFB-320.onnx"}) {
    const std::string path = test::shared_model(name);
    if (path.empty()) continue;
    auto g = onnx_io::load_model(path);
    REQUIRE(g.ok());
    check_round_trip(*g);
    auto done = passes::run_passes(*g);
    REQUIRE(done.ok());
    check_round_trip(*done);
  }
}

TEST_CASE("every part of a real model can be written and read") {
  const std::string path = test::shared_model("mnist.onnx");
  if (path.empty()) return;
  auto g = onnx_io::load_model(path);
  REQUIRE(g.ok());
  const Uses uses = uses_of(*g);
  for (uint32_t first = 0; first < g->main().nodes.size(); first += 3) {
    std::vector<uint32_t> nodes(std::min<size_t>(3, g->main().nodes.size() - first));
    std::iota(nodes.begin(), nodes.end(), first);
    check_round_trip(extract(*g, nodes, uses));
  }
}

TEST_CASE("bodies, captures through two levels and constants of the outside come back") {
  check_round_trip(load(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
      h = Mul(x, w)
      y = If(c) <
        then_branch = t () => (float[2] r) {
          r = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] s) { co = Identity(ci)  k = Add(a, h)  s = Add(k, w) }>
        },
        else_branch = e () => (float[2] q) { q = Sub(x, w) }
      >
    })"));
}

TEST_CASE("foreign operators, strings and typed attributes come back") {
  check_round_trip(load(R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
    g (float[2] x) => (float[2] y, string[2] s) <string[2] s = {"a", "bc"}> {
      h = com.acme.Affine <alpha = 2.5, name = "z", list = [1, 2], reals = [0.5, 1.5], words = ["p", "q"]> (x)
      y = Neg(h) })"));
}

TEST_CASE("a model that needs a newer opset keeps it, a part of it that does not gets 21") {
  const Graph g = load(R"(<ir_version: 11, opset_import: ["" : 23]>
    g (float[2,4] x, float[4] w) => (float[2,4] y) { r = Identity(x)  y = RMSNormalization(r, w) })");
  check_round_trip(g);
  test::TempFolder folder;
  const uint32_t first = 0;
  REQUIRE(onnx_io::write_onnx(extract(g, std::span(&first, 1), uses_of(g)), folder.path()).ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*read_file(folder / "model.onnx")));
  CHECK(model.opset_import(0).version() == 21);
  CHECK(model.ir_version() == 10);
}

TEST_CASE("constants of 64 KiB and more go to weights.bin, each once, aligned") {
  onnx::ModelProto model = test::graph_model("g (float[16384] x) => (float[16384] y) { a = Add(x, w)  b = Add(a, v)  y = Add(b, w) }");
  for (const char* name : {"w", "v"}) {
    onnx::TensorProto& t = *model.mutable_graph()->add_initializer();
    t.set_name(name), t.set_data_type(onnx::TensorProto::FLOAT), t.add_dims(16384);
    t.set_raw_data(std::string(65536, name[0]));
  }
  test::TempFolder folder;
  auto g = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  REQUIRE(onnx_io::write_onnx(*g, folder / "out").ok());
  CHECK(*read_file(folder / "out/weights.bin") == std::string(65536, 'w') + std::string(65536, 'v'));
  CHECK(std::filesystem::file_size(folder / "out/model.onnx") < 4096);
  g->model_name = "model";
  CHECK(print(*onnx_io::load_model(folder / "out/model.onnx")) == print(*g));
}

TEST_CASE("one file holds everything, until its constants are too many bytes") {
  std::string values = "1";
  for (int k = 1; k < 32768; ++k) values += ", 1";
  Graph g = load("<ir_version: 8, opset_import: [\"\" : 17]> g (float[32768] x) => (float[32768] y) <float[32768] w = {" + values +
                 "}, float[1] s = {3}> { a = Add(x, w)  y = Mul(a, s) }");
  g.model_name = "small";
  test::TempFolder folder;
  REQUIRE(onnx_io::write_onnx_file(g, folder.path(), "small").ok());
  CHECK_FALSE(std::filesystem::exists(folder / "small.weights.bin"));
  CHECK(print(*onnx_io::load_model(folder / "small.onnx")) == print(g));

  REQUIRE(onnx_io::write_onnx_file(g, folder.path(), "big", 1 << 17).ok());  // 4 bytes too many
  CHECK(std::filesystem::file_size(folder / "big.weights.bin") == 4 * 32768);
  g.model_name = "big";
  CHECK(print(*onnx_io::load_model(folder / "big.onnx")) == print(g));
}

TEST_CASE("a folder that cannot be made is an I/O error") {
  test::TempFolder folder;
  folder.file("taken", "x");
  const Status status = onnx_io::write_onnx(load("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }"), folder / "taken/out");
  CHECK(status.kind() == StatusKind::Io);
}

TEST_CASE("a constant without bytes cannot be written") {
  Graph g = load("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  g.blobs[0].data = nullptr;
  test::TempFolder folder;
  CHECK(onnx_io::write_onnx(g, folder.path()).message() == "a constant has no bytes here");
}
