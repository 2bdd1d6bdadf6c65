// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: a model whose batch is open, made for several sizes (bmcompiler.batches), by the programs that users run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/coded_models.hpp"
#include "tests/support/packaged_models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sophon_tools.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

/// Two convolutions with a Softmax between them.
constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]>
open (float[n,3,8,8] x) => (float[n,2,8,8] y)
<float[4,3,1,1] w = {0.5, -0.25, 1, 0.75, 0.5, -1, -0.5, 0.25, 0.125, 1, -0.75, 0.5}, float[2,4,1,1] v = {1, -0.5, 0.25, 0.5, -1, 0.75, 0.5, -0.25}>
{
  c = Conv(x, w)
  r = Relu(c)
  s = Softmax<axis = 1>(r)
  y = Conv(s, v)
})";

std::string input_of(const TempFolder& f, int64_t batch) {
  Result<Tensor> x = Tensor::make(OPTIMA_F32, {batch, 3, 8, 8});
  REQUIRE(x.ok());
  const Numbers numbers = normal(static_cast<size_t>(batch) * 192, static_cast<uint32_t>(batch));
  std::copy(numbers.begin(), numbers.end(), x->as<float>().data());
  return f.file("x" + std::to_string(batch) + ".npy", write_npy(*x));
}

Numbers answer(const TempFolder& f, const std::string& package, const std::string& input) {
  good({"run", package, "--input", "x=" + input, "-o", f / "answer"});
  const Result<Tensor> y = load_tensor(f / "answer/y.npy");
  REQUIRE(y.ok());
  const float* at = reinterpret_cast<const float*>(y->data);
  return {at, at + y->size / sizeof(float)};
}

/// The largest difference, as a share of the largest number.
double apart(const Numbers& wanted, const Numbers& got) {
  REQUIRE(wanted.size() == got.size());
  double most = 0, scale = 0;
  for (size_t k = 0; k < wanted.size(); ++k) {
    most = std::isfinite(got[k]) ? std::max(most, std::abs(static_cast<double>(wanted[k]) - got[k])) : HUGE_VAL;
    scale = std::max(scale, std::abs(static_cast<double>(wanted[k])));
  }
  return most / scale;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a split model in codes runs at each size of the batch, and the scripts beside its files make the same bytes") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const ModelFile m{"open", f.file("open.onnxtxt", kModel), ""};
  const Data data = normal_data(f, {1, 3, 8, 8});
  const std::string alloc = f.file("alloc.json", R"({"op:Softmax": "REF:0", "*": "TPU:0"})");
  const std::string package = compiled(f, m, "tpu", {"--alloc", alloc, "--device", "TPU:0,REF:0", "--option", "bmcompiler.chip=bm1684",
                                                     "--option", "bmcompiler.batches=4,1", "--precision", "int8", "--calib", data.samples, "--calib-samples", "8"});
  const std::string reference = compiled(f, m, "reference", {"--device", "REF:0"});
  for (const int64_t batch : {1, 4}) {
    CAPTURE(batch);
    const std::string x = input_of(f, batch);
    CHECK(apart(answer(f, reference, x), answer(f, package, x)) < 0.05);
  }
  const Ran three = host({"run", package, "--input", "x=" + input_of(f, 3)});
  CHECK(three.code != 0);
  CHECK_MESSAGE(holds(three.err, "batch of tensor 'x' is 3, the file was made for 1 or 4 (bmcompiler.batches)"), three.err);
  const std::string told = good({"inspect", package + "/Subgraph_0/subgraph_0.bmodel"}).out;
  CHECK(holds(told, "1, 3, 8, 8"));
  CHECK(holds(told, "4, 3, 8, 8"));
  int scripts = 0;
  for (const auto& subgraph : fs::directory_iterator(package)) {
    const std::string stem = subgraph.path().string() + "/subgraph_" + subgraph.path().filename().string().substr(subgraph.path().filename().string().find('_') + 1);
    if (!fs::exists(stem + ".compile.py")) continue;
    ++scripts;
    CAPTURE(stem);
    CHECK((fs::exists(stem + ".b1.mlir") && fs::exists(stem + ".b4.mlir")));
    CHECK((fs::exists(stem + ".npz") && fs::exists(stem + ".calib")));  // the same for both, so once
    const std::string bytes = get(stem + ".bmodel");
    fs::remove(stem + ".bmodel");
    const Ran alone = run({"python3", stem + ".compile.py"}, {"TPUC_ROOT=" + kSophonTools});
    CHECK_MESSAGE(alone.code == 0, alone.err);
    CHECK(get(stem + ".bmodel") == bytes);
  }
  CHECK(scripts == 2);
}

