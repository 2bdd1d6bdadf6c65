// SPDX-License-Identifier: Apache-2.0
// sdk: Talk: questions and answers, bounds, cancel, deaths of the program, and what is left running afterwards.
#include <doctest/doctest.h>

#include <thread>

#include "optima/plugin/talk.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/sdk/shell.hpp"

using namespace optima;
using test::pid_in, test::running, test::shell;
using namespace std::chrono_literals;

namespace {

/// Answers every question with "you said" and it.
const char* const kEcho = "while IFS= read -r line <&3; do echo \"you said $line\" >&3; done";

bool ends(pid_t pid) {
  for (int k = 0; k < 250 && running(pid); ++k) std::this_thread::sleep_for(20ms);  // until init has reaped it
  return !running(pid);
}
/// The code and text of what asking throws.
std::pair<int32_t, std::string> failure(sdk::Talk& talk, const std::string& question, const sdk::Talk::Bounds& bounds = {}) {
  try {
    talk.ask(question, bounds);
  } catch (const Error& e) {
    return {e.code, e.text};
  }
  return {OPTIMA_OK, ""};
}
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a program that stays answers one question after the other") {
  sdk::Talk talk("echo", shell(kEcho));
  CHECK(talk.ask("one", {}) == "you said one");
  CHECK(talk.ask("", {}) == "you said ");
  CHECK(talk.ask("three", {}) == "you said three");
  CHECK(talk.alive());
}

TEST_CASE("what a program prints goes to the log, after what is there, and not into answers") {
  const test::TempFolder folder;
  const std::string log = folder.file("log", "before\n");
  {
    sdk::Talk talk("tool", shell("read -r line <&3; echo noise; echo more >&2; echo answer >&3; read -r line <&3"), log);
    CHECK(talk.ask("x", {}) == "answer");
  }
  CHECK(text_of(log) == "before\nnoise\nmore\n");
  CHECK_THROWS_AS(sdk::Talk("tool", shell("exit 0"), folder / "no/such/log"), Error);
}

TEST_CASE("questions and answers of many megabytes arrive whole") {
  sdk::Talk talk("tool", shell("exec python3 -c '\nimport socket\ns = socket.socket(fileno=3).makefile(\"rw\")\nfor line in s:\n  s.write(line[:-1] * 2 + \"\\n\"); s.flush()\n'"));
  const std::string question(5'000'000, 'q');
  const std::string answer = talk.ask(question, {});
  CHECK(answer == question + question);
}

TEST_CASE("a program that dies over a question is an error with how it ended and what it said last") {
  const test::TempFolder folder;
  sdk::Talk talk("converter", shell("echo older; read -r line <&3; echo 'bad model' >&2; exit 9"), folder / "log");
  CHECK(failure(talk, "x") == std::pair<int32_t, std::string>{OPTIMA_TOOL_FAILED, "converter failed with exit status 9: bad model"});
  CHECK_FALSE(talk.alive());
  CHECK(failure(talk, "x") == std::pair<int32_t, std::string>{OPTIMA_TOOL_FAILED, "converter has ended"});
  sdk::Talk crash("converter", shell("read -r line <&3; kill -SEGV $$"));
  CHECK(failure(crash, "x").second == "converter was ended by signal 11");
  sdk::Talk silent("converter", shell("read -r line <&3; exit 0"));
  CHECK(failure(silent, "x").second == "converter ended without an answer");
}

TEST_CASE("last words come from the log that a question names, and only what is new there") {
  const test::TempFolder folder;
  const std::string log = folder.file("second", "of another question\n");
  sdk::Talk talk("tool", shell("echo first; read -r line <&3; echo \"$line\" >> " + log + "; exit 3"), folder / "first");
  sdk::Talk::Bounds bounds;
  bounds.log = log;
  CHECK(failure(talk, "my words", bounds).second == "tool failed with exit status 3: my words");
  sdk::Talk mute("tool", shell("read -r line <&3; exit 3"), folder / "first");
  CHECK(failure(mute, "x", bounds).second == "tool failed with exit status 3");
}

TEST_CASE("an answer that was given before the program ended counts") {
  sdk::Talk talk("tool", shell("read -r line <&3; echo done >&3; exit 4"));
  CHECK(talk.ask("x", {}) == "done");
  CHECK(failure(talk, "y").second == "tool failed with exit status 4");
}

