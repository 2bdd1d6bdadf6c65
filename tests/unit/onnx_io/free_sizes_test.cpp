// SPDX-License-Identifier: Apache-2.0
// What is inferred where sizes are not known: no number that the sizes of a run can prove wrong.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "core/onnx_io/onnx_io.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

/// The type of a value of the imported model.
std::string type_in(std::string_view text, const std::string& value) {
  const test::TempFolder folder;
  const auto graph = onnx_io::load_model(folder.file("m.onnx", test::graph_model(text, 23).SerializeAsString()), {});
  REQUIRE_MESSAGE(graph.ok(), graph.status().message());
  for (const image::Value& v : graph->main().values)
    if (v.name == value) return type_text(v);
  return "none";
}

bool ends_unknown(const std::string& type) { return type.find(",0]") == std::string::npos && type.find(",6]") == std::string::npos; }

}  // namespace

TEST_CASE("Attention of a value whose size or length is free has a free size, not one of 0 elements") {
  const char* flat = "g (float[2,4,w] q, float[2,t,w] k, float[2,t,w] v) => (float[a,b,c] y) { y = Attention<q_num_heads=3, kv_num_heads=3>(q, k, v) }";
  CHECK_MESSAGE(ends_unknown(type_in(flat, "y")), type_in(flat, "y"));
  const char* deep = "g (float[2,3,4,8] q, float[2,3,t,8] k, float[2,3,t,8] v) => (float[a,b,c,d] y, float[e,f,g,h] s) { y, p, r, s = Attention(q, k, v) }";
  CHECK_MESSAGE(ends_unknown(type_in(deep, "s")), type_in(deep, "s"));
  CHECK(type_in(deep, "y") == "f32[2,3,4,8]");
}

TEST_CASE("the scores of Attention behind a past of free length are no shorter than its own tokens") {
  const char* text =
      "g (float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,8] v, float[2,3,n,8] a, float[2,3,n,8] b) => (float[c,d,e,f] y, float[g,h,i,j] s)"
      "{ y, p, r, s = Attention(q, k, v, , a, b) }";
  CHECK_MESSAGE(ends_unknown(type_in(text, "s")), type_in(text, "s"));
}

TEST_CASE("Resize to sizes whose number is free keeps its rank") {
  const std::string type = type_in("g (float[1,3,8,8] x, int64[n] s) => (float[a,b,c,d] y) { y = Resize(x, , , s) }", "y");
  CHECK(std::count(type.begin(), type.end(), ',') == 3);
}

TEST_CASE("what -1 of Reshape stands for follows from the names of the other sizes") {
  const auto reshaped = [](const std::string& x, const std::string& target, const std::string& out) {
    const std::string sizes = "a = Shape <start = 0, end = 1> (x) b = Shape <start = 1, end = 2> (x) r = Constant <value_ints = [-1]> () f = Constant <value_ints = [4]> () ";
    return type_in("g (float" + x + " x) => (float" + out + " y) { " + sizes + "t = Concat <axis = 0> (" + target + ") y = Reshape(x, t) }", "y");
  };
  CHECK(reshaped("[n,s,12]", "a, b, r, f", "[c,d,e,g]") == "f32[n,s,3,4]");  // heads
  CHECK(reshaped("[n,s,12]", "a, b, f, r", "[c,d,e,g]") == "f32[n,s,4,3]");
  CHECK(reshaped("[n,s,12]", "b, a, r", "[c,d,e]") == "f32[s,n,12]");
  CHECK(reshaped("[n,s,4]", "b, r, f", "[c,d,e]") == "f32[s,n,4]");
  CHECK(reshaped("[n,n,4]", "a, r, f", "[c,d,e]") == "f32[n,n,4]");
  // what is left is no single size, or no whole number
  for (const auto& [x, target, out, begin] : {std::tuple("[n,s,12]", "r, f", "[c,d]", "f32[u"), std::tuple("[n,s,6]", "a, b, r, f", "[c,d,e,g]", "f32[n,s,u"), std::tuple("[n,s,8]", "b, r, f", "[c,d,e]", "f32[s,u"),
                                            std::tuple("[n,s,t]", "r, f", "[c,d]", "f32[u")}) {
    const std::string type = reshaped(x, target, out);
    CHECK_MESSAGE(type.starts_with(begin), x, " ", target, " ", type);
  }
}

TEST_CASE("a batch keeps its name through Flatten and Reshape, where its size can be no other") {
  const auto reshaped = [](const std::string& x, const std::string& target, const std::string& out) {
    return type_in("g (float" + x + " x) => (float" + out + " y) { s = Constant <value_ints = " + target + "> () y = Reshape(x, s) }", "y");
  };
  CHECK(reshaped("[batch,4,2,2]", "[-1, 16]", "[a,b]") == "f32[batch,16]");
  CHECK(reshaped("[batch,4,2,2]", "[0, -1]", "[a,b]") == "f32[batch,16]");
  CHECK(reshaped("[batch,16]", "[-1, 4, 2, 2]", "[a,b,c,d]") == "f32[batch,4,2,2]");
  CHECK(reshaped("[1,batch,16]", "[-1, 16]", "[a,b]") == "f32[batch,16]");
  CHECK(reshaped("[4,n]", "[4, 1, -1]", "[a,b,c]") == "f32[4,1,n]");
  CHECK(type_in("g (float[batch,4,1,1] x) => (float[a,b] y) { y = Flatten(x) }", "y") == "f32[batch,4]");
  const char* pooled = "g (float[batch,3,8,8] x, float[4,3] w) => (float[a,b] y) { p = GlobalAveragePool(x) s = Constant <value_ints = [-1, 3]> () f = Reshape(p, s) y = Gemm<transB = 1>(f, w) }";
  CHECK(type_in(pooled, "y") == "f32[batch,4]");
  // another size than the batch
  for (const auto& [x, target] : {std::pair("[batch,4,2,2]", "[-1, 8]"), std::pair("[batch,4,2,2]", "[-1, 32]"), std::pair("[batch,n]", "[-1, 1]"), std::pair("[batch,0,4]", "[-1, 4]")}) {
    const std::string type = reshaped(x, target, "[a,b]");
    CHECK_MESSAGE(type.find("batch") == std::string::npos, x, " ", target, " ", type);
  }
}
