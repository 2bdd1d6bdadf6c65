// SPDX-License-Identifier: Apache-2.0
// Doors from the offer to the answer: two plugins that agree, a third that knows of none, and what is not theirs to agree on.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/compile/compile.hpp"
#include "core/package/reader.hpp"
#include "core/plan/plan_json.hpp"
#include "core/report/report.hpp"
#include "core/runtime/context.hpp"
#include "core/runtime/request.hpp"
#include "core/support/text.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

constexpr const char* kChain = R"(<ir_version: 10, opset_import: ["" : 21]>
chain (float[1,4,2,3] x) => (float[1,4,2,3] y) {
  [make] t = Relu(x)
  [take] y = Neg(t)
})";

constexpr const char* kFork = R"(<ir_version: 10, opset_import: ["" : 21]>
fork (float[1,4,2,3] x) => (float[1,4,2,3] y, float[1,4,2,3] z) {
  [make] t = Relu(x)
  [take] y = Neg(t)
  [also] z = Abs(t)
})";

const std::vector<std::string> kPins = {"make=MAK:0", "take=TAK:0"};
constexpr float kScale = 1.0F / 64;

struct Compiling {
  TempFolder folder;
  CompileRequest request;
  std::optional<Registry> registry;

  Compiling(const char* model, std::vector<std::string> pins, OptionValues options) {
    request.plan.model = folder.file("model.onnxtxt", model);
    request.plan.pins = std::move(pins);
    request.plan.devices = {"MAK:0", "TAK:0", "THI:0"};
    request.out = folder / "out";
    request.options = std::move(options);
  }
  Result<Compilation> run() {
    HostServices services;
    services.name = "test", services.version = "1";
    ScanOptions scan;
    scan.folders = {DOOR_PLUGINS};
    OPTIMA_ASSIGN(registry, Registry::scan(scan, std::move(services)));
    OPTIMA_RETURN_IF_ERROR(registry->set_options(request.options));
    return compile_model(request, *registry);
  }
  Compilation works() {
    Result<Compilation> done = run();
    REQUIRE_MESSAGE(done.ok(), done.status().message());
    return std::move(*done);
  }
  CutTensor only_cut() {
    const Plan plan = works().planned.plan;
    REQUIRE(plan.cuts.size() == 1);
    return plan.cuts[0];
  }
};

/// The package of a compilation, run on x = -3, -2.75, ...
struct Running {
  RuntimeContext context;
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Request> request;
  Tensor x;

  explicit Running(Compiling& c) : context(borrow_plugins(*c.registry)) {
    auto reader = PackageReader::open(c.folder / "out/model");
    REQUIRE_MESSAGE(reader.ok(), reader.status().message());
    auto loaded = LoadedModel::load(context, std::move(*reader), {.keep_cuts = true});
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
    model = std::move(*loaded);
    request = std::move(*Request::create(*model));
    x = *Tensor::make(OPTIMA_F32, {1, 4, 2, 3});
    for (size_t i = 0; i < 24; ++i) x.as<float>()[i] = -3 + 0.26F * static_cast<float>(i);
    REQUIRE(request->set_input(0, x).ok());
    const Status ran = request->run();
    REQUIRE_MESSAGE(ran.ok(), ran.message());
  }
  float relu(size_t i) const { return std::max(0.0F, x.as<float>()[i]); }
  /// The largest difference between output 0 and -relu(x).
  float worst() const {
    const Tensor y = *request->output(0);
    float out = 0;
    for (size_t i = 0; i < 24; ++i) out = std::max(out, std::fabs(y.as<float>()[i] + relu(i)));
    return out;
  }
};

}  // namespace

