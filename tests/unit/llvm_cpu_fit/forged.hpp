// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: artifacts of open sizes that no compiler made: they have no kernels, the reference computes every node. So the
// runtime half is tried alone, under sanitizers too.
#pragma once

#include <sys/utsname.h>

#include "plugins/llvm_cpu/fit/kernel_table.hpp"
#include "plugins/llvm_cpu/kernels/layout.hpp"
#include "plugins/llvm_cpu/plan/plan.hpp"
#include "reference/graph_file.hpp"
#include "tests/support/seam_run.hpp"
#include "tests/unit/llvm_cpu_fit/open_net.hpp"

namespace llvm_cpu_test {

/// As the compiler half would write it for this machine's architecture.
struct Forged {
  OpenNet net;  ///< has the bytes of constants
  std::unique_ptr<seam::Model> model;
  optima::llvm_cpu::FitFile file;
  seam::MemorySink sink;

  explicit Forged(OpenNet from, Shapes first = {}) : net(std::move(from)), model(net.model()) {
    utsname machine{};
    uname(&machine);
    file.target.triple = std::string(machine.machine) + "-unknown-linux-gnu", file.target.cpu = "some", file.target.vector_width = 8;
    file.first = std::move(first);
    seam::Status status;
    sink.files["subgraph_0.graph"] = optima::reference::write_graph_file(optima::sdk::Graph(&model->raw), optima::sdk::Sink(&sink.raw, &status.raw));
    sink.format = optima::llvm_cpu::kFittedFormat, sink.compat = file.target.triple;
    write();
  }
  /// After a change of `file`.
  void write() { sink.files["subgraph_0.meta"] = optima::llvm_cpu::to_bytes(file); }
};

/// One loaded, with a context; the artifact outlives it; `code()` and `message()` say why there is none.
class Loaded {
 public:
  explicit Loaded(const Forged& from, int64_t threads = 1)
      : plugin_(kPlugins + "optima_llvm_cpu_rt.so", host), artifact_(from.sink, from.model.get()),
        program_(plugin_, artifact_, seam::device("X64"), {number_option(OPTIMA_OPTION_THREADS, threads)}), context_(program_.raw ? another() : nullptr) {}
  ~Loaded() {
    if (context_) destroy(context_);
  }
  Loaded(const Loaded&) = delete;

  seam::Host host;

  int32_t code() const { return program_.code; }
  const std::string& message() const { return program_.status.message; }
  const optima_runtime& runtime() const { return plugin_.runtime(); }
  optima_context* context() const { return context_; }

  /// A second context of the program; the caller destroys it.
  optima_context* another() {
    optima_context* out = nullptr;
    seam::Status status;
    if (runtime().context_create(program_.raw, &out, &status.raw)) throw std::runtime_error(status.message);
    return out;
  }
  void destroy(optima_context* context) { runtime().context_destroy(context); }

  Came run(const Tensors& inputs, std::function<bool()> cancelled = {}) { return run(context_, inputs, std::move(cancelled)); }
  Came run(optima_context* context, const Tensors& inputs, std::function<bool()> cancelled = {}) {
    Came came;
    seam::Status status;
    came.code = seam::run_on(context, program_, inputs, came.outputs, status, std::move(cancelled));
    came.message = status.message, came.node = status.raw.node;
    return came;
  }

 private:
  seam::Instance plugin_;
  seam::Artifact artifact_;
  seam::Program program_;
  optima_context* context_;
};

}  // namespace llvm_cpu_test
