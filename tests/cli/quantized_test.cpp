// SPDX-License-Identifier: Apache-2.0
// An int8 model through the real plugins: no quantized unit is cut, and what crosses is int8.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/blob.hpp"
#include "core/support/json.hpp"
#include "core/tensor_io/compare.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

// An int8 value beside a tie may land a step away; the last operator sums four of them times at most 20 * 0.015625.
const std::vector<std::string> kOneStep = {"--atol", "0.04"};

// A weight of `count` small integers, always the same.
std::string weight(const std::string& name, const std::string& shape, int count) {
  std::string out = "int8[" + shape + "] " + name + " = {";
  for (int i = 0, seed = static_cast<int>(name.size()) * 37; i < count; ++i, seed = (seed * 1103 + 12345) % 65536)
    out += (i ? "," : "") + std::to_string(seed % 41 - 20);
  return out + "}";
}

// Two convolutions, the second with a residual: the DequantizeLinear behind the first is read by the second and by the Add.
std::string int8_model() {
  return "<ir_version: 10, opset_import: [\"\" : 21]>\n"
         "int8 (float[1,3,8,8] x) => (float[1,4] y)\n<" +
         weight("w1", "4,3,3,3", 108) + ", " + weight("w2", "4,4,3,3", 144) + ", " + weight("w3", "4,4", 16) +
         R"(, float s = {0.03125}, float sw = {0.015625}, int8 z = {0}> {
  [q0] xq = QuantizeLinear(x, s, z)
  [dq0] xd = DequantizeLinear(xq, s, z)
  [wdq1] wd1 = DequantizeLinear(w1, sw, z)
  [conv1] c1 = Conv<pads = [1, 1, 1, 1]>(xd, wd1)
  [relu1] r1 = Relu(c1)
  [q1] r1q = QuantizeLinear(r1, s, z)
  [dq1] r1d = DequantizeLinear(r1q, s, z)
  [wdq2] wd2 = DequantizeLinear(w2, sw, z)
  [conv2] c2 = Conv<pads = [1, 1, 1, 1]>(r1d, wd2)
  [q2] c2q = QuantizeLinear(c2, s, z)
  [dq2] c2d = DequantizeLinear(c2q, s, z)
  [add] a = Add(c2d, r1d)
  [q3] aq = QuantizeLinear(a, s, z)
  [dq3] ad = DequantizeLinear(aq, s, z)
  [pool] p = GlobalAveragePool(ad)
  [q4] pq = QuantizeLinear(p, s, z)
  [dq4] pd = DequantizeLinear(pq, s, z)
  [flat] f = Flatten(pd)
  [q5] fq = QuantizeLinear(f, s, z)
  [dq5] fd = DequantizeLinear(fq, s, z)
  [wdq3] wd3 = DequantizeLinear(w3, sw, z)
  [fc] y = MatMul(fd, wd3)
})";
}

void run_well(const std::vector<std::string>& words) {
  const Ran r = host(words);
  CAPTURE(r.out);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
}

Tensor read(const fs::path& path) {
  const Result<Blob> bytes = map_file(path.string());
  REQUIRE(bytes.ok());
  Result<Tensor> t = read_npy({bytes->data, bytes->size}, path.string());
  REQUIRE(t.ok());
  return *t;
}

// Compiles with the options, checks the plan, and compares with the reference.
void check_split(const TempFolder& f, const std::vector<std::string>& options, size_t subgraphs, const std::vector<std::string>& exactness,
                 const std::string& text = int8_model()) {
  const std::string model = f.file("int8.onnxtxt", text), package = f / "out/int8";
  std::vector<std::string> words = {"compile", model, "-o", f / "out", "--force"};
  words.insert(words.end(), options.begin(), options.end());
  const Ran r = host(words);
  CAPTURE(r.out);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.out.find("do not move as one") == std::string::npos);
  const Result<Json> plan = read_json(package + "/placement.json");
  REQUIRE(plan.ok());
  CHECK((*plan)["subgraphs"].size() == subgraphs);
  REQUIRE(!(*plan)["cuts"].empty());
  for (const Json& cut : (*plan)["cuts"])
    for (const Json& tensor : (*plan)["tensors"])
      if (tensor["name"] == cut["name"]) CHECK(tensor["type"].get<std::string>().starts_with("i8["));
  std::vector<std::string> check = {"compare", model, package};
  check.insert(check.end(), exactness.begin(), exactness.end());
  const Ran compared = host(check);
  CAPTURE(compared.out);
  CAPTURE(compared.err);
  CHECK(compared.code == 0);
}

}  // namespace

TEST_CASE("an int8 model on one device, cut in three, is bit-equal to the whole") {
  const TempFolder f;
  check_split(f, {"--device", "REF:0", "--pin", "conv2=REF:1"}, 3, {"--at-cuts", "--atol", "0", "--rtol", "0"});
  const Ran explained = host({"explain", f / "out/int8", "dq1"});
  CHECK(explained.out.find("subgraph 2: runs here too, for 'add'") != std::string::npos);
}

