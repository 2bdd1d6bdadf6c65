// SPDX-License-Identifier: Apache-2.0
#include "tests/support/packaged_models.hpp"

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

namespace fs = std::filesystem;

namespace optima::test {
namespace {

Json json_of(const std::string& text) {
  Result<Json> document = parse_json(text, "output");
  REQUIRE_MESSAGE(document.ok(), document.status().message());
  return std::move(*document);
}

Tensor loaded(const std::string& path) {
  Result<Tensor> t = load_tensor(path);
  REQUIRE_MESSAGE(t.ok(), t.status().message());
  return std::move(*t);
}

/// The largest difference, as a share of the scale of `wanted`.
double apart(const Tensor& wanted, const Tensor& got) {
  REQUIRE(wanted.size == got.size);
  const float* w = reinterpret_cast<const float*>(wanted.data);
  const float* g = reinterpret_cast<const float*>(got.data);
  double scale = 0, most = 0;
  for (size_t k = 0; k < wanted.size / sizeof(float); ++k) {
    scale = std::max(scale, std::abs(static_cast<double>(w[k])));
    most = std::isfinite(g[k]) ? std::max(most, std::abs(static_cast<double>(w[k]) - g[k])) : HUGE_VAL;
  }
  return most / scale;
}

double apart_from_reference(const ModelFile& m, const std::string& package) {
  double worst = 0;
  const Json compared = json_of(good({"--json", "compare", m.path, package, "--atol", "1e9"}).out);
  for (const Json& t : compared["tensors"]) worst = std::max(worst, t["max_abs"].get<double>() / t["scale"].get<double>());
  return worst;
}

/// Names as plans call them, in the model's order; of one kind, or of all (empty).
std::vector<std::string> operators(const TempFolder& f, const ModelFile& m, const std::string& op) {
  good({"--json", "plan", m.path, "--device", "llvm_cpu/X64:0", "-o", f / "plan.json"});
  const Result<Json> written = read_json(f / "plan.json");
  REQUIRE(written.ok());
  std::vector<std::string> names;
  for (const Json& n : (*written)["nodes"])
    if (op.empty() || n["op"] == op) names.push_back(n["name"]);
  return names;
}

}  // namespace

Ran good(const std::vector<std::string>& words) {
  Ran r = host(words);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r;
}

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

std::vector<ModelFile> model_files(std::initializer_list<const char*> made) {
  std::vector<ModelFile> all{{"digits", digits_model(), ""}};
  if (shared_models().empty()) MESSAGE("SKIP: ../shared/models is not here");
  else all.push_back({"face detector", shared_models() + "/version-RFB-320.onnx", ""});
  for (const char* name : made) {
    const std::string stem = std::string(OPTIMA_SOURCE_DIR "/build/models/") + name + ".ts";
    if (fs::exists(stem + ".data/done")) all.push_back({name, stem + ".onnx", stem + ".data"});
    else MESSAGE("SKIP: no model " << stem << ".onnx (scripts/make_models.py)");
  }
  return all;
}

std::string compiled(const TempFolder& f, const ModelFile& m, const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"compile", m.path, "-o", f / folder});
  good(words);
  return fs::directory_iterator(f / folder)->path();
}

double apart(const TempFolder& f, const ModelFile& m, const std::string& package) {
  if (m.data.empty()) return apart_from_reference(m, package);
  const std::string out = f / (m.name + "_out");
  std::vector<std::string> words{"run", package, "-o", out};
  for (const auto& entry : fs::directory_iterator(m.data))
    if (const std::string stem = entry.path().stem(); stem.starts_with("input_")) words.insert(words.end(), {"--input", stem.substr(6) + "=" + entry.path().string()});
  good(words);
  double worst = 0;
  for (const auto& entry : fs::directory_iterator(m.data))
    if (const std::string stem = entry.path().stem(); stem.starts_with("output_"))
      worst = std::max(worst, apart(loaded(entry.path()), loaded(out + "/" + stem.substr(7) + ".npy")));
  return worst;
}

std::string in_parts(const TempFolder& f, const ModelFile& m, const std::string& op, const std::vector<std::string>& devices) {
  const std::vector<std::string> names = operators(f, m, op);
  REQUIRE(names.size() >= devices.size());
  Json allocation = Json::object();
  for (size_t k = 0; k < names.size(); ++k) allocation[names[k]] = devices[k * devices.size() / names.size()];
  return f.file("alloc.json", allocation.dump());
}

void check_splits(const std::string& first, const std::vector<ModelFile>& models, double most) {
  const TempFolder f;
  std::vector<std::string> devices{first, "llvm_cpu/X64:0"};
  if (has_openvino()) devices.push_back("openvino/X64:0");
  else MESSAGE("SKIP: " << kNoOpenvino);
  std::string list;
  for (const std::string& d : devices) list += (list.empty() ? "" : ",") + d;
  std::printf("%-16s %10s\n", "split", "apart");
  for (const ModelFile& m : models) {
    CAPTURE(m.name);
    const char* const by = operators(f, m, "Conv").size() < devices.size() ? "" : "Conv";  // of any kind where there are few
    const std::string package = compiled(f, m, m.name, {"--device", list, "--alloc", in_parts(f, m, by, devices)});
    const Result<Json> placed = read_json(package + "/placement.json");
    REQUIRE(placed.ok());
    for (const std::string& device : devices)
      CHECK_MESSAGE(std::any_of((*placed)["subgraphs"].begin(), (*placed)["subgraphs"].end(), [&](const Json& s) { return device.ends_with(s["device"].get<std::string>()); }), device);
    const double found = apart(f, m, package);
    std::printf("%-16s %10.2e\n", m.name.c_str(), found);
    CHECK(found <= most);
  }
}

std::string cut_before(const TempFolder& f, const ModelFile& m, double share, const std::string& before, const std::string& behind) {
  const std::vector<std::string> names = operators(f, m, "");
  const size_t cut = names.size() - static_cast<size_t>(static_cast<double>(names.size()) * share);
  REQUIRE(cut > 0);
  REQUIRE(cut < names.size());
  Json allocation = Json::object();
  for (size_t k = 0; k < names.size(); ++k) allocation[names[k]] = k < cut ? before : behind;
  return f.file("cut.json", allocation.dump());
}

}  // namespace optima::test
