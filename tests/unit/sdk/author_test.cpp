// SPDX-License-Identifier: Apache-2.0
// sdk: the author layer seen from the C side: exceptions, missing bases, execute without allocation, every optional table.
#include <doctest/doctest.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "optima/plugin/plugin.hpp"
#include "tests/support/sample_images.hpp"
#include "tests/support/seam_host.hpp"

extern int allocations;  // counted_new.cpp

using namespace optima;

namespace {

void throw_as(std::string_view what) {
  if (what == "error") throw sdk::Error(OPTIMA_TOOL_FAILED, "the tool said no", 7);
  if (what == "runtime_error") throw std::runtime_error("a plain exception");
  if (what == "bad_alloc") throw std::bad_alloc();
  if (what == "int") throw 42;
  if (what == "ok") throw sdk::Error(OPTIMA_OK, "an error that says ok");
}

/// y = the elements of x that are not 0; honours strides of x.
class DropZeros : public sdk::Context {
 public:
  void execute(const sdk::Tensors& in, const sdk::OutTensors& out) override {
    const sdk::Tensor x = in[0];
    const float* data = x.data<float>();
    const int64_t step = x.dense() ? 1 : x.stride(0);
    int64_t kept = 0;
    for (int64_t i = 0; i < x.dim(0); ++i) kept += data[i * step] != 0;
    if (out[0].wants_alloc()) out[0].alloc({&kept, 1});
    float* y = out[0].data<float>();
    for (int64_t i = 0; i < x.dim(0); ++i)
      if (data[i * step] != 0) *y++ = data[i * step];
  }
  void output_shapes(const sdk::Tensors&, const sdk::OutShapes& out) override {
    const int64_t unknown[] = {-1};
    out.set(0, unknown);
  }
  void submit(const sdk::Tensors&, const sdk::OutTensors& out, sdk::Span<const optima_fence_point> waits, optima_fence_point signal) override {
    waited_ = waits.size() + signal.value + out.size();
  }
  void cancel() override { throw sdk::Error(OPTIMA_CANCELLED, std::to_string(waited_) + " given up"); }
  void reset() override { waited_ = 0; }
  void profile(bool on) override { profiling_ = on; }
  void read_profile(const sdk::EventSink& add) override {
    if (profiling_) add("kernel", 10, 5, 3, 1);
  }

 private:
  uint64_t waited_ = 0;
  bool profiling_ = false;
};

class TrialProgram : public sdk::Program {
  void bindings(const sdk::BindingSink& add) const override {
    const int64_t unknown[] = {-1};
    add.input({"x", OPTIMA_F32, unknown});
    sdk::Binding y{"y", OPTIMA_F32, unknown};
    y.alias = 0;
    add.output(y);
  }
  std::unique_ptr<sdk::Context> context() override { return std::make_unique<DropZeros>(); }
  std::vector<uint32_t> memory_kinds(uint32_t) const override { return {OPTIMA_MEM_DEVICE, OPTIMA_MEM_HOST}; }
};

class Trial : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public sdk::Schema, public sdk::CostModel, public sdk::Describer,
              public sdk::Profiler, public sdk::Async, public sdk::Memory {
 public:
  explicit Trial(const sdk::Init& init) : host_(init.host) { throw_as(init.options.string("trial.throw", "")); }
  std::vector<sdk::PresentDevice> devices(std::string& why_none) override {
    why_none = "no driver is installed";
    return {};
  }
  void check(const sdk::CheckRequest& request, const sdk::Reporter& report) override {
    throw_as(request.options().string("trial.throw", ""));
    for (const sdk::Node& n : request.nodes()) {
      sdk::Verdict v = sdk::Verdict::refused(n, OPTIMA_REASON_OTHER, "only together");
      v.verdict = OPTIMA_VERDICT_ONLY_IN_GROUP, v.group = 5;
      report(v);
    }
  }
  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress& progress) override {
    throw_as(request.options().string("trial.throw", ""));
    progress(-1, "reading");
    sdk::Sink::Stream s = sink.open("part/a.bin", 4);
    s.write("ab", 2);
    s.write("cd", 2);
    s.close();
    sink.meta("rounds", "2");
    sink.format("trial/1");
    if (request.options().boolean("trial.path", false)) sink.path("b.bin");
    if (request.calibration()) sum_ = request.calibration().read(1, request.graph().input(0)).size;
    sink.meta("calibration", std::to_string(sum_));
    if (const auto e = request.calibration().encoding(request.graph().input(0)))
      sink.meta("encoding", std::to_string(e->dtype) + " " + std::to_string(e->axis) + " " + std::to_string(e->scales[1]) + " " + std::to_string(e->zero_points[1]));
  }
  sdk::Compatibility check_artifact(const sdk::Artifact&, const sdk::Device&) override { throw 42; }
  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device& device, const sdk::Options& options) override {
    throw_as(options.string("trial.throw", ""));
    if (artifact.format() == "none") return nullptr;
    if (artifact.file("part/a.bin")) kept_ = host_.keep(*artifact.file("part/a.bin"));
    (void)device;
    return std::make_unique<TrialProgram>();
  }
  void infer(const sdk::Node& node, const sdk::TypeSink& set) override {
    if (node.input_count() == 0) throw sdk::Error(OPTIMA_INVALID_GRAPH, "wants an input", node.id());
    sdk::OutputType t;
    t.dtype = node.input(0).dtype(), t.dims = node.input(0).shape(), t.symbols = {"N"};
    set(0, t);
  }
  std::string function_body(const sdk::Node& node) override { return node.op() == "Identity" ? "" : "text"; }
  void evaluate(const sdk::Node&, const sdk::Tensors& in, const sdk::OutTensors& out) override {
    if (in.empty()) throw sdk::Error(OPTIMA_NOT_FOUND, "wants an input");
    out[0].alloc(in[0].shape());
  }
  std::vector<optima_cost> estimate(const sdk::CheckRequest& request) override {
    return {{sizeof(optima_cost), request.nodes()[0].id(), 12.5, 64, 0, 0}};
  }
  std::optional<std::string> describe(std::string_view name, const optima_blob& file) override {
    if (name != "a.trial") return std::nullopt;
    if (file.size == 0) throw sdk::Error(OPTIMA_CORRUPT, "file is empty");
    return "{\"bytes\": " + std::to_string(file.size) + "}";
  }
  void alloc(optima_tensor& t, uint32_t) override { t.opaque = 1234; }
  void release(const optima_tensor&) override {}
  void import(const optima_tensor& foreign, optima_tensor& imported) override { imported.opaque = foreign.opaque + 1; }
  void copy(const optima_tensor&, optima_tensor&) override { throw sdk::Error(OPTIMA_DEVICE, "bus is down"); }

 private:
  sdk::Host host_;
  sdk::KeptBlob kept_;
  uint64_t sum_ = 0;
};

