// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

TEST_CASE("optima-host without a verb shows the verbs and asks for one") {
  const Ran r = host({});
  CHECK(r.code == 2);
  CHECK(r.out.find("compile") != std::string::npos);
  CHECK(r.err == "optima-host: error: no verb given\n");
}

TEST_CASE("an unknown verb or option is a usage error that shows the nearest") {
  const Ran verb = host({"complie"});
  CHECK(verb.code == 2);
  CHECK(verb.err.find("unknown verb 'complie'") != std::string::npos);
  CHECK(verb.err.find("(nearest: 'compile'") != std::string::npos);
  const Ran option = host({"compile", "m.onnx", "--forse"});
  CHECK(option.code == 2);
  CHECK(option.err == "optima-host: error: unknown option '--forse' for 'compile' (nearest: '--force', '--jobs')\n");
  CHECK(host({"compile"}).err == "optima-host: error: 'compile' wants MODEL: an ONNX file\n");
  CHECK(host({"plan", "a", "b"}).err == "optima-host: error: unexpected word 'b' for 'plan'\n");
}

TEST_CASE("every verb explains itself") {
  for (const char* verb : {"compile", "plan", "run", "compare", "bench", "inspect", "plugins", "devices", "ops", "alloc", "explain", "diff", "view"}) {
    const Ran r = host({verb, "--help"});
    CAPTURE(verb);
    CHECK(r.code == 0);
    CHECK(r.out.find("usage: optima-host") == 0);
    CHECK(r.err.empty());
  }
}

TEST_CASE("--plugins alone lists what is there, and what was refused and why") {
  const TempFolder folder;
  folder.file("optima_text.so", "not a library");
  const Ran r = host({"--plugins", folder.path()});
  CHECK(r.code == 0);
  CHECK(r.out.find("no usable plugin") == 0);
  CHECK(r.out.find("optima_text.so: ") != std::string::npos);
  CHECK(r.out.find("not an ELF") != std::string::npos);
  const Ran real = host({"--plugins", OPTIMA_BINARY_DIR "/lib/optima/plugins"});
  CHECK(real.code == 0);
  for (const char* id : {"llvm_cpu", "reference", "null"}) CHECK(real.out.find(id) != std::string::npos);
}

TEST_CASE("a missing plugin folder is bad input") {
  const Ran r = host({"--plugins", "/nowhere", "plugins"});
  CHECK(r.code == 3);
  CHECK(r.err.find("/nowhere") != std::string::npos);
}

TEST_CASE("--json prints one document on stdout for every listing verb") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"plugins"}, {"devices"}, {"ops", "llvm_cpu"}, {"inspect", digits_model()}}) {
    std::vector<std::string> all = words;
    all.push_back("--json");
    const Ran r = host(all);
    CAPTURE(words[0]);
    CHECK(r.code == 0);
    CHECK(parse_json(r.out, "stdout").ok());
  }
}

TEST_CASE("alloc names every node in the allocation format, and compile takes it back") {
  const TempFolder folder;
  const Ran r = host({"alloc", digits_model(), "--default", "X64:0", "-o", folder / "a.json"});
  CHECK(r.code == 0);
  const Result<Json> json = read_json(folder / "a.json");
  REQUIRE(json.ok());
  CHECK((*json)["/stem/stem.0/Conv"] == "X64:0");
  CHECK(host({"plan", digits_model(), "--alloc", folder / "a.json"}).code == 0);
}

TEST_CASE("inspect tells inputs, outputs and operators of a model") {
  const Ran r = host({"inspect", digits_model()});
  CHECK(r.code == 0);
  CHECK(r.out.find("image  f32[1,1,32,32]") != std::string::npos);
  CHECK(r.out.find("Conv") != std::string::npos);
}

TEST_CASE("config errors carry file, line and column") {
  const TempFolder folder;
  const Ran r = host({"--config", folder.file("optima.yaml", "devices:\n  - nme: X64:0\n"), "devices"});
  CHECK(r.code == 3);
  CHECK(r.err.find("optima.yaml:2:") != std::string::npos);
  CHECK(r.err.find("nme") != std::string::npos);
}

TEST_CASE("global options hold before and after the verb") {
  const TempFolder folder;
  const Ran before = host({"--log-level", "nonsense", "plugins"});
  CHECK(before.code == 2);
  CHECK(before.err == "optima-host: error: --log-level: found 'nonsense', wanted trace, debug, info, warn or error\n");
  CHECK(host({"plugins", "--log-level", "nonsense"}).code == 2);
  const Ran logged = host({"--log-level", "debug", "--log-json", folder / "log", "plugins"});
  CHECK(logged.code == 0);
  CHECK(std::filesystem::exists(folder / "log"));
  CHECK(parse_json(host({"--json", "plugins"}).out, "stdout").ok());
}
