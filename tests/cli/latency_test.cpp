// SPDX-License-Identifier: Apache-2.0
// The latency objective from measuring to the plan, with the real programs and plugins.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/file.hpp"
#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::string kLlvm = "llvm_cpu/X64:0", kOpenvino = "openvino/X64:0", kReference = "reference/REF:0";

std::string ok(const std::vector<std::string>& words) {
  const Ran r = host(words);
  INFO(r.err);
  REQUIRE(r.code == 0);
  return r.out;
}

Json read(const std::string& path) {
  const Result<Json> json = read_json(path);
  INFO(json.status().message());
  REQUIRE(json.ok());
  return *json;
}

// Compiles the model whole for the device, runs it, and gives the costs file.
std::string measure(const TempFolder& f, const std::string& model, const std::string& device) {
  const std::string name = device.substr(0, device.find('/')), file = f / (name + ".json");
  ok({"compile", model, "-o", f / "out", "--name", name, "--require-device", device});
  ok({"bench", f / ("out/" + name), "--repeat", "5", "--write-costs", file});
  return file;
}

// Every node of the measured device, `factor` times as slow on another one; `only` (if not empty) takes nothing at all. Each takes some time,
// and starting subgraphs none: what the machine was busy with while measuring decides nothing.
std::string scaled(const TempFolder& f, const std::string& from, const std::string& device, double factor, const std::string& only = "") {
  Json costs = read(from);
  Json& entry = costs["devices"][0];
  entry["device"] = device;
  entry["launch_us"] = 0;
  for (const char* method : {"profile", "share"})
    if (entry.contains(method))
      for (auto& [name, us] : entry[method].items()) us = name == only ? 0.0 : factor * (us.get<double>() + 1);
  const std::string path = f / ("scaled" + device.substr(0, device.find('/')) + std::to_string(factor) + only.substr(only.rfind('/') + 1) + ".json");
  REQUIRE(write_file(path, to_text(costs)).ok());
  return path;
}

Json plan(const TempFolder& f, const std::string& model, const std::string& devices, const std::vector<std::string>& costs,
          const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"plan", model, "-o", f / "plan.json", "--objective", "latency", "--device", devices};
  for (const std::string& file : costs) words.insert(words.end(), {"--costs", file});
  words.insert(words.end(), more.begin(), more.end());
  ok(words);
  return read(f / "plan.json");
}

void check_never_slower(const Json& plan) {
  const double found = plan["estimate"]["microseconds"].get<double>();
  CHECK(found > 0);
  CHECK(plan["estimate"]["bound"].get<double>() <= found * (1 + 1e-9));
  for (const auto& [device, time] : plan["estimate"]["devices"].items()) {
    CAPTURE(device);
    REQUIRE(time.contains("alone"));
    CHECK(found <= time["alone"].get<double>() * (1 + 1e-9));
  }
}

std::vector<std::string> nodes_on(const Json& plan, const std::string& device) {
  std::vector<std::string> out;
  for (const Json& node : plan["nodes"])
    if (node["device"] == device) out.push_back(node["name"]);
  return out;
}

std::string heaviest(const Json& plan) {
  const Json* best = &plan["nodes"][0];
  for (const Json& node : plan["nodes"])
    if (node["flops"] > (*best)["flops"]) best = &node;
  return (*best)["name"];
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string config(const TempFolder& f, const std::string& text) {
  REQUIRE(write_file(f / "optima.yaml", text).ok());
  return f / "optima.yaml";
}

}  // namespace

TEST_CASE("measured costs: a slow device is left alone unless a node is pinned to it, and a link decides what moves") {
  const TempFolder f;
  const std::string model = digits_model(), fast = scaled(f, measure(f, model, kLlvm), kLlvm, 1);
  const std::string slow = scaled(f, fast, kReference, 100);
  Json found = plan(f, model, "llvm_cpu/X64:0,REF:0", {fast, slow});
  check_never_slower(found);
  CHECK(nodes_on(found, "REF:0").empty());
  for (const Json& node : found["nodes"]) {
    const std::string source = node["answers"]["X64:0"]["cost_source"];
    CHECK((source == "profile" || source == "share"));
  }

  const std::string node = heaviest(found);
  found = plan(f, model, "llvm_cpu/X64:0,REF:0", {fast, slow}, {"--pin", node + "=REF:0"});
  CHECK(nodes_on(found, "REF:0") == std::vector<std::string>{node});

  // REF does the heaviest node for nothing; with a link that takes a second nobody goes there.
  const std::string gift = scaled(f, fast, kReference, 100, node);
  found = plan(f, model, "llvm_cpu/X64:0,REF:0", {fast, gift});
  CHECK(nodes_on(found, "REF:0") == std::vector<std::string>{node});
  check_never_slower(found);
  const std::string far = config(f, "links:\n  - {from: X64:0, to: REF:0, latency_us: 1000000}\n  - {from: REF:0, to: X64:0, latency_us: 1000000}\n");
  found = plan(f, model, "llvm_cpu/X64:0,REF:0", {fast, gift}, {"--config", far});
  CHECK(nodes_on(found, "REF:0").empty());
  check_never_slower(found);
}

