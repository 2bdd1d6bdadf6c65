// SPDX-License-Identifier: Apache-2.0
// plugins/snpe over the wheels: what is missing, what dies, hangs, is cancelled or has no room; and that nothing of it is left.
#include <signal.h>
#include <sys/mount.h>

#include <thread>

#include "tests/support/failure.hpp"
#include "tools.hpp"

using namespace optima;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::failure;
using test::hexagon;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Bounds whose first look hits every process of ours with a signal.
snpe_plugin::Bounds hitting(const test::Tools& tools, int number) {
  snpe_plugin::Bounds b = tools.bounds();
  b.cancelled = [number, hit = false]() mutable {
    for (const int pid : test::children())
      if (!hit) ::kill(pid, number);
    hit = true;
    return false;
  };
  return b;
}

bool no_children() {
  for (int k = 0; k < 500 && !test::children().empty(); ++k) std::this_thread::sleep_for(20ms);
  return test::children().empty();
}

snpe_plugin::Built build(const test::Tools& tools, const std::string& name, const snpe_plugin::Bounds& bounds, const std::string& socs = "sm8550") {
  return tools->build(test::model(name).folder, hexagon(socs), bounds, sdk::Progress(nullptr));
}

/// What may end a run, as the runtime says it.
struct Stop {
  explicit Stop(bool cancelled, uint64_t deadline_ns) {
    raw.struct_size = sizeof raw;
    raw.deadline_ns = deadline_ns;
    if (cancelled) raw.cancelled = [](void*) -> int32_t { return 1; };
  }
  optima_execute_request raw{};
};

std::string missing(const std::string& wheels) {
  const test::BareHost host;
  snpe_plugin::Wanted wanted;
  wanted.route = "wheels", wanted.plugin_dir = SNPE_DRIVER_DIR, wanted.wheels = wheels;
  std::string why;
  CHECK_FALSE(snpe_plugin::find_toolchain(wanted, host.host(), why));
  return why;
}

}  // namespace

TEST_CASE("what is missing of the wheels is named, and what installs them") {
  const test::TempFolder f;
  CHECK(missing(f / "none") == "wheels: folder '" + f / "none" + "' (of snpe.wheels or OPTIMA_QUALCOMM) is not there: scripts/setup --with qualcomm installs them");
  CHECK(missing(f.path()) ==
        "wheels: folder '" + f.path() + "' (of snpe.wheels or OPTIMA_QUALCOMM) holds no bin/python: wanted a Python environment, scripts/setup --with qualcomm installs them");
  fs::create_directory(f / "bin");
  fs::create_symlink("/usr/bin/python3", f / "bin/python");
  const std::string bare = missing(f.path());
  CHECK(holds(bare, "wheel onnxruntime cannot be used in "));
  CHECK(holds(bare, "No module named 'onnxruntime': scripts/setup --with qualcomm installs them"));
  fs::remove(f / "bin/python");
  f.file("bin/python", "#!/bin/sh\necho 'no libpython' >&2\nexit 127\n");
  fs::permissions(f / "bin/python", fs::perms::owner_all);
  CHECK(holds(missing(f.path()), "onnxruntime-qnn's process failed with exit status 127"));
}

TEST_CASE("variable OPTIMA_QUALCOMM names the wheels where no option does") {
  const test::TempFolder f;
  ::setenv("OPTIMA_QUALCOMM", (f / "elsewhere").c_str(), 1);
  CHECK(holds(missing(""), "folder '" + f / "elsewhere" + "' (of snpe.wheels or OPTIMA_QUALCOMM) is not there"));
  CHECK(holds(missing(f / "said"), "folder '" + f / "said" + "' (of snpe.wheels or OPTIMA_QUALCOMM) is not there"));
  ::unsetenv("OPTIMA_QUALCOMM");
}

