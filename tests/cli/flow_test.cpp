// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan driven by the host over split bodies, through the real programs, against ONNX Runtime and the ONNX node tests.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/save.hpp"
#include "tests/cli/models.hpp"
#include "tests/cli/zoo.hpp"
#include "tests/conformance/node_case.hpp"
#include "tests/support/process.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> flow_models() {
  std::vector<fs::path> out;
  for (const auto& e : fs::directory_iterator(OPTIMA_FLOW_MODELS))
    if (e.path().extension() == ".onnx") out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

const std::string kDriven = R"("op:If": "host", "op:Loop": "host", "op:Scan": "host")";

// Compiles with the allocation, runs, compares; gives the plan.
Json check_model(const fs::path& model, const std::string& allocation, std::vector<std::string> words = {}) {
  const TempFolder f;
  words.insert(words.end(), {"--alloc", f.file("alloc.json", allocation)});
  const std::string package = compile_zoo(f, model, words);
  if (package.empty()) return {};
  check_package(model, package);
  return *read_json(package + "/placement.json");
}

size_t count_bodies(const Json& plan) {
  size_t count = 0;
  if (plan.contains("bodies"))
    for (const Json& body : plan["bodies"]) count += 1 + count_bodies(body["plan"]);
  return count;
}

void add_devices(const Json& plan, std::vector<std::string>& out) {
  for (const Json& s : plan["subgraphs"]) out.push_back(s["device"]);
  if (plan.contains("bodies"))
    for (const Json& body : plan["bodies"]) add_devices(body["plan"], out);
}
// The same by full names: a plan that is followed names every device of it, and two of one kind have the full name then.
void add_full_names(const Json& plan, std::vector<std::string>& out) {
  for (const Json& s : plan["subgraphs"])
    for (const Json& device : plan["devices"])
      if (device["name"] == s["device"]) out.push_back(device["full_name"]);
  if (plan.contains("bodies"))
    for (const Json& body : plan["bodies"]) add_full_names(body["plan"], out);
}
size_t count_on(const Json& plan, const std::string& device) {
  std::vector<std::string> devices;
  add_devices(plan, devices);
  return static_cast<size_t>(std::count(devices.begin(), devices.end(), device));
}

reference::Tensor to_reference(const Tensor& t) {
  reference::Tensor out;
  out.dtype = t.dtype, out.dims = t.shape, out.data = t.data, out.size = t.size, out.keeper = t.keeper;
  return out;
}
Tensor from_reference(const reference::Tensor& t) {
  Tensor out = *Tensor::make(t.dtype, t.dims);
  if (t.size) std::memcpy(out.data, t.data, t.size);
  return out;
}

// Runs the package on each data set of the case.
void check_node_case(const NodeCase& c, const std::string& package) {
  const Json about = *parse_json(host({"--json", "inspect", package}).out, "inspect");
  for (const DataSet& set : c.sets) {
    const TempFolder f;
    std::vector<std::string> words = {"run", package, "-o", f / "got"};
    for (size_t i = 0; i < set.inputs.size(); ++i) {
      const std::string file = f.file("in_" + std::to_string(i) + ".npy", write_npy(from_reference(set.inputs[i])));
      words.insert(words.end(), {"--input", about["inputs"][i]["name"].get<std::string>() + "=" + file});
    }
    const Ran r = host(words);
    CAPTURE(r.err);
    REQUIRE(r.code == 0);
    const Result<std::vector<Tensor>> got = load_outputs(f / "got");
    REQUIRE(got.ok());
    REQUIRE(got->size() == set.outputs.size());
    for (size_t i = 0; i < set.outputs.size(); ++i) CHECK(difference(to_reference((*got)[i]), set.outputs[i], c) == "");
  }
}

}  // namespace

