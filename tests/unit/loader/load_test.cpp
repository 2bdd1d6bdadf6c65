// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace optima::test {
uint64_t allocations();  // tests/support/count_allocations.cpp
}

namespace {

const TargetDevice kTrial{"TRIAL", 0, {}, 0};

Backend::Artifact artifact() {
  Backend::Artifact a;
  a.format_id = "trial.bin/1";
  a.stem = "s";
  a.files.push_back({"s.bin", Blob::copy("bytes", 5)});
  a.compat_record.resize(2);
  return a;
}

Result<std::unique_ptr<LoadedProgram>> load(TrialHost& host, const std::string& act, const TargetDevice& device = kTrial) {
  host.set({{"trial.load", act}});
  return host.plugin->load(artifact(), device, {.threads = 1});
}

std::unique_ptr<LoadedProgram> loaded(TrialHost& host, const std::string& act = "") {
  auto program = load(host, act);
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  return std::move(*program);
}

std::unique_ptr<ExecutionContext> context_of(LoadedProgram& program) {
  auto context = program.create_context();
  REQUIRE_MESSAGE(context.ok(), context.status().message());
  return std::move(*context);
}

struct Buffer {
  std::array<float, 4> data{};
  std::array<int64_t, 1> shape{4};
  optima_tensor raw{};
  Buffer() {
    raw.struct_size = sizeof raw;
    raw.dtype = OPTIMA_F32;
    raw.rank = 1;
    raw.shape = shape.data();
    raw.data = data.data();
    raw.size = sizeof data;
    raw.fd = -1;
  }
  Buffer(const Buffer&) = delete;
};

}  // namespace

TEST_CASE("an artifact is judged without being loaded; unknown verdicts read as UNKNOWN") {
  TrialHost host;
  Backend::Artifact a = artifact();
  const auto good = host.plugin->check_artifact(a, kTrial);
  REQUIRE(good.ok());
  CHECK((good->verdict == OPTIMA_COMPAT_OPTIMAL && good->text == "fine"));
  a.compat_record.clear();
  CHECK(host.plugin->check_artifact(a, kTrial)->verdict == OPTIMA_COMPAT_UNKNOWN);
  a.format_id = "trial.bin/0";
  CHECK(host.plugin->check_artifact(a, kTrial)->text == "format of another revision");
}

TEST_CASE("bindings are checked: direction, order, names, rank, shape, alignment") {
  LogTrap log;
  TrialHost host;
  const auto program = loaded(host);
  REQUIRE(program->bindings().size() == 2);
  CHECK((program->bindings()[0].alignment == 64 && program->bindings()[1].alignment == 128));
  const std::string who = "plugin 'trial': bindings: it ";
  const auto message = [&](const char* act) { return load(host, act).status().message(); };
  CHECK(message("odd alignment") == who + "gave binding 'y' the alignment 48, wanted a power of two up to 2097152");
  CHECK(message("huge") == who + "gave binding 'x' the min_size 18446744073709551615, wanted at most 140737488355328 bytes");
  CHECK(message("high rank") == who + "gave binding 'y' the rank 65");
  CHECK(message("null shape") == who + "gave binding 'y' the rank 1");
  CHECK(message("bad direction") == who + "gave binding 'y' the direction 7");
  CHECK(message("no name") == who + "gave two bindings the name ''");
  CHECK(message("output first") == who + "gave an input after an output");
  CHECK(message("same name") == who + "gave two bindings the name 'x'");
  CHECK(log.has("plugin-misbehaves trial: bindings: gave an input after an output"));
}

TEST_CASE("kinds of memory are kept as far as they are known; a plugin from before them means the host's") {
  TrialHost host;
  CHECK(loaded(host)->bindings()[0].mem_kinds == 1);
  CHECK(loaded(host, "device memory")->bindings()[0].mem_kinds == 5);  // host memory always is acceptable
  CHECK(loaded(host, "future memory")->bindings()[0].mem_kinds == 31);
  CHECK(loaded(host, "short binding")->bindings()[0].mem_kinds == 1);
}

