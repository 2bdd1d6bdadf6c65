// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: what tools say as they end. The lines are those that tpuc-opt 1.30.2 printed.
#include "plugins/bmcompiler/toolchain/last_words.hpp"

#include <doctest/doctest.h>

#include <vector>

using bmcompiler_plugin::LastWords;
using bmcompiler_plugin::Listener;

namespace {

LastWords heard(const std::vector<std::string>& errors) {
  Listener listener;
  listener.hear("The dir path of compiler_profile is \"./\"", false);
  for (const std::string& line : errors) listener.hear(line, true);
  listener.hear("PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the crash backtrace.", true);
  listener.hear("Stack dump:", true);
  listener.hear(" #0 0x0000557b7a9b1b27 (/opt/tpu_mlir/bin/tpuc-opt+0x95fb27)", true);
  return listener.last_words();
}

}  // namespace

TEST_CASE("an operator without a lowering is named with the sentence before UNREACHABLE") {
  const LastWords w = heard({R"(%1 = "top.Ceil"(%0) : (tensor<1x3x32x32xf32>) -> tensor<1x3x32x32xf32> loc("my_ceil"))", "unimplemented tpu dialect!",
                             "UNREACHABLE executed at /__w/tpu-mlir/tpu-mlir/lib/Conversion/TopToTpu/TopToTpuPass.cpp:1921!"});
  CHECK(w.text("tpuc-opt") == R"("my_ceil" (Ceil): tpuc-opt says "unimplemented tpu dialect!")");
}

TEST_CASE("of the tools' own ASSERT the operator is the one that the arrow points at") {
  const LastWords w = heard({R"(%4 = "top.MaxPool"(%3) {kernel_shape = [2, 2]} : (tensor<1xf32>) -> tensor<1xf32> loc("pool"))",
                             R"(-> %5 = "top.Softmax"(%4) {axis = 1 : si32} : (tensor<1xf32>) -> tensor<1xf32> loc("s"))",
                             R"(func.return %5 : tensor<1xf32> loc("m.mlir":11:5))", "ASSERT executed at/__w/tpu-mlir/include/TopLowering.h:363",
                             "ASSERT INFO:Not Implemented", "Operation:"});
  CHECK(w.text("tpuc-opt") == R"("s" (Softmax): tpuc-opt says "Not Implemented")");
}

TEST_CASE("a diagnostic's location and operator are taken out of it") {
  const LastWords w = heard({R"(<unknown>:0: error: loc("my_sm"): 'top.Softmax' op requires attribute 'axis')",
                             R"(<unknown>:0: note: loc("my_sm"): see current operation: %2 = "top.Softmax"(%1) {log = false} : (tensor<1xf32>) -> tensor<*xf32> loc("my_sm"))"});
  CHECK(w.text("tpuc-opt") == R"("my_sm" (Softmax): tpuc-opt says "'top.Softmax' op requires attribute 'axis'")");
  CHECK(heard({"m.mlir:5:23: error: expected ')' to end operand list"}).text("tpuc-opt") == R"(tpuc-opt says "expected ')' to end operand list")");
}

TEST_CASE("assertions lose source files and types, words of the loader and the runtime stay") {
  CHECK(heard({"tpuc-opt: /usr/local/include/llvm/Support/Casting.h:566: decltype(auto) llvm::cast(const From &) [To = A, From = B]: Assertion "
               "`isa<To>(Val) && \"cast<Ty>() argument of incompatible type!\"' failed."})
            .sentence == "assertion isa<To>(Val) && \"cast<Ty>() argument of incompatible type!\" failed");
  CHECK(heard({"/x/tpuc-opt: error while loading shared libraries: libortools.so.9: cannot open shared object file: No such file or directory"}).sentence ==
        "libortools.so.9: cannot open shared object file: No such file or directory");
  const LastWords memory = heard({"LLVM ERROR: out of memory", "Allocation failed"});
  CHECK(memory.sentence == "out of memory");
  CHECK(memory.out_of_memory);
  CHECK(heard({"terminate called after throwing an instance of 'std::runtime_error'", "  what():  npz_load: failed fread"}).sentence == "npz_load: failed fread");
}

TEST_CASE("colours, controls and folders are taken out, names come back out of MLIR's escapes") {
  const LastWords w = heard({"\x1B[0;31m%1 = \"tpu.Conv2D\"(%0) : loc(fused[\"a\\22\\C3\\A9b\", \"c\"])\x1B[0m", "cannot \x07open /a/b/file.npz",
                             "UNREACHABLE executed at /x.cpp:1!"});
  CHECK(w.name == "a\"\xC3\xA9" "b");
  CHECK(w.op == "Conv2D");
  CHECK(w.sentence == "cannot open file.npz");
}

TEST_CASE("where nothing is known the last line counts, and silence is said to be one") {
  CHECK(heard({"WARNING, w0.npz doesn't exist, please check", "something else"}).sentence == "something else");
  CHECK(heard({}).sentence == "The dir path of compiler_profile is \"./\"");
  CHECK(LastWords().text("tpuc-opt") == "tpuc-opt says nothing of why it ended");
  CHECK(heard({std::string(100000, 'x')}).sentence.size() == 400);
}