TEST_CASE("control flow driven by the host gives ONNX Runtime's answers, with bodies on the reference") {
  for (const fs::path& model : flow_models()) {
    CAPTURE(model.filename().string());
    const Json plan = check_model(model, "{" + kDriven + R"(, "*": "REF:0"})");
    CHECK(count_bodies(plan) > 0);
    if (model.stem() != "scan" && model.stem() != "while") continue;
    const Json& body = plan["bodies"][0];
    CHECK(body["trips_known"] == (model.stem() == "scan"));  // the length of its inputs
    CHECK(body["trips"] == (model.stem() == "scan" ? 5 : 1));
  }
}

TEST_CASE("control flow driven by the host gives ONNX Runtime's answers, with bodies on llvm_cpu where it takes them") {
  size_t on_x64 = 0;
  for (const fs::path& model : flow_models()) {
    CAPTURE(model.filename().string());
    on_x64 += count_on(check_model(model, R"({"*": ["X64:0", "REF:0"], )" + kDriven + "}"), "X64:0");
  }
  CHECK(on_x64 > 10);
}

TEST_CASE("control flow driven by the host gives ONNX Runtime's answers, with every third node on the reference") {
  for (const fs::path& model : flow_models()) {
    CAPTURE(model.filename().string());
    const TempFolder f;
    REQUIRE(host({"--json", "plan", model.string(), "--alloc", f.file("host.json", "{" + kDriven + R"(, "*": "REF:0"})"), "-o", f / "plan.json"}).code == 0);
    Json alloc = Json::object();
    size_t number = 0;
    const auto add = [&](auto&& self, const Json& plan) -> void {
      for (const Json& node : plan["nodes"])
        alloc[node["name"].get<std::string>()] = node["device"] == "host" ? Json("host") : number++ % 3 == 0 ? Json("REF:0") : Json({"X64:0", "REF:0"});
      if (plan.contains("bodies"))
        for (const Json& body : plan["bodies"]) self(self, body["plan"]);
    };
    add(add, *read_json(f / "plan.json"));
    const Json plan = check_model(model, to_text(alloc));
    CHECK(count_on(plan, "REF:0") > 0);
  }
}

TEST_CASE("one package takes both branches of an If whose results differ in rank, and what follows has the rank of the moment") {
  const fs::path models = OPTIMA_FLOW_MODELS;
  for (const std::string rest : {R"("REF:0")", R"(["X64:0", "REF:0"])"}) {
    const TempFolder f;
    const std::string package = compile_zoo(f, models / "ranks_then.onnx", {"--alloc", f.file("alloc.json", "{" + kDriven + R"(, "*": )" + rest + "}")});
    REQUIRE_FALSE(package.empty());
    CHECK(count_bodies(*read_json(package + "/placement.json")) == 4);
    for (const char* taken : {"ranks_then.onnx", "ranks_else.onnx"}) {
      CAPTURE(taken);
      check_package(models / taken, package);
      check_package(models / taken, package, {run_program()});
    }
  }
}

TEST_CASE("who compiles for known shapes refuses what has no rank, and the sentence says which option helps") {
  const fs::path model = fs::path(OPTIMA_FLOW_MODELS) / "ranks_then.onnx";
  const Ran r = host({"plan", model.string(), "--device", "spirv/VULKAN:0"});
  CHECK(r.code == 4);
  CAPTURE(r.err);
  CHECK(r.err.find("node 'soft' (Softmax, f32[*] -> f32[*])") != std::string::npos);
  CHECK(r.err.find("Softmax: input 0 is unknown rank, must be a static shape (DYNAMIC_SHAPE)") != std::string::npos);
  CHECK(r.err.find("llvm_cpu/X64:0 would take all 4 of them (--device VULKAN:0,llvm_cpu/X64:0)") != std::string::npos);
}

