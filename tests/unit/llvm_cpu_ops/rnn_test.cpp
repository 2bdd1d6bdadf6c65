// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN through both halves of the plugin.
#include "tests/unit/llvm_cpu/net.hpp"
#include "tests/unit/llvm_cpu_ops/codes_net.hpp"

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

namespace {

/// How a model gives R: codes with their zero points, a scale per direction, row or column, or the other way round with a Transpose behind.
enum class Given { PerDirection, PerRow, PerColumn, Turned, Unsigned, UnsignedFromZero };

uint32_t recurrent_weights(CodesNet& net, int64_t dirs, int64_t rows, int64_t hidden, Given given, Chance& r) {
  std::vector<float> scales;
  const Dims all{dirs, rows, hidden};
  if (given == Given::PerDirection || given == Given::PerRow || given == Given::PerColumn) return net.weights_of_codes(all, static_cast<int64_t>(given), r, scales);
  if (given == Given::Turned) return net.node("Transpose", 21, {net.weights_of_codes({dirs, hidden, rows}, 2, r, scales)}, all, {Net::ints("perm", {0, 2, 1})});
  std::vector<uint8_t> codes(static_cast<size_t>(count(all)));
  for (uint8_t& c : codes) c = static_cast<uint8_t>(r(0, 255));
  return net.dequantize(net.constant<uint8_t>(all, codes, OPTIMA_U8), {OPTIMA_U8, 0.003f, given == Given::Unsigned ? 128 : 0});
}

void layer_of_codes(CodesNet& net, const char* op, int64_t gates, int64_t dirs, int64_t batch, int64_t hidden, Given given, Chance& r, bool late = false) {
  const int64_t seq = 4, in = 7;
  const uint32_t weights = recurrent_weights(net, dirs, gates * hidden, hidden, given, r);
  std::vector<image::Attr> attrs{Net::integer("hidden_size", hidden), Net::text("direction", dirs == 2 ? "bidirectional" : "forward")};
  if (late) attrs.push_back(Net::integer("linear_before_reset", 1));
  net.output(net.node(op, 22, {net.input({seq, batch, in}), net.weights({dirs, gates * hidden, in}, -0.4f, 0.4f), weights, net.weights({dirs, 2 * gates * hidden})},
                      {seq, dirs, batch, hidden}, attrs));
}

bool reads_bytes(const Compiled& c) {
  for (const auto& f : c.sink.files)
    if (f.first.ends_with(".meta") && f.second.find(" of bytes") != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("recurrent weights of 8 bits are read as bytes") {
  Bench bench;
  Chance r(5);
  for (const auto given : {Given::PerDirection, Given::PerRow, Given::PerColumn, Given::Turned, Given::Unsigned, Given::UnsignedFromZero}) {
    CAPTURE(static_cast<int>(given));
    CodesNet net(7);
    for (const int64_t batch : {1, 3, 5}) {
      layer_of_codes(net, "LSTM", 4, given == Given::PerDirection ? 2 : 1, batch, 20, given, r);
      layer_of_codes(net, "GRU", 3, 1, batch, 37, given, r);
      layer_of_codes(net, "GRU", 3, 1, batch, 37, given, r, true);
      layer_of_codes(net, "RNN", 1, 1, batch, 16, given, r);
    }
    // A scale for each number that is summed up cannot be taken out of the sum, and codes of 0 to 255 are no bytes with signs.
    CHECK(reads_bytes(*compile(bench, net)) == (given != Given::PerColumn && given != Given::UnsignedFromZero));
    matches_reference(bench, net, 3e-5);
  }
}

TEST_CASE("several threads share steps with recurrent weights of bytes") {
  Bench bench;
  Chance r(6);
  CodesNet net(8);
  layer_of_codes(net, "LSTM", 4, 2, 1, 300, Given::PerDirection, r);
  layer_of_codes(net, "GRU", 3, 1, 3, 300, Given::PerRow, r, true);
  matches_reference(bench, net, 1e-4);
}
