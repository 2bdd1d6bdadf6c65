// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: loading and running over a toolchain that stands in for the real ones and says so in its version.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "plugins/snpe/program.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/snpe_run/sample.hpp"

using namespace optima;
using namespace optima::test;
using namespace snpe_plugin;

namespace {

/// What was asked of the stand-in, and what it shall answer.
struct Asked {
  Facts facts{"wheels", "stand-in tools of the tests", "/nowhere"};
  std::string cannot_run, fail_open, fail_run;  // sentences; empty: it does. %LOG is the log's path
  int32_t code = OPTIMA_TOOL_FAILED;            // of those
  int opened = 0;
  std::atomic<int> alive{0}, timed{0};
  Loadable what;
  Bounds bounds;
  std::string context_bytes;  // read where Loadable says they are
  std::vector<Session::Event> events;
};

std::string with_log(std::string text, const std::string& log) {
  if (const size_t at = text.find("%LOG"); at != text.npos) text.replace(at, 4, log);
  return text;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// y = x + number of the session.
class StandInSession : public Session {
 public:
  StandInSession(Asked& asked, int number) : asked_(asked), number_(number) { ++asked_.alive; }
  ~StandInSession() override { --asked_.alive; }
  void run(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl* stop) override {
    if (stop) stop->check();
    if (!asked_.fail_run.empty()) throw sdk::Error(asked_.code, with_log(asked_.fail_run, asked_.bounds.log));
    for (size_t k = 0; k < in.size(); ++k)
      for (int64_t e = 0; e < in[k].elements(); ++e) out[k].data<float>()[e] = in[k].data<float>()[e] + static_cast<float>(number_);
    if (timed_) events_ = asked_.events;
  }
  void profile(bool on) override {
    timed_ = on;
    asked_.timed += on;
  }
  std::vector<Event> events() override { return std::exchange(events_, {}); }

 private:
  Asked& asked_;
  int number_;
  bool timed_ = false;
  std::vector<Event> events_;
};

class StandInTools : public Toolchain {
 public:
  explicit StandInTools(Asked& asked) : asked_(asked) {}
  const Facts& facts() const override { return asked_.facts; }
  std::string cannot_compile(const Target&) const override { return {}; }
  std::string cannot_run(const std::string&) const override { return asked_.cannot_run; }
  std::vector<Taken> assign(const std::string&, const Target&, const Bounds&) override { return {}; }
  Built build(const std::string&, const Target&, const Bounds&, const sdk::Progress&) override { return {}; }
  std::unique_ptr<Session> open(const Loadable& what, const Bounds& bounds) override {
    asked_.what = what, asked_.bounds = bounds;
    asked_.context_bytes = bytes_of(what.context);
    if (bounds.cancelled()) throw sdk::Error(OPTIMA_CANCELLED, "cancelled");
    if (!asked_.fail_open.empty()) throw sdk::Error(asked_.code, with_log(asked_.fail_open, bounds.log));
    return std::make_unique<StandInSession>(asked_, asked_.opened++);
  }

 private:
  Asked& asked_;
};

/// A host that has files of blobs, in a folder of the test's.
struct FileHost : seam::Host {
  TempFolder folder;
  std::map<uint64_t, std::string> paths;
  std::string temp = folder.path();
  static inline int emulator_lines = 0;
  FileHost() {
    exposed.table.log = [](void* self, int32_t, optima_str component, optima_str t) {
      of(self).lines.push_back(seam::text(component) + ": " + seam::text(t));
      emulator_lines += seam::text(t).find("HEXAGON is emulated on this machine's processor by stand-in tools of the tests") == 0;
    };
    exposed.table.temp_dir = seam::str(temp);
    exposed.table.blob_path = [](void* self, uint64_t id, optima_str* path, optima_status*) -> int32_t {
      *path = seam::str(static_cast<FileHost&>(of(self)).paths.at(id));
      return OPTIMA_OK;
    };
  }
  bool said(const std::string& text) const {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != line.npos; });
  }
};

struct Loading {
  Sample sample;
  FileHost host;
  Asked asked;
  StandInTools tools{asked};
  seam::Watch watch;
  std::vector<optima_option> options;