constexpr sdk::Info info() {
  sdk::Info i;
  i.id = "trial", i.vendor = "Optima", i.version = "0.1.0", i.build_id = "1";
  i.single_instance = true;
  return i;
}

class CompilerOnly : public sdk::Plugin, public sdk::Compiler {
 public:
  explicit CompilerOnly(const sdk::Init&) {}
  std::vector<sdk::PresentDevice> devices(std::string&) override {
    sdk::PresentDevice d;
    d.kind = "ACME", d.device_class = OPTIMA_CLASS_NPU, d.ordinal = 1, d.attributes = {{"cores", "4"}};
    return {d, sdk::PresentDevice::refused("OLD", OPTIMA_CLASS_NPU, "no driver")};
  }
  void check(const sdk::CheckRequest&, const sdk::Reporter&) override {}
  void compile(const sdk::CompileRequest&, const sdk::Sink&, const sdk::Progress&) override {}
};

/// Runs till it is stopped; says which options its context got.
class Patient : public sdk::Context {
 public:
  explicit Patient(std::string options) : options_(std::move(options)) {}
  void execute(const sdk::Tensors&, const sdk::OutTensors&) override { throw sdk::Error(OPTIMA_INTERNAL, "made with " + options_); }
  void execute_within(const sdk::Tensors& in, const sdk::OutTensors& out, const sdk::RunControl& control) override {
    if (in.size() != 1 || out.size() != 1) throw sdk::Error(OPTIMA_INVALID_ARGUMENT, "wanted one of each");
    if (control.deadline_ns() == 0 && !control.cancelled()) return;
    for (;;) control.check();
  }

 private:
  std::string options_;
};
class PatientProgram : public sdk::Program {
  void bindings(const sdk::BindingSink&) const override {}
  std::unique_ptr<sdk::Context> context() override { return std::make_unique<Patient>("nothing"); }
  std::unique_ptr<sdk::Context> context_with(const sdk::Options& options) override {
    return std::make_unique<Patient>("priority " + std::to_string(options.integer(OPTIMA_OPTION_PRIORITY, 0)));
  }
};

class Steerable : public sdk::Plugin, public sdk::Compiler, public sdk::Runtime, public sdk::Stoppable, public sdk::ContextOptions {
 public:
  explicit Steerable(const sdk::Init&) {}
  std::vector<sdk::PresentDevice> devices(std::string&) override { return {}; }
  void check(const sdk::CheckRequest&, const sdk::Reporter&) override {}
  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress&) override {
    std::vector<sdk::Verdict> no;
    for (uint32_t n = 0; n < request.graph().size(); ++n)
      no.push_back(sdk::Verdict::refused(request.graph()[n], OPTIMA_REASON_DTYPE, "input 0", "i64", "f32"));
    if (request.options().boolean("steerable.none", false)) no.clear();
    sink.refuse({no.data(), no.size()});
  }
  sdk::Compatibility check_artifact(const sdk::Artifact& artifact, const sdk::Device&) override {
    artifact.progress()(0.5, "nobody looks");
    return {OPTIMA_COMPAT_OPTIMAL, ""};
  }
  std::unique_ptr<sdk::Program> load(const sdk::Artifact& artifact, const sdk::Device&, const sdk::Options&) override {
    artifact.progress()(0.5, "half");
    return std::make_unique<PatientProgram>();
  }
};

