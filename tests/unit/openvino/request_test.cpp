// SPDX-License-Identifier: Apache-2.0
// plugins/openvino: contexts over the bare seam: asynchronous runs, times of layers, shapes, load options, failures.
#include "tests/unit/openvino/sample.hpp"

#ifdef OPENVINO_PLUGIN

#include <cmath>
#include <filesystem>

#include "core/runtime/fence.hpp"
#include "core/runtime/request.hpp"
#include "core/support/sha256.hpp"
#include "core/support/text.hpp"

using namespace optima;
using test::f32;
using test::FileSink;
using test::floats;
using test::kTarget;
using test::OnnxHost;
using test::Sample;

namespace {

struct FenceHost : OnnxHost {
  FenceHost() {
    quiet = true;
    exposed.table.get_extension = [](void*, optima_str id) { return host_extension({id.data, id.size}); };
  }
};

/// A sample compiled and loaded.
struct Loaded {
  const Sample sample;
  const seam::Instance plugin;
  FileSink sink;
  std::optional<seam::Artifact> artifact;
  std::optional<seam::Program> program;
  explicit Loaded(seam::Host& host, int64_t rows = 2, bool positions = false, const std::vector<optima_option>& options = {})
      : sample(rows, positions), plugin(OPENVINO_PLUGIN, host) {
    test::compile(plugin, sample.model, sink);
    artifact.emplace(sink, &sample.model);
    program.emplace(plugin, *artifact, kTarget, options);
    REQUIRE_MESSAGE(program->raw, program->status.message);
  }
};

constexpr int64_t kMany = 1 << 16;  // rows that take OpenVINO's clocks, which count microseconds, more than one

/// A context with one input and one output of some rows.
struct Run {
  const seam::Instance& plugin;
  optima_context* context = nullptr;
  std::vector<float> x, y;
  std::vector<int64_t> dims;
  optima_tensor in{}, out{};
  explicit Run(const Loaded& l, float value = 0, int64_t rows = 2)
      : plugin(l.plugin), x(static_cast<size_t>(rows) * 3, value), y(x.size(), -1), dims{rows, 3} {
    seam::Status status;
    REQUIRE(plugin.runtime().context_create(l.program->raw, &context, &status.raw) == OPTIMA_OK);
    for (auto [t, v] : {std::pair(&in, &x), std::pair(&out, &y)}) {
      t->struct_size = sizeof *t;
      t->dtype = OPTIMA_F32, t->rank = 2, t->shape = dims.data(), t->fd = -1;
      t->data = v->data(), t->size = v->size() * sizeof(float);
    }
  }
  Run(const Run&) = delete;
  ~Run() { plugin.runtime().context_destroy(context); }
  int32_t submit(Fence& fence, uint64_t value, seam::Status& status, const std::vector<optima_fence_point>& waits = {}) {
    const auto* async = plugin.extension<optima_async>(OPTIMA_EXT_ASYNC);
    return async->submit(context, &in, 1, &out, 1, waits.data(), static_cast<uint32_t>(waits.size()), fence.point(value), &status.raw);
  }
  int32_t execute(seam::Status& status) { return plugin.runtime().execute(context, &in, 1, &out, 1, &status.raw); }
};

/// Names of the layers of the runs since the last call.
std::vector<std::string> layers(const Run& r) {
  std::vector<std::string> names;
  seam::Status status;
  const auto add = [](void* p, const optima_event* events, uint32_t count) -> int32_t {
    for (; count > 0; --count, ++events) {
      static_cast<std::vector<std::string>*>(p)->push_back(seam::text(events->name));
      CHECK(events->start_ns > 0);
    }
    return OPTIMA_OK;
  };
  CHECK(r.plugin.extension<optima_profile>(OPTIMA_EXT_PROFILE)->read(r.context, add, &names, &status.raw) == OPTIMA_OK);
  return names;
}

}  // namespace

TEST_CASE("twelve contexts run at once without a thread of the host's, each behind its fence") {
  FenceHost host;
  const Loaded l(host);
  std::vector<std::unique_ptr<Run>> runs;
  for (int k = 0; k < 12; ++k) runs.push_back(std::make_unique<Run>(l, static_cast<float>(k)));
  Fence* fences[12];
  for (Fence*& f : fences) f = Fence::make();
  seam::Status status;
  for (uint64_t round = 1; round <= 10; ++round) {
    for (size_t k = 0; k < runs.size(); ++k) CHECK_MESSAGE(runs[k]->submit(*fences[k], round, status) == OPTIMA_OK, status.message);
    for (size_t k = 0; k < runs.size(); ++k) {
      CHECK(fences[k]->wait(round, UINT64_MAX) == OPTIMA_OK);
      CHECK(runs[k]->y[0] == static_cast<float>(k) + 1);
      runs[k]->y[0] = -1;
    }
  }
  for (Fence* f : fences) f->release();
}

