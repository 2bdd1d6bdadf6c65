// SPDX-License-Identifier: Apache-2.0
// plugins/openvino over the seam, on every ONNX node test that it takes whole: what check() says yes to compiles, loads and runs,
// with the test's answer but for a list of OpenVINO's own differences; every no is one sentence without OpenVINO's source places.
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "tests/conformance/node_case.hpp"
#include "tests/support/seam_refusals.hpp"
#include "tests/unit/openvino/harness.hpp"

#ifndef OPENVINO_PLUGIN

TEST_CASE("plugins/openvino on the ONNX node tests") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }

#else

using namespace optima;
using namespace optima::test;

namespace {

/// "name reason" per line; '#' begins a comment.
std::map<std::string, std::string> exceptions() {
  std::ifstream in(OPTIMA_SOURCE_DIR "/tests/conformance/openvino_exceptions.txt");
  REQUIRE(in);
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  return out;
}

/// True when every node of the main graph is taken; else each no is a sentence without OpenVINO's own noise.
bool taken(const seam::Instance& plugin, const PackedGraph& packed, const std::string& name) {
  CAPTURE(name);
  const std::map<uint32_t, seam::Said> refused = seam::refusals(plugin, packed.raw, kTarget);
  for (const auto& [at, said] : refused)
    for (const char* noise : {"src/", "Check '", "Exception from", "While validating", "\n", "FrontEnd API", "-- "})
      CHECK_MESSAGE(said.text.find(noise) == std::string::npos, said.text);
  return refused.empty() && !seam::ids_of_nodes(packed.raw).empty();
}

/// Compiles, loads and runs the first data set; empty, or what is wrong.
std::string run_case(const seam::Instance& plugin, const PackedGraph& packed, const NodeCase& c) {
  FileSink sink;
  seam::Status status;
  if (seam::compile(plugin, packed.raw, kTarget, sink, status) != OPTIMA_OK) return "compile: " + status.message;
  sink.take();
  const seam::Artifact artifact(sink, nullptr);
  const seam::Program program(plugin, artifact, kTarget);
  if (!program.raw) return "load: " + program.status.message;
  std::vector<reference::Tensor> out;
  if (seam::run(program, c.sets[0].inputs, out, status) != OPTIMA_OK) return "run: " + status.message;
  if (out.size() != c.sets[0].outputs.size()) return "gave " + std::to_string(out.size()) + " outputs";
  for (size_t k = 0; k < out.size(); ++k)
    if (const std::string d = difference(out[k], c.sets[0].outputs[k], c); !d.empty()) return "output " + std::to_string(k) + ": " + d;
  return "";
}

}  // namespace

TEST_CASE("node tests that plugins/openvino takes compile and give the right answers") {
  const std::string folder = OPTIMA_NODE_TESTS;
  REQUIRE_MESSAGE(std::filesystem::exists(folder + "/stamp"), "node tests are not generated: run scripts/generate_node_tests.py");
  const std::map<std::string, std::string> known = exceptions();
  OnnxHost host;
  host.quiet = true;
  const seam::Instance plugin(OPENVINO_PLUGIN, host);
  int passed = 0, refused = 0;
  std::set<std::string> listed;
  const char* only = std::getenv("OPTIMA_NODE_TEST");
  for (const auto& path : case_folders(folder)) {
    if (only && path.filename().string().find(only) == std::string::npos) continue;
    const NodeCase c = read_case(path);
    onnx_io::ImportOptions options;
    options.hash = false;
    const auto model = onnx_io::load_model((c.folder / "model.onnx").string(), options);
    if (!c.not_tensors.empty() || c.sets.empty() || !model) continue;
    const PackedGraph packed = pack(*model, true);
    if (!taken(plugin, packed, c.name)) {
      ++refused;
      continue;
    }
    const std::string wrong = run_case(plugin, packed, c);
    if (known.count(c.name)) {
      listed.insert(c.name);
      CHECK_MESSAGE(!wrong.empty(), c.name << " is listed as an exception and passes");
    } else {
      CHECK_MESSAGE(wrong.empty(), c.name << ": " << wrong);
      passed += wrong.empty();
    }
  }
  if (!only) CHECK(listed.size() == known.size());
  std::printf("%d node tests passed, %d refused, %zu listed exceptions\n", passed, refused, listed.size());
  CHECK(passed > 0);
}

#endif