  std::unique_ptr<sdk::Program> load() {
    seam::Artifact artifact(sample.sink, nullptr);
    artifact.raw.progress = &watch.raw;
    for (const optima_named_blob& f : artifact.files)
      host.paths[f.blob->id] = host.folder.file("blob_" + std::to_string(f.blob->id), {static_cast<const char*>(f.blob->data), f.blob->size});
    const sdk::Artifact a(&artifact.raw);
    const sdk::Device device(&sample.device);
    return load_program(tools, sdk::Host(&host.exposed.table), a, verify(a, device), device, sdk::Options(options.data(), static_cast<uint32_t>(options.size())));
  }
  sdk::Error error() {
    try {
      load();
    } catch (const sdk::Error& e) {
      return e;
    }
    return {OPTIMA_OK, ""};
  }
};

/// One run of [1, 4] floats.
struct Run {
  std::vector<float> x{1, 2, 3, 4}, y = std::vector<float>(4, -1);
  std::vector<int64_t> dims{1, 4}, strides{};
  optima_tensor in{}, out{};
  Run() {
    for (optima_tensor* t : {&in, &out}) {
      t->struct_size = sizeof *t;
      t->dtype = OPTIMA_F32, t->rank = 2, t->shape = dims.data(), t->size = 16, t->fd = -1;
    }
    in.data = x.data(), out.data = y.data();
  }
  Run(const Run&) = delete;
  void on(sdk::Context& context) { context.execute(sdk::Tensors(&in, 1), sdk::OutTensors(&out, 1)); }
  sdk::Error error(sdk::Context& context) {
    try {
      on(context);
    } catch (const sdk::Error& e) {
      return e;
    }
    return {OPTIMA_OK, ""};
  }
};

std::vector<std::string> left_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("blob_", 0) != 0) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("loading opens a session on the first chip's files, and nothing is left when the program is gone") {
  Loading l;
  auto program = l.load();
  CHECK(l.asked.opened == 1);
  CHECK(l.asked.what.kind == "HEXAGON");
  CHECK(l.asked.what.soc == find_soc("sm8550"));
  CHECK(l.asked.what.context.ends_with("/subgraph_0.sm8550.bin"));
  CHECK(l.asked.what.wrapper.ends_with("/subgraph_0.sm8550.onnx"));
  CHECK(l.asked.what.dlcs.size() == 1);
  CHECK(l.asked.context_bytes == l.sample.sink.files["subgraph_0.sm8550.bin"]);
  CHECK(std::filesystem::is_directory(l.asked.bounds.work));
  CHECK_FALSE(l.asked.bounds.cancelled());
  CHECK_FALSE(left_in(l.host.folder.path()).empty());
  program.reset();
  CHECK(l.asked.alive == 0);
  CHECK(left_in(l.host.folder.path()).empty());
  CHECK_FALSE(std::filesystem::exists(l.asked.bounds.log));
  for (const auto& [id, count] : l.host.retained) CHECK(count == 0);
}

TEST_CASE("the chip is the device's, else the option's, else the artifact's first") {
  Loading by_option;
  by_option.options = {seam::option("snpe.run_soc", "sm8650")};
  by_option.load();
  CHECK(by_option.asked.what.soc == find_soc("sm8650"));
  Loading by_device;
  by_device.options = {seam::option("snpe.run_soc", "sm8550")};
  by_device.sample.soc("sm8650");
  by_device.load();
  CHECK(by_device.asked.what.soc == find_soc("sm8650"));
  Loading another;
  another.options = {seam::option("snpe.run_soc", "sm8350")};
  CHECK(another.error().code == OPTIMA_WRONG_DEVICE);
  CHECK(another.error().text == "files were made for sm8550,sm8650, wanted sm8350");
  Loading unknown;
  unknown.options = {seam::option("snpe.run_soc", "sm1")};
  CHECK(unknown.error().code == OPTIMA_INVALID_ARGUMENT);
  CHECK(unknown.error().text == "SoC 'sm1' is not known, wanted one of " + soc_names());
}