template <class P>
const optima_plugin_api* query_of(uint32_t, const optima_host*, optima_status*) {
  static constexpr optima_plugin_api table = sdk::detail::api<P>(info());
  return &table;
}
const optima_device kTarget = seam::device("ACME");

}  // namespace

OPTIMA_PLUGIN(Trial, info())

TEST_CASE("whatever an author throws becomes a code and a text") {
  const struct { const char* what; int32_t code; const char* text; } cases[] = {
      {"error", OPTIMA_TOOL_FAILED, "the tool said no"}, {"runtime_error", OPTIMA_INTERNAL, "a plain exception"},
      {"bad_alloc", OPTIMA_MEMORY, "out of memory"},     {"int", OPTIMA_INTERNAL, "unknown exception"},
      {"ok", OPTIMA_INTERNAL, "an error that says ok"}};
  const seam::Model m(image::pack(samples::identity({3})));
  for (const auto& k : cases) {
    seam::Host host;
    const std::vector<optima_option> options{seam::option("trial.throw", k.what)};
    const seam::Instance born(query_of<Trial>, host, options);
    CHECK(born.code == k.code);
    CHECK(born.status.message == k.text);
    CHECK(born.self == nullptr);
    const seam::Instance trial(query_of<Trial>, host);
    seam::MemorySink sink;
    seam::Status status;
    seam::Verdicts v;
    CHECK(seam::compile(trial, m, kTarget, sink, status, options) == k.code);
    CHECK(status.message == k.text);
    CHECK(status.raw.code == k.code);
    CHECK(seam::check(trial, m, {11}, kTarget, v, status, options) == k.code);
  }
}

TEST_CASE("the export answers its major and refuses others with a sentence") {
  seam::Status status;
  seam::Host host;
  CHECK(optima_plugin_query(0, &host.exposed.table, &status.raw) != nullptr);
  CHECK(optima_plugin_query(1, &host.exposed.table, &status.raw) == nullptr);
  CHECK(status.raw.code == OPTIMA_INCOMPATIBLE);
  CHECK(status.message == "plugin speaks ABI major 0 only, host asked for 1");
  CHECK(optima_plugin_query(0, &host.exposed.table, &status.raw)->flags == OPTIMA_PLUGIN_SINGLE_INSTANCE);
}

TEST_CASE("a base left out is a null extension") {
  seam::Host host;
  const seam::Instance p(query_of<CompilerOnly>, host);
  CHECK(p.extension<void>(OPTIMA_EXT_COMPILER) != nullptr);
  for (const char* id : {OPTIMA_EXT_RUNTIME, OPTIMA_EXT_SCHEMA, OPTIMA_EXT_COST, OPTIMA_EXT_DESCRIBE, OPTIMA_EXT_PROFILE, OPTIMA_EXT_ASYNC, OPTIMA_EXT_MEMORY, "com.acme.x/1"})
    CHECK(p.extension<void>(id) == nullptr);
}

TEST_CASE("devices reach the host with their attributes, and their absence with a sentence") {
  seam::Host host;
  seam::Status status;
  std::string seen;
  const auto add = [](void* p, const optima_device* d) -> int32_t {
    std::string& all = *static_cast<std::string*>(p);
    all += seam::text(d->kind) + std::to_string(d->ordinal) + " ";
    all += d->flags & OPTIMA_DEVICE_REFUSED ? "refused: " + seam::text(d->arch) : seam::text(d->attrs[0].name) + "=" + seam::text(d->attrs[0].str) + " ";
    return OPTIMA_OK;
  };
  const seam::Instance one(query_of<CompilerOnly>, host), none(query_of<Trial>, host);
  CHECK(one.api->devices(one.self, add, &seen, &status.raw) == OPTIMA_OK);
  CHECK(seen == "ACME1 cores=4 OLD0 refused: no driver");
  CHECK(none.api->devices(none.self, add, &seen, &status.raw) == OPTIMA_OK);
  CHECK(status.message == "no driver is installed");
  const auto refuse = [](void*, const optima_device*) -> int32_t { return OPTIMA_CANCELLED; };
  CHECK(one.api->devices(one.self, refuse, nullptr, &status.raw) == OPTIMA_CANCELLED);
}

