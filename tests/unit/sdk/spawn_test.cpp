// SPDX-License-Identifier: Apache-2.0
// sdk: spawn(): output, ends, bounds, cancel, and what is left running afterwards.
#include <doctest/doctest.h>

#include <fstream>
#include <thread>

#include "optima/plugin/spawn.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/sdk/shell.hpp"

using namespace optima;
using test::pid_in, test::running, test::shell;
using namespace std::chrono_literals;
using How = sdk::Ended::How;

TEST_CASE("spawn gives the lines of both streams and the exit status") {
  sdk::Command c = shell("echo one; echo two >&2; printf 'three\\r\\nlast without end'; exit 3");
  std::vector<std::string> out, err;
  c.on_line = [&](std::string_view line, bool from_stderr) { (from_stderr ? err : out).emplace_back(line); };
  const sdk::Ended e = sdk::spawn(c);
  CHECK(e.how == How::Exited);
  CHECK(e.code == 3);
  CHECK_FALSE(e.good());
  CHECK(e.last_error == "two");
  CHECK(out == std::vector<std::string>{"one", "three", "last without end"});
  CHECK(err == std::vector<std::string>{"two"});
}

TEST_CASE("the program sees its own environment and folder and no input") {
  const test::TempFolder folder;
  sdk::Command c = shell("echo \"$COLOUR-$HOME\"; pwd; cat; env | wc -l");
  c.environment.push_back("COLOUR=green");
  c.folder = folder.path();
  std::vector<std::string> lines;
  c.on_line = [&](std::string_view line, bool) { lines.emplace_back(line); };
  CHECK(sdk::spawn(c).good());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "green-");
  CHECK(lines[1] == folder.path());
}

TEST_CASE("inherited_environment replaces and adds, and keeps the rest") {
  const std::vector<std::string> e = sdk::inherited_environment({"PATH=/nowhere", "OPTIMA_TEST_NEW=1"});
  CHECK(std::count(e.begin(), e.end(), "PATH=/nowhere") == 1);
  CHECK(std::count_if(e.begin(), e.end(), [](const std::string& s) { return s.rfind("PATH=", 0) == 0; }) == 1);
  CHECK(std::count(e.begin(), e.end(), "OPTIMA_TEST_NEW=1") == 1);
}

TEST_CASE("a missing program is a dependency, named") {
  sdk::Command c;
  c.program = "optima-no-such-tool";
  try {
    sdk::spawn(c);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code == OPTIMA_DEPENDENCY);
    CHECK(e.text == "program 'optima-no-such-tool' was not found");
  }
  c.program = "/etc/passwd";
  CHECK_THROWS_WITH_AS(sdk::spawn(c), "program '/etc/passwd' was not found", Error);
  const test::TempFolder folder;
  c.program = folder.file("broken", "not a program");
  std::filesystem::permissions(c.program, std::filesystem::perms::owner_all);
  try {
    sdk::spawn(c);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code == OPTIMA_TOOL_FAILED);
    CHECK(e.text == "program '" + c.program + "' cannot be started: Exec format error");
  }
}

TEST_CASE("a program is found on the PATH of its own environment") {
  const test::TempFolder folder;
  const std::string tool = folder.file("my-tool", "#!/bin/sh\necho found\n");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  CHECK(sdk::find_program("my-tool", {"PATH=/nowhere::" + folder.path()}) == tool);
  CHECK(sdk::find_program("my-tool", {"PATH=/nowhere"}) == "");
  CHECK(sdk::find_program("sh", {}) != "");
}

TEST_CASE("output of many megabytes arrives whole, and a line without end comes in pieces") {
  sdk::Command c = shell("i=0; while [ $i -lt 200 ]; do printf '%0100000d\\n' 7; i=$((i+1)); done; echo end >&2");
  uint64_t bytes = 0;
  size_t longest = 0;
  c.on_line = [&](std::string_view line, bool from_stderr) {
    if (!from_stderr) bytes += line.size();
    longest = std::max(longest, line.size());
  };
  const sdk::Ended e = sdk::spawn(c);
  CHECK(e.good());
  CHECK(bytes == 200u * 100000u);
  CHECK(longest == 65536);
  CHECK(e.last_error == "end");
}