TEST_CASE("bindings are the ports, in order") {
  Loading l;
  std::string all;
  l.load()->bindings(sdk::BindingSink(
      [](void* p, const optima_binding* b) -> int32_t {
        *static_cast<std::string*>(p) += (b->direction == OPTIMA_INPUT ? "in " : "out ") + seam::text(b->name) + " " + std::to_string(b->shape[1]) + ";";
        return OPTIMA_OK;
      },
      &all));
  CHECK(all == "in x 4;out y 4;");
}

TEST_CASE("each context has a session of its own, and one that is gone leaves its session to the next") {
  Loading l;
  const auto program = l.load();
  auto first = program->context();
  CHECK(l.asked.opened == 1);
  const auto second = program->context();
  CHECK(l.asked.opened == 2);
  Run a, b;
  std::thread beside([&] {
    for (int k = 0; k < 100; ++k) a.on(*first);
  });
  for (int k = 0; k < 100; ++k) b.on(*second);
  beside.join();
  CHECK(a.y == std::vector<float>{1, 2, 3, 4});
  CHECK(b.y == std::vector<float>{2, 3, 4, 5});
  first.reset();
  const auto third = program->context();
  CHECK(l.asked.opened == 2);
  Run c;
  c.on(*third);
  CHECK(c.y[0] == 1);
}

TEST_CASE("tensors that differ from the ports are refused, each with found and wanted") {
  Loading l;
  const auto program = l.load();
  const auto context = program->context();
  const auto said = [&](const std::function<void(Run&)>& change, int32_t code) {
    Run run;
    change(run);
    const sdk::Error e = run.error(*context);
    CHECK(e.code == code);
    return e.text;
  };
  CHECK(said([](Run& r) { r.in.dtype = OPTIMA_F16; }, OPTIMA_INVALID_ARGUMENT) == "tensor 'x' is f16, wanted f32");
  CHECK(said([](Run& r) { r.dims[1] = 5; }, OPTIMA_INVALID_ARGUMENT) == "tensor 'x' has shape [1, 5], wanted [1, 4]");
  CHECK(said([](Run& r) { r.out.size = 12; }, OPTIMA_INVALID_ARGUMENT) == "tensor 'y' has 12 bytes, wanted 16");
  CHECK(said([](Run& r) { r.in.data = nullptr; }, OPTIMA_INVALID_ARGUMENT) == "tensor 'x' has no memory");
  CHECK(said([](Run& r) { r.strides = {8, 2}, r.in.strides = r.strides.data(); }, OPTIMA_UNSUPPORTED) == "tensor 'x' is strided, wanted a dense one");
  Run run;
  run.on(*context);
  CHECK(run.y[3] == 4);
}

TEST_CASE("a failed load or run brings the tools' sentence, and the log that it names stays for the user") {
  Loading open;
  open.asked.fail_open = "HTP cannot take this, see %LOG";
  const sdk::Error e = open.error();
  CHECK(e.code == OPTIMA_TOOL_FAILED);
  CHECK(e.text == "HTP cannot take this, see " + open.asked.bounds.log);
  CHECK(std::filesystem::exists(open.asked.bounds.log));
  std::filesystem::remove(open.asked.bounds.log);
  CHECK(left_in(open.host.folder.path()).empty());

  Loading run;
  auto program = run.load();
  auto context = program->context();
  run.asked.fail_run = "the child died, see %LOG";
  CHECK(Run().error(*context).code == OPTIMA_TOOL_FAILED);
  run.asked.fail_run.clear();
  CHECK(Run().error(*context).code == OPTIMA_OK);
  context.reset(), program.reset();
  CHECK(std::filesystem::exists(run.asked.bounds.log));
  std::filesystem::remove(run.asked.bounds.log);
}

TEST_CASE("the tools' own time limit is their failure, not the caller's deadline") {
  Loading open;
  open.asked.fail_open = "took longer than its time limit", open.asked.code = OPTIMA_TIMEOUT;
  CHECK(open.error().code == OPTIMA_TOOL_FAILED);
  Loading run;
  const auto program = run.load();
  const auto context = program->context();
  run.asked.fail_run = "took longer than its time limit", run.asked.code = OPTIMA_TIMEOUT;
  CHECK(Run().error(*context).code == OPTIMA_TOOL_FAILED);
}