TEST_CASE("a load tells how far it is, and ends as cancelled when it is") {
  TrialHost host;
  std::vector<std::string> stages;
  std::atomic<bool> stop = false;
  LoadJob job;
  job.progress = [&](double fraction, std::string_view stage) {
    stages.push_back(cat(fraction, " ", stage));
    if (stage == "waiting") stop = true;
  };
  const auto run = [&](const char* act) {
    host.set({{"trial.load", act}});
    return host.plugin->load(artifact(), kTrial, job).status();
  };
  CHECK(run("tells").ok());
  CHECK(stages == std::vector<std::string>{"0.5 half of it"});
  CHECK(run("gives up").message() == "plugin 'trial': load: it gave up although nobody cancelled it");
  CHECK(run("gives up").kind() == StatusKind::Plugin);
  job.cancelled = &stop;
  CHECK(run("waits").kind() == StatusKind::Cancelled);
  CHECK(stages.back() == "-7 waiting");
  CHECK(run("").kind() == StatusKind::Cancelled);  // done by a plugin that does not ask
}

TEST_CASE("contexts are opened with the options of their scope; a plugin that cannot is told of once") {
  LogTrap log;
  const OptionValues options = {{"trial.load", "tell options"}, {"optima.priority", "5"}, {"optima.cores", "0xf0"}, {"trial.token", "token-of-contexts"}};
  Buffer x, y;
  const auto said = [&](TrialHost& host, OptionValues more) {
    more.insert(options.begin(), options.end());
    host.set(std::move(more));
    const auto program = host.plugin->load(artifact(), kTrial, {.threads = 1});
    REQUIRE(program.ok());
    return context_of(**program)->execute({&x.raw, 1}, {&y.raw, 1}).message();
  };
  TrialHost host;
  CHECK(said(host, {{"trial.stream", "own"}}) ==
        "plugin 'trial': execute: trial.stream=own trial.token=(secret) optima.priority=5 optima.cores=240");
  CHECK_FALSE(log.has("has no effect"));
  TrialHost older(OptionValues{{"trial.init", "older"}});
  for (int i = 0; i < 2; ++i) CHECK(said(older, {{"trial.init", "older"}}) == "plugin 'trial': execute: none");
  std::vector<std::string> warned;
  for (const std::string& line : log.lines)
    if (line.find("has no effect") != line.npos) warned.push_back(line);
  const auto warning = [](const char* name) { return cat("warn trial: option '", name, "' has no effect: plugin 'trial' makes contexts without options"); };
  CHECK(warned == std::vector<std::string>{warning("trial.token"), warning("optima.priority"), warning("optima.cores")});
}

TEST_CASE("an execution is stopped from outside where the plugin can, and runs to its end where it cannot") {
  TrialHost host;
  const auto program = loaded(host, "until stopped");
  const auto context = context_of(*program);
  Buffer x, y;
  std::atomic<bool> stop{false};
  CHECK(context->execute({&x.raw, 1}, {&y.raw, 1}).message() == "plugin 'trial': execute: nobody can stop it");
  CHECK(context->execute_within({&x.raw, 1}, {&y.raw, 1}, {}).message() == "plugin 'trial': execute: nobody can stop it");
  const Status late = context->execute_within({&x.raw, 1}, {&y.raw, 1}, {1, &stop});
  CHECK(late.kind() == StatusKind::Timeout);
  CHECK(late.message() == "plugin 'trial': execute: 3 of 9 layers were done");
  std::thread other([&] { stop = true; });
  CHECK(context->execute_within({&x.raw, 1}, {&y.raw, 1}, {0, &stop}).kind() == StatusKind::Cancelled);
  other.join();
  const auto quitter = loaded(host, "gives up in execute");
  stop = false;
  const Status gave_up = context_of(*quitter)->execute_within({&x.raw, 1}, {&y.raw, 1}, {0, &stop});
  CHECK(gave_up.kind() == StatusKind::Plugin);
  CHECK(gave_up.message() == "plugin 'trial': execute: it gave up although nobody cancelled it");

  TrialHost older(OptionValues{{"trial.init", "older"}});
  REQUIRE(older.plugin->has_schema());  // it is started, with that option
  CHECK(loaded(older, "no context")->create_context().status().message() == "plugin 'trial': context_create: the device is busy");
  older.set({{"trial.init", "older"}, {"trial.load", ""}});
  const auto plain = older.plugin->load(artifact(), kTrial, {.threads = 1});
  REQUIRE(plain.ok());
  x.data = {1, 2, 3, 4};
  stop = true;
  CHECK(context_of(**plain)->execute_within({&x.raw, 1}, {&y.raw, 1}, {1, &stop}).ok());
  CHECK(y.data[3] == 5);
}

