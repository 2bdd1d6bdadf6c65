// SPDX-License-Identifier: Apache-2.0
// tests/unit/llvm_cpu_fit: plans behind what data decides, moved from find to find.
#include <map>

#include "tests/unit/llvm_cpu_fit/same_legs.hpp"

using namespace llvm_cpu_test;
using optima::reference::Tensor;

namespace {

/// As exporters write y[:, at] = v: which row is known from data alone, and so is what a Slice takes, though it is one row each time. Behind it a branch that
/// hangs on the result, and rows that NonZero finds.
struct Writer {
  OpenNet net;
  uint32_t at = 0, truth = 0, where = 0;
  std::map<uint32_t, int64_t> beyond;  ///< values that are `at` and this much, which sizes hang on
  Writer() {
    const uint32_t x = net.input({-1, 6, 3}), v = net.input({-1, 3});
    at = net.input({1}, OPTIMA_I64);
    const uint32_t end = net.op("Add", 14, {at, net.integers({1})}, 1, {}, OPTIMA_I64);
    beyond[at] = 0, beyond[end] = 1;
    const uint32_t shape = net.shape(net.op("Slice", 13, {x, at, end, net.integers({1})}, 3));
    const uint32_t h = net.op("MatMul", 13, {v, net.weights({3, 3})}, 2);
    const uint32_t rows = net.op("Expand", 13, {net.op("Unsqueeze", 13, {h, net.integers({1})}, 3), shape}, 3);
    const uint32_t y = net.op("ScatterElements", 18, {x, index(end, shape), rows}, 3, {Net::integer("axis", 1)});
    net.output(y);
    const uint32_t most = net.op("ReduceMax", 18, {y}, 0, {Net::integer("keepdims", 0)});
    truth = net.op("Greater", 13, {most, net.constant<float>({}, {0.99f}, OPTIMA_F32)}, 0, {}, OPTIMA_BOOL);
    net.output(branch(y));
    where = net.op("NonZero", 13, {net.op("Relu", 14, {h}, 2)}, 2, {}, OPTIMA_I64);
    const uint32_t pairs = net.op("Transpose", 21, {where}, 2, {Net::ints("perm", {1, 0})}, OPTIMA_I64);
    net.output(net.op("Exp", 13, {net.op("GatherND", 13, {h, pairs}, 1)}, 1));
  }
  uint32_t index(uint32_t end, uint32_t shape) {
    const auto scalar = [&](uint32_t of) {
      const uint32_t v = net.op("Squeeze", 13, {of}, 0, {}, OPTIMA_I64);
      beyond[v] = beyond[of];
      return v;
    };
    const uint32_t row = net.op("Range", 11, {scalar(at), scalar(end), net.constant<int64_t>({}, {1}, OPTIMA_I64)}, 1, {}, OPTIMA_I64);
    return net.op("Expand", 13, {net.op("Reshape", 21, {row, net.integers({1, -1, 1})}, 3, {}, OPTIMA_I64), shape}, 3, {}, OPTIMA_I64);
  }
  uint32_t branch(uint32_t y) {
    const uint32_t yes = net.body(), no = net.body();
    const uint32_t inner = net.capture(yes, y, 3);
    net.body_output(yes, net.body_op(yes, "Mul", 14, {inner, inner}, 3));
    net.body_output(no, net.body_op(no, "Neg", 13, {net.capture(no, y, 3)}, 3));
    return net.branch(truth, yes, no, 3);
  }
};

/// What one run comes to.
struct Run {
  int64_t batch, at, found;
  bool truth;
};

using Legs = std::vector<std::unique_ptr<cpu::Leg>>;

std::vector<cpu::Fitter::Found> found_behind(const cpu::Fitter& fitter, const Writer& w, const cpu::Leg& leg, const Run& run) {
  std::vector<cpu::Fitter::Found> out;
  for (const uint32_t n : leg.runs) {
    const uint32_t v = optima_output(fitter.graph().image, optima_get_node(fitter.graph().image, n), 0);
    REQUIRE(v == w.where);
    Tensor t;
    t.dtype = OPTIMA_I64, t.dims = {2, run.found};
    out.push_back({v, t});
  }
  for (const uint32_t v : leg.asks) {
    if (v == w.truth) out.push_back({v, optima::reference::scalar_bool(run.truth)});
    else out.push_back({v, optima::reference::make_ints(leg.walk.at(v).dims, {run.at + w.beyond.at(v)})});
  }
  return out;
}

/// Brings `legs` to a run, by moving those that can be moved. Returns how many were.
int bring(const cpu::Fitter& fitter, const Writer& w, Legs& legs, const Run& run) {
  constexpr auto kKeep = cpu::Fitter::Keep::HowItWasMade;
  const Shapes shapes{{run.batch, 6, 3}, {run.batch, 3}, {1}};
  std::vector<cpu::Fitter::Found> given = fitter.inputs_of(shapes), found;
  int moved = 0;
  for (size_t k = 0;; ++k) {
    cpu::Moved what;
    if (k < legs.size() && fitter.move(*legs[k], given, what)) ++moved;
    else {
      legs.resize(k);
      legs.push_back(k == 0 ? fitter.first(shapes, kKeep) : fitter.next(*legs[k - 1], found, kKeep));
    }
    if (legs[k]->is_last) return legs.resize(k + 1), moved;
    found = found_behind(fitter, w, *legs[k], run);
    given = cpu::Fitter::joined(std::move(given), found);
  }
}

}  // namespace

TEST_CASE("legs behind what data decides are moved, and are what planning for each find comes to") {
  for (const int64_t vector_width : {8, 16}) {
    Writer w;
    const auto model = w.net.model();
    const cpu::Target target = target_of(vector_width);
    const cpu::Fitter fitter(model->raw, target, true);
    Legs legs;
    std::mt19937 random(3);
    int moved = 0, all = 0;
    for (int k = 0; k < 120; ++k) {
      const Run run{k % 10 == 9 ? 1 + static_cast<int64_t>(random() % 3) : 2, static_cast<int64_t>(random() % 6), static_cast<int64_t>(random() % 5), random() % 4 != 0};
      CAPTURE(k);
      moved += bring(fitter, w, legs, run);
      Legs wanted;
      bring(fitter, w, wanted, run);
      REQUIRE(legs.size() == wanted.size());
      for (size_t leg = 0; leg < legs.size(); ++leg) CHECK(difference(fitter, *legs[leg], *wanted[leg]) == "");
      all += static_cast<int>(legs.size());
    }
    CHECK(all == 3 * 120);
    CHECK(moved > all / 3);
  }
}

TEST_CASE("runs behind what data decides are right: rows in turn, again and again, and those that come back") {
  Bench bench;
  Writer w;
  on_threads(bench, w.net, {1, 3}, [](OpenSession& session, const Compiled& c) {
    for (uint32_t k = 0; k < 60; ++k) {
      CAPTURE(k);
      Tensors in = random_tensors(c, {{1 + k % 20 / 10, 6, 3}, {1 + k % 20 / 10, 3}, {1}}, k % 7);
      in[2] = optima::reference::make_ints({1}, {k < 40 ? k % 6 : k % 2});
      run_and_judge(session, c, in);
    }
  });
}
