// SPDX-License-Identifier: Apache-2.0
// llvm_cpu/runtime: one stream of work on a program whose sizes come with its inputs. Plans are kept by sizes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/llvm_cpu/runtime/fitted_program.hpp"
#include "plugins/llvm_cpu/runtime/kept_legs.hpp"

namespace optima::llvm_cpu {

class FittedContext : public sdk::Context {
 public:
  FittedContext(const FittedProgram& program, uint64_t cores, int threads);
  ~FittedContext() override;

  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override;
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override;
  /// Known where no data decides: what sizes alone decide.
  void output_shapes(const sdk::Tensors& in, const sdk::OutShapes& out) override;
  void profile(bool on) override;
  void read_profile(const sdk::EventSink& add) override;

 private:
  /// A value of this run: where it is, and its dims.
  struct Held {
    const char* data = nullptr;
    uint64_t size = 0;
    const std::vector<int64_t>* dims = nullptr;
    int32_t dtype = OPTIMA_UNDEFINED;  ///< of what the reference made
  };
  struct Event {
    std::string label;
    uint64_t start_ns, duration_ns;
    uint32_t node;
  };

  ReadyLeg& root(const sdk::Tensors& in);
  ReadyLeg& next(ReadyLeg& leg);
  std::unique_ptr<ReadyLeg> made(std::unique_ptr<Leg> leg, Way way);

  void run(ReadyLeg& leg, const sdk::Tensors& in, const sdk::OutTensors& out);
  void run_by_reference(ReadyLeg& leg);
  void give(const sdk::OutTensors& out);
  char* place_for(uint32_t value, const std::vector<int64_t>& dims, uint64_t size, const sdk::OutTensors& out);
  reference::Tensor tensor(const ReadyLeg& leg, uint32_t named) const;

  const FittedProgram& program_;
  Engine engine_;
  KeptLegs roots_;  // by shapes
  // of the run under way, by number of value
  std::vector<Held> held_;
  std::vector<std::shared_ptr<const void>> kept_;  // what the reference made
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<std::vector<char>> buffers_;
  std::vector<char*> in_, out_;
  std::vector<uint32_t> gives_to_;  // per value: the first output of the graph that it is, or none
  bool profiling_ = false;
  std::vector<Event> events_;
};

}  // namespace optima::llvm_cpu
