// SPDX-License-Identifier: Apache-2.0
// optima-run as a user meets it: what it prints, and its exit codes.
#include "tests/support/process.hpp"
#include "tests/unit/runtime/null_package.hpp"

using namespace optima::test;

namespace {

const std::string kPlugins = std::string(OPTIMA_BINARY_DIR) + "/lib/optima/plugins";

struct Chain {
  TempFolder t;
  Chain() { write_null_chain(t.path(), 2, {4}); }
  Ran optima_run(std::vector<std::string> words) const {
    words.insert(words.begin(), {OPTIMA_RUN_PROGRAM, t / "chain", "--plugins", kPlugins});
    return run(words);
  }
};

}  // namespace

TEST_CASE("optima-run runs a package through a real plugin and prints its outputs") {
  Chain c;
  const Ran r = c.optima_run({"--input", "random:3", "--top", "1"});
  CHECK(r.code == 0);
  CHECK(r.err.empty());
  CHECK(r.out.find("output  type     shape  range\nout     float32  4      ") == 0);
  CHECK(c.optima_run({"--input", "random:3", "--json"}).out.find("{\n  \"package\": \"chain\",") == 0);
}

TEST_CASE("optima-run's exit codes follow the kind of the failure") {
  Chain c;
  const Ran usage = run({OPTIMA_RUN_PROGRAM, "--pulgins", "x"});
  CHECK(usage.code == 2);
  CHECK(usage.err == "optima-run: unknown option '--pulgins' (nearest: '--plugins')\n");
  const Ran missing = run({OPTIMA_RUN_PROGRAM, c.t / "none"});
  CHECK(missing.code == 3);
  CHECK(missing.err == "optima-run: cannot open package '" + (c.t / "none") + "': No such file or directory\n");
  put(c.t / "chain/Subgraph_1/subgraph_1.bin", "flipped");
  const Ran damaged = c.optima_run({"--input", "random"});
  CHECK(damaged.code == 3);
  CHECK(damaged.err.find("optima-run: '" + (c.t / "chain/Subgraph_1/subgraph_1.bin") + "': found 7 bytes, wanted ") == 0);
  Chain good;
  std::filesystem::create_directories(good.t / "no_plugins");
  const Ran absent = run({OPTIMA_RUN_PROGRAM, good.t / "chain", "--plugins", good.t / "no_plugins", "--input", "random"});
  CHECK(absent.code == 5);
  CHECK(absent.err == "optima-run: package 'chain': subgraph 0: needs the runtime side of plugin 'null', found none\n");
  put(good.t / "pickled.npy", std::string("\x93NUMPY\x01\0", 8) + std::string("\x3e\0", 2) + "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }      \n");
  const Ran pickled = good.optima_run({"--input", good.t / "pickled.npy"});
  CHECK(pickled.code == 3);
  CHECK(pickled.err.find("holds pickled Python objects, which are never read; save it as a plain array\n") != std::string::npos);
}

TEST_CASE("optima-run says once that an option of contexts has no effect, and refuses one that cannot be") {
  Chain c;
  const Ran r = c.optima_run({"--input", "random:3", "--option", "optima.cores=0x1"});
  CHECK(r.code == 0);
  CHECK(r.err == "warn null: option 'optima.cores' has no effect: plugin 'null' makes contexts without options\n");
  const Ran wrong = c.optima_run({"--input", "random:3", "--option", "optima.cores=all"});
  CHECK(wrong.code == 3);
  CHECK(wrong.err == "optima-run: option 'optima.cores': found 'all', wanted a bit set of 64 bits, such as 0xf0 or 240\n");
}

TEST_CASE("optima-run stops between runs when it is interrupted") {
  Chain c;
  const Ran r = run({"/bin/sh", "-c", std::string("timeout -s INT 1 '") + OPTIMA_RUN_PROGRAM + "' '" + (c.t / "chain") + "' --plugins '" + kPlugins +
                                          "' --input random --repeat 1000000000; exit $?"});
  CHECK(r.code == 124);  // timeout's own; what the program said follows
  CHECK(r.err == "optima-run: interrupted\n");
}

TEST_CASE("optima-run says which package check found good") {
  Chain c;
  const Ran r = c.optima_run({"--check"});
  CHECK(r.code == 0);
  CHECK(r.out == "subgraph 0 on NULL:0 (null): good\nsubgraph 1 on NULL:0 (null): good\nno self-test in the package (compile with --self-test)\n");
}