TEST_CASE("where no route is whole, each says what it lacks") {
  const test::BareHost host;
  const test::TempFolder f;
  const auto why = [&](const std::string& route, const std::string& root) {
    snpe_plugin::Wanted wanted;
    wanted.route = route, wanted.plugin_dir = SNPE_DRIVER_DIR, wanted.wheels = f / "none", wanted.sdk_root = root;
    std::string text;
    CHECK_FALSE(snpe_plugin::find_toolchain(wanted, host.host(), text));
    return text;
  };
  const std::string both = why("auto", f / "sdk");
  CHECK(holds(both, "SDK: "));
  CHECK(holds(both, f / "sdk"));
  CHECK(holds(both, "; wheels: folder '" + f / "none" + "'"));
  CHECK(holds(why("auto", ""), "SNPE_ROOT"));
  CHECK_FALSE(holds(why("sdk", f / "sdk"), "wheels: "));
  CHECK_FALSE(holds(why("wheels", f / "sdk"), "SDK: "));
}

TEST_SUITE_BEGIN("wheels" * doctest::skip(test::wheels().empty()));

TEST_CASE("kinds that the wheels make nothing for are refused with the kind and what would do") {
  const test::Tools tools;
  snpe_plugin::Target adreno;
  adreno.kind = "ADRENO";
  CHECK(holds(tools->cannot_compile(adreno), "cannot tell what ADRENO takes: wanted a SNPE or QAIRT SDK"));
  CHECK(holds(tools->cannot_run("SNPE_CPU"), "for SNPE_CPU"));
  CHECK(tools->cannot_compile(hexagon()).empty());
  CHECK(tools->cannot_run("HEXAGON").empty());
  CHECK(failure([&] { tools->build("", adreno, tools.bounds(), sdk::Progress(nullptr)); }).first == OPTIMA_DEPENDENCY);
}

TEST_CASE("tools that crash over a build are one error with its log, and the next build works") {
  const test::Tools tools;
  const auto [code, text] = failure([&] { build(tools, "small", hitting(tools, SIGSEGV)); });
  CHECK(code == OPTIMA_TOOL_FAILED);
  CHECK(holds(text, "onnxruntime-qnn's process was ended by signal 11"));
  CHECK(holds(text, "; what it printed is in " + tools.log()));
  CHECK(fs::is_empty(tools.work()));
  CHECK(build(tools, "small", tools.bounds()).dlcs.size() == 1);
}

TEST_CASE("tools that hang are ended at the time limit") {
  const test::Tools tools;
  snpe_plugin::Bounds bounds = hitting(tools, SIGSTOP);
  bounds.time_limit = 2s;
  const auto [code, text] = failure([&] { tools->assign(test::model("small").folder, hexagon(), bounds); });
  CHECK(code == OPTIMA_TIMEOUT);
  CHECK(holds(text, "took longer than its time limit"));
  CHECK(fs::is_empty(tools.work()));
  CHECK(no_children());
}

TEST_CASE("a cancelled build leaves nothing") {
  const test::Tools tools;
  snpe_plugin::Bounds bounds = tools.bounds();
  bounds.cancelled = [] { return true; };
  CHECK(failure([&] { build(tools, "small", bounds); }).first == OPTIMA_CANCELLED);
  CHECK(fs::is_empty(tools.work()));
}

TEST_CASE("tools over their memory limit say so, whatever they make of it themselves") {
  const test::Tools tools;
  for (const uint64_t mib : {350, 450, 600}) {  // the libraries alone take 700 MiB of address space
    CAPTURE(mib);
    snpe_plugin::Bounds bounds = tools.bounds();
    bounds.memory_limit = mib << 20;
    const auto [code, text] = failure([&] { build(tools, "small", bounds); });
    CAPTURE(text);
    CHECK(code == OPTIMA_MEMORY);
    CHECK(holds(text, "onnxruntime-qnn's process ran out of memory within its limit of " + std::to_string(mib) + " MiB"));
    CHECK(holds(text, tools.log()));
    CHECK(failure([&] { tools->assign(test::model("small").folder, hexagon(), bounds); }).first == OPTIMA_MEMORY);
  }
  CHECK(fs::is_empty(tools.work()));
}

