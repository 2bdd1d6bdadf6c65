// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: a package on a device, where SNPE's runtime is all there is: the library of the tests stands in for it and says so.
#include "plugins/snpe/artifact.hpp"
#include "tests/unit/openvino/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// A folder as SNPE_ROOT names one on a device, and the plugin over it.
struct Device {
  FileHost host;
  TempFolder root;
  std::unique_ptr<seam::Instance> plugin;
  seam::MemorySink sink;

  explicit Device(bool with_library = true) {
    std::filesystem::create_directories(root / "lib/platform");
    if (with_library) std::filesystem::create_symlink(STAND_IN_SNPE, root / "lib/platform/libSNPE.so");
    const std::string at = root.path();
    plugin = std::make_unique<seam::Instance>(SNPE_PLUGIN, host, std::vector<optima_option>{seam::option("snpe.root", at), seam::option("snpe.route", "sdk")});
    snpe_plugin::Meta meta;
    meta.kind = "HEXAGON", meta.route = "wheels", meta.tools = "tests", meta.precision = "fp16", meta.dlcs = {"subgraph_0.dlc"};
    meta.inputs = {{"x", OPTIMA_F32, {1, 4}, "", ""}}, meta.outputs = {{"y", OPTIMA_F32, {1, 4}, "", ""}};
    sink.files["subgraph_0.dlc"] = "PK\3\4STAND-IN\ninput x f32 1,4\noutput y f32 1,4\ncompute y channels x\n";
    sink.files["subgraph_0.meta"] = meta.write();
    snpe_plugin::Record record{"HEXAGON", "wheels", "tests", "sm8550", {}};
    for (const auto& [name, bytes] : sink.files) record.files.push_back(sdk::record_bytes(name, bytes));
    sink.format = std::string(snpe_plugin::kFormat), sink.compat = record.write();
  }
};

}  // namespace

TEST_CASE("SNPE's runtime alone runs the DLC of a package") {
  Device d;
  const seam::Artifact artifact(d.sink, nullptr);
  d.host.write(artifact);
  const optima_device hexagon = seam::device("HEXAGON");
  CHECK(seam::compatibility(*d.plugin, artifact, hexagon).first == OPTIMA_COMPAT_OPTIMAL);
  const seam::Program program(*d.plugin, artifact, hexagon);
  REQUIRE_MESSAGE(program.code == OPTIMA_OK, program.status.message);
  std::vector<reference::Tensor> out;
  seam::Status status;
  REQUIRE_MESSAGE(seam::run(program, {f32({1, 4}, {1, -2, 3, 4})}, out, status) == OPTIMA_OK, status.message);
  CHECK(floats(out[0]) == std::vector<float>{1, 0, 9, 16});
}

TEST_CASE("where the DSP does not answer, the load says so, or the CPU stands in and the log says so") {
  ::setenv("SNPE_STAND_IN_LACKS", "dsp", 1);
  Device d;
  const seam::Artifact artifact(d.sink, nullptr);
  d.host.write(artifact);
  const optima_device hexagon = seam::device("HEXAGON");
  const seam::Program refused(*d.plugin, artifact, hexagon);
  CHECK(refused.code == OPTIMA_DEPENDENCY);
  CHECK(refused.status.message == "SNPE stand-in of the tests, no SNPE finds no HEXAGON here; snpe.fallback=true lets its CPU runtime stand in");
  const optima_option fallback{sizeof(optima_option), OPTIMA_OPTION_I64, seam::str("snpe.fallback"), 1, 0, {}, nullptr, 0, 0};
  const seam::Program program(*d.plugin, artifact, hexagon, {fallback});
  REQUIRE_MESSAGE(program.code == OPTIMA_OK, program.status.message);
  std::vector<reference::Tensor> out;
  seam::Status status;
  CHECK(seam::run(program, {f32({1, 4}, {1, -2, 3, 4})}, out, status) == OPTIMA_OK);
  CHECK(floats(out[0])[3] == 16);
  const auto warned = std::count_if(d.host.lines.begin(), d.host.lines.end(), [](const std::string& l) { return l.find("SNPE's CPU runtime stands in for HEXAGON (snpe.fallback)") != l.npos; });
  CHECK(warned == 1);
  ::unsetenv("SNPE_STAND_IN_LACKS");
}

TEST_CASE("a folder that holds neither tools nor runtime is a dependency, and both are named") {
  Device d(false);
  const seam::Artifact artifact(d.sink, nullptr);
  const seam::Program program(*d.plugin, artifact, seam::device("HEXAGON"));
  CHECK(program.code == OPTIMA_DEPENDENCY);
  CHECK(program.status.message == "SDK: there is no folder '" + d.root.path() + "/bin/x86_64-linux-clang'; its runtime alone: '" + d.root.path() + "/lib' holds no libSNPE.so");
}
