// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: what the runtime half logs when sizes want kernels that there are not: each node once.
#include "tests/unit/llvm_cpu_fit/forged.hpp"

using namespace llvm_cpu_test;

namespace {

using Lines = std::vector<std::string>;

/// Neg of more than four rows, Abs of others.
void many_or_few(OpenNet& net) {
  const uint32_t x = net.input({-1, 4});
  const uint32_t many = net.op("Greater", 13, {net.op("Squeeze", 21, {net.size(x, 0)}, 0, {}, OPTIMA_I64), net.constant<int64_t>({}, {4}, OPTIMA_I64)}, 0, {}, OPTIMA_BOOL);
  const uint32_t yes = net.body(), no = net.body();
  net.body_output(yes, net.body_op(yes, "Neg", 13, {net.capture(yes, x, 2)}, 2));
  net.body_output(no, net.body_op(no, "Abs", 13, {net.capture(no, x, 2)}, 2));
  net.output(net.branch(many, yes, no, 2));
}

void run_at(Loaded& loaded, const Forged& f, int64_t rows, optima_context* context) {
  const Came came = loaded.run(context, random_tensors(f.model->raw, {{rows, 4}}));
  CHECK_MESSAGE(came.code == OPTIMA_OK, came.message);
}

const std::string kWarned = "llvm_cpu: subgraph 'subgraph_0' came to sizes for which it has no kernels for ";

}  // namespace

TEST_CASE("nodes that the sample wants without kernels were told of by the compiler; those of other sizes are told of once, whatever the context") {
  OpenNet net;
  many_or_few(net);
  const Forged f(net, {{2, 4}});
  Loaded loaded(f);
  REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
  for (const int64_t rows : {2, 3}) run_at(loaded, f, rows, loaded.context());
  CHECK(loaded.host.lines == Lines{});
  run_at(loaded, f, 9, loaded.context());
  const Lines told{kWarned + "1 nodes: the reference, which is slow, computes Neg 'Neg_1000'"};
  CHECK(loaded.host.lines == told);
  CHECK(loaded.host.levels == std::vector<int32_t>{OPTIMA_LOG_WARN});
  optima_context* other = loaded.another();
  for (const int64_t rows : {10, 9, 2}) run_at(loaded, f, rows, other);
  loaded.destroy(other);
  CHECK(loaded.host.lines == told);
}

TEST_CASE("an artifact without a sample tells of all its nodes in the first run, the first eight by name") {
  OpenNet net;
  uint32_t v = net.input({-1, 4});
  for (int k = 0; k < 10; ++k) v = net.op(k % 2 ? "Abs" : "Neg", 13, {v}, 2);
  net.output(v);
  const Forged f(net);
  Loaded loaded(f);
  REQUIRE_MESSAGE(loaded.code() == OPTIMA_OK, loaded.message());
  CHECK(loaded.host.lines == Lines{});
  for (const int64_t rows : {2, 3}) run_at(loaded, f, rows, loaded.context());
  CHECK(loaded.host.lines == Lines{kWarned + "10 nodes: the reference, which is slow, computes Neg 'Neg_0', Abs 'Abs_1', Neg 'Neg_2', Abs 'Abs_3', "
                                             "Neg 'Neg_4', Abs 'Abs_5', Neg 'Neg_6', Abs 'Abs_7' and 2 more"});
}