TEST_CASE("a tensor crosses in 8 bits where its maker offers them and its reader takes them") {
  Compiling c(kChain, kPins, {{"maker.offer", "i8 nhwc"}, {"taker.take", "i8 nhwc"}});
  const Compilation done = c.works();
  const CutTensor& cut = done.planned.plan.cuts[0];
  CHECK(cut.door.dtype == OPTIMA_I8);
  CHECK(cut.bytes == 96);
  CHECK(cut.stored_bytes() == 24);
  CHECK(cut.conversions_saved() == 2);
  CHECK(placement_summary(done.planned.plan).find("cut 't': int8[1x4x2x3], 96 bytes -> 24 bytes, no conversion at 2 ends\n") != std::string::npos);
  CHECK(explain_node(done.planned.plan, "take")
            ->find("'t', 96 bytes (int8[1x4x2x3], 96 bytes -> 24 bytes, no conversion at 2 ends), from subgraph 0") != std::string::npos);

  const Running run(c);
  CHECK(run.worst() > 0);
  CHECK(run.worst() <= kScale / 2 + 1e-6F);
  CHECK(run.model->arena_bytes() < 96);
  std::vector<std::string> unread;
  const auto cuts = run.request->cuts(&unread);
  REQUIRE(cuts.ok());
  REQUIRE(cuts->size() == 1);
  CHECK(unread.empty());
  CHECK((*cuts)[0].dtype == OPTIMA_F32);
  CHECK((*cuts)[0].shape == std::vector<int64_t>{1, 4, 2, 3});
  for (size_t i = 0; i < 24; ++i) CHECK(std::fabs((*cuts)[0].as<float>()[i] - run.relu(i)) <= kScale / 2 + 1e-6F);
}

TEST_CASE("package and placement.json keep the door") {
  Compiling c(kChain, kPins, {{"maker.offer", "i8"}, {"taker.take", "i8"}});
  const Door door = c.only_cut().door;
  const Result<Package> package = open_package(c.folder / "out/model");
  REQUIRE_MESSAGE(package.ok(), package.status().message());
  const PackageTensor* t = package->find_tensor("t");
  REQUIRE(t);
  CHECK(t->door == door);
  CHECK(t->dtype == OPTIMA_F32);
  CHECK(get(c.folder / "out/model/model.meta").find("\"format\": 3") != std::string::npos);
  const Result<Plan> plan = read_plan(c.folder / "out/model/placement.json");
  REQUIRE_MESSAGE(plan.ok(), plan.status().message());
  CHECK(plan->cuts[0].door == door);
}

TEST_CASE("the first offer that every reader takes is chosen, else the usual door") {
  Compiling second(kChain, kPins, {{"maker.offer", "i8 nhwc"}, {"taker.take", "nhwc"}});
  CHECK(second.only_cut().door.layout == "NHWC");
  const Running run(second);
  CHECK(run.worst() == 0);
  const auto cuts = run.request->cuts();
  for (size_t i = 0; i < 24; ++i) CHECK((*cuts)[0].as<float>()[i] == run.relu(i));

  Compiling none(kChain, kPins, {{"maker.offer", "i8"}, {"taker.take", "nhwc"}});
  CHECK(none.only_cut().door.is_usual());
  CHECK(Running(none).worst() == 0);
  CHECK(get(none.folder / "out/model/model.meta").find("\"format\": 1") != std::string::npos);
}

TEST_CASE("one reader of two that does not take an offer is enough to pass it over") {
  const std::vector<std::string> pins = {"make=MAK:0", "take=TAK:0", "also=MAK:1"};
  Compiling c(kFork, pins, {{"maker.offer", "i8 nhwc"}, {"taker.take", "i8 nhwc"}, {"maker.take", "nhwc"}});
  c.request.plan.devices = {"MAK:0", "TAK:0", "MAK:1"};
  const CutTensor cut = c.only_cut();
  CHECK(cut.door.layout == "NHWC");
  CHECK(cut.conversions_saved() == 3);
  Compiling third(kFork, {"make=MAK:0", "take=TAK:0", "also=THI:0"}, {{"maker.offer", "i8 nhwc"}, {"taker.take", "i8 nhwc"}});
  CHECK(third.only_cut().door.is_usual());
  CHECK(Running(third).worst() == 0);
}

