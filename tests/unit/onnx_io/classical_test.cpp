// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml; what they compute is compared with ONNX Runtime in tests/conformance.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"

using namespace optima;

namespace {

Graph load(const std::string& body, const std::string& head = "(float[N,2] x) => (y)") {
  auto loaded = onnx_io::load_text(R"(<ir_version: 8, opset_import: ["" : 15, "ai.onnx.ml" : 3]> g )" + head + " { " + body + " }", "t");
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  CHECK(verify(*loaded).message() == "");
  return std::move(*loaded);
}
std::string refusal(const std::string& body, const std::string& head = "(float[N,2] x) => (y)") {
  const auto loaded = onnx_io::load_text(R"(<ir_version: 8, opset_import: ["" : 15, "ai.onnx.ml" : 3]> g )" + head + " { " + body + " }", "t");
  return loaded.ok() ? "no error" : std::string(loaded.status().message());
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kNodes = "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0], nodes_values = [0.5, 0.0, 0.0], "
                               "nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], nodes_falsenodeids = [2, 0, 0], ";
constexpr const char* kWeights = "target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [1.0, 2.0]";

std::string tree(const std::string& children, const std::string& weights = kWeights) {
  return std::string("y = ai.onnx.ml.TreeEnsembleRegressor <") + kNodes + children + weights + "> (x)";
}

}  // namespace

TEST_CASE("a scaler of any number of samples becomes ONNX nodes, and its domain is forgotten") {
  const Graph g = load("y = ai.onnx.ml.Scaler <offset = [1.0, 2.0], scale = [0.5, 0.25]> (x)");
  for (const image::Node& n : g.main().nodes) CHECK(n.domain == "");
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "f32[N,2]");
  CHECK(g.contents.opsets == std::vector<std::pair<std::string, int64_t>>{{"", 21}});
  CHECK(g.folded.at(0).name == "scaler_1");
}

TEST_CASE("a tree becomes steps of which samples and trees are open") {
  const Graph g = load(tree("nodes_truenodeids = [1, 0, 0], "));
  CHECK(type_text(g.main().values[g.main().outputs[0]]) == "f32[N,1]");
  for (const image::Node& n : g.main().nodes) CHECK(n.domain == "");
}

TEST_CASE("a list of maps of labels becomes the tensor of their values") {
  const Graph g = load("y, p = ai.onnx.ml.LinearClassifier <classlabels_ints = [3, 5], coefficients = [1.0, 2.0, 3.0, 4.0], intercepts = [0.0, 1.0]> (x) "
                       "z = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 5]> (p)", "(float[N,2] x) => (int64[N] y, seq(map(int64, float)) z)");
  REQUIRE(g.main().outputs.size() == 2);
  CHECK(g.main().values[g.main().outputs[1]].name == "z");
  CHECK(type_text(g.main().values[g.main().outputs[1]]) == "f32[N,2]");
}

TEST_CASE("a model of the classical domain alone need not import ONNX's own, a list of maps at its end or not") {
  const std::string head = "<ir_version: 3, opset_import: [\"ai.onnx.ml\" : 1]> g (float[3,2] x) => ";
  const std::string nodes = "y, p = ai.onnx.ml.LinearClassifier <classlabels_ints = [3, 5], coefficients = [1.0, 2.0, 3.0, 4.0], intercepts = [0.0, 1.0], post_transform = \"LOGISTIC\"> (x) "
                            "q = ai.onnx.ml.Normalizer <norm = \"L1\"> (p) ";
  for (const std::string& text : {head + "(int64[3] y, float[3,2] q) {" + nodes + "}",
                                  head + "(int64[3] y, seq(map(int64, float)) z) {" + nodes + "z = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 5]> (q) }"}) {
    const auto g = onnx_io::load_text(text, "t");
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    CHECK(type_text(g->main().values[g->main().outputs[1]]) == "f32[3,2]");
    CHECK(g->contents.opsets == std::vector<std::pair<std::string, int64_t>>{{"", 21}});
  }
}

TEST_CASE("of more coefficients than there are features the first are taken, as by ONNX Runtime") {
  const Graph g = load("y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], targets = 1> (x)");
  const auto& values = g.main().values;
  const auto weights = std::find_if(values.begin(), values.end(), [](const image::Value& v) { return v.constant != OPTIMA_NONE && v.dims && v.dims->size() == 2; });
  REQUIRE(weights != values.end());
  const Blob& bytes = g.blobs[g.contents.constants[weights->constant].blob];
  const auto* w = reinterpret_cast<const float*>(bytes.data);
  CHECK(std::vector<float>(w, w + bytes.size / sizeof(float)) == std::vector<float>{1, 2});
  CHECK(type_text(values[g.main().outputs[0]]) == "f32[N,1]");
}

TEST_CASE("what is wrong with a classical node is said with its attribute") {
  CHECK(has(refusal("y = ai.onnx.ml.Scaler <scale = [0.5]> (x)"), "node 'scaler_1' (Scaler): attributes scale and offset, wanted one number at least in each"));
  CHECK(has(refusal("y = ai.onnx.ml.Normalizer <norm = \"L3\"> (x)"), "attribute norm is 'L3', wanted MAX, L1 or L2"));
  CHECK(has(refusal(tree("nodes_truenodeids = [7, 0, 0], ")), "node 0 of tree 0 has a child that is not there"));
  CHECK(has(refusal(tree("nodes_truenodeids = [0, 0, 0], ")), "a tree runs in a circle, or has over 1000 levels"));
  CHECK(has(refusal(tree("nodes_truenodeids = [1], ")), "attribute nodes_truenodeids has 1 elements, wanted those of 3 nodes"));
  CHECK(has(refusal(tree("nodes_truenodeids = [1, 0, 0], ", "target_treeids = [0], target_nodeids = [1], target_ids = [4], target_weights = [1.0]")),
            "wanted a node that is there and a target below 1"));
  CHECK(has(refusal(tree("nodes_truenodeids = [1, 0, 0], "), "(float[N,1] x) => (y)"), "attribute nodes_featureids has 1, the input has 1 features"));
  CHECK(has(refusal("y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0], targets = 2> (x)"), "attributes coefficients and intercepts have 3 and 0 numbers"));
  CHECK(has(refusal("y, z = ai.onnx.ml.SVMClassifier <classlabels_ints = [0, 1, 2], coefficients = [1.0], rho = [0.0], support_vectors = [1.0, 2.0], vectors_per_class = [1, 0, 0], "
                    "kernel_params = [0.1, 0.0, 0.0]> (x)", "(float[N,2] x) => (y, z)"), "attributes coefficients and rho have 1 and 1 numbers, wanted 2 and 3"));
  CHECK(has(refusal("y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"a\"]> (x)", "(map(string, float[]) x) => (y)"), "a map is an operand"));
}

TEST_CASE("of a domain that is imported twice the last version counts") {
  const auto twice = [](int other) {
    return onnx_io::load_text("<ir_version: 8, opset_import: [\"\" : 15, \"ai.onnx\" : " + std::to_string(other) + "]> g (float[2] x) => (y) { y = Relu(x) }", "t");
  };
  CHECK(twice(15).ok());
  CHECK(twice(14).ok());
}