TEST_CASE("an output lives in the buffer of an input of its type and size, one output in each, in host memory") {
  LogTrap log;
  TrialHost host;
  CHECK(loaded(host)->bindings()[1].alias == OPTIMA_NONE);
  CHECK(loaded(host, "alias")->bindings()[1].alias == 0);
  CHECK(loaded(host, "dynamic alias")->bindings()[1].alias == 0);
  CHECK(loaded(host, "alias of an older plugin")->bindings()[1].alias == OPTIMA_NONE);
  CHECK(loaded(host, "alias on the device")->bindings()[1].mem_kinds == uint64_t{1} << OPTIMA_MEM_HOST);
  const auto anywhere = loaded(host, "alias of any kind");
  for (const Binding& b : anywhere->bindings()) CHECK(b.mem_kinds == uint64_t{1} << OPTIMA_MEM_HOST);
  const std::string who = "plugin 'trial': bindings: it gave output 'y' ", buffer = who + "the buffer of input 'x': ";
  const auto message = [&](const char* act) { return load(host, act).status().message(); };
  CHECK(message("alias far") == who + "the alias 2, wanted at most 1, the number of inputs");
  CHECK(message("alias of an input") == "plugin 'trial': bindings: it gave input 'x' the alias 1, wanted it of outputs only");
  CHECK(message("alias of another type") == buffer + "found dtype 7, wanted 1");
  CHECK(message("alias of another shape") == buffer + "found shape [5], wanted [4]");
  CHECK(message("alias of no shape") == buffer + "found shape [?], wanted [4]");
  CHECK(message("alias of no rank") == buffer + "found shape unknown, wanted [4]");
  CHECK(message("alias twice") == "plugin 'trial': bindings: it gave output 'z' the buffer of input 'x', which another output has");
  CHECK(log.has("plugin-misbehaves trial: bindings: gave output 'y' the alias 2"));
}

TEST_CASE("reset makes a context forget; one of a plugin without it has nothing to forget") {
  const auto counts = [](ExecutionContext& context) {
    Buffer x, y;
    REQUIRE(context.execute({&x.raw, 1}, {&y.raw, 1}).ok());
    return y.data[0];
  };
  LogTrap log;
  TrialHost host;
  const auto program = loaded(host, "counts");
  const auto context = context_of(*program), other = context_of(*program);
  for (const float run : {1.f, 2.f, 3.f}) CHECK(counts(*context) == run);
  CHECK(counts(*other) == 1);
  REQUIRE(context->reset().ok());
  CHECK(counts(*context) == 1);
  CHECK(counts(*other) == 2);
  CHECK(context_of(*loaded(host, "remembers"))->reset().message() == "plugin 'trial': reset: the board does not forget");

  TrialHost older(OptionValues{{"trial.init", "older"}});
  older.set({{"trial.init", "older"}, {"trial.load", "counts"}});
  const auto old = older.plugin->load(artifact(), kTrial, {.threads = 1});
  REQUIRE(old.ok());
  const auto unforgetting = context_of(**old);
  CHECK(counts(*unforgetting) == 1);
  CHECK(unforgetting->reset().ok());
  CHECK(counts(*unforgetting) == 2);
}

TEST_CASE("load fails with the plugin's sentence and the kind of its code") {
  LogTrap log;
  TrialHost host;
  CHECK(load(host, "corrupt").status().message() == "plugin 'trial': load: checksum is wrong");
  CHECK(load(host, "corrupt").status().kind() == StatusKind::InvalidInput);
  CHECK(load(host, "no program").status().message() == "plugin 'trial': load: said OK and gave no program");
  CHECK(load(host, "throw int").status().message() == "plugin 'trial': load: threw an exception across the seam: an exception of an unknown type");
  CHECK(loaded(host, "no context")->create_context().status().message() == "plugin 'trial': context_open: the device is busy");
  CHECK(loaded(host, "throw in context")->create_context().status().message().find("plugin 'trial': context_open: threw") == 0);
}

TEST_CASE("a slot is run on the device that is there, or refused by name") {
  TrialHost host;
  CHECK(load(host, "device", {"TRIAL", 1, {}, 0}).status().message() == "plugin 'trial': load: TRIAL:1 t1");
  CHECK(load(host, "device", {"TRIAL", 5, {}, 0}).status().message() == "plugin 'trial': load: TRIAL:5 t0");  // virtual: on what there is
  CHECK(load(host, "", {"REAL", 0, {}, 0}).status().message() == "plugin 'trial': device REAL:0 is not on this machine");
  CHECK(load(host, "", {"GPU", 0, {}, 0}).status().message() == "plugin 'trial': serves TRIAL, REAL, not 'GPU'");
}

