// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: models that the tools made, on the emulators of the tools.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "plugins/bmcompiler/bmodel/bmodel.hpp"
#include "plugins/bmcompiler/files.hpp"
#include "plugins/bmcompiler/runner/runner.hpp"
#include "plugins/bmcompiler/toolchain/stages.hpp"
#include "plugins/bmcompiler/top/module.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
using namespace bmcompiler_plugin;

namespace {

namespace sdk = optima::sdk;

/// The tools; null, and said, where they are not installed.
const Facts* tools() {
  static seam::Host host;
  static const Tools all(sdk::Init{sdk::Host(&host.exposed.table), sdk::Options()});
  std::string why;
  const Facts* found = all.find(why);
  if (!found) MESSAGE("SKIP: " << why);
  return found;
}

/// y = max(x, 0) of [2, 3] for a chip, as a file in `folder`.
Opening opening_of(const Facts& facts, const char* chip, const TempFolder& folder) {
  Job job;
  job.chip = find_chip(chip);
  job.mode = job.chip->has_mode("F32") ? "F32" : "BF16";
  job.result = "compilation" + std::string(job.chip->suffix);
  top::Module module("small");
  const top::Value x = module.input({"x", {1, 2, 3, 4}});
  module.output(module.op("Relu", {x}, top::Attributes().f64("relu_limit", -1), {"y", {1, 2, 3, 4}}));
  job.module = kModuleFile;
  write_module(module, folder.path());
  Bounds bounds;
  bounds.work = folder.path(), bounds.log = folder / "log";
  compile_stages(facts, job, bounds, sdk::Progress(nullptr));
  Opening what;
  what.program = RUNNER, what.libraries = facts.root + "/lib";
  what.chip = job.chip;
  what.model = folder / job.result;
  what.work = folder.path(), what.log = folder / "log";
  return what;
}

std::vector<float> run(Running& running, const char* output = "y") {
  std::vector<float> x(24), y(24);
  for (size_t k = 0; k < 24; ++k) x[k] = static_cast<float>(k) - 12;
  running.run({}, {{"x", OPTIMA_F32, {1, 2, 3, 4}, x.data()}}, {{output, OPTIMA_F32, {1, 2, 3, 4}, y.data()}}, nullptr);
  return y;
}

/// Threads that compute, of the process that was started in `folder`; nothing when there is no such process.
std::optional<int> busy_threads(const std::string& folder) {
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    if (std::filesystem::read_symlink(process.path() / "cwd", ignored) != std::filesystem::canonical(folder) || ignored) continue;
    int busy = 0;
    for (const auto& thread : std::filesystem::directory_iterator(process.path() / "task", ignored)) {
      const std::string stat = get(thread.path().string() + "/stat");
      busy += stat.find(") R") != std::string::npos;
    }
    return busy;
  }
  return std::nullopt;
}

std::vector<float> wanted() {
  std::vector<float> y(24);
  for (size_t k = 12; k < 24; ++k) y[k] = static_cast<float>(k) - 12;
  return y;
}

}  // namespace

TEST_CASE("every chip's files run on its emulator") {
  const Facts* facts = tools();
  if (!facts) return;
  for (const char* chip : {"bm1684x", "bm1684", "bm1688", "bm1690", "cv186x", "cv183x"}) {
    CAPTURE(chip);
    const TempFolder folder;
    const Opening what = opening_of(*facts, chip, folder);
    if (what.chip->runner != Runner::Cvi) CHECK(read_bmodel(bytes_of(what.model)).chip == what.chip->in_files);
    else require_cvimodel(bytes_of(what.model), what.chip->in_files);
    const auto running = open_model(what);
    CHECK(run(*running) == wanted());
    CHECK(run(*running) == wanted());  // the emulator goes on after its pause
  }
}

TEST_CASE("an emulator that has nothing to run takes no processor, and ends with its model") {
  const Facts* facts = tools();
  if (!facts) return;
  const TempFolder folder;
  auto running = open_model(opening_of(*facts, "bm1684x", folder));
  run(*running);
  REQUIRE(busy_threads(folder.path()).has_value());
  int idle = 0;  // in a row: one that polls is seen at work among so many looks
  for (int look = 0; look < 3000 && idle < 50; ++look) {
    idle = busy_threads(folder.path()) == 0 ? idle + 1 : 0;
    ::usleep(2000);
  }
  CHECK(idle == 50);
  running.reset();
  CHECK(!busy_threads(folder.path()).has_value());  // held as it was, it ended
}

TEST_CASE("two chips run at once, and what an emulator has no memory for is an error that names the limit") {
  const Facts* facts = tools();
  if (!facts) return;
  const TempFolder one, two;
  Opening what = opening_of(*facts, "bm1684x", one);
  const auto first = open_model(what), second = open_model(opening_of(*facts, "bm1684", two));
  CHECK(run(*first) == wanted());
  CHECK(run(*second) == wanted());
  what.memory_limit = uint64_t{1} << 30;  // the emulator wants the chip's memory as address space
  try {
    open_model(what);
    FAIL("no error");
  } catch (const sdk::Error& e) {
    CHECK(e.code == OPTIMA_MEMORY);
    CHECK(e.text.find("within its limit of 1024 MiB (bmcompiler.run_memory_limit)") != std::string::npos);
  }
}
