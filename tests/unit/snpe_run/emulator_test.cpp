// SPDX-License-Identifier: Apache-2.0
// plugins/snpe: compiled, loaded and run through the seam, on the Hexagon emulator of the wheels.
#include <doctest/doctest.h>

#include <signal.h>

#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "optima/plugin/checksum.hpp"
#include "tests/support/process.hpp"
#include "tests/unit/openvino/sample.hpp"

using namespace optima;
using namespace optima::test;
namespace sdk = optima::sdk;

namespace {

const bool kHere = std::filesystem::exists(OPTIMA_QUALCOMM_DEFAULT);
const optima_device kHexagon = seam::device("HEXAGON");

struct SnpeHost : FileHost {
  TempFolder own;
  std::string temp = own.path(), plugins = std::filesystem::path(SNPE_PLUGIN).parent_path();
  SnpeHost() {
    exposed.table.temp_dir = seam::str(temp);
    exposed.table.plugin_dir = seam::str(plugins);
  }
};

/// y = x·W·W·…, `times` MatMuls: enough of them that no run is over before the first look at what may stop it.
struct Heavy {
  static constexpr int64_t kRows = 512, kWide = 1024;
  std::vector<float> w = weights();
  seam::Model model;
  explicit Heavy(int times) : model(image::pack(contents(times)), {seam::blob_of(w.data(), w.size() * 4, 7)}) {}

  static std::vector<float> weights() {
    std::vector<float> all(static_cast<size_t>(kWide * kWide));
    std::mt19937 random(5);
    std::uniform_real_distribution<float> value(-0.05f, 0.05f);
    for (float& x : all) x = value(random);
    return all;
  }
  static image::Contents contents(int times) {
    image::Graph g{"heavy", {tensor("x", {kRows, kWide}), tensor("w", {kWide, kWide})}, {}, {0}, {}, {}};
    g.values[1].constant = 0;
    uint32_t from = 0;
    for (int k = 0; k < times; ++k) {
      const std::string name = "m" + std::to_string(k);
      g.values.push_back(tensor(name, {kRows, kWide}));
      const auto to = static_cast<uint32_t>(g.values.size() - 1);
      g.nodes.push_back({name, "MatMul", "", static_cast<uint32_t>(k) + 1, 13, {from, 1}, {to}, {}});
      from = to;
    }
    g.outputs.push_back(from);
    return {{g}, {{OPTIMA_F32, {kWide, kWide}, 0}}, {{"", 21}}};
  }
};

/// A model compiled by the plugin and taken back in. Compiled once in the process.
struct Loaded {
  SnpeHost host;
  std::unique_ptr<seam::Instance> plugin;
  FileSink sink;
  std::unique_ptr<seam::Artifact> artifact;
  std::unique_ptr<seam::Program> program;

  explicit Loaded(const seam::Model& model) {
    host.quiet = true;
    plugin = std::make_unique<seam::Instance>(SNPE_PLUGIN, host);
    seam::Status status;
    REQUIRE_MESSAGE(seam::compile(*plugin, model, kHexagon, sink, status) == OPTIMA_OK, status.message);
    sink.take();
    artifact = std::make_unique<seam::Artifact>(sink, nullptr);
    host.write(*artifact);
    REQUIRE(seam::compatibility(*plugin, *artifact, kHexagon) == std::pair(uint32_t{OPTIMA_COMPAT_OPTIMAL}, std::string()));
    program = std::make_unique<seam::Program>(*plugin, *artifact, kHexagon);
    REQUIRE_MESSAGE(program->code == OPTIMA_OK, program->status.message);
  }
};

class Context {
 public:
  explicit Context(const seam::Program& program) : rt_(program.plugin.runtime()) {
    seam::Status status;
    REQUIRE_MESSAGE(rt_.context_create(program.raw, &raw_, &status.raw) == OPTIMA_OK, status.message);
  }
  Context(const Context&) = delete;
  ~Context() { rt_.context_destroy(raw_); }
  optima_context* raw() const { return raw_; }