TEST_CASE("Identities around and inside quantized units, and before the output, are gone: the units are as without them") {
  std::string text = int8_model();
  const auto insert = [&](const std::string& line, const std::string& instead) {
    const size_t at = text.find(line);
    REQUIRE(at != std::string::npos);
    text.replace(at, line.size(), instead);
  };
  insert("[conv2] c2 = Conv<pads = [1, 1, 1, 1]>(r1d, wd2)", "r1i = Identity(r1d)  wd2i = Identity(wd2)  [conv2] c2 = Conv<pads = [1, 1, 1, 1]>(r1i, wd2i)");
  insert("[q2] c2q = QuantizeLinear(c2, s, z)", "c2i = Identity(c2)  [q2] c2q = QuantizeLinear(c2i, s, z)");
  insert("[dq3] ad = DequantizeLinear(aq, s, z)", "aqi = Identity(aq)  [dq3] ad = DequantizeLinear(aqi, s, z)");
  insert("[fc] y = MatMul(fd, wd3)", "[fc] m = MatMul(fd, wd3)  y = Identity(m)");
  const TempFolder f;
  check_split(f, {"--device", "REF:0", "--pin", "conv2=REF:1"}, 3, {"--at-cuts", "--atol", "0", "--rtol", "0"}, text);
  const Result<Json> plan = read_json(f / "out/int8/placement.json");
  REQUIRE(plan.ok());
  for (const Json& node : (*plan)["nodes"]) CHECK(node["op"] != "Identity");
}

TEST_CASE("an int8 model over llvm_cpu and the reference crosses in int8") {
  const TempFolder f;
  check_split(f, {"--device", "llvm_cpu/X64:0", "--pin", "conv1=REF:0", "--pin", "conv2=REF:0"}, 3, kOneStep);
}

TEST_CASE("an int8 model over llvm_cpu and openvino crosses in int8") {
  if (!fs::exists(fs::path(host_program()).parent_path() / "../lib/optima/plugins/optima_openvino.so")) {
    MESSAGE("SKIP: the openvino plugin is not built");
    return;
  }
  const TempFolder f;
  check_split(f, {"--device", "llvm_cpu/X64:0", "--pin", "conv1=openvino/X64:0", "--pin", "conv2=openvino/X64:0", "--pin", "fc=openvino/X64:0"}, 4, kOneStep);
}

TEST_CASE("ResNet-18 in int8: additions on llvm_cpu, the rest on openvino, no unit cut, and every tensor between them of 8 bits") {
  const fs::path model = OPTIMA_SOURCE_DIR "/build/models/int8/resnet18.onnx", data = OPTIMA_SOURCE_DIR "/build/models/int8/resnet18.data";
  const bool there = fs::exists(fs::path(host_program()).parent_path() / "../lib/optima/plugins/optima_openvino.so");
  if (!there || !fs::exists(model)) {
    MESSAGE("SKIP: no ", there ? model.string() + ", scripts/make_models.py makes it" : "openvino plugin was built");
    return;
  }
  const TempFolder f;
  const std::string alloc = f.file("alloc.json", R"({"*": "openvino/X64:0", "op:Add": "llvm_cpu/X64:0"})");
  run_well({"compile", model.string(), "-o", f / "out", "--alloc", alloc});
  const Result<Json> plan = read_json(f / "out/resnet18/placement.json");
  REQUIRE(plan.ok());
  std::map<std::string, std::string> device, type;
  for (const Json& node : (*plan)["nodes"]) device[node["name"]] = node["device"];
  for (const Json& tensor : (*plan)["tensors"]) type[tensor["name"]] = tensor["type"];
  size_t members = 0;
  for (const Json& node : (*plan)["nodes"])
    if (node.contains("quantized_unit")) {
      CHECK(Json(device[node["quantized_unit"]]) == node["device"]);
      ++members;
    }
  CHECK(members > 60);
  CHECK((*plan)["subgraphs"].size() > 8);
  for (const Json& cut : (*plan)["cuts"]) CHECK_MESSAGE(type[cut["name"]].find("8[") == 1, cut["name"], " is ", type[cut["name"]]);
  run_well({"run", f / "out/resnet18", "--input", "image=" + (data / "input_image.npy").string(), "-o", f / "got"});
  const Result<Comparison> compared = compare_tensors(read(f / "got/scores.npy"), read(data / "output_scores.npy"));
  REQUIRE(compared.ok());
  MESSAGE("against ONNX Runtime's float arithmetic: ", to_line(*compared));  // integer kernels round elsewhere
  CHECK(compared->cosine > 0.99);
}