TEST_CASE("submit waits for its points, fails with theirs, and refuses at once what can never run") {
  FenceHost host;
  const Loaded l(host);
  Run r(l);
  Fence *fence = Fence::make(), *before = Fence::make();
  seam::Status status;
  REQUIRE(r.submit(*fence, 1, status, {before->point(1), before->point(2)}) == OPTIMA_OK);
  before->signal(1);
  CHECK(fence->wait(1, 1000000) == OPTIMA_TIMEOUT);
  CHECK(r.submit(*fence, 2, status) == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.message == "context is still running what was submitted before");
  before->signal(2);
  CHECK(fence->wait(1, UINT64_MAX) == OPTIMA_OK);
  CHECK(r.y[2] == 3);
  before->poison(3, OPTIMA_DEVICE, "lost");
  REQUIRE(r.submit(*fence, 2, status, {before->point(3)}) == OPTIMA_OK);
  CHECK(fence->wait(2, UINT64_MAX) == OPTIMA_DEVICE);
  CHECK(fence->failure() == "what it waited for failed");
  r.dims = {1, 3};
  CHECK(r.submit(*fence, 3, status) == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.message == "tensor 'x' has shape [1, 3], wanted [2, 3]");
  r.dims = {2, 3};
  CHECK(r.execute(status) == OPTIMA_OK);
  before->release(), fence->release();

  OnnxHost plain;
  const Loaded without(plain);
  Run none(without);
  Fence* unused = Fence::make();
  CHECK(none.submit(*unused, 1, status) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "host has no optima.fence/1, which submit needs");
  unused->release();
}

TEST_CASE("layers are timed while profiling is on, and only then") {
  FenceHost host;
  const Loaded l(host, kMany);
  Run r(l, 0, kMany);
  seam::Status status;
  const auto* profile = l.plugin.extension<optima_profile>(OPTIMA_EXT_PROFILE);
  REQUIRE(r.execute(status) == OPTIMA_OK);
  CHECK(layers(r).empty());
  REQUIRE(profile->enable(r.context, 1, &status.raw) == OPTIMA_OK);
  REQUIRE(r.execute(status) == OPTIMA_OK);
  const std::vector<std::string> once = layers(r);
  CHECK(!once.empty());
  CHECK(std::any_of(once.begin(), once.end(), [](const std::string& n) { return n.find('[') != n.npos && n.back() == ']'; }));
  CHECK(layers(r).empty());
  Fence* fence = Fence::make();
  REQUIRE(r.submit(*fence, 1, status) == OPTIMA_OK);
  REQUIRE(fence->wait(1, UINT64_MAX) == OPTIMA_OK);
  CHECK(!layers(r).empty());
  fence->release();
  REQUIRE(profile->enable(r.context, 0, &status.raw) == OPTIMA_OK);
  REQUIRE(r.execute(status) == OPTIMA_OK);
  CHECK(layers(r).empty());
}

TEST_CASE("output_shapes tells dims that the inputs give, and leaves those that data gives; i64 stays i64") {
  FenceHost host;
  const Loaded l(host, -1, true);
  CHECK(l.program->bindings() == "in x:1 -1x3;out y:1 -1x3;out t:7 2x-1;");
  seam::Status status;
  optima_context* context = nullptr;
  REQUIRE(l.plugin.runtime().context_create(l.program->raw, &context, &status.raw) == OPTIMA_OK);
  const int64_t dims[] = {5, 3};
  optima_tensor in{};
  in.struct_size = sizeof in;
  in.dtype = OPTIMA_F32, in.rank = 2, in.shape = dims, in.fd = -1;
  int64_t told[2][8] = {};
  optima_shape shapes[2] = {{sizeof(optima_shape), 8, 0, 0, told[0]}, {sizeof(optima_shape), 8, 0, 0, told[1]}};
  REQUIRE(l.plugin.runtime().output_shapes(context, &in, 1, shapes, 2, &status.raw) == OPTIMA_OK);
  l.plugin.runtime().context_destroy(context);
  CHECK((shapes[0].rank == 2 && told[0][0] == 5 && told[0][1] == 3));
  CHECK((shapes[1].rank == 2 && told[1][0] == 2 && told[1][1] == -1));
}