 private:
  const optima_runtime& rt_;
  optima_context* raw_ = nullptr;
};

/// One bounded run of the heavy model. `look` is asked as the host would be.
struct Bounded {
  std::vector<int64_t> dims{Heavy::kRows, Heavy::kWide};
  std::vector<float> x = std::vector<float>(static_cast<size_t>(Heavy::kRows * Heavy::kWide), 1), y = std::vector<float>(x.size(), -1);
  std::function<bool(int look)> look = [](int) { return false; };
  int looks = 0;
  uint64_t deadline_ns = 0;
  seam::Status status;

  int32_t on(const Loaded& l, const Context& context) {
    const auto lend = [&](std::vector<float>& values) {
      optima_tensor t{};
      t.struct_size = sizeof t;
      t.dtype = OPTIMA_F32, t.rank = 2, t.shape = dims.data(), t.data = values.data(), t.size = values.size() * 4, t.fd = -1;
      return t;
    };
    const optima_tensor in = lend(x);
    optima_tensor out = lend(y);
    const auto asked = [](void* p) -> int32_t { return static_cast<Bounded*>(p)->look(++static_cast<Bounded*>(p)->looks); };
    const optima_execute_request request{sizeof request, 1, 1, 0, &in, &out, deadline_ns, this, asked};
    looks = 0;
    return l.plugin->runtime().execute_within(context.raw(), &request, &status.raw);
  }
};

std::vector<int> children() {
  std::vector<int> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (int pid; file >> pid;) all.push_back(pid);
  }
  return all;
}

uint64_t now_ns() { return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()); }

}  // namespace

TEST_CASE("plugins/snpe on the emulator") {
  if (!kHere) MESSAGE("SKIP: the wheels of onnxruntime-qnn are not in .deps/qualcomm; scripts/setup --with qualcomm puts them there");
}

TEST_SUITE_BEGIN("emulator" * doctest::skip(!kHere));

TEST_CASE("contexts side by side compute what the graph says, each on its own inputs") {
  const Sample sample(4);
  const Loaded l(sample.model);
  CHECK(l.program->bindings() == "in x:1 4x3;out y:1 4x3;");
  CHECK(l.sink.files.count("subgraph_0.dlc") == 1);
  CHECK(l.sink.files.count("subgraph_0.sm8550.bin") == 1);
  const auto rows = [&](float from) {
    std::vector<float> x(12);
    for (size_t k = 0; k < 12; ++k) x[k] = from + static_cast<float>(k) / 4;
    return x;
  };
  const auto run = [&](float from, std::vector<float>& worst) {
    const Context context(*l.program);
    for (int k = 0; k < 5; ++k) {
      const std::vector<float> x = rows(from + static_cast<float>(k));
      std::vector<reference::Tensor> out;
      seam::Status status;
      if (seam::run_on(context.raw(), *l.program, {f32({4, 3}, x)}, out, status) != OPTIMA_OK) return worst.push_back(1e9f);
      for (size_t e = 0; e < 12; ++e) worst.push_back(std::fabs(floats(out[0])[e] - std::max(0.0f, x[e] + sample.w[e % 3])));
    }
  };
  std::vector<float> one, other;
  std::thread beside([&] { run(-3, one); });
  run(20, other);
  beside.join();
  REQUIRE(one.size() == 60);
  REQUIRE(other.size() == 60);
  CHECK(*std::max_element(one.begin(), one.end()) < 0.01f);     // of values up to 8, in fp16
  CHECK(*std::max_element(other.begin(), other.end()) < 0.04f);  // up to 30
}

