// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: models in a process of their own, on libraries that stand in for the driver's.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugins/bmcompiler/program.hpp"
#include "plugins/bmcompiler/runner/runner.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/failure.hpp"

using namespace optima;
using namespace optima::test;
using namespace bmcompiler_plugin;

namespace {

namespace sdk = optima::sdk;

/// A model of these words on the stand-in.
struct Model {
  TempFolder folder;
  Opening what;
  std::unique_ptr<Running> running;

  explicit Model(const std::string& words, bool opened = true) {
    what.program = RUNNER, what.libraries = STAND_IN_DRIVER, what.emulated = false;
    what.chip = find_chip("bm1684x");
    what.model = folder.file("model", words);
    what.work = folder.path();
    what.log = folder / "log";
    if (opened) running = open_model(what);
  }
  std::vector<float> run(int64_t batch, const std::string& net = {}, const sdk::RunControl* stop = nullptr) {
    std::vector<float> x(static_cast<size_t>(batch) * 3), y(x.size());
    for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k);
    running->run(net, {{"x", OPTIMA_F32, {batch, 3}, x.data()}}, {{"y", OPTIMA_F32, {batch, 3}, y.data()}}, stop);
    return y;
  }
  std::string log() const {
    std::ifstream file(what.log);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a model runs with the stage that has the inputs' shape, and its output is found under the name that a cast gave it") {
  Model model("fixed");
  CHECK(model.run(1) == std::vector<float>{1, 2, 3});
  CHECK(model.run(4).back() == 12);
  CHECK(has(model.log(), "model of 5 bytes"));
  CHECK(error_of([&] { model.run(2); }, OPTIMA_INVALID_ARGUMENT) == "inputs have shapes [2, 3], the model was compiled for [1, 3] or [4, 3]");
  CHECK(model.run(1)[0] == 1);  // an error of the caller's ends nothing
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // the runner's lock is theirs there
TEST_CASE("a thread of an emulator that only asks again and again under a lock rests in between, one of a driver does not") {
  const TempFolder tools;
  for (const char* name : {"libbmlib.so.0", "libbmrt.so.1.0"}) std::filesystem::create_symlink(STAND_IN_DRIVER + std::string("/") + name, tools / name);
  tools.file("libcmodel_bm1684x.so", "the stand-ins open none");
  for (const bool emulated : {true, false}) {
    CAPTURE(emulated);
    Model model("poll fixed", false);
    model.what.emulated = emulated;
    if (emulated) model.what.libraries = tools.path();
    model.running = open_model(model.what);
    CHECK(model.run(1)[0] == 1);
    CHECK_MESSAGE(has(model.log(), emulated ? "it slept" : "it did not sleep"), model.log());
  }
}
#endif

TEST_CASE("a dynamic model takes less than it was compiled for, and no more") {
  Model model("dynamic");
  CHECK(model.run(2) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(error_of([&] { model.run(5); }, OPTIMA_INVALID_ARGUMENT) == "inputs have shapes [5, 3], the model was compiled for at most [4, 3]");
}

TEST_CASE("of several networks the one that is named runs") {
  Model model("two fixed");
  CHECK(model.run(1, "second")[0] == 100);
  CHECK(model.run(1, "first")[0] == 1);
  CHECK(error_of([&] { model.run(1); }, OPTIMA_INVALID_ARGUMENT) == "model has the networks first, second, wanted the name of one");
  CHECK(error_of([&] { model.run(1, "third"); }, OPTIMA_INVALID_ARGUMENT) == "model has no network 'third', wanted one of first, second");
}

TEST_CASE("names and types that the model has not are refused") {
  Model model("fixed");
  float data[3];
  const Plane x{"x", OPTIMA_F32, {1, 3}, data}, whole{"x", OPTIMA_I32, {1, 3}, data}, y{"y", OPTIMA_F32, {1, 3}, data};
  CHECK(has(error_of([&] { model.running->run({}, {whole}, {y}, nullptr); }, OPTIMA_INVALID_ARGUMENT), "'x' has element type 6, the model 0"));
  CHECK(error_of([&] { model.running->run({}, {x, x}, {y}, nullptr); }, OPTIMA_INVALID_ARGUMENT) == "model has 1 inputs, 2 were given");
  CHECK(has(error_of([&] { model.running->run({}, {{"x", OPTIMA_STRING, {1, 3}, data}}, {y}, nullptr); }, OPTIMA_UNSUPPORTED), "which no model has"));
}

TEST_CASE("what a runtime says no to, and what it throws, is an error that names the log") {
  Model failing("fail fixed"), throwing("throw fixed");
  CHECK(error_of([&] { failing.run(1); }, OPTIMA_TOOL_FAILED) == "the runtime did not run the model; what it printed is in " + failing.what.log);
  CHECK(error_of([&] { throwing.run(1); }, OPTIMA_TOOL_FAILED) == "the stand-in throws; what it printed is in " + throwing.what.log);
  Model refused("refuse", false);
  CHECK(has(error_of([&] { open_model(refused.what); }, OPTIMA_TOOL_FAILED), "the runtime does not take the model"));
}

TEST_CASE("a process that dies is one error with its last words, and the next run starts another") {
  Model model("abort fixed");
  const std::string text = error_of([&] { model.run(1); }, OPTIMA_TOOL_FAILED);
  CHECK(has(text, "was ended by signal 6: ASSERT: the stand-in aborts; what it printed is in "));
  std::ofstream(model.what.model) << "fixed";
  CHECK(model.run(1)[0] == 1);
}

TEST_CASE("a run that hangs ends at its time limit, and at once where it is cancelled") {
  Model model("hang", false);
  model.what.time_limit = std::chrono::milliseconds(1500);
  model.running = open_model(model.what);
  CHECK(has(error_of([&] { model.run(1); }, OPTIMA_TIMEOUT), "took longer than its time limit"));
  model.what.time_limit = {};
  model.running = open_model(model.what);
  optima_execute_request request{};
  request.struct_size = sizeof request;
  request.cancelled = [](void*) -> int32_t { return 1; };
  const sdk::RunControl stop(&request);
  CHECK(error_of([&] { model.run(1, {}, &stop); }, OPTIMA_CANCELLED) == "cancelled");
  optima_execute_request late{};
  late.struct_size = sizeof late;
  late.deadline_ns = 1;
  const sdk::RunControl past(&late);
  error_of([&] { model.run(1, {}, &past); }, OPTIMA_TIMEOUT);
}

TEST_CASE("a runtime that is not there is a missing dependency") {
  Model model("fixed", false);
  model.what.libraries = model.folder.path();
  CHECK(has(error_of([&] { open_model(model.what); }, OPTIMA_DEPENDENCY), "library cannot be opened"));
  model.what.emulated = true;
  CHECK(has(error_of([&] { open_model(model.what); }, OPTIMA_DEPENDENCY), "which bm1684x's emulator wants: scripts/setup --with sophon installs it"));
  model.what.libraries = STAND_IN_DRIVER, model.what.emulated = false, model.what.device = 7;
  CHECK(error_of([&] { open_model(model.what); }, OPTIMA_DEPENDENCY) == "device 7 cannot be had: bm_dev_request answers 4");
}

TEST_CASE("devices of a driver are told with their chips") {
  Model model({}, false);
  model.what.model.clear();
  CHECK(device_chips(model.what) == std::vector<std::string>{"bm1684x", ""});
  seam::Host host;
  const Tools tools(sdk::Init{sdk::Host(&host.exposed.table), sdk::Options()});
  ::setenv("OPTIMA_SOPHON_RUNTIME", STAND_IN_DRIVER, 1);
  std::string why;
  const std::vector<sdk::PresentDevice> found = present_devices(tools, std::string(RUNNER).substr(0, std::string(RUNNER).rfind('/')), why);
  ::unsetenv("OPTIMA_SOPHON_RUNTIME");
  REQUIRE(found.size() == 2);
  CHECK(found[0].arch == "bm1684x");
  CHECK(found[0].attributes == std::vector<std::pair<std::string, std::string>>{{"chip", "bm1684x"}});
  CHECK(found[1].ordinal == 1);
  CHECK(found[1].attributes.empty());
}