TEST_CASE("a full disk is an error, and what was made by then is gone") {
  const test::TempFolder f;
  const test::Tools tools;
  const std::string mount = f / "small";
  fs::create_directory(mount);
  // 4 MiB of weights: no room for the model, for its DLC, for its context
  for (const std::string size : {"size=64k", "size=6m", "size=9m"}) {
    CAPTURE(size);
    if (::mount("tmpfs", mount.c_str(), "tmpfs", 0, size.c_str()) != 0) {
      MESSAGE("SKIP: mounting a small tmpfs is not allowed here");
      return;
    }
    snpe_plugin::Bounds bounds = tools.bounds();
    bounds.work = mount;
    const auto [code, text] = failure([&] { build(tools, "wide", bounds); });
    CAPTURE(text);
    CHECK(code == OPTIMA_IO);
    CHECK(holds(text, "o space"));
    CHECK(fs::is_empty(mount));
    ::umount(mount.c_str());
  }
}

TEST_CASE("a run whose process dies is one error, and the next run works") {
  const test::Tools tools;
  const test::Model m = test::model("small");
  const auto session = tools->open(test::loadable(build(tools, "small", tools.bounds()), m), tools.bounds());
  test::Buffers buffers(m);
  const std::vector<int> before = test::children();
  for (const int pid : before) ::kill(pid, SIGSTOP);  // so that it is surely asked before it dies
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    for (const int pid : before) ::kill(pid, SIGKILL);
  });
  const auto [code, text] = failure([&] { session->run(buffers.in(), buffers.out(), nullptr); });
  killer.join();
  CHECK(code == OPTIMA_TOOL_FAILED);
  CHECK(holds(text, "was ended by signal 9"));
  session->run(buffers.in(), buffers.out(), nullptr);
  CHECK(test::distance(buffers.bytes(0), m.out[0]) < 4e-3);
}

TEST_CASE("a run that is cancelled or late says which, and the next run works") {
  const test::Tools tools;
  const test::Model m = test::model("two");
  const auto session = tools->open(test::loadable(build(tools, "two", tools.bounds()), m), tools.bounds());
  test::Buffers buffers(m);
  for (const bool cancelled : {true, false}) {
    for (const int pid : test::children()) ::kill(pid, SIGSTOP);
    const Stop stop(cancelled, cancelled ? 0 : 1);
    const sdk::RunControl control(&stop.raw);
    CHECK(failure([&] { session->run(buffers.in(), buffers.out(), &control); }).first == (cancelled ? OPTIMA_CANCELLED : OPTIMA_TIMEOUT));
    session->run(buffers.in(), buffers.out(), nullptr);
    CHECK(test::distance(buffers.bytes(0), m.out[0]) < 4e-3);
  }
}

TEST_CASE("a context that is cut short or of other tensors is not opened") {
  const test::Tools tools;
  test::Model m = test::model("small");
  const snpe_plugin::Built built = build(tools, "small", tools.bounds());
  snpe_plugin::Loadable what = test::loadable(built, m);
  m.inputs[0].dims[2] = 8;
  CHECK(failure([&] { tools->open(what, tools.bounds()); }) ==
        std::pair<int32_t, std::string>{OPTIMA_CORRUPT, "input 'x' of the context has 3072 bytes, the artifact says 1536"});
  m = test::model("small");
  m.outputs[0].name = "z";
  CHECK(failure([&] { tools->open(what, tools.bounds()); }).second == "output 'y' of the context is not among the artifact's");
  m = test::model("small");
  fs::resize_file(what.context, fs::file_size(what.context) / 2);
  const auto [code, text] = failure([&] { tools->open(what, tools.bounds()); });
  CAPTURE(text);
  CHECK((code == OPTIMA_CORRUPT || code == OPTIMA_TOOL_FAILED));
}

TEST_CASE("no process outlives its tools, and no file its session") {
  test::Tools tools;
  const test::Model m = test::model("two");
  const snpe_plugin::Built built = build(tools, "two", tools.bounds());
  const auto files = [&] { return std::distance(fs::directory_iterator(tools.work()), fs::directory_iterator()); };
  CHECK(files() == 1);
  auto session = tools->open(test::loadable(built, m), tools.bounds());
  CHECK(files() == 2);
  tools->assign(m.folder, hexagon(), tools.bounds());
  CHECK(test::children().size() == 2);
  session.reset();
  CHECK(files() == 1);
  tools.end();
  CHECK(no_children());
}

TEST_SUITE_END();
