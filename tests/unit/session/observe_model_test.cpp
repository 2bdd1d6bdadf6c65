// SPDX-License-Identifier: Apache-2.0
// What observe_model() sees against what the reference computes, over plugins, groups, threads, sizes and failures.
#include "core/session/observe_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/compile/own_operators.hpp"
#include "core/compile/run_reference.hpp"
#include "core/onnx_io/onnx_io.hpp"
#include "core/session/session.hpp"
#include "core/support/text.hpp"
#include "core/tensor_io/npy.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNet = R"(<ir_version: 10, opset_import: ["" : 21]>
net (float[1,2,6,6] x, float[1,4] bias) => (float[1,4] y)
<float[4,2,3,3] w = {0.5, -0.25, 1, 0.125, -1, 0.75, 0.5, -0.5, 0.25, 1, -1, 0.5, 0.5, -0.75, 0.25, 1, 0.5, -0.5,
                    -0.5, 0.25, 1, 0.125, -1, 0.75, 0.5, -0.5, 0.25, 1, -1, 0.5, 0.5, -0.75, 0.25, 1, 0.5, -0.5,
                    0.5, 0.25, -1, 0.125, 1, 0.75, 0.5, -0.5, 0.25, 1, -1, 0.5, 0.5, -0.75, 0.25, -1, 0.5, -0.5,
                    0.5, -0.25, 1, -0.125, -1, 0.75, 0.5, 0.5, 0.25, 1, -1, 0.5, 0.5, -0.75, 0.25, 1, 0.5, -0.5}> {
  [conv] c = Conv <pads = [1, 1, 1, 1]> (x, w)
  [relu] r = Relu(c)
  [again] d = Mul(r, r)
  [pool] p = GlobalAveragePool(d)
  [flat] f = Flatten(p)
  [add] y = Add(f, bias)
})";

constexpr const char* kOpen = R"(<ir_version: 10, opset_import: ["" : 21]>
open (float[1,s] x, float[1,s] m) => (float[1,1] y) {
  [mul] a = Mul(x, m)
  [exp] e = Sigmoid(a)
  [sum] y = ReduceSum(e)
})";

// An operator of nobody's in the middle: only the reference evaluates it.
[[maybe_unused]] constexpr const char* kOdd = R"(<ir_version: 10, opset_import: ["" : 21]>
odd (float[1,8] x) => (float[1,8] y) {
  [before] a = Relu(x)
  [odd] b = Hardmax(a)
  [after] y = Neg(b)
})";

Tensor noise(const std::string& name, std::vector<int64_t> shape, uint64_t seed) {
  Tensor t = *random_tensor({name, OPTIMA_F32, std::move(shape), {}, false}, seed);
  for (float& x : t.as<float>()) x = (x - 0.4f) * static_cast<float>(seed + 1);
  return t;
}

/// Statistics of values as the reference gives them, sample after sample.
Observations by_reference(const Graph& graph, const std::vector<Tap>& taps, const Samples& samples) {
  Observations out(taps);
  std::set<std::string> names;
  for (const Tap& tap : taps) names.insert(tap.value);
  for (uint64_t s = 0; s < samples.count(); ++s) {
    const std::vector<Tensor> inputs = *samples.read(s);
    std::vector<Tensor> found = *run_reference(graph, inputs, {}, names);
    found.insert(found.end(), inputs.begin(), inputs.end());
    for (size_t t = 0; t < taps.size(); ++t)
      for (const Tensor& tensor : found)
        if (tensor.name == taps[t].value) REQUIRE(out.add(t, tensor, samples.name(s)).ok());
  }
  return out;
}

/// What observing left in a folder; plugins have theirs as long as they live.
std::string left_in(const TempFolder& folder) {
  std::string out;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (const std::string name = entry.path().filename(); name.starts_with("optima-observe")) out += name + " ";
  return out;
}

struct Observing {
  TempFolder folder, temporary;
  Graph graph;
  std::vector<std::string> notes, stages;
  ObserveRequest request;
  std::vector<TensorInfo> inputs;

  explicit Observing(const char* text) : graph(*onnx_io::load_text(text, "net")), inputs(input_infos(graph)) {
    ::setenv("TMPDIR", temporary.path().c_str(), 1);
    fs::create_directories(folder / "plugins");
  }
  ~Observing() { ::unsetenv("TMPDIR"); }

