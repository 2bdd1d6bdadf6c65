// SPDX-License-Identifier: Apache-2.0
// compile --save-calib: samples of what each subgraph reads, in the package.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/blob.hpp"
#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

const std::string kDigits = OPTIMA_SOURCE_DIR "/examples/digits/pictures";

/// Three nodes whose middle goes to a device of its own; names that no file has, and a tensor that two subgraphs read.
constexpr const char* kNames = R"(<ir_version: 10, opset_import: ["" : 21]>
names (float[n,4] x) => (float[n,4] y)
{
  [first] "a/b:c" = Relu(x)
  [middle] d = Neg("a/b:c")
  [last] y = Add(d, "a/b:c")
})";

Ran compiled(const std::vector<std::string>& words) {
  std::vector<std::string> all{"compile"};
  all.insert(all.end(), words.begin(), words.end());
  Ran r = host(all);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

void refused(std::vector<std::string> words, int code, const std::string& sentence, const std::string& out) {
  words.insert(words.begin(), {"compile", "-o", out});
  const Ran r = host(words);
  CAPTURE(r.err);
  CHECK(r.code == code);
  CHECK(r.err.find(sentence) != std::string::npos);
  CHECK_FALSE(fs::exists(out));
}

Tensor array(const std::string& path) {
  CAPTURE(path);
  const Result<Blob> file = map_file(path);
  REQUIRE(file.ok());
  Result<Tensor> out = read_npy({file->data, file->size}, path);
  REQUIRE(out.ok());
  return std::move(*out);
}

std::string bytes(const Tensor& t, uint64_t at, uint64_t size) {
  REQUIRE(at + size <= t.size);
  return {reinterpret_cast<const char*>(t.data) + at, size};
}

Json index_of(const std::string& package) {
  const Result<Json> out = read_json(package + "/calib/samples.json");
  REQUIRE(out.ok());
  return *out;
}

/// Samples of the model above, stacked.
std::string samples(const TempFolder& f) {
  Result<Tensor> x = Tensor::make(OPTIMA_F32, {3, 2, 4});
  REQUIRE(x.ok());
  for (size_t i = 0; i < 24; ++i) x->as<float>()[i] = static_cast<float>(i % 7) - 3;
  return f.file("x.npy", write_npy(*x));
}

}  // namespace

TEST_CASE("samples of a cut tensor are what the reference makes of each sample there") {
  const TempFolder f;
  compiled({digits_model(), "-o", f / "out", "--alloc", digits_allocation(), "--calib", kDigits, "--save-calib", "--save-calib-samples", "3"});
  const Json index = index_of(f / "out/digits");
  CHECK(index["samples"] == 3);
  REQUIRE(index["subgraphs"].size() == 4);
  CHECK(index["subgraphs"]["Subgraph_0"][0]["name"] == "image");
  for (const char* subgraph : {"Subgraph_1", "Subgraph_2", "Subgraph_3"}) {
    const Json cut = index["subgraphs"][subgraph][0];
    const std::string name = cut["name"], file = cut["file"];
    CAPTURE(name);
    const Tensor kept = array(f / cat("out/digits/calib/", subgraph, "/", file));
    CHECK(Json(kept.shape) == cut["shape"]);
    CHECK(kept.shape[0] == 3);
    compiled({digits_model(), "-o", f / "whole", "--device", "REF:0", "--outputs", name, "--force"});
    for (int digit = 0; digit < 3; ++digit) {
      const Ran r = host({"run", f / "whole/digits", "--image", digit_picture(digit), "-o", f / "answer"});
      REQUIRE(r.code == 0);
      const Tensor answer = array(f / "answer/" + file);
      CHECK(bytes(kept, static_cast<uint64_t>(digit) * answer.size, answer.size) == bytes(answer, 0, answer.size));
    }
  }
}

TEST_CASE("every subgraph has what it reads, under names that files can have, and the same bytes each time") {
  const TempFolder f;
  const std::vector<std::string> words = {f.file("names.onnxtxt", kNames), "--alloc", f.file("alloc.json", R"({"*": "REF:0", "middle": "REF:1"})"),
                                          "--calib", samples(f), "--save-calib", "--dim", "n=2"};
  std::vector<std::string> a = words, b = words;
  a.insert(a.end(), {"-o", f / "a"}), b.insert(b.end(), {"-o", f / "b"});
  CHECK(compiled(a).out.find("samples: the first 3 in " + (f / "a/names/calib")) != std::string::npos);
  compiled(b);
  CHECK(get(f / "a/names/model.meta") == get(f / "b/names/model.meta"));
  const Json index = index_of(f / "a/names");
  REQUIRE(index["subgraphs"].size() == 3);
  const Tensor x = array(f / "x.npy"), ab = array(f / "a/names/calib/Subgraph_1/a_b_c.npy");
  CHECK(ab.shape == std::vector<int64_t>{3, 2, 4});
  for (size_t i = 0; i < 24; ++i) CHECK(ab.as<float>()[i] == std::max(0.0F, x.as<float>()[i]));
  CHECK(index["subgraphs"]["Subgraph_1"][0] == Json({{"name", "a/b:c"}, {"file", "a_b_c.npy"}, {"dtype", "float32"}, {"shape", {3, 2, 4}}}));
  CHECK(get(f / "a/names/calib/Subgraph_2/a_b_c.npy") == get(f / "a/names/calib/Subgraph_1/a_b_c.npy"));
  const Tensor d = array(f / "a/names/calib/Subgraph_2/d.npy");
  for (size_t i = 0; i < 24; ++i) CHECK(d.as<float>()[i] == -ab.as<float>()[i]);
}

