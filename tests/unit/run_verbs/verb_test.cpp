// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/save.hpp"
#include "host/run_verbs/run_verb.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// A package on disk: out = 2 * in, four floats, with a self-test.
struct OnDisk : Bench {
  TempFolder t;
  RunOptions options;
  std::string text;
  std::vector<Json> documents;

  OnDisk() {
    tensor("in", {1, 4}), tensor("out", {1, 4});
    package.inputs = {"in"};
    package.outputs = {"out"};
    subgraph({"in"}, {"out"}, affine(2, 0));
    write(2);
    options.package = t / "m";
    options.inputs = {"in=" + (t / "in.npy")};
    put(t / "in.npy", write_npy(filled({1, 4})));
  }
  void write(float factor) {
    Tensor want = filled({1, 4});
    for (float& f : want.as<float>()) f *= factor;
    for (const auto& [name, bytes] : {std::pair("self_test/input_0.npy", write_npy(filled({1, 4}))), std::pair("self_test/output_0.npy", write_npy(want))}) {
      put(t / ("m/" + std::string(name)), bytes);
      package.files[name] = {name, to_hex(sha256(bytes.data(), bytes.size())), bytes.size()};
    }
    put(t / "m/model.meta", write_meta(package));
  }
  RunPrinter lines() {
    return {[this](std::string_view line) { text += std::string(line) + "\n"; }, nullptr};
  }
  RunPrinter json() {
    return {nullptr, [this](const Json& document) { documents.push_back(document); }};
  }
};

}  // namespace

TEST_CASE("run prints the outputs and the largest elements with their labels") {
  OnDisk b;
  put(b.t / "labels.txt", "zero\none\ntwo\r\n");
  b.options.labels = b.t / "labels.txt";
  b.options.top = 2;
  const Status status = run_package(b.context, b.options, b.lines());
  REQUIRE_MESSAGE(status.ok(), status.message());
  CHECK(b.text == "output  type     shape  range\nout     float32  1x4    2 to 8\ntop of out  index  value\n            3      8\ntwo         2      6\n");
}

TEST_CASE("run writes its outputs and a manifest, and one JSON document") {
  OnDisk b;
  b.options.output_folder = b.t / "o";
  b.options.repeat = 3;
  const Status status = run_package(b.context, b.options, b.json());
  REQUIRE_MESSAGE(status.ok(), status.message());
  const auto outputs = load_outputs(b.t / "o");
  REQUIRE(outputs.ok());
  CHECK((*outputs)[0].as<float>()[3] == 8);
  CHECK(get(b.t / "o/manifest.json").find("\"in\": \"" + (b.t / "in.npy") + "\"") != std::string::npos);
  REQUIRE(b.documents.size() == 1);
  CHECK(b.documents[0]["outputs"][0]["high"] == 8);
  CHECK(b.documents[0]["milliseconds"].size() == 3);
}

TEST_CASE("run leaves a Chrome trace with load and execution") {
  OnDisk b;
  b.options.trace = b.t / "trace.json";
  REQUIRE(run_package(b.context, b.options, b.lines()).ok());
  const auto trace = read_json(b.t / "trace.json");
  REQUIRE(trace.ok());
  std::vector<std::string> kinds;
  for (const Json& e : (*trace)["traceEvents"]) kinds.push_back(e["cat"]);
  CHECK(kinds == std::vector<std::string>{"ModelInit", "SubgraphInit", "RequestInit", "ModelExecute", "SubgraphExecute"});
}

TEST_CASE("run refuses missing inputs and stops when it is interrupted") {
  OnDisk b;
  b.options.inputs.clear();
  CHECK(run_package(b.context, b.options, b.lines()).message() == "input 'in' is not given, wanted --input in=FILE or =random");
  b.options.inputs = {"random:1"};
  const std::atomic<bool> interrupted = true;
  b.options.cancelled = &interrupted;
  CHECK(run_package(b.context, b.options, b.lines()).kind() == StatusKind::Cancelled);
}

TEST_CASE("bench gives quantiles, subgraphs and throughput, with random inputs when none are given") {
  OnDisk b;
  b.options.inputs.clear();
  b.options.repeat = 20;
  b.options.concurrency = 2;
  const Status status = bench_package(b.context, b.options, b.json());
  REQUIRE_MESSAGE(status.ok(), status.message());
  const Json& d = b.documents[0];
  CHECK(d["runs"] == 20);
  CHECK(d["milliseconds"]["p50"].get<double>() <= d["milliseconds"]["p99"].get<double>());
  CHECK(d["subgraphs"].size() == 1);
  CHECK(d["runs_per_second"].get<double>() > 0);
}

TEST_CASE("check runs the self-test and says where it differs") {
  OnDisk b;
  REQUIRE(check_package(b.context, b.options, b.lines()).ok());
  CHECK(b.text.find("subgraph 0 on X64:0 (fake): good\nself-test output out: cosine 1.000000") == 0);
  b.write(3);
  const Status status = check_package(b.context, b.options, b.lines());
  CHECK(status.kind() == StatusKind::Mismatch);
  CHECK(status.message() == "self-test output 'out': found max-abs 4, wanted at most 0.0012");
}

TEST_CASE("the self-test is held to what the least exact plugin says of itself, within reason") {
  OnDisk b;
  b.write(2.01f);
  CHECK(check_package(b.context, b.options, b.lines()).message() == "self-test output 'out': found max-abs 0.04, wanted at most 0.000804");
  b.package.variants[0].subgraphs[0].meta = {{"optima.tolerance", "0.01"}};
  b.write(2.01f);
  CHECK(check_package(b.context, b.options, b.lines()).ok());
  b.write(3);
  CHECK(check_package(b.context, b.options, b.lines()).message() == "self-test output 'out': found max-abs 4, wanted at most 0.12");
  b.package.variants[0].subgraphs[0].meta = {{"optima.tolerance", "1e9"}};
  b.write(3);
  CHECK(check_package(b.context, b.options, b.lines()).message() == "self-test output 'out': found max-abs 4, wanted at most 1.2");
  b.package.variants[0].subgraphs[0].meta = {{"optima.tolerance", "nan"}};
  b.write(2.01f);
  CHECK_FALSE(check_package(b.context, b.options, b.lines()).ok());
}

TEST_CASE("devices lists plugins without one with their reason") {
  OnDisk b;
  REQUIRE(print_devices(b.context, b.lines()).ok());
  CHECK(b.text == "plugin  device  id  arch\nfake    none\n");
}
