// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"

using namespace llvm_cpu_test;

namespace {

void layer(Net& net, const char* op, int64_t gates, int64_t dirs, bool initial, std::vector<image::Attr> attrs, int64_t batch = 3, int64_t hidden = 20) {
  const int64_t seq = 6, in = 10;
  std::vector<uint32_t> operands{net.input({seq, batch, in}), net.weights({dirs, gates * hidden, in}, -0.4f, 0.4f),
                                 net.weights({dirs, gates * hidden, hidden}, -0.3f, 0.3f), net.weights({dirs, 2 * gates * hidden})};
  if (initial) {
    operands.push_back(OPTIMA_NONE), operands.push_back(net.input({dirs, batch, hidden}));
    if (gates == 4) operands.push_back(net.input({dirs, batch, hidden}));
  }
  attrs.push_back(Net::integer("hidden_size", hidden));
  attrs.push_back(Net::text("direction", dirs == 2 ? "bidirectional" : "forward"));
  net.output(net.node(op, 22, operands, {seq, dirs, batch, hidden}, attrs));
}

}  // namespace

TEST_CASE("recurrent layers in one and two directions") {
  Bench bench;
  Net net;
  for (const int64_t dirs : {1, 2}) {
    layer(net, "LSTM", 4, dirs, dirs == 2, {});
    layer(net, "GRU", 3, dirs, dirs == 2, {});
    layer(net, "GRU", 3, dirs, false, {Net::integer("linear_before_reset", 1)});
    layer(net, "RNN", 1, dirs, dirs == 2, {});
  }
  matches_reference(bench, net);
}

TEST_CASE("recurrent layers of batches that are not cut into equal parts") {
  Bench bench;
  Net net;
  for (const int64_t batch : {1, 2, 4, 5, 9}) {
    layer(net, "LSTM", 4, 1, true, {}, batch);
    layer(net, "GRU", 3, 2, false, {Net::integer("linear_before_reset", 1)}, batch);
  }
  matches_reference(bench, net);
}

// Turns of these are worth three threads each (cut_of in runtime/cut.cpp), and there are fewer chains.
TEST_CASE("recurrent layers whose steps several threads share") {
  Bench bench;
  Net net;
  for (const int64_t dirs : {1, 2})
    for (const int64_t batch : {1, 3}) {
      layer(net, "LSTM", 4, dirs, batch == 3, {}, batch, 200);
      layer(net, "GRU", 3, dirs, batch == 3, {}, batch, 200);
    }
  layer(net, "GRU", 3, 1, true, {Net::integer("linear_before_reset", 1)}, 2, 200);
  layer(net, "RNN", 1, 1, true, {}, 2, 400);
  matches_reference(bench, net, 3e-5);
}