TEST_CASE("three bodies deep: names, reports, the allocation written back, and the comparison at cuts") {
  const TempFolder f;
  const fs::path model = fs::path(OPTIMA_FLOW_MODELS) / "nested.onnx";
  const std::string alloc = f.file("alloc.json", R"({"*": ["X64:0", "REF:0"], "*/inner/body/mul": "REF:0", )" + kDriven + "}");
  const std::string package = compile_zoo(f, model, {"--alloc", alloc});
  REQUIRE_FALSE(package.empty());
  CHECK(count_bodies(*read_json(package + "/placement.json")) == 4);
  const Ran node = host({"explain", package, "outer/body/choice/then_branch/inner/body/mul"});
  CAPTURE(node.out);
  CHECK(node.out.find("in body 'outer/body/choice/then_branch/inner/body'") != std::string::npos);
  CHECK(node.out.find("pinned to REF:0 by '*/inner/body/mul'") != std::string::npos);
  CHECK(host({"inspect", package}).out.find("Loop 'outer' (body = subgraphs ") != std::string::npos);
  const std::vector<std::string> inputs = {"--input", "n=" + (fs::path(model).replace_extension(".data") / "input_n.npy").string(), "--input", "x=random:3", "--input", "w=random:4"};
  const auto with_inputs = [&](std::vector<std::string> words) {
    words.insert(words.end(), inputs.begin(), inputs.end());
    return host(words);
  };
  const Ran timed = with_inputs({"bench", package, "--repeat", "3"});
  CHECK(timed.code == 0);
  CHECK(timed.out.find("subgraph 1 on host (bodies included)") != std::string::npos);
  const Ran compared = with_inputs({"compare", model.string(), package, "--at-cuts"});
  CAPTURE(compared.out);
  CAPTURE(compared.err);
  CHECK(compared.code == 0);
  const std::string again = compile_zoo(f, model, {"--alloc", package + "/alloc.json", "--name", "again"});
  REQUIRE_FALSE(again.empty());
  const auto devices = [](const std::string& folder) {
    std::vector<std::string> out;
    add_full_names(*read_json(folder + "/placement.json"), out);
    return out;
  };
  REQUIRE(devices(package).size() > 4);
  CHECK(devices(again) == devices(package));
  const std::string followed = compile_zoo(f, model, {"--plan", package + "/placement.json", "--name", "followed"});
  REQUIRE_FALSE(followed.empty());
  CHECK(devices(followed) == devices(package));
  CHECK(host({"diff", package, followed}).code == 0);
  const std::string other = compile_zoo(f, model, {"--alloc", f.file("other.json", R"({"*": "REF:0", )" + kDriven + "}"), "--name", "other"});
  const Ran differs = host({"diff", package, other});
  CHECK(differs.code == 6);
  CHECK(differs.out.find("body 'outer/body/choice/then_branch/inner/body': ") != std::string::npos);
  const Ran check = run({run_program(), again, "--check"});
  CHECK(check.code == 0);
}

TEST_CASE("the ONNX node tests that hold control flow of tensors, driven by the host") {
  size_t run_cases = 0;
  for (const fs::path& folder : case_folders(OPTIMA_NODE_TESTS)) {
    const std::string name = folder.filename().string();
    const auto starts = [&](const char* prefix) { return name.starts_with(prefix); };
    const bool function = (starts("test_range_") || starts("test_linear_attention_")) && name.ends_with("_expanded");
    if (name != "test_if" && !starts("test_loop1") && !starts("test_scan9") && !function) continue;
    const NodeCase c = read_case(folder);
    if (!c.not_tensors.empty()) continue;  // sequences and optionals: no plugin's and no run loop's business
    CAPTURE(name);
    const TempFolder f;
    const Ran planned = host({"--json", "plan", (folder / "model.onnx").string(), "--alloc", f.file("alloc.json", "{" + kDriven + R"(, "*": "REF:0"})")});
    CAPTURE(planned.err);
    REQUIRE(planned.code == 0);
    if (count_bodies(*parse_json(planned.out, "plan")) == 0) continue;  // an operator that is no control flow
    check_node_case(c, compile_zoo(f, folder / "model.onnx", {"--alloc", f / "alloc.json"}));
    ++run_cases;
  }
  CHECK(run_cases >= 20);
}