TEST_CASE("a device whose plugin failed to list it is asked for again, and its sentence is told") {
  TrialHost host(OptionValues{{"trial.init", "asleep at first"}});
  REQUIRE(host.plugin->has_schema());  // it is started, with that option
  const TargetDevice real{"REAL", 0, {}, 0};
  CHECK(load(host, "", real).status().message() == "device REAL:0: plugin 'trial': devices: the bus is asleep");
  CHECK(load(host, "", real).ok());
  CHECK(load(host, "", {"REAL", 1, {}, 0}).status().message() == "plugin 'trial': device REAL:1 is not on this machine, it has REAL:0");

  TrialHost checked(OptionValues{{"trial.init", "asleep at first"}});
  const SampleGraph graph(image::pack(identities(1)));
  const uint32_t nodes[] = {11};
  const auto seen = [&] {
    checked.set({{"trial.init", "asleep at first"}, {"trial.act", "device"}});
    return checked.plugin->ask(graph.raw, nodes, {"TRIAL", 1, {}, 0})->at(0).text;
  };
  CHECK(seen().find("TRIAL:1 ;") == 0);  // what the config says of it is all there is
  CHECK(seen().find("TRIAL:1 t1 cores=8;") == 0);
}

TEST_CASE("a misdeed counts although the plugin goes on after it") {
  LogTrap log;
  TrialHost host;
  CHECK(load(host, "careless").status().message() == "plugin 'trial': bindings: it gave binding 'x' the rank 65");
}

TEST_CASE("execute computes, and allocates nothing on the way") {
  TrialHost host;
  const auto program = loaded(host);
  const auto context = context_of(*program);
  Buffer x, y;
  x.data = {1, 2, 3, 4};
  REQUIRE(context->execute({&x.raw, 1}, {&y.raw, 1}).ok());
  CHECK(y.data == std::array<float, 4>{2, 3, 4, 5});
  const uint64_t before = allocations();
  bool ok = true;
  const std::atomic<bool> stop{false};
  for (int i = 0; i < 100; ++i) ok = ok && context->execute({&x.raw, 1}, {&y.raw, 1}).ok() && context->execute_within({&x.raw, 1}, {&y.raw, 1}, {~uint64_t{0}, &stop}).ok();
  const uint64_t after = allocations();
  CHECK(ok);
  CHECK(after == before);
}

TEST_CASE("a failing execute says so and can be repeated") {
  LogTrap log;
  TrialHost host;
  Buffer x, y;
  auto program = loaded(host, "lost");
  CHECK(context_of(*program)->execute({&x.raw, 1}, {&y.raw, 1}).message() == "plugin 'trial': execute: the bus fell silent (device lost)");
  program = loaded(host, "throw in execute");
  const auto context = context_of(*program);
  for (int i = 0; i < 2; ++i)
    CHECK(context->execute({&x.raw, 1}, {&y.raw, 1}).message() == "plugin 'trial': execute: threw an exception across the seam: thrown by execute");
  CHECK(context->execute({}, {&y.raw, 1}).message() == "plugin 'trial': execute: found 0 inputs and 1 outputs, wanted 1 and 1");
}

TEST_CASE("output shapes: declared when static, asked for otherwise, up to rank 64") {
  TrialHost host;
  Buffer x;
  using Shapes = std::vector<std::vector<int64_t>>;
  const auto shapes = [&](const char* act) {
    const auto program = loaded(host, act);
    return context_of(*program)->output_shapes({&x.raw, 1});
  };
  CHECK(*shapes("") == Shapes{{4}});
  CHECK(*shapes("dynamic") == Shapes{{4}});
  CHECK(*shapes("dynamic 9") == Shapes{{4, 1, 1, 1, 1, 1, 1, 1, 1}});
  CHECK(*shapes("rank unknown") == Shapes{{-2}});
  CHECK(shapes("dynamic 99").status().message() == "plugin 'trial': output_shapes: it gave rank 99 for 'y'");
  CHECK(shapes("dynamic -5").status().message() == "plugin 'trial': output_shapes: it gave dim -5 for 'y'");
}

