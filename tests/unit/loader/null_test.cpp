// SPDX-License-Identifier: Apache-2.0
// The whole way through plugins/null: scan, check, compile, load, execute.
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("a node goes through plugins/null: found, asked, compiled, judged, loaded, executed") {
  Registry registry = scanned(plugins_folder());
  Backend* plugin = registry.compiler("null");
  REQUIRE(plugin);
  CHECK(plugin == registry.runtime("null"));
  CHECK(plugin->manifest().only_when_named);

  std::string why;
  const auto devices = plugin->devices(&why);
  REQUIRE(devices.ok());
  REQUIRE(devices->size() == 1);
  CHECK((*devices)[0].kind == "NULL");

  const SampleGraph graph(image::pack(identities(1)));
  const uint32_t nodes[] = {11};
  const TargetDevice target{"NULL", 0, {}, 0};
  const auto verdicts = plugin->ask(graph.raw, nodes, target);
  REQUIRE_MESSAGE(verdicts.ok(), verdicts.status().message());
  CHECK(verdicts->at(0).verdict == OPTIMA_VERDICT_SUPPORTED);

  const TempFolder folder;
  CompileJob job;
  job.graph = &graph.raw;
  job.device = target;
  job.stem = "subgraph_0";
  job.folder = folder.path();
  auto result = plugin->compile(job);
  REQUIRE_MESSAGE(std::holds_alternative<Compiled>(result), std::get<CompileFailure>(result).status.message());
  const Compiled& compiled = std::get<Compiled>(result);
  CHECK(compiled.format_id == "null.copy/1");
  CHECK(compiled.files == std::vector<std::string>{"subgraph_0.bin"});
  CHECK(compiled.compat_text == "null.copy revision 1");

  Backend::Artifact artifact;
  artifact.format_id = compiled.format_id;
  artifact.stem = job.stem;
  auto bytes = map_file(folder.path() + "/subgraph_0.bin");
  REQUIRE(bytes.ok());
  artifact.files.push_back({"subgraph_0.bin", *bytes});
  const auto judged = plugin->check_artifact(artifact, target);
  REQUIRE(judged.ok());
  CHECK(judged->verdict == OPTIMA_COMPAT_OPTIMAL);

  auto program = plugin->load(artifact, target, {.threads = 1});
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  const auto& bindings = (*program)->bindings();
  REQUIRE(bindings.size() == 2);
  CHECK(bindings[0].name == "x");
  CHECK(bindings[1].name == "y0");
  CHECK(bindings[1].shape == std::vector<int64_t>{2, 3});
  auto context = (*program)->create_context();
  REQUIRE(context.ok());

  std::vector<float> in{1, 2, 3, 4, 5, 6}, out(6);
  const auto tensor = [&](std::vector<float>& data) {
    optima_tensor t{};
    t.struct_size = sizeof t;
    t.dtype = OPTIMA_F32;
    t.rank = 2;
    t.shape = bindings[0].shape.data();
    t.data = data.data();
    t.size = data.size() * sizeof(float);
    t.fd = -1;
    return t;
  };
  const optima_tensor x = tensor(in);
  optima_tensor y = tensor(out);
  CHECK((*context)->execute({&x, 1}, {&y, 1}).ok());
  CHECK(out == in);
  CHECK((*context)->output_shapes({&x, 1})->at(0) == std::vector<int64_t>{2, 3});
}
