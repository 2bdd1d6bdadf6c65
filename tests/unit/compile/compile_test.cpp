// SPDX-License-Identifier: Apache-2.0
// The whole of compile_model() with plugins that take their word back, threads that fail, and options that are secret.
#include "core/compile/compile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>

#include "core/compile/run_reference.hpp"
#include "core/package/reader.hpp"
#include "core/support/log.hpp"
#include "core/support/text.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

// grow is at home on DOC and cheap to run in both subgraphs on STB: it makes 16000 bytes of 16.
constexpr const char* kCloned = R"(<ir_version: 10, opset_import: ["" : 21]>
cloned (float[1,4] x) => (float[1000,4] y) <int64[2] shape = {1000, 4}> {
  [grow] big = Expand(x, shape)
  [a] p = Relu(big)
  [s1] q = Add(big, p)
  [b] r = Relu(q)
  [s2] y = Add(big, r)
})";
const std::vector<std::string> kClonedPins = {"grow=DOC:0,STB:0", "a=DOC:0", "b=DOC:0", "s1=STB:0", "s2=STB:0"};

constexpr const char* kThree = R"(<ir_version: 10, opset_import: ["" : 21]>
three (float[2,3] x) => (float[2,3] y) {
  [r1] a = Relu(x)
  [n1] b = Neg(a)
  [r2] c = Relu(b)
  [n2] d = Neg(c)
  [r3] y = Relu(d)
})";

constexpr const char* kBranches = R"(<ir_version: 10, opset_import: ["" : 21]>
branches (bool c, float[2,3] x) => (float[2,3] y) {
  [before] p = Relu(x)
  [if] y = If(c) <
    then_branch = t () => (float[2,3] u) { [then] u = Neg(p) },
    else_branch = e () => (float[2,3] v) { [else] v = Relu(p) }
  >
})";

// The same with its attributes the other way round, as some exporters write them.
constexpr const char* kElseFirst = R"(<ir_version: 10, opset_import: ["" : 21]>
branches (bool c, float[2,3] x) => (float[2,3] y) {
  [before] p = Relu(x)
  [if] y = If(c) <
    else_branch = e () => (float[2,3] v) { [else] v = Relu(p) },
    then_branch = t () => (float[2,3] u) { [then] u = Neg(p) }
  >
})";

struct Compiling {
  TempFolder folder;
  CompileRequest request;
  std::vector<std::string> logged;
  ProgressReport progress;

  Compiling(const char* model, std::vector<std::string> pins, OptionValues options) {
    request.plan.model = folder.file("model.onnxtxt", model);
    request.plan.pins = std::move(pins);
    request.plan.devices = {"STB:0", "DOC:0"};
    request.out = folder / "out";
    request.jobs = 4;
    request.options = std::move(options);
    request.options["stubborn.log"] = request.options["docile.log"] = folder / "log";
    set_log([this](LogLevel, std::string_view, std::string_view text) { logged.emplace_back(text); }, LogLevel::Trace);
  }
  ~Compiling() { set_log({}); }

  Result<Compilation> run() {
    HostServices services;
    services.name = "test", services.version = "1";
    ScanOptions scan;
    scan.folders = {COMPILE_PLUGINS};
    OPTIMA_ASSIGN(Registry registry, Registry::scan(scan, std::move(services)));
    OPTIMA_RETURN_IF_ERROR(registry.set_options(request.options));
    return compile_model(request, registry, progress);
  }
  Plan works() {
    Result<Compilation> done = run();
    REQUIRE_MESSAGE(done.ok(), done.status().message());
    return std::move(done->planned.plan);
  }
  std::string asked() const { return get(folder / "log"); }
  std::string compiled() const { return get(folder / "log2"); }
};

std::string devices_of(const Plan& plan) {
  std::string out;
  for (const PlacedNode& node : plan.nodes) out += cat(node.name, "=", plan.devices[node.device].name, " ");
  return out;
}

size_t clones_of(const Plan& plan) {
  size_t count = 0;
  for (const Subgraph& s : plan.subgraphs) count += s.clones.size();
  return count;
}

constexpr const char* kAskedOnce = "check stubborn\ncheck docile\n";

}  // namespace

