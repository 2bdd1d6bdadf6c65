// SPDX-License-Identifier: Apache-2.0
// Hostile bytes: whatever is done to a model, the importer answers with a graph that verifies or with InvalidInput.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "core/support/file.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

constexpr int kModels = OPTIMA_FUZZ_MODELS;

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const char* name : {"mnist.onnx", "version-RFB-320.onnx"}) {
    const std::string path = std::string(OPTIMA_SOURCE_DIR) + "/../shared/models/" + name;
    if (std::filesystem::exists(path)) out.push_back(*read_file(path));
    else MESSAGE("SKIP: no file ", path);
  }
  test::TempFolder folder;
  for (const char* text : {R"(<ir_version: 8, opset_import: ["" : 17]> g (int64 n, bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
                                y = Loop(n, c, x) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] s) { co = Identity(ci)  s = Add(a, w) }> })",
                           R"(<ir_version: 8, opset_import: ["" : 12]> g (float[2,6,4] x) => (float[a,b,c] y) <int64[1] two = {2}> {
                                s = Shape(x)  d = Div(s, two)  h = Hardmax(x)  y = Reshape(h, d) })",
                           R"(<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[4,N] x, int64 m) => (seq(float[4,N]) t, float[2,N] y, seq(float[N]) s)
                              <int64 two = {2}, int64 last = {-1}, int64 n = {3}> {
                                p = SplitToSequence <axis = 0> (x, two)  q = SequenceErase(p, last)  f = SequenceAt(p, last)
                                t = If(c) <then_branch = a () => (seq(float[4,N]) r) { k = Neg(x)  r = SequenceConstruct(k, x) },
                                           else_branch = b () => (seq(float[4,N]) r) { r = SequenceConstruct(x, x) }>
                                e = SequenceEmpty()
                                w = Loop(n, , e) <body = l (int64 i, bool ci, seq(float[2,N]) si) => (bool co, seq(float[2,N]) so) { co = Identity(ci)  so = SequenceInsert(si, f) }>
                                y = ConcatFromSequence <axis = 0> (w)
                                s = Loop(m, , e) <body = l (int64 i, bool ci, seq(float[N]) si) => (bool co, seq(float[N]) so) {
                                  co = Identity(ci)  v = SplitToSequence <keepdims = 0> (x)  z = SequenceAt(v, i)  so = SequenceInsert(si, z) }> })",
                           R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (float[N,2] x) => (y, z) {
                                y, z = ai.onnx.ml.TreeEnsembleClassifier <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0],
                                  nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0],
                                  class_treeids = [0, 0], class_nodeids = [1, 2], class_ids = [0, 0], class_weights = [1.0, -2.0], base_values = [0.5],
                                  classlabels_int64s = [3, 5], post_transform = "LOGISTIC"> (x) })",
                           R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (float[N,2] x, int64[M] k) => (y, z, l) {
                                y, z = ai.onnx.ml.SVMClassifier <classlabels_ints = [0, 1], coefficients = [1.0, -1.0], rho = [0.5], support_vectors = [1.0, 2.0, 3.0, 4.0],
                                  vectors_per_class = [1, 1], kernel_type = "RBF", kernel_params = [0.1, 0.0, 0.0], prob_a = [-1.0], prob_b = [0.0]> (x)
                                l = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 5], values_strings = ["a", "b"]> (k) })"}) {
    onnx_io::ImportOptions options;
    for (const char* op : {"TreeEnsembleClassifier", "SVMClassifier", "LabelEncoder"}) options.kept_functions.emplace_back("ai.onnx.ml", op);
    auto g = onnx_io::load_text(text, "seed", options);
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    REQUIRE(onnx_io::write_onnx(*g, folder.path()).ok());
    out.push_back(*read_file(folder / "model.onnx"));
  }
  return out;
}

void mutate(std::string& bytes, std::mt19937_64& random) {
  auto place = [&] { return random() % bytes.size(); };
  for (uint64_t k = 1 + random() % 6; k > 0 && !bytes.empty(); --k) switch (random() % 6) {
      case 0: bytes[place()] = static_cast<char>(random()); break;
      case 1: bytes[place()] ^= static_cast<char>(1 << random() % 8); break;
      case 2: bytes.resize(place()); break;
      case 3: bytes.erase(place(), random() % 20); break;
      case 4: bytes.insert(place(), bytes.substr(place(), random() % 40)); break;
      default: bytes[random() % std::min<size_t>(bytes.size(), 400)] = static_cast<char>(random()); break;
    }
}

}  // namespace

TEST_CASE("mutated models are refused with one line or give a sound graph") {
  const std::vector<std::string> models = seeds();
  test::TempFolder folder;
  std::mt19937_64 random(1);
  int tried = 0, accepted = 0;
  for (; tried < kModels; ++tried) {
    std::string bytes = models[random() % models.size()];
    mutate(bytes, random);
    auto g = onnx_io::load_model(folder.file("m.onnx", bytes));
    if (!g.ok()) {
      CHECK(g.status().kind() == StatusKind::InvalidInput);
      CHECK(g.status().message().find('\n') == std::string::npos);
      continue;
    }
    ++accepted;
    CHECK(verify(*g).message() == "");
    auto done = passes::run_passes(std::move(*g));
    if (done.ok()) CHECK(verify(*done).message() == "");
    else CHECK(done.status().kind() == StatusKind::InvalidInput);
  }
  MESSAGE(tried, " mutated models, ", accepted, " accepted");
  CHECK(accepted > 0);
}
