// SPDX-License-Identifier: Apache-2.0
// What is inferred where sizes are not known: no number that the sizes of a run can prove wrong.
#include <doctest/doctest.h>

#include <algorithm>

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