TEST_CASE("a clone that its plugin refuses in two subgraphs at once stays at home, and nobody is asked again") {
  Compiling good(kCloned, kClonedPins, {});
  CHECK(clones_of(good.works()) == 2);
  Compiling c(kCloned, kClonedPins, {{"stubborn.refuse", "Expand"}});
  const Plan plan = c.works();
  CHECK(clones_of(plan) == 0);
  CHECK(devices_of(plan) == "grow=DOC:0 a=DOC:0 s1=STB:0 b=DOC:0 s2=STB:0 ");
  CHECK(plan.notes[0].starts_with("plugin 'stubborn' could not compile node 'grow': "));
  CHECK(c.asked() == kAskedOnce);
}

TEST_CASE("a node that goes whole is taken from a plugin that refuses something in its body") {
  Compiling c(kBranches, {}, {{"stubborn.refuse", "Neg"}});
  const Plan plan = c.works();
  CHECK(devices_of(plan) == "before=DOC:0 if=DOC:0 ");
  CHECK(plan.notes[0].find("could not compile node 'if': in its body: plugin 'stubborn': compile: no Neg for ''") != std::string::npos);
  CHECK(c.asked() == kAskedOnce);
}

TEST_CASE("nodes that a plugin refuses together are taken from it in one round, each with its reason") {
  Compiling one(kThree, {}, {{"stubborn.refuse", "*Relu"}});
  const Plan plan = one.works();
  CHECK(devices_of(plan) == "r1=DOC:0 n1=DOC:0 r2=DOC:0 n2=DOC:0 r3=DOC:0 ");
  for (const char* node : {"r1", "r2", "r3"}) {
    const std::string wanted = cat("plugin 'stubborn' could not compile node '", node, "': plugin 'stubborn': compile: no room for ", node, " (LAYOUT); placed again");
    CHECK_MESSAGE(std::count(plan.notes.begin(), plan.notes.end(), wanted) == 1, node);
    const auto placed = std::find_if(plan.nodes.begin(), plan.nodes.end(), [&](const PlacedNode& n) { return n.name == node; });
    CHECK(placed->sentence == cat("STB:0 could not compile it: plugin 'stubborn': compile: no room for ", node, " (LAYOUT)"));
  }
  CHECK(one.compiled() == "compile stubborn\ncompile docile\n");
  CHECK(one.asked() == kAskedOnce);
}

TEST_CASE("a plugin that took a plain name and fails names what the others are called") {
  Compiling c(kBranches, {}, {{"docile.refuse", "!Relu"}});
  c.request.plan.devices = {"BOTH:0"};
  CHECK(c.run().status().message() == "subgraph 0 on docile/BOTH:0: plugin 'docile': compile: the tool said no; BOTH:0 means plugin 'docile', "
                                      "what others serve is called stubborn/BOTH:0");
  c.request.plan.devices = {"docile/BOTH:0"};
  CHECK(c.run().status().message() == "subgraph 0 on docile/BOTH:0: plugin 'docile': compile: the tool said no");
  c.request.plan.devices = {"stubborn/BOTH:0"};
  CHECK(c.run().ok());
}

TEST_CASE("a package holds the branches of an If by name, whichever attribute stands first") {
  for (const char* model : {kBranches, kElseFirst}) {
    Compiling c(model, {"if=host"}, {});
    c.works();
    const Result<Package> package = open_package(c.folder / "out/model");
    REQUIRE_MESSAGE(package.ok(), package.status().message());
    const PackageVariant& variant = package->variants[0];
    const auto holder = std::find_if(variant.subgraphs.begin(), variant.subgraphs.end(), [](const PackageSubgraph& s) { return !s.flow.empty(); });
    REQUIRE(holder != variant.subgraphs.end());
    const std::vector<FlowBody>& bodies = holder->flow[0].bodies;
    REQUIRE(bodies.size() == 2);
    CHECK(bodies[0].name == "then_branch");
    CHECK(bodies[0].outputs == std::vector<std::string>{"u"});
    CHECK(bodies[1].outputs == std::vector<std::string>{"v"});
    CHECK(bodies[1].first == bodies[0].first + 1);
  }
}