TEST_CASE("a stop reaches the session, and a cancelled load says so") {
  Loading l;
  const auto program = l.load();
  const auto context = program->context();
  Run run;
  optima_execute_request request{};
  request.struct_size = sizeof request;
  request.deadline_ns = 1;
  const sdk::RunControl late(&request);
  CHECK_THROWS_WITH_AS(context->execute_within(sdk::Tensors(&run.in, 1), sdk::OutTensors(&run.out, 1), late), "past its deadline", sdk::Error);
  Loading stopped;
  stopped.watch.cancel = true;
  CHECK(stopped.error().code == OPTIMA_CANCELLED);
}

TEST_CASE("events of the tools are told from the run's own beginning, and a route without any tells the run") {
  Loading l;
  const auto program = l.load();
  const auto context = program->context();
  std::vector<std::pair<std::string, uint64_t>> told;
  const auto read = [&] {
    told.clear();
    context->read_profile(sdk::EventSink(
        [](void* p, const optima_event* e, uint32_t) -> int32_t {
          static_cast<std::vector<std::pair<std::string, uint64_t>>*>(p)->push_back({seam::text(e->name), e->start_ns});
          return OPTIMA_OK;
        },
        &told));
  };
  Run run;
  run.on(*context);
  read();
  CHECK(told.empty());
  context->profile(true);
  run.on(*context), run.on(*context);
  read();
  REQUIRE(told.size() == 2);
  CHECK(told[0].first == "HEXAGON sm8550");
  CHECK(told[0].second <= told[1].second);
  l.asked.events = {{"Conv_1", 100, 5}, {"Relu_2", 200, 5}};
  run.on(*context);
  read();
  REQUIRE(told.size() == 2);
  CHECK(told[1].first == "Relu_2");
  CHECK(told[1].second - told[0].second == 100);
  read();
  CHECK(told.empty());
}

TEST_CASE("what these tools cannot run here is a dependency, in their words") {
  Loading l;
  l.asked.cannot_run = "no DSP answers";
  CHECK(l.error().code == OPTIMA_DEPENDENCY);
  CHECK(l.error().text == "no DSP answers");
  l.options = {seam::option("snpe.run_soc", "sm8550")};
  l.options.push_back({sizeof(optima_option), OPTIMA_OPTION_I64, seam::str("snpe.fallback"), 1, 0, {}, nullptr, 0, 0});
  CHECK(l.error().text == "no DSP answers");  // the wheels have nothing that could stand in
  CHECK(l.asked.opened == 0);
  l.asked.facts.route = "sdk";
  CHECK(l.error().code == OPTIMA_OK);
  CHECK(l.asked.what.fallback);
  CHECK(l.host.said("SNPE's CPU runtime stands in for HEXAGON (snpe.fallback): no DSP answers"));
}

TEST_CASE("files of one route are not mistaken for another's") {
  Loading dlc_only;
  dlc_only.sample.meta.contexts.clear();
  dlc_only.sample.meta.tools = "SNPE v2.22";
  dlc_only.sample.sink.files["subgraph_0.meta"] = dlc_only.sample.meta.write();
  dlc_only.sample.seal();
  CHECK(dlc_only.error().code == OPTIMA_DEPENDENCY);
  CHECK(dlc_only.error().text == "files were made by SNPE v2.22 and hold no context that stand-in tools of the tests runs; wanted that SDK (option snpe.root), or a "
                                 "compilation with the wheels");
  dlc_only.asked.facts.route = "sdk";
  CHECK(dlc_only.error().code == OPTIMA_OK);
  Loading context_only;
  context_only.sample.meta.dlcs.clear();
  context_only.sample.sink.files["subgraph_0.meta"] = context_only.sample.meta.write();
  context_only.sample.seal();
  context_only.asked.facts.route = "sdk";
  CHECK(context_only.error().code == OPTIMA_DEPENDENCY);
}

TEST_CASE("that Hexagon is emulated is said once in a process") {
  for (int k = 0; k < 2; ++k) Loading().load();
  CHECK(FileHost::emulator_lines == 1);  // of all cases of the process
}