TEST_CASE("check reports groups, finds candidates inside bodies, and refuses unknown ids") {
  seam::Host host;
  const seam::Instance trial(query_of<Trial>, host);
  const seam::Model m(image::pack(samples::everything()));
  seam::Verdicts v;
  seam::Status status;
  REQUIRE(seam::check(trial, m, {5, 1}, kTarget, v, status) == OPTIMA_OK);
  CHECK(v.reports == 2);
  CHECK(v.by_node.at(5).group == 5);
  CHECK(v.by_node.at(5).verdict == OPTIMA_VERDICT_ONLY_IN_GROUP);
  CHECK(v.by_node.at(1).text == "only together");
  CHECK(seam::check(trial, m, {99}, kTarget, v, status) == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.raw.node == 99);
  CHECK(status.message == "candidate is not in the graph");
}

TEST_CASE("compile streams files, passes a full disk and a cancel on, and reads calibration data and encodings") {
  seam::Host host;
  const seam::Instance trial(query_of<Trial>, host);
  const seam::Model m(image::pack(samples::identity({3})));
  seam::Status status;
  seam::MemorySink sink;
  REQUIRE(seam::compile(trial, m, kTarget, sink, status) == OPTIMA_OK);
  CHECK(sink.files.at("part/a.bin") == "abcd");
  CHECK(sink.all_closed());
  CHECK(sink.format == "trial/1");
  CHECK(sink.meta.at("rounds") == "2");

  seam::MemorySink full;
  full.fail_write = 2;
  CHECK(seam::compile(trial, m, kTarget, full, status) == OPTIMA_IO);
  CHECK(status.message == "no space left on device");
  seam::MemorySink stopped;
  CHECK(seam::compile(trial, m, kTarget, stopped, status, {}, true) == OPTIMA_CANCELLED);
  CHECK(stopped.files.empty());
  seam::MemorySink pathless;
  optima_option wants_path = seam::option("trial.path", "");
  wants_path.type = OPTIMA_OPTION_I64, wants_path.i64 = 1;
  CHECK(seam::compile(trial, m, kTarget, pathless, status, {wants_path}) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "sink has no paths");

  static const float sample[2] = {1, 2};
  optima_calibration calibration{sizeof calibration, 2, nullptr,
      [](void*, uint32_t k, uint32_t value, const void** data, uint64_t* size, const int64_t** dims, uint32_t* rank, optima_status* s) -> int32_t {
        if (k != 1 || value != 0) return sdk::set(s, OPTIMA_NOT_FOUND, "no such sample");
        static const int64_t shape[] = {2};
        *data = sample, *size = sizeof sample, *dims = shape, *rank = 1;
        return OPTIMA_OK;
      },
      [](void*, uint32_t value, const optima_encoding** out, optima_status*) -> int32_t {
        static const float scales[] = {0.5F, 0.25F};
        static const int32_t zero_points[] = {0, -3};
        static const optima_encoding encoding{sizeof encoding, OPTIMA_I8, 0, 2, 0, scales, zero_points};
        return value == 0 ? *out = &encoding, OPTIMA_OK : OPTIMA_NOT_FOUND;
      }};
  optima_compile_request r{};
  r.struct_size = sizeof r, r.graph = &m.raw, r.device = &kTarget, r.calibration = &calibration;
  seam::MemorySink calibrated;
  seam::Watch watch;
  REQUIRE(trial.compiler().compile(trial.self, &r, &calibrated.raw, &watch.raw, &status.raw) == OPTIMA_OK);
  CHECK(calibrated.meta.at("calibration") == "8");
  CHECK(calibrated.meta.at("encoding") == "3 0 0.250000 -3");

  calibration.struct_size = offsetof(optima_calibration, encoding);  // a host from before there were encodings
  seam::MemorySink older;
  REQUIRE(trial.compiler().compile(trial.self, &r, &older.raw, &watch.raw, &status.raw) == OPTIMA_OK);
  CHECK(older.meta.at("calibration") == "8");
  CHECK(older.meta.count("encoding") == 0);
  CHECK(watch.last == -1);
}

TEST_CASE("several nodes are refused at once; a host from before that hears of the first") {
  seam::Host host;
  const seam::Instance plugin(query_of<Steerable>, host);
  const seam::Model m(image::pack(samples::everything()));
  seam::Status status;
  seam::MemorySink sink;
  CHECK(seam::compile(plugin, m, kTarget, sink, status) == OPTIMA_UNSUPPORTED);
  const uint32_t first = optima_get_node(m.raw.image, 0)->id;
  CHECK(status.raw.node == first);
  CHECK(status.message == "input 0 is i64, must be f32");
  std::string told;
  sink.raw.host_data = &told;
  sink.raw.refuse = [](void* p, const optima_verdict* v, uint32_t count) -> int32_t {
    auto& all = *static_cast<std::string*>(p);
    for (; count > 0; --count, v = OPTIMA_NEXT(optima_verdict, v))
      all += std::to_string(v->node) + " " + std::to_string(v->verdict) + " " + std::to_string(v->reason) + " " + seam::text(v->found) + ";";
    return OPTIMA_OK;
  };
  CHECK(seam::compile(plugin, m, kTarget, sink, status) == OPTIMA_UNSUPPORTED);
  std::string wanted;
  for (uint32_t n = 0; n < m.raw.image->nodes.count; ++n)
    if (optima_get_node(m.raw.image, n)->graph == 0) wanted += std::to_string(optima_get_node(m.raw.image, n)->id) + " 3 3 i64;";
  CHECK(told == wanted);
  sink.raw.refuse = [](void*, const optima_verdict*, uint32_t) -> int32_t { return OPTIMA_MEMORY; };
  CHECK(seam::compile(plugin, m, kTarget, sink, status) == OPTIMA_MEMORY);
  optima_option none = seam::option("steerable.none", "");
  none.type = OPTIMA_OPTION_I64, none.i64 = 1;
  CHECK(seam::compile(plugin, m, kTarget, sink, status, {none}) == OPTIMA_INTERNAL);
  CHECK(status.message == "refused no node");
}