TEST_CASE("a plugin reads encodings and data of its subgraph's inputs, which the unsplit model computes where the user did not give them") {
  Compiling c(kThree, {"r1=STB:0", "n1=DOC:0", "r2=DOC:0", "n2=STB:0", "r3=STB:0"}, {});
  const Result<Graph> model = onnx_io::load_model(c.request.plan.model);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  auto source = std::make_shared<CalibrationSource>();
  source->samples = 2;
  source->inputs = [](uint32_t sample) -> Result<std::vector<Tensor>> {
    OPTIMA_ASSIGN(Tensor x, Tensor::make(OPTIMA_F32, {2, 3}));
    std::fill(x.as<float>().begin(), x.as<float>().end(), static_cast<float>(sample) + 1.5F);
    x.name = "x";
    return std::vector{x};
  };
  source->compute = [&](const std::vector<Tensor>& inputs, const std::set<std::string>& values) { return run_reference(*model, inputs, {}, values); };
  Encoding codes;
  codes.dtype = OPTIMA_U8, codes.scale = {0.5F}, codes.zero_point = {128};
  source->encodings.activations["c"] = codes;
  c.request.calibration = source;
  const Result<Compilation> done = c.run();
  REQUIRE_MESSAGE(done.ok(), done.status().message());
  std::map<std::string, std::string> told;
  for (const PackageSubgraph& s : done->package.variants[0].subgraphs) told.insert(s.meta.begin(), s.meta.end());
  CHECK(told["calibration of x"] == "; 1.500000 of 2 dims, 24 bytes; 2.500000 of 2 dims, 24 bytes");
  CHECK(told["calibration of a"] == "; 1.500000 of 2 dims, 24 bytes; 2.500000 of 2 dims, 24 bytes");
  CHECK(told["calibration of c"] == "scale 0.500000 zero point 128; 0.000000 of 2 dims, 24 bytes; 0.000000 of 2 dims, 24 bytes");

  source->inputs = [](uint32_t) -> Result<std::vector<Tensor>> { return invalid_input("sample '0.npz': input 'x' is missing"); };
  c.request.replace = true;
  CHECK(c.run().status().message().ends_with("sample '0.npz': input 'x' is missing"));
}

TEST_CASE("a node that everybody refuses in the end is an error and leaves nothing") {
  Compiling c(kBranches, {}, {{"stubborn.refuse", "Relu"}, {"docile.refuse", "Relu"}});
  CHECK(c.run().status().kind() == StatusKind::Placement);
  CHECK_FALSE(fs::exists(c.folder / "out"));
}

TEST_CASE("memory that runs out in a thread of the compilation is one error, and nothing is left") {
  Compiling c(kCloned, kClonedPins, {});
  c.progress = [](double, std::string_view stage) {
    if (stage.ends_with("compiled")) throw std::bad_alloc();
  };
  const Status status = c.run().status();
  CHECK(status.kind() == StatusKind::Io);
  CHECK(status.message() == "out of memory");
  CHECK_FALSE(fs::exists(c.folder / "out"));
}

TEST_CASE("a secret option is in no file of the package, no log line, no stage and no error, whoever tells it") {
  const std::string key = "s3cret-licence-9";
  Compiling c(kCloned, kClonedPins, {{"stubborn.key", key}, {"docile.key", key}});
  c.request.plan.config.plugin_options = c.request.options;
  std::vector<std::string> stages;
  c.progress = [&](double, std::string_view stage) { stages.emplace_back(stage); };
  c.works();
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(c.folder / "out")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    CHECK_MESSAGE(get(entry.path().string()).find(key) == std::string::npos, entry.path());
  }
  CHECK(files > 6);
  CHECK(get(c.folder / "out/model/model.meta").find("stubborn.log") != std::string::npos);  // what is no secret is there
  CHECK(get(c.folder / "out/model/optima.yaml").find("\"log\"") != std::string::npos);
  CHECK(get(c.folder / "out/model/optima.yaml").find("\"key\"") == std::string::npos);
  for (const auto* said : {&stages, &c.logged})
    for (const std::string& line : *said) CHECK_MESSAGE(line.find(key) == std::string::npos, line);
  bool told = false;
  for (const std::string& line : c.logged) told |= line == "the key is (secret)";
  CHECK(told);
  Compiling bad(kCloned, kClonedPins, {{"stubborn.key", key}, {"stubborn.refuse", "Add"}});
  const std::string message = bad.run().status().message();
  CHECK_MESSAGE(message.find("no Add for '(secret)'") != std::string::npos, message);
}
