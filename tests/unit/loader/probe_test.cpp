// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>

#include "core/loader/probe.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

ScanOptions probing(const std::string& folder, const std::string& cache = "") {
  ScanOptions o;
  o.folders = {folder};
  o.probe_program = OPTIMA_PROBE_PROGRAM;
  o.cache_folder = cache;
  o.probe_seconds = 20;
  return o;
}

std::string refusal(const std::string& name, double seconds = 20) {
  const PluginFolder folder({name});
  ScanOptions o = probing(folder.path());
  o.probe_seconds = seconds;
  const auto r = Registry::scan(o, services());
  REQUIRE(r.ok());
  REQUIRE(r->files().size() == 1);
  CHECK(r->files()[0].refusal.kind() == StatusKind::Plugin);
  CHECK(r->compilers().empty());
  return r->files()[0].refusal.message();
}

size_t entries(const fs::path& p) { return static_cast<size_t>(std::distance(fs::directory_iterator(p), fs::directory_iterator())); }

}  // namespace

TEST_CASE("a plugin that crashes is met in a child and refused with the place and the signal") {
  CHECK(refusal("crash_in_constructor") == "crashes while being loaded (SIGSEGV)");
  CHECK(refusal("crash_in_query") == "crashes in query (SIGSEGV)");
  CHECK(refusal("crash_in_init") == "crashes in init (SIGSEGV)");
  CHECK(refusal("crash_in_devices") == "crashes in devices (SIGSEGV)");
}

TEST_CASE("a plugin that hangs is refused after the time given") {
  CHECK(refusal("hang_in_query", 1) == "hangs in query (no answer within 1 s)");
  CHECK(refusal("hang_in_deinit", 1) == "hangs in deinit (no answer within 1 s)");
}

TEST_CASE("a plugin that ends the process is refused") { CHECK(refusal("exit_in_init") == "ends the process in init (exit status 0)"); }

TEST_CASE("what the child reports becomes the refusal") {
  CHECK(refusal("missing_library").starts_with("plugin 'bad': needs the library 'liboptima_test_gone.so', which is not found on this machine; it may lie in '"));
  CHECK(refusal("no_symbol") == "plugin 'bad': does not export optima_plugin_query");
  CHECK(refusal("wrong_minor") == "plugin 'bad': speaks ABI 0.99, this program speaks 0.1 (at major 0 both must be equal)");
  CHECK(refusal("other_id") == "plugin 'bad': its root table says id 'somebody_else', its note says 'bad'");
  CHECK(refusal("no_instance") == "plugin 'bad': init: said OK and gave no instance");
  CHECK(refusal("init_fails") == "plugin 'bad': init: the licence file is gone");
  CHECK(refusal("no_compiler") == "plugin 'bad': its note promises optima.compiler/1, which lacks check");
  CHECK(refusal("compiler_short") == "plugin 'bad': its note promises optima.compiler/1, which lacks compile");
  CHECK(refusal("compiler_size_absurd") == "plugin 'bad': its table optima.compiler/1 has size 4294967280, wanted 24..65536");
}

TEST_CASE("a plugin that prints, and one whose device cannot be listed, pass the probe") {
  const PluginFolder folder;
  folder.add("prints");
  const auto r = Registry::scan(probing(folder.path()), services());
  CHECK(r->compiler("bad"));
  const PluginFolder other({"device_size_zero"});
  CHECK(Registry::scan(probing(other.path()), services())->compiler("bad"));
}

TEST_CASE("verdicts are remembered by the hash of the file") {
  const PluginFolder folder({"crash_in_query"});
  const TempFolder cache;
  const auto scan = [&](const std::string& where) {
    const auto r = Registry::scan(probing(where, cache.path()), services());
    return r->files()[0].refusal.message();
  };
  CHECK(scan(folder.path()) == "crashes in query (SIGSEGV)");
  CHECK(entries(cache / "plugins") == 2);
  const std::string again = scan(folder.path());
  CHECK(again.find("crashes in query (SIGSEGV) (seen in the last hour; delete " + (cache / "plugins")) == 0);
  const PluginFolder copy({"crash_in_query"});  // another file with the same bytes
  CHECK(scan(copy.path()).find("(seen in the last hour;") != std::string::npos);
  for (const auto& entry : fs::directory_iterator(cache / "plugins")) fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  CHECK(scan(folder.path()) == "crashes in query (SIGSEGV)");  // a bad day ends
}

TEST_CASE("a refusal quotes the last line that the plugin wrote before it died") {
  CHECK(refusal("last_words") == "crashes in init (SIGABRT); the last it wrote: 'no licence for 'bad''");
}

TEST_CASE("a verdict holds for the environment it was made in: what loaders and tools are found by") {
  const PluginFolder folder({"crash_in_query"});
  const TempFolder cache;
  const auto remembered = [&] {
    const auto r = Registry::scan(probing(folder.path(), cache.path()), services());
    return r->files()[0].refusal.message().find("(seen in the last hour;") != std::string::npos;
  };
  CHECK_FALSE(remembered());
  CHECK(remembered());
  for (const char* name : {"LD_LIBRARY_PATH", "OPTIMA_TEST_SETTING", "ACME_SDK_ROOT"}) {
    CAPTURE(name);
    const char* before = std::getenv(name);
    const std::string old = before ? before : "";
    ::setenv(name, (old + ":/nowhere/at/all").c_str(), 1);
    CHECK_FALSE(remembered());
    CHECK(remembered());
    before ? ::setenv(name, old.c_str(), 1) : ::unsetenv(name);
    CHECK(remembered());
  }
  ::setenv("OPTIMATELY_ELSE", "1", 1);  // says nothing of libraries
  CHECK(remembered());
  ::unsetenv("OPTIMATELY_ELSE");
}

TEST_CASE("a missing library is looked for again, because it may have been installed since") {
  const PluginFolder folder({"missing_library"});
  const TempFolder cache;
  for (int i = 0; i < 2; ++i) {
    const auto r = Registry::scan(probing(folder.path(), cache.path()), services());
    CHECK(r->files()[0].refusal.message().find("seen in") == std::string::npos);
  }
}

TEST_CASE("a good plugin is probed once") {
  const PluginFolder folder({"fine"});
  const TempFolder cache;
  REQUIRE(Registry::scan(probing(folder.path(), cache.path()), services())->compiler("bad"));
  ScanOptions o = probing(folder.path(), cache.path());
  o.probe_program = "/bin/false";  // would refuse everything
  CHECK(Registry::scan(o, services())->compiler("bad"));
}

TEST_CASE("a probe that cannot be started refuses the file with that reason") {
  const PluginFolder folder({"fine"});
  ScanOptions o = probing(folder.path());
  o.probe_program = "/nonexistent/probe";
  CHECK(Registry::scan(o, services())->files()[0].refusal.message() == "cannot start the probe: program '/nonexistent/probe' was not found");
}

TEST_CASE("in a process that ignores SIGCHLD good plugins pass the probe and bad ones do not hang it") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const PluginFolder folder({"fine"});
  const auto r = Registry::scan(probing(folder.path()), services());
  CHECK(r->files()[0].refusal.message().empty());
  CHECK(r->compiler("bad"));
  CHECK(refusal("init_fails") == "plugin 'bad': init: the licence file is gone");
  CHECK(refusal("crash_in_query") == "ends the process in query (how is lost: this process ignores SIGCHLD)");
  CHECK(refusal("hang_in_query", 1) == "hangs in query (no answer within 1 s)");
  ::signal(SIGCHLD, before);
}