TEST_CASE("a door that cannot be is the plugin's failure, and nothing is left") {
  Compiling c(kChain, kPins, {{"maker.offer", "bad"}, {"taker.take", "i8"}});
  CHECK(c.run().status().message() ==
        "subgraph 0 on maker/MAK:0: plugin 'maker': offer: for 't' it offered a door that has the scale 0, wanted a finite one above 0");
  CHECK_FALSE(std::filesystem::exists(c.folder / "out/model"));
}

TEST_CASE("outputs of the model, and tensors of unknown shape, go through the usual door") {
  constexpr const char* kSeen = R"(<ir_version: 10, opset_import: ["" : 21]>
seen (float[1,4,2,3] x) => (float[1,4,2,3] t, float[1,4,2,3] y) {
  [make] t = Relu(x)
  [take] y = Neg(t)
})";
  constexpr const char* kOpen = R"(<ir_version: 10, opset_import: ["" : 21]>
open (float[N,4,2,3] x) => (float[N,4,2,3] y) {
  [make] t = Relu(x)
  [take] y = Neg(t)
})";
  for (const char* model : {kSeen, kOpen}) {
    Compiling c(model, kPins, {{"maker.offer", "nhwc"}, {"taker.take", "nhwc"}});
    CHECK(c.only_cut().door.is_usual());
  }
}

TEST_CASE("bodies that the host drives have doors inside, and none towards the host") {
  constexpr const char* kBranches = R"(<ir_version: 10, opset_import: ["" : 21]>
branches (bool c, float[1,4,2,3] x) => (float[1,4,2,3] y) {
  [make] p = Relu(x)
  [if] y = If(c) <
    then_branch = t () => (float[1,4,2,3] v) { [make2] u = Abs(p)  [take2] v = Neg(u) },
    else_branch = e () => (float[1,4,2,3] w) { [else] w = Relu(p) }
  >
})";
  Compiling c(kBranches, {"make=MAK:0", "if=host", "if/then_branch/make2=MAK:0", "if/then_branch/take2=TAK:0", "if/else_branch/else=MAK:0"},
              {{"maker.offer", "i8"}, {"taker.take", "i8"}, {"maker.take", "i8"}});
  const Plan plan = c.works().planned.plan;
  for (const CutTensor& cut : plan.cuts) CHECK(cut.door.is_usual());
  REQUIRE(plan.bodies[0].plan.cuts.size() == 1);
  CHECK(plan.bodies[0].plan.cuts[0].door.dtype == OPTIMA_I8);
  const Result<Package> package = open_package(c.folder / "out/model");
  REQUIRE_MESSAGE(package.ok(), package.status().message());
  CHECK(placement_summary(plan).find("cut 'u' in if/then_branch: int8[1x4x2x3]") != std::string::npos);
}

TEST_CASE("doors are chosen again when a graph is split again") {
  constexpr const char* kLong = R"(<ir_version: 10, opset_import: ["" : 21]>
long (float[1,4,2,3] x) => (float[1,4,2,3] y) {
  [make] t = Relu(x)
  [back] u = Abs(t)
  [take] y = Neg(u)
})";
  Compiling c(kLong, {"make=MAK:0", "take=TAK:0", "back=TAK:0,MAK:0"}, {{"maker.offer", "i8"}, {"taker.take", "i8"}, {"taker.refuse", "Abs"}});
  const CutTensor cut = c.only_cut();
  CHECK(cut.name == "u");
  CHECK(cut.door.dtype == OPTIMA_I8);
  CHECK(Running(c).worst() <= kScale / 2 + 1e-6F);
}

TEST_CASE("a layout that only plugins know runs, and is left out of what people read") {
  Compiling c(kChain, kPins, {{"maker.offer", "tile"}, {"taker.take", "tile"}});
  CHECK(c.only_cut().door.layout == "TILE4");
  const Running run(c);
  CHECK(run.worst() == 0);
  std::vector<std::string> unread;
  const auto cuts = run.request->cuts(&unread);
  REQUIRE(cuts.ok());
  CHECK(cuts->empty());
  CHECK(unread == std::vector<std::string>{"tensor 't': it lies as TILE4 float32[1x4x2x3], which is not read here"});
}