  /// Both files of a plugin that has two.
  Observing& plugin(const std::string& file) {
    const std::string rt = file.substr(0, file.size() - 3) + "_rt.so";
    for (const std::string& f : {file, rt})
      if (fs::exists(f)) fs::copy(f, folder / "plugins");
    return *this;
  }
  void sample(const std::string& name, const std::vector<Tensor>& tensors) const {
    for (const Tensor& t : tensors) put(cat(folder / "data", "/", t.name, "/", name, ".npy"), write_npy(t));
  }
  Samples samples() const {
    Result<Samples> out = Samples::open(folder / "data", inputs);
    REQUIRE_MESSAGE(out.ok(), out.status().message());
    return *out;
  }

  Result<Observations> run(const std::vector<Tap>& taps) {
    Session session({"test", "0", ""});
    session.add_plugin_folder(folder / "plugins");
    const Result<Registry*> registry = session.registry();
    REQUIRE_MESSAGE(registry.ok(), registry.status().message());
    return observe_model(graph, taps, samples(), request, **registry, [this](double, std::string_view stage) { stages.emplace_back(stage); },
                         [this](const std::string& note) { notes.push_back(note); });
  }

  Observations seen(const std::vector<Tap>& taps) {
    Result<Observations> out = run(taps);
    REQUIRE_MESSAGE(out.ok(), out.status().message());
    CHECK(left_in(temporary) == "");
    return std::move(*out);
  }
};

const std::vector<Tap> kTaps = {{"y"}, {"r", 1}, {"x", 1}, {"f", 1, true}, {"d"}};

void add_net_samples(const Observing& o) {
  for (uint64_t s = 1; s <= 3; ++s) o.sample(cat(s), {noise("x", {1, 2, 6, 6}, s), noise("bias", {1, 4}, s)});
}

void check_same(const Observations& a, const Observations& b, const std::vector<Tap>& taps) {
  for (const Tap& tap : taps) {
    CAPTURE(tap.value);
    const ValueStatistics &x = *a.find(tap.value), &y = *b.find(tap.value);
    CHECK(x.histogram.count() > 0);
    CHECK(x.histogram == y.histogram);
    CHECK(x.moving_min == y.moving_min);
    CHECK(x.moving_max == y.moving_max);
    CHECK(x.samples == y.samples);
    CHECK(x.channel_sum == y.channel_sum);
    CHECK(x.channel_max == y.channel_max);
    CHECK(x.gram == y.gram);
  }
}