TEST_CASE("load options reach OpenVINO, which tells what it made of them, and change no answer") {
  const auto number = [](std::string_view name, int64_t n) {
    optima_option o = seam::option(name, "");
    o.type = OPTIMA_OPTION_I64, o.i64 = n;
    return o;
  };
  const std::pair<std::vector<optima_option>, std::vector<const char*>> settings[] = {
      {{}, {"hint LATENCY", "streams 1", "precision f32"}},
      {{seam::option("openvino.hint", "throughput")}, {"hint THROUGHPUT"}},
      {{seam::option("openvino.hint", "latency"), number("openvino.threads", 1)}, {"hint LATENCY", "threads 1,"}},
      {{number("openvino.streams", 2), number("openvino.threads", 2)}, {"streams 2", "threads 2,"}},
      {{number(OPTIMA_OPTION_THREADS, 1)}, {"threads 1,"}},
      {{number(OPTIMA_OPTION_THREADS, 1), number("openvino.threads", 2)}, {"threads 2,"}}};
  for (const auto& [options, told] : settings) {
    OnnxHost host;
    const Loaded l(host, 2, false, options);
    REQUIRE(host.lines.size() == 1);
    CHECK(host.lines[0].starts_with("openvino: loaded on CPU: "));
    for (const char* word : told) CHECK_MESSAGE(host.lines[0].find(word) != std::string::npos, host.lines[0]);
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE_MESSAGE(seam::run(*l.program, {f32({2, 3}, {0, 0, 0, -5, 5, 0.5})}, out, status) == OPTIMA_OK, status.message);
    CHECK(floats(out[0]) == std::vector<float>{1, 0, 3, 0, 3, 3.5});
  }
}

TEST_CASE("a subgraph compiled before is found in OpenVINO's cache, and computes the same") {
  const test::TempFolder cache;
  const std::string folder = cache / "models";
  const Sample s(-1, true);
  FileSink plain, first, second;
  OnnxHost host;
  {
    const seam::Instance plugin(OPENVINO_PLUGIN, host);
    test::compile(plugin, s.model, plain);
    CHECK(host.lines.empty());
    CHECK_FALSE(std::filesystem::exists(folder));
    test::compile(plugin, s.model, first, {seam::option("openvino.cache_dir", folder)});
    CHECK(host.lines == std::vector<std::string>{"openvino: subgraph is new to the cache"});
    CHECK(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()) >= 1);
  }
  const seam::Instance again(OPENVINO_PLUGIN, host);
  test::compile(again, s.model, second, {seam::option("openvino.cache_dir", folder)});
  CHECK(host.lines.back() == "openvino: subgraph is from the cache");
  CHECK(first.files == plain.files);
  const seam::Artifact artifact(second, &s.model);
  const seam::Program program(again, artifact, kTarget);
  REQUIRE_MESSAGE(program.raw, program.status.message);
  std::vector<reference::Tensor> out;
  seam::Status status;
  REQUIRE_MESSAGE(seam::run(program, {f32({2, 3}, {0, 0, 0, -5, 5, 0.5})}, out, status) == OPTIMA_OK, status.message);
  CHECK(floats(out[0]) == std::vector<float>{1, 0, 3, 0, 3, 3.5});
}

/// y = x * w, 4 x 64 by 64 x 8, in a precision: how far from the exact answer, the record, and what was logged while loading.
struct Rounded {
  double apart = 0;
  std::string record, logged;
  explicit Rounded(const char* precision) {
    std::vector<float> x(4 * 64), w(64 * 8);
    for (size_t k = 0; k < x.size(); ++k) x[k] = std::sin(static_cast<float>(k));
    for (size_t k = 0; k < w.size(); ++k) w[k] = std::cos(static_cast<float>(k)) / 8;
    image::Graph g{"product", {test::tensor("x", {4, 64}), test::tensor("w", {64, 8}), test::tensor("y", {4, 8})}, {{"n", "MatMul", "", 1, 13, {0, 1}, {2}, {}}}, {0}, {2}, {}};
    g.values[1].constant = 0;
    const seam::Model m(image::pack(image::Contents{{g}, {{OPTIMA_F32, {64, 8}, 0}}, {{"", 21}}}), {seam::blob_of(w.data(), w.size() * 4, 7)});
    OnnxHost host;
    const seam::Instance plugin(OPENVINO_PLUGIN, host);
    FileSink sink;
    test::compile(plugin, m, sink, {seam::option("openvino.precision", precision)});
    record = sink.compat;
    const seam::Artifact artifact(sink, &m);
    const seam::Program program(plugin, artifact, kTarget);
    REQUIRE_MESSAGE(program.raw, program.status.message);
    for (const std::string& line : host.lines) logged += line + "\n";
    std::vector<reference::Tensor> out;
    seam::Status status;
    REQUIRE_MESSAGE(seam::run(program, {f32({4, 64}, x)}, out, status) == OPTIMA_OK, status.message);
    for (size_t k = 0; k < 4 * 8; ++k) {
      double exact = 0;
      for (size_t i = 0; i < 64; ++i) exact += static_cast<double>(x[k / 8 * 64 + i]) * w[i * 8 + k % 8];
      apart = std::max(apart, std::abs(floats(out[0])[k] - exact));
    }
  }
};