TEST_CASE("contexts get their options, executions what may stop them, loads their progress; without the bases nothing is offered") {
  seam::Host host;
  const seam::Instance plugin(query_of<Steerable>, host), plain(query_of<Trial>, host);
  const optima_runtime& rt = plugin.runtime();
  CHECK((plain.runtime().context_open == nullptr && plain.runtime().execute_within == nullptr));
  seam::Artifact artifact(seam::MemorySink(), nullptr);
  CHECK(seam::compatibility(plugin, artifact, kTarget).first == OPTIMA_COMPAT_OPTIMAL);
  seam::Watch watch;
  artifact.raw.progress = &watch.raw;
  const seam::Program program(plugin, artifact, kTarget);
  REQUIRE(program.raw);
  CHECK(watch.last == 0.5);
  watch.cancel = true;
  CHECK(seam::Program(plugin, artifact, kTarget).code == OPTIMA_CANCELLED);

  optima_option priority = seam::option(OPTIMA_OPTION_PRIORITY, "");
  priority.type = OPTIMA_OPTION_I64, priority.i64 = -3;
  const optima_context_request opening{sizeof opening, 1, &priority};
  seam::Status status;
  optima_context* context = nullptr;
  REQUIRE(rt.context_open(program.raw, &opening, &context, &status.raw) == OPTIMA_OK);
  seam::Buffer x({1}), y({0});
  CHECK(rt.execute(context, &x.raw, 1, &y.raw, 1, &status.raw) == OPTIMA_INTERNAL);
  CHECK(status.message == "made with priority -3");

  optima_execute_request run{};
  run.struct_size = sizeof run, run.in = &x.raw, run.out = &y.raw, run.in_count = run.out_count = 1;
  const int before = allocations;
  const int32_t code = rt.execute_within(context, &run, &status.raw);
  const int made = allocations - before;
  CHECK(code == OPTIMA_OK);
  CHECK(made == 0);
  run.deadline_ns = 1;
  CHECK(rt.execute_within(context, &run, &status.raw) == OPTIMA_TIMEOUT);
  CHECK(status.message == "past its deadline");
  bool stop = true;
  run.deadline_ns = 0, run.host_data = &stop;
  run.cancelled = [](void* p) -> int32_t { return *static_cast<bool*>(p); };
  CHECK(rt.execute_within(context, &run, &status.raw) == OPTIMA_CANCELLED);
  rt.context_destroy(context);
}

TEST_CASE("execute allocates nothing in the layer, honours strides, and makes outputs of unknown shape") {
  seam::Host host;
  const seam::Instance trial(query_of<Trial>, host);
  const seam::Program program(trial, seam::Artifact(seam::MemorySink(), nullptr), kTarget);
  REQUIRE(program.raw);
  CHECK(program.bindings() == "in x:1 -1;out y:1 -1;");
  seam::Status status;
  optima_context* context = nullptr;
  const optima_runtime& rt = trial.runtime();
  REQUIRE(rt.context_create(program.raw, &context, &status.raw) == OPTIMA_OK);

  seam::Buffer x({0, 1, 0, 2, 3, 0}), y(std::vector<float>(3));
  const int before = allocations;
  const int32_t code = rt.execute(context, &x.raw, 1, &y.raw, 1, &status.raw);
  const int made = allocations - before;
  CHECK(code == OPTIMA_OK);
  CHECK(made == 0);
  CHECK(y.data == std::vector<float>{1, 2, 3});

  const int64_t two[] = {2}, three[] = {3};
  x.raw.strides = two, x.raw.shape = three;  // 0, 0, 3
  seam::Buffer grown({});
  grown.raw.data = nullptr;
  CHECK(rt.execute(context, &x.raw, 1, &grown.raw, 1, &status.raw) == OPTIMA_OK);
  CHECK(grown.data == std::vector<float>{3});
  CHECK(grown.dims == std::vector<int64_t>{1});

  x.raw.mem_kind = OPTIMA_MEM_DEVICE;
  CHECK(rt.execute(context, &x.raw, 1, &y.raw, 1, &status.raw) == OPTIMA_INVALID_ARGUMENT);
  CHECK(status.message == "tensor lies in memory kind 2, wanted host memory");

  int64_t dim = 0;
  optima_shape shape{sizeof shape, 0, 0, 0, &dim};
  CHECK(rt.output_shapes(context, &x.raw, 1, &shape, 1, &status.raw) == OPTIMA_OK);
  CHECK(shape.rank == 1);
  CHECK(dim == 0);
  shape.capacity = 1;
  CHECK(rt.output_shapes(context, &x.raw, 1, &shape, 1, &status.raw) == OPTIMA_OK);
  CHECK(dim == -1);
  rt.context_destroy(context);
}