TEST_CASE("blobs that a plugin retained outlive the call; a release too many is reported") {
  LogTrap log;
  TrialHost host;
  std::weak_ptr<const void> bytes;
  auto program = [&] {
    host.set({{"trial.load", "retain"}});
    Backend::Artifact a = artifact();
    bytes = a.files[0].bytes.keeper;
    return host.plugin->load(std::move(a), kTrial, {.threads = 1});
  }();
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  CHECK(!bytes.expired());
  program->reset();
  CHECK(bytes.expired());
  (void)loaded(host, "over-release");
  CHECK(log.has("plugin-misbehaves trial: released blob "));
}

TEST_CASE("a context keeps its program, a program its plugin: they may be dropped in any order") {
  std::unique_ptr<ExecutionContext> context;
  {
    TrialHost host;
    auto program = loaded(host);
    context = context_of(*program);
  }
  Buffer x, y;
  CHECK(context->execute({&x.raw, 1}, {&y.raw, 1}).ok());
}

TEST_CASE("submit and profile go through when offered") {
  static uint64_t signalled;
  signalled = 0;
  static const optima_fence_host fences = [] {
    optima_fence_host f{};
    f.struct_size = sizeof f;
    f.signal = [](void*, optima_fence_point p) { signalled = p.value; };
    return f;
  }();
  HostServices s = services();
  s.extension = [](std::string_view id) -> const void* { return id == OPTIMA_EXT_FENCE ? &fences : nullptr; };
  TrialHost host({}, s);
  const auto program = loaded(host);
  const auto context = context_of(*program);
  Buffer x, y;
  REQUIRE(context->has_async());
  CHECK(context->submit({&x.raw, 1}, {&y.raw, 1}, {}, {nullptr, 9}).ok());
  CHECK(signalled == 9);
  CHECK(context->cancel().ok());
  REQUIRE(context->has_profile());
  CHECK(context->set_profiling(true).ok());
  const auto events = context->read_profile();
  REQUIRE(events.ok());
  CHECK((events->at(0).node == 11 && events->at(0).name == "Identity" && events->at(0).duration_ns == 1));
  const auto endless = loaded(host, "endless");
  CHECK(context_of(*endless)->read_profile().status().message() ==
        "plugin 'trial': profile: it told an event of node 11 that starts at 100 ns and takes 18446744073709551611 ns");

  const Registry null = scanned(plugins_folder());
  CHECK(null.runtime("null")->manifest().id == "null");
}

TEST_CASE("memory of the device is made, copied to and from, imported and given back, where it is offered") {
  LogTrap log;
  TrialHost host(OptionValues{{"trial.init", "memory"}});
  DeviceAllocator* memory = host.plugin->memory();
  REQUIRE(memory);
  {
    char in[4] = {'o', 'n', 'c', 'e'}, out[4] = {};
    optima_tensor from{}, to{};
    from.struct_size = to.struct_size = sizeof from;
    from.size = to.size = 4;
    from.data = in, to.data = out;
    const auto held = memory->allocate(1, 4, 64);
    REQUIRE_MESSAGE(held.ok(), held.status().message());
    CHECK((*held)->tensor().mem_kind == OPTIMA_MEM_DEVICE);
    CHECK((*held)->tensor().mem_ordinal == 1);
    REQUIRE(memory->copy(from, (*held)->tensor()).ok());
    const auto seen = memory->import((*held)->tensor());
    REQUIRE_MESSAGE(seen.ok(), seen.status().message());
    REQUIRE(memory->copy((*seen)->tensor(), to).ok());
    CHECK(std::string(out, 4) == "once");
    CHECK(memory->import(from).status().message() == "plugin 'trial': import: memory of the host is not imported");
    to.size = 3;
    CHECK(memory->copy((*held)->tensor(), to).message() == "plugin 'trial': copy: copy of 4 bytes to 3");
    CHECK(memory->allocate(0, 4, 8192).status().message() == "plugin 'trial': alloc: no alignment beyond a page");
    CHECK_FALSE(log.has("freed"));
  }
  CHECK(std::count_if(log.lines.begin(), log.lines.end(), [](const std::string& l) { return l.find("freed once") != l.npos; }) == 2);
  const Registry null = scanned(plugins_folder());
  CHECK(null.compiler("null")->memory() == nullptr);
}

