// SPDX-License-Identifier: Apache-2.0
// Tensors that lie in files beside the model.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kBytes = 4096;

// y = x + w, where w's 1024 floats lie in `location`.
std::string model_bytes(const std::string& location, int64_t offset = 0, int64_t length = -1) {
  onnx::ModelProto model = test::graph_model("g (float[1024] x) => (float[1024] y) { y = Add(x, w) }");
  onnx::TensorProto& w = *model.mutable_graph()->add_initializer();
  w.set_name("w"), w.set_data_type(onnx::TensorProto::FLOAT), w.add_dims(1024);
  test::make_external(w, location, offset, length);
  return model.SerializeAsString();
}

std::string refusal(const std::string& path) {
  const auto loaded = onnx_io::load_model(path);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.status().kind() == StatusKind::InvalidInput);
  const std::string head = "model '" + path + "': tensor 'w': ";
  CHECK(loaded.status().message().rfind(head, 0) == 0);
  return loaded.status().message().substr(head.size());
}

const Blob& weight(const Graph& g) { return g.blobs.at(g.contents.constants.at(0).blob); }

}  // namespace

TEST_CASE("external data is mapped at its offset") {
  test::TempFolder folder;
  folder.file("w.bin", std::string(64, 'a') + std::string(kBytes, 'b'));
  auto g = onnx_io::load_model(folder.file("m.onnx", model_bytes("w.bin", 64, kBytes)));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(weight(*g).size == kBytes);
  CHECK(weight(*g).file_offset == 64);
  CHECK(static_cast<char>(weight(*g).data[0]) == 'b');
  CHECK(weight(*g).path == fs::canonical(folder / "w.bin").string());
}

TEST_CASE("a length that is left out follows from the shape") {
  test::TempFolder folder;
  folder.file("sub/w.bin", std::string(kBytes + 100, 'b'));
  auto g = onnx_io::load_model(folder.file("m.onnx", model_bytes("sub/w.bin")));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(weight(*g).size == kBytes);
}

TEST_CASE("small external tensors are read in, so that inference sees shapes") {
  test::TempFolder folder;
  const int64_t shape[] = {2, 3};
  folder.file("s.bin", std::string(reinterpret_cast<const char*>(shape), sizeof shape));
  onnx::ModelProto model = test::graph_model("g (float[6] x) => (float[a,b] y) { y = Reshape(x, s) }");
  onnx::TensorProto& s = *model.mutable_graph()->add_initializer();
  s.set_name("s"), s.set_data_type(onnx::TensorProto::INT64), s.add_dims(2);
  test::make_external(s, "s.bin");
  auto g = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()));
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(type_text(g->main().values[g->main().outputs[0]]) == "f32[2,3]");
}

TEST_CASE("external data that is missing, too short or of another size is refused") {
  test::TempFolder folder;
  folder.file("w.bin", std::string(1000, 'a'));
  CHECK(refusal(folder.file("m.onnx", model_bytes("no.bin"))) ==
        "external data 'no.bin': not found beside the model (No such file or directory)");
  CHECK(refusal(folder.file("m.onnx", model_bytes("w.bin"))) == "external data 'w.bin' has 1000 bytes, wanted 4096 at 0");
  CHECK(refusal(folder.file("m.onnx", model_bytes("w.bin", 5000, kBytes))) == "external data 'w.bin' has 1000 bytes, wanted 4096 at 5000");
  CHECK(refusal(folder.file("m.onnx", model_bytes("w.bin", 0, 17))) == "external data of 17 bytes, wanted 4096");
}

TEST_CASE("locations outside the model's folder are refused") {
  test::TempFolder folder, elsewhere;
  elsewhere.file("w.bin", std::string(kBytes, 'a'));
  CHECK(refusal(folder.file("m.onnx", model_bytes(elsewhere / "w.bin"))) ==
        "external data '" + (elsewhere / "w.bin") + "': absolute path, wanted one relative to the model's folder");
  CHECK(refusal(folder.file("m.onnx", model_bytes("../w.bin"))) == "external data '../w.bin': path with '..', wanted one inside the model's folder");
  CHECK(refusal(folder.file("m.onnx", model_bytes(""))) == "external data '': no file name");
  fs::create_symlink(elsewhere / "w.bin", folder / "w.bin");
  CHECK(refusal(folder.file("m.onnx", model_bytes("w.bin"))) ==
        "external data 'w.bin': link to '" + fs::canonical(elsewhere / "w.bin").string() + "', outside the model's folder");
}

TEST_CASE("a download cache that links model and data into one store is read") {
  test::TempFolder cache;
  cache.file("blobs/1a", model_bytes("m.onnx.data"));
  cache.file("blobs/2b", std::string(kBytes, 'z'));
  fs::create_directories(cache / "snapshots/r1");
  fs::create_symlink("../../blobs/1a", cache / "snapshots/r1/m.onnx");
  fs::create_symlink("../../blobs/2b", cache / "snapshots/r1/m.onnx.data");
  auto g = onnx_io::load_model(cache / "snapshots/r1/m.onnx");
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(static_cast<char>(weight(*g).data[0]) == 'z');
}

TEST_CASE("the model's hash covers its external data") {
  test::TempFolder folder;
  const std::string path = folder.file("m.onnx", model_bytes("w.bin"));
  folder.file("w.bin", std::string(kBytes, 'a'));
  const std::string one = onnx_io::load_model(path)->model_hash;
  folder.file("w.bin", std::string(kBytes, 'b'));
  CHECK(onnx_io::load_model(path)->model_hash != one);
  onnx_io::ImportOptions options;
  options.hash = false;
  CHECK(onnx_io::load_model(path, options)->model_hash.empty());
}