TEST_CASE("a program that is not made, and a check that throws, are failures and not crashes") {
  seam::Host host;
  const seam::Instance trial(query_of<Trial>, host);
  seam::MemorySink none;
  none.format = "none";
  const seam::Program program(trial, seam::Artifact(none, nullptr), kTarget);
  CHECK(program.code == OPTIMA_INTERNAL);
  CHECK(program.status.message == "plugin made no program");
  CHECK(seam::compatibility(trial, seam::Artifact(none, nullptr), kTarget).first == OPTIMA_COMPAT_UNKNOWN);
}

TEST_CASE("a kept blob is released with its owner, and a refused one is an error") {
  seam::Host host;
  const float data[1] = {};
  const seam::Model m(image::pack(samples::identity({1})));
  {
    const sdk::Host h(&host.exposed.table);
    sdk::KeptBlob a = h.keep(seam::blob_of(data, 4, 7)), b;
    CHECK(host.retained[7] == 1);
    b = std::move(a);
    CHECK(b.path() == "/tmp/blob-7");
    CHECK(b.size() == 4);
    CHECK_THROWS_WITH_AS((void)h.keep(seam::blob_of(data, 4, 9)).path(), "blob has no file", Error);
    host.retain_code = OPTIMA_MEMORY;
    CHECK_THROWS_AS((void)h.keep(seam::blob_of(data, 4, 8)), Error);
    CHECK_THROWS_WITH_AS(h.graph_to_onnx(sdk::Graph(&m.raw), "/tmp"), "no onnx here", Error);
    sdk::Log(h, "trial").info("hello");
    CHECK(host.lines == std::vector<std::string>{"trial: hello"});
  }
  CHECK(host.retained[7] == 0);
  CHECK(host.retained[9] == 0);
}

TEST_CASE("options are typed, and the last of a name wins") {
  const optima_option entries[] = {{sizeof(optima_option), OPTIMA_OPTION_I64, seam::str("a"), 1, 0, {}, nullptr, 0, 0},
                                   {sizeof(optima_option), OPTIMA_OPTION_F64, seam::str("b"), 0, 0.5, {}, nullptr, 0, 0},
                                   seam::option("c", "text"),
                                   {sizeof(optima_option), OPTIMA_OPTION_I64, seam::str("a"), 2, 0, {}, nullptr, 0, 0}};
  const optima_option list{sizeof(optima_option), OPTIMA_OPTION_LIST, seam::str("d"), 0, 0, {}, entries, 2, 0};
  const sdk::Options o(entries, 4);
  CHECK(o.integer("a", 0) == 2);
  CHECK(o.boolean("a", false));
  CHECK(o.real("b", 0) == 0.5);
  CHECK(o.string("c", "") == "text");
  CHECK(o.string("absent", "none") == "none");
  CHECK(sdk::Options(&list, 1).list("d").size() == 2);
  CHECK(o.list("absent").size() == 0);
  CHECK_THROWS_WITH_AS((void)o.integer("c", 0), "option 'c' has type 3, wanted an integer", Error);
}

TEST_CASE("a file is described, or is none of the plugin's, or damaged") {
  seam::Host host;
  const seam::Instance trial(query_of<Trial>, host);
  const auto* describer = trial.extension<optima_describer>(OPTIMA_EXT_DESCRIBE);
  seam::Status status;
  std::string json;
  const auto set = [](void* p, optima_str s) -> int32_t { return *static_cast<std::string*>(p) = seam::text(s), OPTIMA_OK; };
  const auto described = [&](const char* name, uint64_t size) {
    optima_blob blob{};
    blob.struct_size = sizeof blob, blob.data = "abcd", blob.size = size, blob.fd = -1;
    const optima_describe_request request{sizeof request, 0, seam::str(name), &blob};
    return describer->describe(trial.self, &request, set, &json, &status.raw);
  };
  CHECK(described("a.trial", 4) == OPTIMA_OK);
  CHECK(json == "{\"bytes\": 4}");
  CHECK(described("b.trial", 4) == OPTIMA_NOT_FOUND);
  CHECK(described("a.trial", 0) == OPTIMA_CORRUPT);
  CHECK(status.message == "file is empty");
}