TEST_CASE("weights lie in a file once, however many sizes it is made for") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  std::string numbers;  // 256 KiB: a page for each size is less
  for (int k = 0; k < 256 * 256; ++k) numbers += (k ? "," : "") + std::to_string(k % 13 - 6);
  const std::string text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[n,256] x) => (float[n,256] y) <float[256,256] w = {" + numbers + "}> { y = MatMul(x, w) }";
  const ModelFile m{"product", f.file("product.onnxtxt", text), ""};
  const auto size_for = [&](const std::string& batches) {
    const std::string package =
        compiled(f, m, "batches_" + batches, {"--device", "TPU:0", "--option", "bmcompiler.chip=bm1684", "--option", "bmcompiler.batches=" + batches});
    return fs::file_size(package + "/Subgraph_0/subgraph_0.bmodel");
  };
  const uintmax_t one = size_for("1");
  CHECK(one > 256 << 10);
  CHECK(size_for("1,2,8") < one + (64 << 10));
}

TEST_CASE("16-bit floats of the model are refused with the option that computes in them, or what the chip has") {
  const TempFolder f;
  const auto refusal = [&](const std::string& type, const std::string& chip) {
    return host({"compile", f.file("open.onnxtxt", kModel), "-o", f / "out", "--dim", "n=1", "--device", "TPU:0", "--precision", type, "--option", "bmcompiler.chip=" + chip}).err;
  };
  CHECK(holds(refusal("f16", "bm1684x"), "is of f16, and models of this device stay f32: bmcompiler.precision=f16, in place of --precision f16, computes their floats in it"));
  CHECK(holds(refusal("bf16", "bm1684"), "is of bf16, and models of this device stay f32: bm1684 computes in F32 INT8"));
}

TEST_CASE("an open batch without sizes, sizes that are none, and chips that have one are refused by name") {
  const TempFolder f;
  const std::string model = f.file("open.onnxtxt", kModel);
  const auto refusal = [&](const std::string& path, std::vector<std::string> words) {
    words.insert(words.begin(), {"compile", path, "-o", f / "out", "--device", "TPU:0"});
    const Ran ran = host(words);
    CHECK(ran.code != 0);
    CHECK(count_of(ran.err, "error:") == 1);
    return ran.err;
  };
  CHECK(holds(refusal(model, {}),
              "input 0 dim 0 is dynamic, must be static; --dim n=N would fix it, and where the batch is open bmcompiler.batches=1,4 names sizes for it"));
  CHECK(holds(refusal(model, {"--option", "bmcompiler.batches=1,0"}), "bmcompiler.batches has '0', wanted sizes from 1 to 65535"));
  CHECK(holds(refusal(model, {"--option", "bmcompiler.batches=1,many"}), "bmcompiler.batches has 'many', wanted sizes from 1 to 65535"));
  CHECK(holds(refusal(model, {"--option", "bmcompiler.batches=1", "--option", "bmcompiler.chip=cv183x"}),
              "bmcompiler.batches is named, a file for cv183x holds one size, which --dim fixes"));
  const std::string two = f.file("two.onnxtxt",
                                 R"(<ir_version: 10, opset_import: ["" : 21]> g (float[n,4] x, float[m,4] z) => (float[n,4] y, float[m,4] u) { y = Relu(x)  u = Neg(z) })");
  const std::string said = refusal(two, {"--option", "bmcompiler.batches=1,4"});
  CHECK(holds(said, "(Neg"));
  CHECK(holds(said, "--dim m=N"));
  const std::string nameless =
      f.file("nameless.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> g (float[?,4] x) => (float[?,4] y) { y = Relu(x) })");
  CHECK(host({"compile", nameless, "-o", f / "nameless", "--device", "TPU:0", "--option", "bmcompiler.batches=1,4"}).code == 0);  // it goes by its place
  const std::string inner = f.file("inner.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> g (float[4,n] x) => (float[4,n] y) { y = Relu(x) })");
  CHECK(holds(refusal(inner, {"--option", "bmcompiler.batches=1,4"}), "dim 1"));
}