TEST_CASE("a question over its time limit ends the program with everything it started") {
  const test::TempFolder folder;
  sdk::Talk talk("tool", shell("sleep 100 & echo $! > " + (folder / "pid") + "; read -r line <&3; echo ready >&3; read -r line <&3; wait"));
  CHECK(talk.ask("x", {}) == "ready");
  sdk::Talk::Bounds bounds;
  bounds.time_limit = 300ms;
  CHECK(failure(talk, "x", bounds) == std::pair<int32_t, std::string>{OPTIMA_TIMEOUT, "tool took longer than its time limit"});
  CHECK_FALSE(talk.alive());
  REQUIRE(pid_in(folder / "pid") > 0);
  CHECK(ends(pid_in(folder / "pid")));
}

TEST_CASE("a question that is cancelled ends a program that does not listen") {
  const test::TempFolder folder;
  sdk::Talk talk("tool", shell("trap '' TERM; read -r line <&3; touch " + (folder / "asked") + "; while :; do sleep 0.05; done"));
  sdk::Talk::Bounds bounds;
  bounds.cancelled = [&] { return std::filesystem::exists(folder / "asked"); };
  CHECK(failure(talk, "x", bounds).first == OPTIMA_CANCELLED);
  CHECK_FALSE(talk.alive());
}

TEST_CASE("a callback that throws ends the program and lets the exception through") {
  sdk::Talk talk("tool", shell("sleep 100"));
  sdk::Talk::Bounds bounds;
  bounds.cancelled = []() -> bool { throw Error(OPTIMA_IO, "log is full"); };
  CHECK(failure(talk, "x", bounds) == std::pair<int32_t, std::string>{OPTIMA_IO, "log is full"});
  CHECK_FALSE(talk.alive());
}

TEST_CASE("a program that closes its channel and lives on is ended") {
  sdk::Talk talk("tool", shell("exec 3>&-; sleep 100"));
  CHECK(failure(talk, "x").second == "tool was ended by signal 9");
}

TEST_CASE("a program over its memory limit fails with its own words") {
  const test::TempFolder folder;
  sdk::Command c = shell("exec python3 -c 'import os; os.read(3, 10); b = bytearray(1 << 30); os.write(3, b\"ok\\n\")'");
  c.memory_limit = uint64_t{400} << 20;
  sdk::Talk talk("tool", c, folder / "log");
  CHECK(failure(talk, "x").second == "tool failed with exit status 1: MemoryError");
  c.memory_limit = uint64_t{4} << 30;
  sdk::Talk enough("tool", c, folder / "log");
  CHECK(enough.ask("x", {}) == "ok");
}

TEST_CASE("nothing runs when the talk is over: not a program that hears its end, nor one that does not, nor what they started") {
  const test::TempFolder folder;
  const auto script = [&](const std::string& rest, const std::string& name) {
    return shell("sleep 100 & echo $! > " + (folder / name) + "; echo $$ > " + (folder / (name + ".self")) + "; read -r line <&3; echo ok >&3; " + rest);
  };
  for (const auto& [rest, name] : {std::pair<std::string, std::string>{"read -r line <&3; touch " + (folder / "heard") + "; exit 0", "one"}, {"trap '' TERM; sleep 100", "two"}}) {
    {
      sdk::Talk talk("tool", script(rest, name));
      CHECK(talk.ask("x", {}) == "ok");
    }
    CHECK(ends(pid_in(folder / name)));
    CHECK(ends(pid_in(folder / (name + ".self"))));
  }
  CHECK(std::filesystem::exists(folder / "heard"));
}

TEST_CASE("a program that is not there is a dependency") {
  sdk::Command c;
  c.program = "optima-no-such-tool";
  CHECK_THROWS_WITH_AS(sdk::Talk("tool", c), "program 'optima-no-such-tool' was not found", Error);
}

TEST_CASE("talks go on side by side from several threads") {
  std::vector<std::thread> threads;
  int good[4] = {};
  for (int& mine : good)
    threads.emplace_back([&mine] {
      sdk::Talk talk("echo", shell(kEcho));
      for (int k = 0; k < 20; ++k) mine += talk.ask(std::to_string(k), {}) == "you said " + std::to_string(k);
    });
  for (std::thread& t : threads) t.join();
  for (const int n : good) CHECK(n == 20);
}