TEST_CASE("a run is stopped, killed or late with one error, and the next one is as any other") {
  const Heavy heavy(6);
  Loaded l(heavy.model);
  auto context = std::make_unique<Context>(*l.program);
  Bounded good;
  REQUIRE_MESSAGE(good.on(l, *context) == OPTIMA_OK, good.status.message);

  Bounded cancelled;
  cancelled.look = [](int look) { return look > 1; };  // not before it began
  CHECK(cancelled.on(l, *context) == OPTIMA_CANCELLED);
  CHECK(cancelled.status.message == "cancelled");
  CHECK(cancelled.looks > 1);

  Bounded late;
  late.deadline_ns = now_ns() + 1000000;
  CHECK(late.on(l, *context) == OPTIMA_TIMEOUT);
  CHECK(late.status.message == "past its deadline");

  Bounded again;
  CHECK_MESSAGE(again.on(l, *context) == OPTIMA_OK, again.status.message);
  CHECK(again.y == good.y);

  Bounded killed;
  killed.look = [](int look) {
    if (look == 2)
      for (const int pid : children()) ::kill(pid, SIGKILL);
    return false;
  };
  CHECK(killed.on(l, *context) == OPTIMA_TOOL_FAILED);
  CHECK(killed.status.message.find("was ended by signal 9") != std::string::npos);
  const size_t at = killed.status.message.find("/optima-snpe-");
  REQUIRE(at != std::string::npos);
  const std::string log = killed.status.message.substr(killed.status.message.rfind(' ', at) + 1);

  Bounded next;
  CHECK_MESSAGE(next.on(l, *context) == OPTIMA_OK, next.status.message);
  CHECK(next.y == good.y);

  context.reset();
  l.program.reset();
  CHECK(std::filesystem::exists(log));  // the error sent people there
  std::filesystem::remove(log);
  l.plugin.reset();
  CHECK(children().empty());
  CHECK(std::filesystem::is_empty(l.host.own.path()));
}

TEST_CASE("files that the tools do not take are corrupt when they are loaded, not when they are run") {
  const Sample sample(2);
  Loaded l(sample.model);
  std::string& context = l.sink.files.at("subgraph_0.sm8550.bin");
  const std::string good = context;
  context.resize(context.size() / 2);
  std::string& record = l.sink.compat;
  record.clear();
  // sealed anew, as by somebody who means it
  for (const auto& [name, bytes] : l.sink.files) {
    sdk::Checksum sum;
    sum.add(bytes.data(), bytes.size());
    char line[400];
    std::snprintf(line, sizeof line, "file=%zu %016llx %s\n", bytes.size(), static_cast<unsigned long long>(sum.value()), name.c_str());
    record += line;
  }
  record += "kind=HEXAGON\nroute=wheels\ntools=tests\nsocs=sm8550\n";
  const seam::Artifact artifact(l.sink, nullptr);
  l.host.write(artifact);
  const seam::Program program(*l.plugin, artifact, kHexagon);
  CHECK(program.code == OPTIMA_CORRUPT);
  CHECK(program.status.message.find("the tools do not take the context") == 0);
}

TEST_CASE("both programs run a package for HEXAGON, and a trace has its run") {
  const TempFolder folder;
  const std::vector<std::string> own_cache{"XDG_CACHE_HOME=" + (folder / "cache")};  // answers that other builds keep are no concern of ours
  const Ran compiled = test::run({test::host_program(), "compile", OPTIMA_SOURCE_DIR "/examples/digits/digits.onnx", "--device", "HEXAGON:0", "--self-test", "-o", folder.path()}, own_cache);
  REQUIRE_MESSAGE(compiled.code == 0, compiled.err);
  const std::string package = folder / "digits", trace = folder / "trace.json", image = OPTIMA_SOURCE_DIR "/examples/digits/pictures/digit_3.png";
  const Ran ran = test::run({test::run_program(), package, "--image", image, "--top", "1", "--trace", trace}, own_cache);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("top of probability  index  value\n                    3      ") != std::string::npos);
  CHECK(ran.err.find("HEXAGON is emulated on this machine's processor by onnxruntime ") != std::string::npos);
  std::ifstream file(trace);
  const std::string events{std::istreambuf_iterator<char>(file), {}};
  CHECK(events.find("\"LayerExecute\"") != std::string::npos);
  CHECK(events.find("/widen/widen.2/Relu") != std::string::npos);  // a node of the model
  const Ran checked = test::run({test::run_program(), package, "--check"}, own_cache);
  CHECK_MESSAGE(checked.code == 0, checked.err);
  const Ran compared = test::run({test::host_program(), "compare", OPTIMA_SOURCE_DIR "/examples/digits/digits.onnx", package, "--image", image}, own_cache);
  CHECK_MESSAGE(compared.code == 0, compared.err);
  const Ran by_host = test::run({test::host_program(), "run", package, "--image", image, "--top", "1"}, own_cache);
  CHECK(by_host.code == 0);
  CHECK(by_host.out.find("top of probability  index  value\n                    3      ") != std::string::npos);
}

TEST_SUITE_END();