TEST_CASE("codes that cross are kept as codes, and what is kept of one tensor is data again") {
  const TempFolder f;
  const std::string model = f.file("two.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
two (float[1,4] x) => (float[1,4] y)
<float[4,4] w = {0.5, 0, 0, 0, 0, 1, -1, 0.5, 0, 0.25, 1, 1, 0, 1, -0.75, -1}, float[4,4] v = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
  [one] a = MatMul(x, w)
  [two] y = MatMul(a, v)
})");
  const std::string alloc = f.file("alloc.json", R"({"*": "REF:0", "two": "REF:1"})");
  Result<Tensor> x = Tensor::make(OPTIMA_F32, {9, 1, 4});
  REQUIRE(x.ok());
  for (size_t i = 0; i < 36; ++i) x->as<float>()[i] = static_cast<float>(i % 11) - 5;
  const std::string data = f.file("x.npy", write_npy(*x));
  compiled({model, "-o", f / "out", "--alloc", alloc, "--precision", "int8", "--calib", data, "--save-calib"});
  const Json cut = index_of(f / "out/two")["subgraphs"]["Subgraph_1"][0];
  CHECK(cut["name"] == "a/q");
  CHECK(cut["dtype"] == "uint8");
  CHECK(cut["shape"] == Json({8, 1, 4}));  // of nine
  compiled({model, "-o", f / "float", "--alloc", alloc, "--calib", data, "--save-calib"});
  const std::string second = f.file("second.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
second (float[1,4] a) => (float[1,4] y)
<float[4,4] v = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
  y = MatMul(a, v)
})");
  const Ran r = host({"quantize", second, "--calib", f / "float/two/calib/Subgraph_1", "-o", f / "q.onnx", "--json"});
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(parse_json(r.out, "stdout")->at("samples") == 8);
}

TEST_CASE("packed codes lie one in a byte, so that samples do not share one") {
  const TempFolder f;
  const std::string model = f.file("p.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]>
p (float[1,3] x) => (float[1,3] y) <float s = {1}, int4 z = {0}> {
  [a] q = QuantizeLinear(x, s, z)
  [b] y = DequantizeLinear(q, s, z)
})");
  Result<Tensor> x = Tensor::make(OPTIMA_F32, {2, 1, 3});
  REQUIRE(x.ok());
  const std::vector<int8_t> codes = {1, -2, 3, -8, 7, 0};
  std::copy(codes.begin(), codes.end(), x->as<float>().begin());
  compiled({model, "-o", f / "out", "--alloc", f.file("alloc.json", R"({"*": "REF:0", "b": "REF:1"})"), "--calib", f.file("x.npy", write_npy(*x)), "--save-calib"});
  CHECK(index_of(f / "out/p")["subgraphs"]["Subgraph_1"][0]["dtype"] == "int4");
  const Tensor kept = array(f / "out/p/calib/Subgraph_1/q.npy");
  CHECK(kept.shape == std::vector<int64_t>{2, 1, 3});
  CHECK(std::equal(codes.begin(), codes.end(), kept.as<int8_t>().begin()));
}

TEST_CASE("samples that cannot be kept are told, and nothing is left") {
  const TempFolder f;
  const std::string model = f.file("names.onnxtxt", kNames), out = f / "out";
  refused({model, "--save-calib"}, 2, "--save-calib wants --calib: samples to keep", out);
  refused({model, "--save-calib-samples", "4", "--calib", samples(f)}, 2, "--save-calib-samples goes with --save-calib", out);
  refused({model, "--save-calib", "--save-calib-samples", "0", "--calib", samples(f)}, 2, "--save-calib-samples: found '0', wanted an integer from 1", out);
  refused({model, "--save-calib", "--calib", samples(f), "--emit", "submodels"}, 2, "--save-calib goes with --emit package", out);
  refused({model, "--save-calib", "--calib", f / "nowhere"}, 3, "nowhere", out);
  for (const int rows : {1, 2}) {
    Result<Tensor> x = Tensor::make(OPTIMA_F32, {rows, 4});
    REQUIRE(x.ok());
    f.file("sizes/" + std::to_string(rows) + ".npy", write_npy(*x));
  }
  refused({model, "--device", "REF:0", "--save-calib", "--calib", f / "sizes"}, 3,
          "samples to keep: tensor 'x': found 2x4 in sample 2 and 1x4 in the first, wanted samples of one size", out);
}