TEST_CASE("schema, cost, profile, async and memory reach the author's methods") {
  seam::Host host;
  const seam::Instance trial(query_of<Trial>, host);
  const seam::Model m(image::pack(samples::identity({-1, 4})));
  seam::Status status;

  std::string type;
  REQUIRE(trial.extension<optima_schema>(OPTIMA_EXT_SCHEMA)->infer(trial.self, &m.raw, 0, [](void* p, uint32_t, const optima_type* t) -> int32_t {
    *static_cast<std::string*>(p) = seam::text(t->symbols[0]) + "," + std::to_string(t->dims[1]);
    return OPTIMA_OK;
  }, &type, &status.raw) == OPTIMA_OK);
  CHECK(type == "N,4");

  const uint32_t ids[] = {11};
  optima_check_request r{};
  r.struct_size = sizeof r, r.graph = &m.raw, r.nodes = ids, r.node_count = 1, r.device = &kTarget;
  const auto* schema = trial.extension<optima_schema>(OPTIMA_EXT_SCHEMA);
  CHECK(schema->function_body(trial.self, &m.raw, 0, [](void*, optima_str) -> int32_t { return OPTIMA_OK; }, nullptr, &status.raw) == OPTIMA_NOT_FOUND);
  CHECK(schema->evaluate(trial.self, &m.raw, 0, nullptr, 0, nullptr, 0, &status.raw) == OPTIMA_NOT_FOUND);
  seam::Buffer given({1}), made({0});
  int32_t rank = 0;
  made.raw.host_data = &rank;
  made.raw.alloc = [](void* p, const int64_t*, int32_t r) -> int32_t { return *static_cast<int32_t*>(p) = r, OPTIMA_OK; };
  CHECK(schema->evaluate(trial.self, &m.raw, 0, &given.raw, 1, &made.raw, 1, &status.raw) == OPTIMA_OK);
  CHECK(rank == 1);
  double cost = 0;
  REQUIRE(trial.extension<optima_cost_model>(OPTIMA_EXT_COST)->estimate(trial.self, &r, [](void* p, const optima_cost* c, uint32_t) -> int32_t {
    *static_cast<double*>(p) = c->microseconds;
    return OPTIMA_OK;
  }, &cost, &status.raw) == OPTIMA_OK);
  CHECK(cost == 12.5);

  const seam::Program program(trial, seam::Artifact(seam::MemorySink(), nullptr), kTarget);
  optima_context* context = nullptr;
  REQUIRE(trial.runtime().context_create(program.raw, &context, &status.raw) == OPTIMA_OK);
  const auto* profile = trial.extension<optima_profile>(OPTIMA_EXT_PROFILE);
  REQUIRE(profile->enable(context, 1, &status.raw) == OPTIMA_OK);
  uint64_t length = 0;
  REQUIRE(profile->read(context, [](void* p, const optima_event* e, uint32_t) -> int32_t {
    *static_cast<uint64_t*>(p) = e->duration_ns;
    return OPTIMA_OK;
  }, &length, &status.raw) == OPTIMA_OK);
  CHECK(length == 5);
  const auto* async = trial.extension<optima_async>(OPTIMA_EXT_ASYNC);
  const optima_fence_point waits[2] = {};
  seam::Buffer x({1}), y({0});
  REQUIRE(async->submit(context, &x.raw, 1, &y.raw, 1, waits, 2, {nullptr, 40}, &status.raw) == OPTIMA_OK);
  CHECK(async->cancel(context, &status.raw) == OPTIMA_CANCELLED);
  CHECK(status.message == "43 given up");
  REQUIRE(trial.runtime().reset(context, &status.raw) == OPTIMA_OK);
  CHECK(async->cancel(context, &status.raw) == OPTIMA_CANCELLED);
  CHECK(status.message == "0 given up");
  trial.runtime().context_destroy(context);

  std::vector<uint32_t> aliases;
  REQUIRE(trial.runtime().bindings(program.raw, [](void* p, const optima_binding* b) -> int32_t {
    return static_cast<std::vector<uint32_t>*>(p)->push_back(b->alias), OPTIMA_OK;
  }, &aliases, &status.raw) == OPTIMA_OK);
  CHECK(aliases == std::vector<uint32_t>{0, 1});  // x, and y in x's buffer

  const auto* memory = trial.extension<optima_memory>(OPTIMA_EXT_MEMORY);
  uint32_t kinds[1] = {}, count = 1;
  REQUIRE(memory->requirements(program.raw, 0, kinds, &count, &status.raw) == OPTIMA_OK);
  CHECK(count == 2);
  CHECK(kinds[0] == OPTIMA_MEM_DEVICE);
  REQUIRE(memory->alloc(trial.self, &x.raw, 64, &status.raw) == OPTIMA_OK);
  REQUIRE(memory->import(trial.self, &x.raw, &y.raw, &status.raw) == OPTIMA_OK);
  CHECK(y.raw.opaque == 1235);
  CHECK(memory->copy(trial.self, &x.raw, &y.raw, &status.raw) == OPTIMA_DEVICE);
  memory->free(trial.self, &x.raw);
}