TEST_CASE("a plugin file is not started from inside a call into it, and a context may be used again from there") {
  std::unique_ptr<Registry> inner;
  std::unique_ptr<ExecutionContext> other;
  Status started, ran;
  HostServices s = services();
  bool inside = false;
  s.extension = [&](std::string_view) -> const void* {
    if (!std::exchange(inside, false)) return nullptr;
    started = inner->compiler("trial")->devices(nullptr).status();
    Buffer x, y;
    ran = other->execute({&x.raw, 1}, {&y.raw, 1});
    return nullptr;
  };
  TrialHost host({}, s);
  inner = std::make_unique<Registry>(scanned(host.folder.path()));
  const auto program = loaded(host);
  const auto context = context_of(*program);
  other = context_of(*program);
  Buffer x, y;
  inside = true;
  CHECK_FALSE(context->submit({&x.raw, 1}, {&y.raw, 1}, {}, {nullptr, 9}).ok());  // this host has no fences
  CHECK(started.message().find("plugin 'trial': cannot be started from inside a call into ") == 0);
  CHECK(ran.ok());
}

TEST_CASE("an instance starts and ends while a call on another one is inside the plugin file") {
  std::atomic<bool> inside{false}, over{false};
  HostServices s = services();
  s.extension = [&](std::string_view) -> const void* {
    inside = true;
    while (!over) std::this_thread::yield();
    return nullptr;
  };
  TrialHost host({}, s);
  const auto program = loaded(host);
  const auto context = context_of(*program);
  Buffer x, y;
  std::thread call([&] { CHECK_FALSE(context->submit({&x.raw, 1}, {&y.raw, 1}, {}, {nullptr, 9}).ok()); });  // this host has no fences
  while (!inside) std::this_thread::yield();
  {
    const Registry second = scanned(host.folder.path());
    CHECK(second.compiler("trial")->devices(nullptr).ok());
  }
  over = true;
  call.join();
}

TEST_CASE("instances of one plugin file start and end one at a time, also those of several registries") {
  std::atomic<int> inside{0}, beside{0}, calls{0}, wrong{0};
  HostServices s = services();
  s.extension = [&](std::string_view id) -> const void* {
    if (id != "test.setup/1") return nullptr;
    beside += ++inside - 1;
    for (int k = 0; k < 100; ++k) std::this_thread::yield();
    --inside, ++calls;
    return nullptr;
  };
  const PluginFolder folder({"trial"});
  std::vector<Registry> registries;
  for (int k = 0; k < 4; ++k) {
    registries.push_back(scanned(folder.path(), s));
    REQUIRE(registries.back().set_options({{"trial.init", "asks"}}).ok());
  }
  std::vector<std::thread> threads;
  for (Registry& r : registries)
    threads.emplace_back([&] {
      wrong += !r.compiler("trial")->devices(nullptr).ok();
      const Registry ends = std::move(r);
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(calls == 8);
  CHECK(beside == 0);
}

TEST_CASE("a second context gets its turn while the first never stops") {
  TrialHost host;
  const auto program = loaded(host);
  std::atomic<bool> stop{false};
  std::atomic<int> running{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      const auto context = program->create_context();
      Buffer x, y;
      ++running;
      while (!stop) wrong += !(*context)->execute({&x.raw, 1}, {&y.raw, 1}).ok();
    });
  while (running < 3) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const Registry second = scanned(host.folder.path());
    wrong += !second.compiler("trial")->devices(nullptr).ok();
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a second call at a time on one context is refused and logged, not handed to the plugin") {
  LogTrap log;
  TrialHost host;
  const auto program = loaded(host, "slow");
  const auto context = context_of(*program);
  Buffer a, b, c, d;
  std::atomic<int> good = 0, refused = 0, wrong = 0;
  const auto work = [&](Buffer& in, Buffer& out) {
    for (int i = 0; i < 50 && refused == 0; ++i) {  // a call takes 50 ms, so they meet at once
      const Status s = context->execute({&in.raw, 1}, {&out.raw, 1});
      if (s.ok()) ++good;
      else ++(s.message() == "plugin 'trial': two calls at a time on one execution context" && s.kind() == StatusKind::Internal ? refused : wrong);
    }
  };
  std::thread other([&] { work(a, b); });
  work(c, d);
  other.join();
  CHECK((good > 0 && refused > 0 && wrong == 0));
  CHECK(log.has("host-misbehaves trial: two calls at a time on one execution context"));
}

TEST_CASE("contexts of one program run in parallel") {
  TrialHost host;
  const auto program = loaded(host);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto context = program->create_context();
      Buffer x, y;
      x.data.fill(static_cast<float>(i));
      for (int k = 0; k < 200; ++k) good += (*context)->execute({&x.raw, 1}, {&y.raw, 1}).ok() && y.data[3] == static_cast<float>(i + 1);
    });
  for (auto& t : threads) t.join();
  CHECK(good == 800);
}