namespace {

// The layers that a trace holds, end to end in microseconds, and the one subgraph that holds them.
struct Traced {
  double begin = 0, end = 0, layers_begin = 0, layers_end = 0, layers = 0;
  explicit Traced(const Json& trace) {
    double at = -1;
    for (const Json& e : trace["traceEvents"]) {
      const double ts = e.value("ts", 0.0), us = e.value("dur", 0.0);
      if (e["cat"] == "SubgraphExecute") begin = ts, end = ts + us;
      if (e["cat"] != "LayerExecute") continue;
      if (at < 0) layers_begin = ts;
      else CHECK(std::abs(ts - at) < 0.01);  // a trace tells nanoseconds
      layers_end = at = ts + us;
      layers += us;
    }
  }
  double share() const { return layers / (end - begin); }
};

}  // namespace

TEST_CASE("the layers of llvm_cpu fill their subgraph with any number of threads, and the costs file books the rest as starting it") {
  const TempFolder f;
  ok({"compile", digits_model(), "-o", f / "out", "--name", "net", "--require-device", kLlvm});
  for (const char* threads : {"1", "2", "5"}) {
    CAPTURE(threads);
    double best = 0;
    for (int i = 0; i < 50 && best < 0.95; ++i) {  // a busy machine may stop a run between its layers and its end: not fifty
      ok({"run", f / "out/net", "--input", "random", "--threads", threads, "--trace", f / "trace.json"});
      const Traced run(read(f / "trace.json"));
      CHECK(run.begin <= run.layers_begin);
      CHECK(run.layers_end <= run.end + 0.01);
      best = std::max(best, run.share());
    }
    CHECK(best >= 0.95);
    ok({"bench", f / "out/net", "--repeat", "1", "--threads", threads, "--trace", f / "trace.json", "--write-costs", f / "costs.json"});
    const Traced measured(read(f / "trace.json"));
    double sum = 0;
    const Json device = read(f / "costs.json")["devices"][0];
    for (const auto& [node, us] : device["profile"].items()) sum += us.get<double>();
    CHECK(sum == doctest::Approx(measured.layers).epsilon(1e-6));
    CHECK(sum + device["launch_us"].get<double>() >= (measured.end - measured.begin) * (1 - 1e-6));
  }
}

TEST_CASE("without a known cost the objective latency is an error that says how to get one; the config's rates are enough") {
  const TempFolder f;
  Ran r = host({"plan", digits_model(), "--objective", "latency", "--device", kLlvm});
  CHECK(r.code == 3);
  CHECK(r.err.find("no cost is known of X64:0") != std::string::npos);
  CHECK(r.err.find("--write-costs") != std::string::npos);
  const std::string rates = config(f, "devices:\n  - {name: llvm_cpu/X64:0, gflops: 100, gbytes_per_s: 10}\nobjective: latency\n");
  CHECK(ok({"plan", digits_model(), "--config", rates}).find("estimated time of a run") != std::string::npos);
  r = host({"plan", digits_model(), "--objective", "speed"});
  CHECK(r.code == 2);
  CHECK(r.err.find("--objective: found 'speed', wanted parts or latency") != std::string::npos);
}

TEST_CASE("what-if tells the time that a refused operator costs, and diff and the page the time of plans") {
  const TempFolder f;
  const std::string model = digits_model(), fast = scaled(f, measure(f, model, kLlvm), kLlvm, 1);
  // A device that would do every node in next to no time, and takes nothing but Relu.
  Json paper = read(fast);
  Json given = Json::object();
  for (const char* method : {"profile", "share"})
    if (paper["devices"][0].contains(method))
      for (const auto& [name, us] : paper["devices"][0][method].items()) given[name] = 0.001;
  paper["devices"] = Json::array({{{"device", "paper/NPU9:0"}, {"launch_us", 0.001}, {"given", std::move(given)}}});
  const std::string costs = f.file("paper.json", to_text(paper)), note = f.file("note.json", paper_note("Relu"));
  const std::string devices = "llvm_cpu/X64:0,NPU9:0";
  const Json found = plan(f, model, devices, {fast, costs}, {"--support", note});
  const Json what = *parse_json(ok({"explain", f / "plan.json", "--what-if", "--json"}), "stdout");
  CHECK(what["microseconds"].get<double>() == doctest::Approx(found["estimate"]["microseconds"].get<double>()));
  double most = 0, conv = 0;
  for (const Json& one : what["cases"]) {
    CHECK(one["device"] == "NPU9:0");
    CHECK(one["saved_microseconds"].get<double>() >= 0);
    CHECK(one["cost_source"] == "given");
    most = std::max(most, one["saved_microseconds"].get<double>());
    if (one.value("op", "") == "Conv") conv = one["saved_microseconds"].get<double>();
  }
  CHECK(what["cases"][0]["saved_microseconds"].get<double>() == most);
  CHECK(conv > 0);
  CHECK(most > conv);  // everything that it refuses

  // A plan for the fewest subgraphs knows times only when costs are given.
  ok({"plan", model, "--device", devices, "--support", note, "-o", f / "parts.json"});
  CHECK_FALSE(has(ok({"explain", f / "parts.json", "--what-if"}), "saves"));
  const std::string timed = ok({"explain", f / "parts.json", "--what-if", "--costs", fast, "--costs", costs});
  CHECK(has(timed, "saves"));
  CHECK(has(timed, " a run\n"));
  CHECK(host({"explain", f / "parts.json", "--costs", fast}).err == "optima-host: error: --costs goes with --what-if\n");
  CHECK(has(host({"diff", f / "parts.json", f / "plan.json"}).out, "estimated time of a run: not known -> "));
  ok({"view", f / "parts.json", "-o", f / "p.html", "--what-if", "--costs", fast, "--costs", costs});
  CHECK(has(*read_file(f / "p.html"), "saved_microseconds"));
  CHECK(host({"view", f / "parts.json", "-o", f / "p.dot", "--what-if"}).code == 2);
}