namespace {

/// Offers its output with dims turned, takes 8 bits, and writes down what it was given.
class Turner : public sdk::Plugin, public sdk::Compiler, public sdk::Doors {
 public:
  explicit Turner(const sdk::Init&) {}
  std::vector<sdk::PresentDevice> devices(std::string&) override { return {}; }
  void check(const sdk::CheckRequest&, const sdk::Reporter&) override {}
  void offer_doors(const sdk::DoorRequest& request, const sdk::DoorSink& offer) override {
    std::vector<int64_t> turned = request.value().shape();
    std::reverse(turned.begin(), turned.end());
    offer({request.value().dtype(), turned, "CN"});
  }
  bool takes_door(const sdk::DoorRequest& request, const sdk::Door& door) override {
    if (door.shape.empty()) throw sdk::Error(OPTIMA_UNSUPPORTED, "no scalars from " + std::string(request.device().kind()));
    return door.dtype == OPTIMA_I8 && door.zero_points == std::vector<int32_t>{3};
  }
  void compile(const sdk::CompileRequest& request, const sdk::Sink& sink, const sdk::Progress&) override {
    sink.meta("input", request.door(request.graph().input(0)) ? "door" : "usual");
    const std::optional<sdk::Door> out = request.door(request.graph().output(0));
    sink.meta("output", out ? out->layout + " " + std::to_string(out->shape[0]) : "usual");
    for (const sdk::SizeRange& size : request.sizes()) sink.meta(std::string(size.symbol), std::to_string(size.opt) + ", next to 5: " + std::to_string(size.nearest_to(5)));
  }
};

}  // namespace

TEST_CASE("doors reach the author's methods, and what was agreed reaches compile, as do sizes that the user allows") {
  seam::Host host;
  const seam::Instance turner(query_of<Turner>, host);
  const seam::Model m(image::pack(samples::identity({2, 4})));
  seam::Status status;
  const auto* doors = turner.extension<optima_doors>(OPTIMA_EXT_DOOR);
  REQUIRE(doors);
  const optima_image_graph& entry = *optima_get_graph(m.raw.image, 0);
  optima_door_request r{};
  r.struct_size = sizeof r, r.graph = &m.raw, r.device = &kTarget, r.value = *optima_get_index(m.raw.image, entry.outputs.first);
  sdk::Door offered;
  REQUIRE(doors->offer(turner.self, &r, [](void* p, const optima_door* d) -> int32_t { return *static_cast<sdk::Door*>(p) = sdk::Door(*d), OPTIMA_OK; }, &offered,
                       &status.raw) == OPTIMA_OK);
  CHECK(offered == sdk::Door(OPTIMA_F32, {4, 2}, "CN"));

  int32_t taken = 7;
  sdk::Door eight(OPTIMA_I8, {2, 4});
  eight.scales = {0.5F}, eight.zero_points = {3};
  const sdk::Door point(OPTIMA_I8, {});
  const optima_door raw = eight.raw(), scalar = point.raw();
  REQUIRE(doors->take(turner.self, &r, &raw, &taken, &status.raw) == OPTIMA_OK);
  CHECK(taken == 1);
  const optima_door other = offered.raw();
  REQUIRE(doors->take(turner.self, &r, &other, &taken, &status.raw) == OPTIMA_OK);
  CHECK(taken == 0);
  CHECK(doors->take(turner.self, &r, &scalar, &taken, &status.raw) == OPTIMA_UNSUPPORTED);
  CHECK(status.message == "no scalars from ACME");

  const optima_value_door agreed{sizeof agreed, r.value, &other};
  optima_compile_request c{};
  c.struct_size = sizeof c, c.graph = &m.raw, c.device = &kTarget, c.doors = &agreed, c.door_count = 1;
  const int64_t listed[] = {1, 4, 8};
  const optima_size_range said[] = {{sizeof said[0], 3, {"batch", 5}, 1, 8, 1, 4, listed}, {sizeof said[0], 0, {"width", 5}, 0, 64, 8, -1, nullptr}};
  c.sizes = said, c.size_count = 2;
  seam::MemorySink sink;
  REQUIRE(turner.extension<optima_compiler>(OPTIMA_EXT_COMPILER)->compile(turner.self, &c, &sink.raw, nullptr, &status.raw) == OPTIMA_OK);
  CHECK(sink.meta == decltype(sink.meta){{"input", "usual"}, {"output", "CN 4"}, {"batch", "4, next to 5: 4"}, {"width", "-1, next to 5: 8"}});
}
