// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: tools that refuse, crash, hang, are cancelled or have no room; and that nothing of them is left.
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>

#include "tools.hpp"

using namespace optima::test;
using namespace std::chrono_literals;

namespace {

/// Ended and reaped.
bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

std::vector<int> children() {
  std::vector<int> all;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (int pid; list >> pid;) all.push_back(pid);
  }
  return all;
}

std::pair<int32_t, std::string> compile(const Work& work, const bm::top::Module& module, const bm::Job& job, const bm::Bounds& bounds,
                                        const bm::Facts& tools = facts()) {
  return failure([&] {
    bm::write_module(module, bounds.work);
    bm::compile_stages(tools, job, bounds, bm::sdk::Progress(nullptr));
    CHECK(fs::exists(work.path()));
  });
}

/// Bounds whose first look hits the tool with a signal.
bm::Bounds hitting(const Work& work, int number) {
  bm::Bounds b = work.bounds();
  b.cancelled = [number, hit = false]() mutable {
    if (!hit)
      for (const int pid : children()) ::kill(pid, number);
    hit = true;
    return false;
  };
  return b;
}

}  // namespace

TEST_CASE("an operator that the tools abort on is refused in their words, with its name") {
  if (!has_sophon_tools()) return;
  const Work work;
  const auto [code, text] = compile(work, one_operator("Ceil", "up \"here\""), job_for("bm1684"), work.bounds());
  CHECK(code == OPTIMA_UNSUPPORTED);
  CHECK(text == R"("up "here"" (Ceil): tpuc-opt says "unimplemented tpu dialect!" (stage lowering))");
  CHECK(compile(work, one_operator("Ceil", "up"), job_for("bm1684x"), work.bounds()).first == OPTIMA_OK);
}

TEST_CASE("a mode that a chip has not is refused by the tools with the operator in hand") {
  if (!has_sophon_tools()) return;
  const Work work;
  const auto [code, text] = compile(work, small_module(), job_for("bm1684", "F16"), work.bounds());
  CHECK(code == OPTIMA_UNSUPPORTED);
  CHECK(holds(text, "tpuc-opt says \"Not Implemented\" (stage lowering)"));
}

TEST_CASE("a module that is broken is a failure of a tool, with its words and its log") {
  if (!has_sophon_tools()) return;
  const Work work;
  put(work / "top.mlir", "module {");
  const auto [code, text] = failure([&] { bm::compile_stages(facts(), job_for("bm1684x"), work.bounds(), bm::sdk::Progress(nullptr)); });
  CHECK(code == OPTIMA_TOOL_FAILED);
  CHECK(text == "tpuc-opt failed with exit status 1: expected operation name in quotes; what it printed is in " + work.log() + " (stage top)");
  CHECK(holds(bm::bytes_of(work.log()), "$ tpuc-opt top.mlir --mlir-disable-threading --shape-infer"));
  CHECK(holds(bm::bytes_of(work.log()), "top.mlir:1:7: error: expected operation name in quotes"));
}

TEST_CASE("tools that crash are one error with its log, and the next compile works") {
  if (!has_sophon_tools()) return;
  const Work work;
  const auto [code, text] = compile(work, small_module(100), job_for("bm1684x"), hitting(work, SIGKILL));
  CHECK(code == OPTIMA_TOOL_FAILED);
  CHECK(holds(text, "tpuc-opt was ended by signal 9"));
  CHECK(holds(text, "; what it printed is in " + work.log() + " (stage "));
  CHECK(no_children());
  CHECK(compile(work, small_module(), job_for("bm1684x"), work.bounds()).first == OPTIMA_OK);
}

TEST_CASE("tools that hang are ended at the time limit") {
  if (!has_sophon_tools()) return;
  const Work work;
  bm::Bounds bounds = hitting(work, SIGSTOP);
  bounds.time_limit = 1s;
  const auto [code, text] = compile(work, small_module(100), job_for("bm1684x"), bounds);
  CHECK(code == OPTIMA_TOOL_FAILED);
  CHECK(holds(text, "tpuc-opt took longer than its time limit of 1 s; what it printed is in " + work.log()));
  CHECK(no_children());
}

TEST_CASE("a cancelled compile ends its tool") {
  if (!has_sophon_tools()) return;
  const Work work;
  bm::Bounds bounds = work.bounds();
  bounds.cancelled = [] { return true; };
  CHECK(compile(work, small_module(100), job_for("bm1684x"), bounds).first == OPTIMA_CANCELLED);
  CHECK(no_children());
  CHECK_FALSE(fs::exists(work / "compilation.bmodel"));
}

TEST_CASE("tools over their memory limit say so") {
  if (!has_sophon_tools()) return;
  const Work work;
  for (const uint64_t mib : {300, 400}) {  // the libraries alone take more address space
    CAPTURE(mib);
    bm::Bounds bounds = work.bounds();
    bounds.memory_limit = mib << 20;
    const auto [code, text] = compile(work, small_module(), job_for("bm1684x"), bounds);
    CHECK(code == OPTIMA_TOOL_FAILED);
    CHECK(holds(text, "tpuc-opt ran out of memory within its limit of " + std::to_string(mib) + " MiB; what it printed is in " + work.log()));
  }
}

TEST_CASE("a full disk is an error wherever it fills") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const Work work;
  const std::string mount = f / "small";
  fs::create_directory(mount);
  // 1 MiB of weights: no room for them, for each stage's copy, for the bmodel
  for (const std::string size : {"size=512k", "size=1100k", "size=2200k", "size=3300k", "size=4400k", "size=8m"}) {
    CAPTURE(size);
    if (::mount("tmpfs", mount.c_str(), "tmpfs", 0, size.c_str()) != 0) {
      MESSAGE("SKIP: mounting a small tmpfs is not allowed here");
      return;
    }
    bm::Bounds bounds = work.bounds();
    bounds.work = mount;
    const auto [code, text] = compile(work, small_module(1, 512), job_for("bm1684x"), bounds);
    CAPTURE(text);
    CHECK(code == OPTIMA_IO);
    ::umount(mount.c_str());
  }
}

TEST_CASE("a library that a chip's files are made with is missed by name") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const Work work;
  const std::string root = root_of_links(f / "tools");
  for (const auto& [chip, name] : {std::pair{"bm1684x", "libbackend_bm1684x.so"}, {"bm1684x", "libbm1684x_kernel_module.so"}, {"bm1684", "libbackend_bm1684.so"},
                                   {"bm1688", "libbackend_bm1688.so"}, {"cv186x", "libbmtpulv60_kernel_module.so"}, {"bm1690", "libbm1690_kernel_module.so"},
                                   {"cv183x", "libcvikernel.so"}, {"bm1684", "libcpuop.so"}}) {
    const std::string link = root + "/lib/" + name;
    const fs::path target = fs::read_symlink(link);
    fs::remove(link);
    const auto [code, text] = compile(work, small_module(), job_for(chip, chip == std::string("cv183x") ? "BF16" : "F32"), work.bounds(), facts(root));
    CHECK(code == OPTIMA_DEPENDENCY);
    CHECK(text == "folder '" + root + "/lib' holds no " + name + ", which files for " + chip + " are made with: scripts/setup --with sophon installs the tools");
    fs::create_symlink(target, link);
  }
}