bool has(const std::vector<std::string>& lines, std::string_view part) {
  for (const std::string& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("without any device the reference is run, which is said, and nothing differs from it") {
  Observing o(kNet);
  add_net_samples(o);
  const Observations seen = o.seen(kTaps);
  check_same(seen, by_reference(o.graph, kTaps, o.samples()), kTaps);
  CHECK(seen.samples == 3);
  REQUIRE(o.notes.size() == 1);
  CHECK(o.notes[0].find("runs on the reference, which is slow: no plugin has a device") != std::string::npos);
  CHECK(has(o.stages, "sample 2 of 3"));
  CHECK(o.stages.back() == "all samples seen");
}

TEST_CASE("a package with the values as outputs gives the reference's statistics, in one group or in many, on one thread or on four") {
  Observing o(kNet);
  o.plugin(OPTIMA_REFERENCE_PLUGIN);
  add_net_samples(o);
  const Observations wanted = by_reference(o.graph, kTaps, o.samples());
  check_same(o.seen(kTaps), wanted, kTaps);
  CHECK(has(o.notes, "no device here takes"));  // the reference wants to be named
  CHECK(!has(o.stages, "values 1 of"));
  o.request.memory = 1;
  o.request.threads = 4;
  check_same(o.seen(kTaps), wanted, kTaps);
  CHECK(has(o.stages, "sample 3 of 3, values 4 of 4"));
}

#ifdef OPTIMA_FAST_PLUGIN  // no sanitizer build has it

TEST_CASE("values and statistics do not depend on the other values that are watched, nor on threads, where operators are fused") {
  Observing o(kNet);
  o.plugin(OPTIMA_FAST_PLUGIN);
  add_net_samples(o);
  const Observations all = o.seen(kTaps);
  CHECK(join(o.notes) == "");
  const Observations wanted = by_reference(o.graph, kTaps, o.samples());
  for (const Tap& tap : kTaps) {
    CAPTURE(tap.value);
    CHECK(all.find(tap.value)->histogram.count() == wanted.find(tap.value)->histogram.count());
    CHECK(all.find(tap.value)->moving_max == doctest::Approx(wanted.find(tap.value)->moving_max).epsilon(1e-5));
  }
  o.request.memory = 1;
  o.request.threads = 2;
  check_same(o.seen(kTaps), all, kTaps);
}

TEST_CASE("where no device takes an operator, it runs on what has to be named, and the note names it") {
  Observing o(kOdd);
  o.plugin(OPTIMA_REFERENCE_PLUGIN);
  for (uint64_t s = 1; s <= 2; ++s) o.sample(cat(s), {noise("x", {1, 8}, s)});
  const std::vector<Tap> taps = {{"a"}, {"b"}, {"y"}};
  check_same(o.seen(taps), by_reference(o.graph, taps, o.samples()), taps);
  REQUIRE(o.notes.size() == 1);
  CHECK_MESSAGE(o.notes[0].find("no device here takes before, odd, after, so they run on reference/") != std::string::npos, o.notes[0]);
}

#endif

TEST_CASE("samples of several sizes are each compiled for, and averages follow the samples' order all the same") {
  Observing o(kOpen);
  o.plugin(OPTIMA_REFERENCE_PLUGIN);
  for (uint64_t s = 1; s <= 5; ++s) {
    const int64_t size = s % 2 ? 4 : 7;
    o.sample(cat(s), {noise("x", {1, size}, s), noise("m", {1, size}, s + 1)});
  }
  const std::vector<Tap> taps = {{"x"}, {"a"}, {"e", 0}, {"y"}};
  check_same(o.seen(taps), by_reference(o.graph, taps, o.samples()), taps);
  CHECK(has(o.notes, "the samples have 2 sizes (1x4 and 1x4, 1x7 and 1x7): the model is compiled once for each"));
}

TEST_CASE("NaN names the first sample that has it") {
  Observing o(kNet);
  add_net_samples(o);
  Tensor bad = noise("x", {1, 2, 6, 6}, 2);
  bad.as<float>()[7] = NAN;
  o.sample("2", {bad, noise("bias", {1, 4}, 2)});
  const Observations seen = o.seen(kTaps);
  CHECK(seen.find("x")->first_bad == "x/2.npy");
  CHECK(seen.find("y")->first_bad == "x/2.npy");
  CHECK(seen.find("x")->histogram.nans() == 1);
}

TEST_CASE("values that there are not, and values twice, are refused before anything is compiled") {
  Observing o(kNet);
  add_net_samples(o);
  CHECK(o.run({{"rr"}}).status().message() == "the graph has no value 'rr' (nearest: 'r')");
  CHECK(o.run({{"r"}, {"r"}}).status().message() == "value 'r' is to be watched twice");
  CHECK(o.stages.empty());
}

TEST_CASE("a sample that was damaged meanwhile is the one that is named, and nothing is left behind") {
  Observing o(kNet);
  o.plugin(OPTIMA_REFERENCE_PLUGIN);
  add_net_samples(o);
  Session session({"test", "0", ""});
  session.add_plugin_folder(o.folder / "plugins");
  const Samples samples = o.samples();
  put(o.folder / "data/bias/2.npy", "none");
  const Result<Observations> seen = observe_model(o.graph, kTaps, samples, o.request, **session.registry(), {}, {});
  CHECK(seen.status().kind() == StatusKind::InvalidInput);
  CHECK(seen.status().message().find("sample 'x/2.npy': '") == 0);
  CHECK(left_in(o.temporary) == "");
}

TEST_CASE("observing ends when it is interrupted, while it compiles and between samples, and leaves nothing behind") {
  for (const bool at_once : {true, false}) {
    Observing o(kNet);
    o.plugin(OPTIMA_REFERENCE_PLUGIN);
    add_net_samples(o);
    std::atomic<bool> stop = at_once;
    o.request.cancelled = &stop;
    Session session({"test", "0", ""});
    session.add_plugin_folder(o.folder / "plugins");
    const Result<Observations> seen =
        observe_model(o.graph, kTaps, o.samples(), o.request, **session.registry(), [&](double, std::string_view stage) { stop = stop || stage == "sample 2 of 3"; }, {});
    CHECK(seen.status().kind() == StatusKind::Cancelled);
    CHECK(left_in(o.temporary) == "");
  }
}
