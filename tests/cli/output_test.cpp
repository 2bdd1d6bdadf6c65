// SPDX-License-Identifier: Apache-2.0
// What the programs write where the user says: files, links, devices, pipes, stdout.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

std::string tiny(const TempFolder& f) { return f.file("tiny.onnxtxt", kTiny); }

/// Runs a line of the shell; "$HOST" and "$RUN" are the programs.
Ran shell(const std::string& line) { return run({"sh", "-c", line}, {"HOST=" + host_program(), "RUN=" + run_program()}); }

std::string package_in(const TempFolder& f) {
  REQUIRE(host({"compile", tiny(f), "-o", f / "pkg", "--device", "REF:0"}).code == 0);
  return f / "pkg/tiny";
}

void check_plan(const std::string& text) {
  const Result<Json> plan = parse_json(text, "plan");
  REQUIRE(plan.ok());
  CHECK((*plan)["nodes"].size() == 2);
}

}  // namespace

TEST_CASE("a device that -o names stays a device and gets the bytes") {
  const TempFolder f;
  const std::string null = f / "null", full = f / "full";
  if (::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 || ::mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0) {
    MESSAGE("SKIP: making device nodes needs root");
    return;
  }
  const Ran r = host({"plan", tiny(f), "--device", "REF:0", "-o", null});
  CAPTURE(r.err);
  if (r.err.find("Permission denied") != std::string::npos) {
    MESSAGE("SKIP: device nodes are not served in the folder for temporary files");
    return;
  }
  CHECK(r.code == 0);
  CHECK(fs::is_character_file(null));
  const Ran lost = host({"plan", tiny(f), "--device", "REF:0", "-o", full});
  CHECK(lost.code == 5);
  CHECK(lost.err == "optima-host: error: cannot write '" + full + "': No space left on device\n");
  CHECK(fs::is_character_file(full));
}

TEST_CASE("a link is followed: the file at its end is replaced, and made when it is not there") {
  const TempFolder f;
  fs::create_directories(f / "far");
  f.file("far/plan.json", "old");
  fs::create_symlink("far/plan.json", f / "link");
  fs::create_symlink(f / "link", f / "link.of.link");
  REQUIRE(host({"plan", tiny(f), "--device", "REF:0", "-o", f / "link.of.link"}).code == 0);
  CHECK(fs::is_symlink(f / "link.of.link"));
  CHECK(fs::is_symlink(f / "link"));
  check_plan(get(f / "far/plan.json"));
  fs::create_symlink("far/new.json", f / "dangling");
  REQUIRE(host({"plan", tiny(f), "--device", "REF:0", "-o", f / "dangling"}).code == 0);
  check_plan(get(f / "far/new.json"));
  fs::create_symlink("round", f / "round");
  const Ran r = host({"plan", tiny(f), "--device", "REF:0", "-o", f / "round"});
  CHECK(r.code == 5);
  CHECK(r.err.find("Too many levels of symbolic links") != std::string::npos);
}

TEST_CASE("a FIFO gets the bytes and stays a FIFO") {
  const TempFolder f;
  const std::string fifo = f / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string package = package_in(f);
  REQUIRE(shell("cat " + fifo + " > " + (f / "plan.json") + " & \"$HOST\" plan " + tiny(f) + " --device REF:0 -o " + fifo + " && wait").code == 0);
  check_plan(get(f / "plan.json"));
  REQUIRE(shell("cat " + fifo + " > " + (f / "trace") + " & \"$RUN\" " + package + " --input random --trace " + fifo + " && wait").code == 0);
  CHECK(parse_json(get(f / "trace"), "trace").ok());
  CHECK(fs::is_fifo(fifo));
}

TEST_CASE("- is stdout, and what people read goes to stderr then") {
  const TempFolder f;
  const std::string package = package_in(f);
  for (const char* name : {"-", "/dev/stdout"}) {
    CAPTURE(name);
    const Ran plan = host({"plan", tiny(f), "--device", "REF:0", "-o", name});
    CHECK(plan.code == 0);
    check_plan(plan.out);
    CHECK(plan.err.find("placement of 'tiny'") != std::string::npos);
    const Ran trace = host({"run", package, "--input", "random", "--trace", name});
    CHECK(trace.code == 0);
    CHECK(parse_json(trace.out, "trace").ok());
    const Ran target = run({run_program(), package, "--input", "random", "--trace", name});
    CHECK(target.code == 0);
    CHECK(parse_json(target.out, "trace").ok());
    CHECK(target.err.find("output") != std::string::npos);
    CHECK(parse_json(host({"alloc", digits_model(), "--default", "X64:0", "-o", name}).out, "alloc").ok());
    CHECK(host({"plan", tiny(f), "--json", "-o", name}).code == 2);
    CHECK(run({run_program(), package, "--input", "random", "--json", "--trace", name}).code == 2);
  }
  CHECK(host({"view", package, "-o", "-"}).out.find("<html") != std::string::npos);
  CHECK_FALSE(fs::exists("-"));
}

TEST_CASE("output that did not arrive whole is exit code 5 with a sentence") {
  if (!fs::is_character_file("/dev/full")) {
    MESSAGE("SKIP: there is no /dev/full here");
    return;
  }
  const TempFolder f;
  const std::string package = package_in(f), said = "error: cannot write to stdout: No space left on device\n";
  for (const std::string& words : std::vector<std::string>{"plugins", "--json plugins", "--help", "--version", "plan --help", "--json inspect " + tiny(f),
                                                           "alloc " + tiny(f) + " --default X64:0", "plan " + tiny(f) + " --device REF:0 -o -",
                                                           "run " + package + " --input random"}) {
    CAPTURE(words);
    const Ran r = shell("\"$HOST\" " + words + " > /dev/full");
    CAPTURE(r.err);
    CHECK(r.code == 5);
    CHECK(r.err.ends_with("optima-host: " + said));
  }
  for (const std::string& words : std::vector<std::string>{"--help", "--version", "--devices", package + " --input random --json"}) {
    CAPTURE(words);
    const Ran r = shell("\"$RUN\" " + words + " > /dev/full");
    CHECK(r.code == 5);
    CHECK(r.err.ends_with("cannot write to stdout: No space left on device\n"));
  }
  CHECK(shell("\"$HOST\" plugins >&-").code == 5);
  CHECK(shell("\"$HOST\" nonsense > /dev/full").code == 2);  // what failed before counts
}

TEST_CASE("a reader that goes away ends the program quietly, as it ends others, and not before the work is done") {
  const TempFolder f;
  const int by_signal = 128 + 13;  // SIGPIPE
  for (const std::string& program : {host_program(), run_program()}) {
    const Ran r = run_unread({program, "--help"});
    CHECK(r.code == by_signal);
    CHECK(r.err.empty());
  }
  const Ran r = run_unread({host_program(), "compile", tiny(f), "-o", f / "out", "--device", "REF:0"});
  CHECK(r.code == by_signal);
  CHECK(fs::exists(f / "out/tiny/model.meta"));
}
