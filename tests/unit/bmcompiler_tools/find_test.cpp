// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: which tools are taken, and what is said of those that are not whole.
#include <cstdlib>

#include "plugins/bmcompiler/toolchain/tools.hpp"
#include "tools.hpp"

using namespace optima::test;

namespace {

/// Sets a variable for a scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;

 private:
  const char* name_;
};

bm::Tools tools(const std::string& root) {
  const std::string name = "bmcompiler.root";
  optima_option option{};
  option.struct_size = sizeof option, option.type = OPTIMA_OPTION_STR;
  option.name = {name.data(), name.size()}, option.str = {root.data(), root.size()};
  return bm::Tools({bm::sdk::Host(nullptr), bm::sdk::Options(&option, root.empty() ? 0 : 1)});
}

std::string missing(const std::string& root) {
  std::string why;
  CHECK(tools(root).find(why) == nullptr);
  CHECK(failure([&] { tools(root).get(); }) == std::pair<int32_t, std::string>{OPTIMA_DEPENDENCY, why});
  return why;
}

constexpr const char* kInstall = "scripts/setup --with sophon installs the tools";

}  // namespace

TEST_CASE("what is missing of the tools is named, who named the folder, and what installs them") {
  const TempFolder f;
  const std::string end = std::string(" (of bmcompiler.root): ") + kInstall;
  CHECK(missing(f / "none") == "there is no folder '" + f / "none" + "'" + end);
  CHECK(missing(f.path()) == "folder '" + f.path() + "' holds no bin/tpuc-opt" + end);
  f.file("bin/tpuc-opt", "#!/bin/sh\necho 'tpuc-opt: error while loading shared libraries: libx.so: cannot open' >&2\nexit 127\n");
  CHECK(missing(f.path()) == "'" + f / "bin/tpuc-opt" + "' cannot be executed" + end);
  fs::permissions(f / "bin/tpuc-opt", fs::perms::owner_all);
  CHECK(missing(f.path()) == "folder '" + f.path() + "' holds no lib" + end);
  fs::create_directory(f / "lib");
  CHECK(missing(f.path()) == "'" + f / "bin/tpuc-opt" + " --version' fails: libx.so: cannot open" + end);
  f.file("bin/tpuc-opt", "#!/bin/sh\necho hello\n");
  CHECK(missing(f.path()) == "'" + f / "bin/tpuc-opt" + " --version' tells no version: hello" + end);
}

TEST_CASE("the variables name the tools where no option does, TPUC_ROOT first") {
  const TempFolder f;
  const Variable sophon("OPTIMA_SOPHON", f / "b");
  CHECK(holds(missing(""), "'" + f / "b" + "' (of OPTIMA_SOPHON)"));
  const Variable root("TPUC_ROOT", f / "a");
  CHECK(holds(missing(""), "'" + f / "a" + "' (of TPUC_ROOT)"));
  CHECK(holds(missing(f / "c"), "'" + f / "c" + "' (of bmcompiler.root)"));
}

TEST_CASE("the version is the wheel's where its notes lie in the folder or beside it, else what the program says") {
  const TempFolder f;
  f.file("tpu_mlir/bin/tpuc-opt", "#!/bin/sh\necho '  LLVM version 18.0.0git'\n");
  fs::permissions(f / "tpu_mlir/bin/tpuc-opt", fs::perms::owner_all);
  fs::create_directory(f / "tpu_mlir/lib");
  CHECK(tools(f.path()).get().version == "tpuc-opt of LLVM version 18.0.0git");
  fs::create_directory(f / "tpu_mlir-1.29.0.dist-info");
  const bm::Tools found = tools(f / "tpu_mlir/");
  CHECK(found.get().version == "tpu_mlir 1.29.0");
  CHECK(found.get().root == f / "tpu_mlir");
  fs::create_directory(f / "tpu_mlir/tpu_mlir-1.30.2.dist-info");
  CHECK(tools(f.path()).get().version == "tpu_mlir 1.30.2");
}

TEST_CASE("setup's tools are found where nothing is named") {
  if (!has_sophon_tools()) return;
  CHECK(tools("").get().root == kSophon);
  CHECK(tools("").get().version == "tpu_mlir 1.30.2");
}

TEST_CASE("a library that the program does not start without is named, each") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const std::string root = root_of_links(f / "tools");
  std::string why;
  REQUIRE_MESSAGE(tools(root).find(why), why);
  for (const std::string name : {"libortools.so.9", "third_party/libdnnl.so.3", "third_party/libomp.so.5"}) {
    const std::string link = root + "/lib/" + name;
    const fs::path target = fs::read_symlink(link);
    fs::remove(link);
    CHECK(holds(missing(root), " --version' fails: " + fs::path(name).filename().string() + ": cannot open shared object file"));
    fs::create_symlink(target, link);
  }
}

TEST_CASE("tools that bring another system's C library are used with this one's, whatever LD_LIBRARY_PATH says") {
  if (!has_sophon_tools()) return;
  const TempFolder f;
  const std::string root = root_of_links(f / "tools");
  for (const char* name : {"libc.so.6", "libm.so.6", "libpthread.so.0"}) f.file("tools/lib/third_party/" + std::string(name), "no library of ours");
  const Variable path("LD_LIBRARY_PATH", root + "/lib/third_party");
  CHECK(holds(tools(root).get().version, "tpuc-opt of LLVM version "));
  const Work work;
  bm::write_module(small_module(), work.path());
  bm::compile_stages(facts(root), job_for("bm1684x"), work.bounds(), bm::sdk::Progress(nullptr));
  const Work other;
  CHECK(bm::bytes_of(work / "compilation.bmodel") == compiled(other, small_module(), job_for("bm1684x")));
}

TEST_CASE("tools without the program that puts files together are said to lack it") {
  const TempFolder root;
  const Work work;
  const auto [code, text] = failure([&] { bm::combine(facts(root.path()), {"b1/compilation.bmodel"}, "compilation.bmodel", work.bounds()); });
  CHECK(code == OPTIMA_DEPENDENCY);
  CHECK(text == "folder '" + root.path() + "/bin' holds no model_tool, which puts several batches into one file: scripts/setup --with sophon installs the tools");
}
