// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: what contexts of one program share (packed constants, what was told) and what each has for itself (plans, memory).
#include "tests/unit/llvm_cpu_fit/alternate.hpp"
#include "tests/unit/llvm_cpu_fit/forged.hpp"

using namespace llvm_cpu_test;

TEST_CASE("two contexts of one program, each in its thread, alternate between sizes") {
  OpenNet net;
  const uint32_t x = net.input({-1, 24});
  const uint32_t y = net.op("Relu", 14, {net.op("MatMul", 13, {x, net.weights({24, 48})}, 2)}, 2);
  const uint32_t where = net.op("NonZero", 13, {y}, 2, {}, OPTIMA_I64);  // a second leg, planned for what was found
  net.output(net.op("GatherND", 13, {y, net.op("Transpose", 21, {where}, 2, {Net::ints("perm", {1, 0})}, OPTIMA_I64)}, 1));
  net.output(net.op("Softmax", 13, {net.op("Add", 14, {y, net.weights({48})}, 2)}, 2));
  const Forged f(net);
  Loaded loaded(f, 2);
  REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
  loaded.host.quiet = true;
  std::vector<Tensors> sets;
  for (const int64_t rows : {3, 17, 1, 8, 30}) sets.push_back(random_tensors(f.model->raw, {{rows, 24}}, static_cast<uint32_t>(rows)));
  CHECK(wrong_when_alternating(loaded, f.model->raw, sets, 20, 1e-6) == 0);
}
