// SPDX-License-Identifier: Apache-2.0
// plugins/snpe over real models, by the programs that users run: whole on HEXAGON in fp16 and split over several devices, on the wheels' emulator.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/tensor_io/load.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr double kApart = 1e-2;  // of an output's scale: what fp16 may be away from f32

bool has_wheels() {
  if (fs::exists(OPTIMA_SOURCE_DIR "/.deps/qualcomm/bin/python")) return true;
  MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
  return false;
}

Ran good(const std::vector<std::string>& words) {
  Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

Json json_of(const std::string& text) {
  Result<Json> document = parse_json(text, "output");
  REQUIRE_MESSAGE(document.ok(), document.status().message());
  return std::move(*document);
}

/// A GRU of a sequence of 8, both ways, with a projection behind it; weights of a small pattern.
std::string gru_model() {
  const auto numbers = [](int count, int step) {
    std::string all;
    for (int k = 0; k < count; ++k) all += (k ? ", " : "") + std::to_string(((k * step) % 17 - 8) * 0.05);
    return all;
  };
  return R"(<ir_version: 10, opset_import: ["" : 21]>
gru (float[8,1,5] x) => (float[8,1,3] scores)
<float[2,12,5] w = {)" + numbers(120, 7) + "}, float[2,12,4] r = {" + numbers(96, 5) + "}, float[2,24] b = {" + numbers(48, 3) + "}, float[8,3] p = {" + numbers(24, 11) + R"(},
 int64[3] s = {8, 1, 8}>
{
  y = GRU<hidden_size = 4, direction = "bidirectional", linear_before_reset = 1>(x, w, r, b)
  t = Transpose<perm = [0, 2, 1, 3]>(y)
  f = Reshape(t, s)
  scores = MatMul(f, p)
})";
}

struct Model {
  std::string name, path;
  std::string data;  ///< folder with input_NAME.npy and ONNX Runtime's output_NAME.npy; empty: the reference tells what is wanted
};

/// Models that are here; those of build/models were answered by ONNX Runtime when they were made.
std::vector<Model> models(std::initializer_list<const char*> made) {
  std::vector<Model> all{{"digits", digits_model(), ""}};
  if (shared_models().empty()) MESSAGE("SKIP: ../shared/models is not here");
  else all.push_back({"face detector", shared_models() + "/version-RFB-320.onnx", ""});
  for (const char* name : made) {
    const std::string stem = std::string(OPTIMA_SOURCE_DIR "/build/models/") + name + ".ts";
    if (fs::exists(stem + ".data/done")) all.push_back({name, stem + ".onnx", stem + ".data"});
    else MESSAGE("SKIP: no model " << stem << ".onnx (scripts/make_models.py)");
  }
  return all;
}

std::string compiled(const TempFolder& f, const Model& m, const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"compile", m.path, "-o", f / folder});
  good(words);
  return fs::directory_iterator(f / folder)->path();
}

Tensor loaded(const std::string& path) {
  Result<Tensor> t = load_tensor(path);
  REQUIRE_MESSAGE(t.ok(), t.status().message());
  return std::move(*t);
}

/// The largest difference of any output, as a share of that output's scale.
double apart(const TempFolder& f, const Model& m, const std::string& package) {
  double worst = 0;
  if (m.data.empty()) {
    const Json compared = json_of(good({"--json", "compare", m.path, package, "--atol", "1e9"}).out);
    for (const Json& t : compared["tensors"])
      worst = std::max(worst, t["max_abs"].get<double>() / t["scale"].get<double>());
    return worst;
  }
  const std::string out = f / (m.name + "_out");
  std::vector<std::string> words{"run", package, "-o", out};
  for (const auto& entry : fs::directory_iterator(m.data))
    if (const std::string stem = entry.path().stem(); stem.starts_with("input_")) words.insert(words.end(), {"--input", stem.substr(6) + "=" + entry.path().string()});
  good(words);
  for (const auto& entry : fs::directory_iterator(m.data)) {
    const std::string stem = entry.path().stem();
    if (!stem.starts_with("output_")) continue;
    const Tensor wanted = loaded(entry.path()), got = loaded(out + "/" + stem.substr(7) + ".npy");
    REQUIRE(wanted.size == got.size);
    const float* w = reinterpret_cast<const float*>(wanted.data);
    const float* g = reinterpret_cast<const float*>(got.data);
    double scale = 0, most = 0;
    for (size_t k = 0; k < wanted.size / sizeof(float); ++k) {
      scale = std::max(scale, std::abs(static_cast<double>(w[k])));
      most = std::isfinite(g[k]) ? std::max(most, std::abs(static_cast<double>(w[k]) - g[k])) : 1e9;
    }
    worst = std::max(worst, most / scale);
  }
  return worst;
}

/// A third of the operators of one kind on each device, in the model's order.
std::string in_thirds(const TempFolder& f, const Model& m, const std::string& op, const std::vector<std::string>& devices) {
  const Json plan = json_of(good({"--json", "plan", m.path, "--device", "llvm_cpu/X64:0", "-o", f / "plan.json"}).out);
  const Result<Json> written = read_json(f / "plan.json");
  REQUIRE(written.ok());
  std::vector<std::string> names;
  for (const Json& n : (*written)["nodes"])
    if (n["op"] == op) names.push_back(n["name"]);
  REQUIRE(names.size() >= devices.size());
  Json allocation = Json::object();
  for (size_t k = 0; k < names.size(); ++k) allocation[names[k]] = devices[k * devices.size() / names.size()];
  return f.file("alloc.json", allocation.dump());
}

}  // namespace