TEST_CASE("calibrate-links writes links that the config takes, and says that host memory is handed over") {
  const TempFolder f;
  const std::string yaml = f / "links.yaml";
  const std::string said = ok({"calibrate-links", "--device", "llvm_cpu/X64:0,REF:0", "-o", yaml});
  CHECK(said.find("handed over in host memory, nothing is copied") != std::string::npos);
  const std::string costs = measure(f, digits_model(), kLlvm), slow = scaled(f, costs, kReference, 100);
  const Json found = plan(f, digits_model(), "llvm_cpu/X64:0,REF:0", {costs, slow}, {"--config", yaml});
  for (const Json& note : found["notes"]) CHECK(note.get<std::string>().find("no link is known") == std::string::npos);
  CHECK(host({"calibrate-links", "--device", "GPU:7"}).code == 3);
}

TEST_CASE("calibrate-costs measures a model whole and cut, and its file makes estimates of every split") {
  const TempFolder f;
  const std::string file = f / "costs.json";
  const std::string said = ok({"calibrate-costs", digits_model(), "--device", "llvm_cpu/X64:0,REF:0", "-o", file, "--rounds", "1", "--repeat", "5",
                               "--blocks", "4"});
  CHECK(said.find("4 blocks, from reference/REF:0") != std::string::npos);
  const Json costs = read(file);
  REQUIRE(costs["devices"].size() == 2);
  for (const Json& device : costs["devices"]) {
    CHECK(device["runs"].size() >= 3);  // whole, and pieces from either start
    uint64_t crossing = 0;
    for (const Json& run : device["runs"]) crossing += run["bytes_in"].get<uint64_t>() + run["bytes_out"].get<uint64_t>();
    CHECK(crossing > 0);
  }
  const Json found = plan(f, digits_model(), "llvm_cpu/X64:0,REF:0", {file});
  check_never_slower(found);
  size_t fitted = 0;
  for (const Json& note : found["notes"]) fitted += note.get<std::string>().find(": fitted to ") != std::string::npos;
  CHECK(fitted == 2);
  for (const Json& node : found["nodes"]) CHECK(node["answers"]["X64:0"]["cost_source"] == "fit");
  const Ran one = host({"calibrate-costs", digits_model(), "--device", "REF:0", "-o", file});
  CHECK(one.code == 3);
  CHECK(one.err.find("wanted two devices or more") != std::string::npos);
  CHECK(host({"calibrate-costs", digits_model()}).code == 2);
}

TEST_CASE("a zoo model over llvm_cpu, openvino and REF: the plan is never estimated slower than any device alone") {
  const std::string model = OPTIMA_SOURCE_DIR "/build/models/squeezenet.ts.onnx";
  if (!std::filesystem::exists(model)) {
    MESSAGE("SKIP: build/models is empty; scripts/make_models.py fills it");
    return;
  }
  const TempFolder f;
  std::string devices = "llvm_cpu/X64:0,REF:0";
  std::vector<std::string> costs = {scaled(f, measure(f, model, kLlvm), kLlvm, 1)};
  costs.push_back(scaled(f, costs[0], kReference, 200));
  if (has_openvino()) {
    costs.push_back(scaled(f, measure(f, model, kOpenvino), kOpenvino, 1));
    devices += "," + kOpenvino;
  } else {
    MESSAGE("SKIP: " << kNoOpenvino << "; llvm_cpu and REF alone");
  }
  const Json found = plan(f, model, devices, costs);
  check_never_slower(found);
  CHECK(nodes_on(found, "REF:0").empty());

  // The plan compiles and gives the same answers.
  std::vector<std::string> words = {"compile", model, "-o", f / "out", "--name", "fast", "--objective", "latency", "--device", devices};
  for (const std::string& file : costs) words.insert(words.end(), {"--costs", file});
  ok(words);
  CHECK(host({"compare", f / "out/llvm_cpu", f / "out/fast"}).code == 0);
}
