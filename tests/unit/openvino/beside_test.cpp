// SPDX-License-Identifier: Apache-2.0
// plugins/openvino and plugins/llvm_cpu in one process, in both orders of loading: LLVM, protobuf and TBB side by side. A program
// of its own, so that neither was loaded before the order that a case is about.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/openvino/sample.hpp"

#ifndef OPENVINO_PLUGIN

TEST_CASE("plugins/openvino beside plugins/llvm_cpu") { MESSAGE("SKIP: the OpenVINO wheel is not in .deps/openvino; scripts/setup --with openvino puts it there"); }

#else

using namespace optima;
using test::FileHost;
using test::FileSink;
using test::Sample;

namespace {

/// A backend: what compiles and what runs, which may be one file.
struct Backend {
  FileHost host;
  const seam::Instance compiler, runtime;
  Backend(const std::string& compiles, const std::string& runs) : compiler(compiles, host), runtime(runs, host) {}

  /// Asks, compiles, loads and runs the sample; empty, or what went wrong.
  std::string use() {
    const Sample s(2);
    const optima_device target = seam::device("X64", "x86_64");
    seam::Status status;
    seam::Verdicts v;
    if (compiler.code != OPTIMA_OK || runtime.code != OPTIMA_OK) return "init: " + compiler.status.message + runtime.status.message;
    if (seam::check(compiler, s.model, {1, 2}, target, v, status) != OPTIMA_OK) return "check: " + status.message;
    for (const auto& [node, said] : v.by_node)
      if (said.verdict != OPTIMA_VERDICT_SUPPORTED) return "check: " + said.text;
    FileSink sink;
    if (seam::compile(compiler, s.model, target, sink, status) != OPTIMA_OK) return "compile: " + status.message;
    sink.take();
    const seam::Artifact artifact(sink, &s.model);
    host.write(artifact);
    const seam::Program program(runtime, artifact, target);
    if (!program.raw) return "load: " + program.status.message;
    std::vector<reference::Tensor> out;
    if (seam::run(program, {seam::f32({2, 3}, {0, 0, 0, -5, 5, 0.5})}, out, status) != OPTIMA_OK) return "run: " + status.message;
    return seam::floats(out[0]) == std::vector<float>{1, 0, 3, 0, 3, 3.5} ? "" : "run: wrong values";
  }
};

enum class First { openvino, llvm_cpu };

/// Opens both backends in the given order, in this process, uses each, and the first once more. 0, or 1 with a line on stderr.
int both(First order) {
  std::optional<Backend> openvino, llvm_cpu;
  if (order == First::openvino) openvino.emplace(OPENVINO_PLUGIN, OPENVINO_PLUGIN);
  llvm_cpu.emplace(LLVM_CPU_PLUGIN, LLVM_CPU_RT_PLUGIN);
  if (order == First::llvm_cpu) openvino.emplace(OPENVINO_PLUGIN, OPENVINO_PLUGIN);
  Backend *one = &*openvino, *two = &*llvm_cpu;
  if (order == First::llvm_cpu) std::swap(one, two);
  for (Backend* backend : {one, two, one})
    if (const std::string wrong = backend->use(); !wrong.empty()) {
      std::fprintf(stderr, "%s\n", wrong.c_str());
      return 1;
    }
  return 0;
}

/// The exit code of both() in a process of its own; 1000 + the signal that ended it.
int in_a_child(First order) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = both(order);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("plugins/openvino and plugins/llvm_cpu work in one process, openvino loaded first") { CHECK(in_a_child(First::openvino) == 0); }

TEST_CASE("plugins/openvino and plugins/llvm_cpu work in one process, llvm_cpu loaded first") { CHECK(in_a_child(First::llvm_cpu) == 0); }

#endif