TEST_CASE("models are whole on HEXAGON in fp16 and give ONNX Runtime's answers on the emulator") {
  if (!has_wheels()) return;
  const TempFolder f;
  std::printf("%-16s %10s\n", "whole", "apart");
  std::vector<Model> all = models({"mobilenet_v2", "resnet18", "vit_tiny", "bilstm"});
  all.push_back({"gru", f.file("gru.onnxtxt", gru_model()), ""});
  for (const Model& m : all) {
    CAPTURE(m.name);
    const std::string package = compiled(f, m, m.name, {"--require-device", "HEXAGON:0"});
    const double found = apart(f, m, package);
    std::printf("%-16s %10.2e\n", m.name.c_str(), found);
    CHECK(found <= kApart);
    CHECK(fs::exists(package + "/Subgraph_0/subgraph_0.dlc"));
    CHECK(fs::exists(package + "/Subgraph_0/subgraph_0.sm8550.bin"));
  }
}

TEST_CASE("models are split over HEXAGON and processors by name, and keep their answers") {
  if (!has_wheels()) return;
  const TempFolder f;
  std::vector<std::string> devices{"HEXAGON:0", "llvm_cpu/X64:0"};
  if (has_openvino()) devices.push_back("openvino/X64:0");
  else MESSAGE("SKIP: " << kNoOpenvino);
  std::string list;
  for (const std::string& d : devices) list += (list.empty() ? "" : ",") + d;
  std::printf("%-16s %10s\n", "split", "apart");
  for (const Model& m : models({"resnet18"})) {
    CAPTURE(m.name);
    const std::string package = compiled(f, m, m.name, {"--device", list, "--alloc", in_thirds(f, m, "Conv", devices)});
    const Result<Json> placed = read_json(package + "/placement.json");
    REQUIRE(placed.ok());
    for (const std::string& device : devices)
      CHECK_MESSAGE(std::any_of((*placed)["subgraphs"].begin(), (*placed)["subgraphs"].end(), [&](const Json& s) { return device.ends_with(s["device"].get<std::string>()); }), device);
    const double found = apart(f, m, package);
    std::printf("%-16s %10.2e\n", m.name.c_str(), found);
    CHECK(found <= kApart);
  }
}

TEST_CASE("compiling twice gives the same files, whatever the package is called") {
  if (!has_wheels()) return;
  const TempFolder f;
  const Model m{"digits", digits_model(), ""};
  const std::string one = compiled(f, m, "one", {"--require-device", "HEXAGON:0", "--option", "snpe.soc=sm8550,sm8650"});
  const std::string two = compiled(f, m, "two", {"--require-device", "HEXAGON:0", "--option", "snpe.soc=sm8550,sm8650", "--name", "other"});
  int files = 0;
  for (const auto& entry : fs::directory_iterator(one + "/Subgraph_0")) {
    CAPTURE(entry.path().string());
    ++files;
    CHECK(get(entry.path()) == get(two + "/Subgraph_0/" + entry.path().filename().string()));
  }
  CHECK(files == 6);  // a DLC, its meta file, and a context with its wrapper for each chip
}

TEST_CASE("a chip without floats takes no float model, and says what it takes") {
  if (!has_wheels()) return;
  const TempFolder f;
  const Ran r = host({"compile", digits_model(), "-o", f / "out", "--device", "HEXAGON:0", "--option", "snpe.soc=sm8550,qcm6490"});
  CHECK(r.code == 4);
  CHECK_MESSAGE(r.err.find("qcm6490 computes no floats, wanted a quantized model") != std::string::npos, r.err);

  const std::string quantized = OPTIMA_SOURCE_DIR "/build/models/int8/resnet18.onnx";
  if (!fs::exists(quantized)) {
    MESSAGE("SKIP: no models in build/models/int8 (scripts/make_models.py)");
    return;
  }
  good({"--json", "plan", quantized, "--device", "HEXAGON:0,X64:0", "--option", "snpe.soc=qcm6490", "-o", f / "plan.json"});
  const Result<Json> plan = read_json(f / "plan.json");
  REQUIRE(plan.ok());
  int convolutions = 0;
  for (const Json& n : (*plan)["nodes"]) {
    if (n["op"] != "Conv") continue;
    ++convolutions;
    CHECK_MESSAGE(n["answers"]["HEXAGON:0"]["yes"] == true, n.dump());
  }
  CHECK(convolutions == 20);
}

TEST_CASE("a chip that is not known is refused with its neighbours, and a size that is open with the option that fixes it") {
  const TempFolder f;
  const Ran chip = host({"compile", digits_model(), "-o", f / "out", "--device", "HEXAGON:0", "--option", "snpe.soc=sm8555"});
  CHECK(chip.code != 0);
  CHECK_MESSAGE(chip.err.find("'sm8555' (did you mean sm8550?)") != std::string::npos, chip.err);
  const std::string open = f.file("open.onnxtxt", R"(<ir_version: 10, opset_import: ["" : 21]> open (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) })");
  const Ran size = host({"compile", open, "-o", f / "out2", "--device", "HEXAGON:0"});
  CHECK(size.code != 0);
  CHECK_MESSAGE(size.err.find("--dim batch=N") != std::string::npos, size.err);
}
