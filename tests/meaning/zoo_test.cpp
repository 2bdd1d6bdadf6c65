// SPDX-License-Identifier: Apache-2.0
// Models of build/models (scripts/make_models.py) that the reference runs in a few seconds, split at random.
#include <filesystem>

#include "core/onnx_io/onnx_io.hpp"
#include "core/passes/pipeline.hpp"
#include "tests/meaning/pieces.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

TEST_CASE("random splits of zoo models give the bits of the whole") {
  const fs::path folder = OPTIMA_SOURCE_DIR "/build/models";
  std::mt19937_64 random(7);
  size_t found = 0, plans = 0, pieces_in_all = 0;
  for (const char* name : {"bilstm.ts", "bilstm.dynamo", "unet.ts", "unet.dynamo", "squeezenet.ts", "bert.ts"}) {
    const fs::path path = folder / (std::string(name) + ".onnx");
    if (!fs::exists(path)) {
      MESSAGE("SKIP: no file ", path.string(), ", scripts/make_models.py makes it");
      continue;
    }
    ++found;
    CAPTURE(path.string());
    Result<Graph> graph = onnx_io::load_model(path.string());
    REQUIRE(graph.status().message() == "");
    graph = passes::run_passes(std::move(*graph));
    REQUIRE(graph.ok());
    Values inputs;
    for (uint32_t v : graph->main().inputs) inputs[graph->main().values[v].name] = random_tensor(graph->main().values[v], random);
    Values whole = inputs;
    run_into(*graph, whole);
    for (int round = 0; round < 2; ++round) {
      RandomDevices devices(*graph, random, 3);
      const Result<Plan> plan = make_plan(*graph, devices.request);
      REQUIRE(plan.status().message() == "");
      ++plans, pieces_in_all += plan->subgraphs.size();
      const Values pieces = run_pieces(*graph, *plan, inputs);
      for (uint32_t v : graph->main().outputs) {
        const std::string& output = graph->main().values[v].name;
        CHECK_MESSAGE(same_bits(whole.at(output), pieces.at(output)), output);
      }
    }
  }
  if (found > 0) CHECK(pieces_in_all > 5 * plans);  // a model of few nodes may come out whole, not all of them
}