TEST_CASE("f16 and bf16 are rounded as far as their mantissas go, f32 further, and record and log say what is computed in") {
  const Rounded f32("f32");
  CHECK(f32.apart < 1e-5);
  CHECK(f32.logged.find("precision f32") != std::string::npos);
  for (const std::string precision : {"f16", "bf16"}) {
    CAPTURE(precision);
    const Rounded r(precision.c_str());
    MESSAGE(precision, ": apart by ", r.apart, ", f32 by ", f32.apart);
    CHECK(r.record.find("precision=" + precision + "\n") != std::string::npos);
    const bool as_asked = r.logged.find("precision " + precision) != std::string::npos;
    CHECK(r.apart < (precision == "f16" && as_asked ? 4e-3 : 3e-2));
    // where the processor has no f16 arithmetic, single layers are computed in f32 under a model's f16
    if (as_asked && (precision == "bf16" || __builtin_cpu_supports("avx512fp16"))) CHECK(r.apart > 10 * f32.apart);
    if (!as_asked) CHECK_MESSAGE(r.logged.find("openvino: precision " + precision + " is asked for, OpenVINO computes in ") != std::string::npos, r.logged);
  }
}

TEST_CASE("the runtime starts a package's requests on OpenVINO's threads and keeps the times of its layers") {
  OnnxHost host;
  const Loaded made(host, kMany);
  Package package;
  package.model_name = "sample";
  package.model_hash = std::string(64, '0');
  package.inputs = {"x"}, package.outputs = {"y"};
  for (const char* name : {"x", "y"}) package.tensors.push_back({name, OPTIMA_F32, {kMany, 3}, {"", ""}, false, *name == 'x' ? "input" : "output"});
  package.variants.resize(1);
  PackageSubgraph s;
  s.device = "X64:0", s.plugin = "openvino", s.target.kind = "X64";
  s.format_id = made.sink.format, s.stem = "subgraph_0";
  s.inputs = {"x"}, s.outputs = {"y"};
  const auto* compat = reinterpret_cast<const std::byte*>(made.sink.compat.data());
  s.compat_record.assign(compat, compat + made.sink.compat.size());
  std::vector<std::pair<std::string, Blob>> files;
  for (const auto& [name, bytes] : made.sink.files) {
    s.files.push_back({name, to_hex(sha256(bytes.data(), bytes.size())), bytes.size()});
    files.emplace_back(artifact_path(0, name), Blob::copy(bytes.data(), bytes.size()));
  }
  package.variants[0].subgraphs.push_back(s);
  const std::string meta = write_meta(package);
  files.emplace_back("model.meta", Blob::copy(meta.data(), meta.size()));

  auto plugins = scan_plugins({{std::filesystem::path(OPENVINO_PLUGIN).parent_path().string()}, {}, "tests", "0"});
  REQUIRE_MESSAGE(plugins.ok(), plugins.status().message());
  RuntimeContext context(std::move(*plugins), 1);
  auto reader = PackageReader::open(std::move(files));
  REQUIRE_MESSAGE(reader.ok(), reader.status().message());
  const auto model = LoadedModel::load(context, std::move(*reader));
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  std::vector<std::unique_ptr<Request>> requests;
  for (int k = 0; k < 8; ++k) {
    auto r = Request::create(**model);
    REQUIRE_MESSAGE(r.ok(), r.status().message());
    Tensor x = *Tensor::make(OPTIMA_F32, {kMany, 3});
    for (float& f : x.as<float>()) f = static_cast<float>(k);
    REQUIRE((*r)->set_input(0, std::move(x)).ok());
    requests.push_back(std::move(*r));
  }
  requests[0]->set_profiling(true);
  for (int round = 0; round < 5; ++round) {
    for (auto& r : requests) REQUIRE(r->start().ok());
    for (size_t k = 0; k < requests.size(); ++k) {
      const Status over = requests[k]->wait(-1);
      REQUIRE_MESSAGE(over.ok(), over.message());
      CHECK(requests[k]->output(0)->as<float>()[2] == static_cast<float>(k) + 3);
    }
  }
  const std::vector<ProfileEvent> events = requests[0]->take_events();
  CHECK(std::count_if(events.begin(), events.end(), [](const ProfileEvent& e) { return e.kind == ProfileKind::LayerExecute; }) >= 5);
  CHECK(std::count_if(events.begin(), events.end(), [](const ProfileEvent& e) { return e.kind == ProfileKind::SubgraphExecute; }) == 5);
}

#endif