TEST_CASE("a program over its time limit is ended with everything it started") {
  const test::TempFolder folder;
  sdk::Command c = shell("sleep 100 & echo $! > " + (folder / "pid") + "; wait");
  c.time_limit = 300ms;
  const auto begin = std::chrono::steady_clock::now();
  const sdk::Ended e = sdk::spawn(c);
  CHECK(e.how == How::TimedOut);
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
  const pid_t sleeper = pid_in(folder / "pid");
  REQUIRE(sleeper > 0);
  for (int k = 0; k < 100 && running(sleeper); ++k) std::this_thread::sleep_for(20ms);  // until init has reaped it
  CHECK_FALSE(running(sleeper));
  CHECK_THROWS_WITH_AS(sdk::require_good(e, "tool"), "tool took longer than its time limit", Error);
}

TEST_CASE("a cancelled program is asked to end, and made to when it does not listen") {
  sdk::Command c = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  bool ready = false;
  c.on_line = [&](std::string_view, bool) { ready = true; };
  c.cancelled = [&] { return ready; };
  const sdk::Ended e = sdk::spawn(c);
  CHECK(e.how == How::Cancelled);
  CHECK(e.code == SIGKILL);
  try {
    sdk::require_good(e, "tool");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code == OPTIMA_CANCELLED);
  }
}

TEST_CASE("what a finished program leaves running is ended and does not hold the call") {
  const test::TempFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(sdk::spawn(shell("sleep 100 & echo $! > " + (folder / "pid"))).good());
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
  const pid_t sleeper = pid_in(folder / "pid");
  REQUIRE(sleeper > 0);
  for (int k = 0; k < 100 && running(sleeper); ++k) std::this_thread::sleep_for(20ms);
  CHECK_FALSE(running(sleeper));
}

TEST_CASE("a program over its memory limit fails, within it it runs") {
  sdk::Command c = shell("head -c 300000000 /dev/zero | tail -c 300000000 | wc -c");
  std::string count;
  c.on_line = [&](std::string_view line, bool from_stderr) {
    if (!from_stderr) count = line;
  };
  c.memory_limit = uint64_t{100} << 20;
  const sdk::Ended small = sdk::spawn(c);
  CHECK(count != "300000000");
  CHECK(small.last_error.find("memory") != std::string::npos);
  c.memory_limit = uint64_t{2} << 30;
  CHECK(sdk::spawn(c).good());
  CHECK(count == "300000000");
}

TEST_CASE("a signal and a failure become errors with the tool's last words") {
  const sdk::Ended died = sdk::spawn(shell("kill -SEGV $$"));
  CHECK(died.how == How::Signalled);
  CHECK(died.code == SIGSEGV);
  CHECK_THROWS_WITH_AS(sdk::require_good(died, "tool"), "tool was ended by signal 11", Error);
  try {
    sdk::require_good(sdk::spawn(shell("echo 'bad model' >&2; echo >&2; exit 9")), "converter");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code == OPTIMA_TOOL_FAILED);
    CHECK(e.vendor_code == 9);
    CHECK(e.text == "converter failed with exit status 9: bad model");
  }
}

TEST_CASE("a callback that throws ends the program and lets the exception through") {
  const test::TempFolder folder;
  sdk::Command c = shell("echo $$ > " + (folder / "pid") + "; echo x; sleep 100");
  c.on_line = [](std::string_view, bool) { throw Error(OPTIMA_IO, "log is full"); };
  CHECK_THROWS_WITH_AS(sdk::spawn(c), "log is full", Error);
  CHECK_FALSE(running(pid_in(folder / "pid")));
}

TEST_CASE("in a process that ignores SIGCHLD an exit status is lost and no success, the output is whole, and nothing hangs") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  sdk::Command c = shell("echo said; exit 0");
  std::string said;
  c.on_line = [&](std::string_view line, bool) { said += line; };
  const sdk::Ended ended = sdk::spawn(c);
  ::signal(SIGCHLD, before);
  CHECK(ended.how == sdk::Ended::How::Lost);
  CHECK_FALSE(ended.good());
  CHECK(said == "said");
  CHECK_THROWS_WITH_AS(sdk::require_good(ended, "sh"), "exit status of sh is lost: this process ignores SIGCHLD", Error);
}

TEST_CASE("programs run side by side from several threads") {
  std::vector<std::thread> threads;
  int good[4] = {};
  for (int& mine : good)
    threads.emplace_back([&mine] {
      for (int k = 0; k < 5; ++k) mine += sdk::spawn(shell("exit 0")).good();
    });
  for (std::thread& t : threads) t.join();
  for (const int n : good) CHECK(n == 5);
}
