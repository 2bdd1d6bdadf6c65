// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: two contexts of one program at work at the same time, each going from size to size.
#pragma once

#include <atomic>
#include <thread>

#include "tests/unit/llvm_cpu_fit/open_net.hpp"

namespace llvm_cpu_test {

/// How many outputs of so many runs were not what the reference makes: the program's own context takes the sets of inputs forward, another one,
/// in another thread, backward.
template <class Program>
int wrong_when_alternating(Program& program, const optima_graph& graph, const std::vector<Tensors>& sets, int runs, double tolerance) {
  std::vector<Tensors> want;
  for (const Tensors& in : sets) want.push_back(optima::reference::run(graph, in));
  std::atomic<int> wrong = 0;
  const auto loop = [&](optima_context* context, bool forward) {
    for (int run = 0; run < runs; ++run) {
      const size_t step = static_cast<size_t>(run) % sets.size(), k = forward ? step : sets.size() - 1 - step;
      const Came came = program.run(context, sets[k]);
      for (size_t o = 0; o < want[k].size(); ++o) wrong += came.code != OPTIMA_OK || !far(came.outputs.at(o), want[k][o], tolerance).empty();
    }
  };
  optima_context* other = program.another();
  std::thread backward([&] { loop(other, false); });
  loop(program.context(), true);
  backward.join();
  program.destroy(other);
  return wrong;
}

}  // namespace llvm_cpu_test
