// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <map>
#include <thread>

#include "core/loader/sink.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

/// Value 0 has two scales, value 1 an encoding without any and a sample, value 2 nothing.
struct Known : Calibration {
  Status broken;
  uint32_t samples() const override { return 4; }
  Result<std::optional<SampleValue>> read(uint32_t sample, uint32_t value) const override {
    if (!broken.ok()) return broken;
    if (value != 1) return std::optional<SampleValue>();
    return std::optional(SampleValue{Blob::copy(sample == 0 ? "data" : "else", 4), {4}});
  }
  std::optional<ValueCodes> encoding(uint32_t value) const override {
    static constexpr float scales[] = {0.5F, 0.25F};
    static constexpr int32_t zero_points[] = {1, 2};
    if (value == 0) return ValueCodes{OPTIMA_U8, 1, 32, scales, zero_points};
    if (value == 1) return ValueCodes{OPTIMA_F16, -1, 0, {}, {}};
    return std::nullopt;
  }
};

struct Compiling {
  TrialHost host;
  TempFolder folder;
  SampleGraph graph{image::pack(identities(2))};
  CompileJob job;

  explicit Compiling(HostServices s = services()) : host({}, std::move(s)) {
    job.graph = &graph.raw;
    job.device = {"TRIAL", 0, {}, 0};
    job.stem = "subgraph_3";
    job.folder = folder.path();
  }
  std::variant<Compiled, CompileFailure> run(const std::string& act) {
    host.set({{"trial.act", act}});
    return host.plugin->compile(job);
  }
  CompileFailure fails(const std::string& act) {
    auto result = run(act);
    REQUIRE(std::holds_alternative<CompileFailure>(result));
    CHECK_MESSAGE(fs::is_empty(job.folder), "something remained of: ", act);
    return std::get<CompileFailure>(result);
  }
  std::string message(const std::string& act) { return fails(act).status.message(); }
  Compiled works(const std::string& act) {
    auto result = run(act);
    if (auto* failure = std::get_if<CompileFailure>(&result)) FAIL(failure->status.message());
    return std::get<Compiled>(result);
  }
};

}  // namespace

TEST_CASE("compile writes its files below the folder and tells what they are") {
  Compiling c;
  std::vector<std::string> stages;
  c.job.progress = [&](double fraction, std::string_view stage) { stages.push_back(cat(fraction, " ", stage)); };
  const Compiled done = c.works("tool good");
  CHECK(done.format_id == "trial.bin/1");
  CHECK(done.files == std::vector<std::string>{"deep/tool.out", "subgraph_3.bin"});
  CHECK(slurp(c.folder / "deep/tool.out") == "tool");
  CHECK(slurp(c.folder / "subgraph_3.bin") == "trial subgraph_3");
  CHECK(done.meta == std::vector<std::pair<std::string, std::string>>{{"compiler", "trial 1"}});
  CHECK(done.compat_text == "trial chips");
  CHECK(done.compat_record.size() == 2);
  CHECK(done.weights.empty());
  CHECK(stages == std::vector<std::string>{"0.25 first stage", "1 done"});
  // What the tool left beside its file is not part of the artifact.
  CHECK(std::distance(fs::recursive_directory_iterator(c.folder.path()), fs::recursive_directory_iterator()) == 3);
}

TEST_CASE("a plugin reads encodings and samples; it hears NOT_FOUND of values that have none, and of samples that are not there that it asked wrongly") {
  Compiling c;
  const Known known;
  c.job.calibration = &known;
  const Compiled done = c.works("good");
  std::map<std::string, std::string> told(done.meta.begin(), done.meta.end());
  CHECK(told["encoding of 0"] == "type 2 axis 1 block 32 s0.500000 z1 s0.250000 z2");
  CHECK(told["encoding of 1"] == "type 10 axis -1 block 0");
  CHECK(told["encoding of 2"] == cat("code ", int{OPTIMA_NOT_FOUND}));
  CHECK(told["0 of 4, value 0"] == cat("code ", int{OPTIMA_NOT_FOUND}));
  CHECK(told["0 of 4, value 1"] == "data rank 1 4");
  CHECK(told["9 of 4, value 1"] == cat("code ", int{OPTIMA_INVALID_ARGUMENT}));
}

TEST_CASE("data that cannot be read end a compilation, whatever the plugin makes of it") {
  Compiling c;
  Known known;
  known.broken = invalid_input("sample 'a.npz': input 'x' is cut off");
  c.job.calibration = &known;
  const CompileFailure failure = c.fails("good");
  CHECK(failure.status.kind() == StatusKind::InvalidInput);
  CHECK(failure.status.message() == "sample 'a.npz': input 'x' is cut off");
}

TEST_CASE("names that leave the folder, or come twice, are refused and nothing remains") {
  Compiling c;
  const std::string who = "plugin 'trial': compile: it ";
  for (const char* name : {"/etc/x", "../x", "a/../b", "a//b", "a/", "./a", ".", "..", "a/./b", ""}) {
    CAPTURE(name);
    CHECK(c.message(cat("name ", name)) == cat(who, "gave the file name '", name, "', wanted a relative path without . and .."));
  }
  CHECK(c.message("nul name") == who + "gave the file name 'a\\x00b', wanted a relative path without . and ..");
  CHECK(c.message("same name") == who + "made the file 'a' twice");
  CHECK(c.message("ignore failure") == who + "gave the file name '../up', wanted a relative path without . and ..");
  CHECK(!is_safe_name(std::string(300, 'a')));
  CHECK(is_safe_name("a/b-c_d.e f/ü.bin"));
}

TEST_CASE("misuse of the sink is the plugin's failure") {
  Compiling c;
  const std::string who = "plugin 'trial': compile: it ";
  CHECK(c.message("unclosed") == who + "left the file 'left.bin' unclosed");
  CHECK(c.message("no format") == who + "set no format id");
  CHECK(c.message("wrong stream") == who + "wrote to stream 77, which is not open");
  CHECK(c.message("big compat") == who + "gave a compat record of 65537 bytes, the limit is 65536");
  CHECK(c.message("compat twice") == who + "called set_compat twice");
  CHECK(c.message("bad weight") == who + "uses weight 5, the graph has 0");
  CHECK(c.message("tool absent") == who + "did not write the file 'deep/tool.out' it asked a path for");
  CHECK(c.message("tool link") == who + "made 'deep/tool.out' something else than a regular file");
  CHECK(c.fails("unclosed").status.kind() == StatusKind::Plugin);
}

TEST_CASE("a file that is there already is not overwritten") {
  Compiling c;
  c.folder.file("subgraph_3.bin", "old");
  const auto result = c.run("tool good");
  REQUIRE(std::holds_alternative<CompileFailure>(result));
  CHECK(std::get<CompileFailure>(result).status.message() == cat("cannot write '", c.folder / "subgraph_3.bin", "': it exists already"));
  CHECK(slurp(c.folder / "subgraph_3.bin") == "old");
  CHECK(!fs::exists(c.folder / "deep"));
}

TEST_CASE("a refusal names the node; a node of another graph is not believed") {
  LogTrap log;
  Compiling c;
  const CompileFailure wide = c.fails("unsupported");
  CHECK((wide.code == OPTIMA_UNSUPPORTED && wide.refused.at(0).node == 12));
  CHECK(wide.status.message() == "plugin 'trial': compile: node is too wide");
  const CompileFailure stranger = c.fails("blames a stranger");
  CHECK((stranger.code == OPTIMA_UNSUPPORTED && stranger.refused.empty()));
  CHECK(log.has("plugin-misbehaves trial: compile: blames node 4711, which the graph does not have"));
  CHECK(c.message("tool failed") == "plugin 'trial': compile: trialc failed (vendor code 3)");
  CHECK(c.fails("gives up").status.kind() == StatusKind::Plugin);
  CHECK(c.message("gives up") == "plugin 'trial': compile: it gave up although nobody cancelled it");
}

TEST_CASE("several nodes are refused at once, each once and with its reason, the one blamed by the status among them") {
  LogTrap log;
  Compiling c;
  const auto told = [](const CompileFailure& failure) {
    std::string all;
    for (const Verdict& v : failure.refused) all += cat(v.node, " ", reason_name(v.reason), " ", v.text, "; ");
    return all;
  };
  const std::string both = "12 DTYPE plugin 'trial': compile: input 0 is i64 (DTYPE); 11 OTHER plugin 'trial': compile: too odd; ";
  for (const char* act : {"refuses", "refuses twice", "refuses and blames"}) {
    CAPTURE(act);
    const CompileFailure failure = c.fails(act);
    CHECK(failure.code == OPTIMA_UNSUPPORTED);
    CHECK(told(failure) == both);
  }
  CHECK(told(c.fails("refuses a stranger")) == "11 OTHER plugin 'trial': compile: too odd; ");
  CHECK(log.has("plugin-misbehaves trial: compile: refuses node 4711, which the graph does not have"));
  CHECK(c.message("refuses and fails") == "plugin 'trial': compile: the tool said no");
}

TEST_CASE("a refusal without a reason, of another kind, or behind which compile says OK, is the plugin's failure") {
  Compiling c;
  const std::string who = "plugin 'trial': compile: it ";
  for (const auto& [act, what] : {std::pair("refuses and goes on", "refused node 12 and then said OK"),
                                  std::pair("refuses yes", "refused node 11 by verdict 1, wanted UNSUPPORTED"),
                                  std::pair("refuses silently", "refused node 11 without a reason"),
                                  std::pair("refuses nothing", "refused a node by a verdict of size 0")}) {
    const CompileFailure failure = c.fails(act);
    CHECK(failure.status.message() == who + what);
    CHECK((failure.code == OPTIMA_INTERNAL && failure.refused.empty()));
  }
}

TEST_CASE("what compile throws becomes a status, and nothing remains") {
  LogTrap log;
  Compiling c;
  for (const char* act : {"throw runtime_error", "throw bad_alloc", "throw int", "throw text", "throw foreign"})
    CHECK(c.message(act).find("plugin 'trial': compile: threw an exception across the seam: ") == 0);
}

TEST_CASE("a cancelled compile ends as cancelled and leaves nothing") {
  Compiling c;
  std::atomic<bool> stop = false;
  c.job.cancelled = &stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop = true;
  });
  const CompileFailure failure = c.fails("cancel");
  later.join();
  CHECK(failure.status.kind() == StatusKind::Cancelled);
  CHECK(failure.code == OPTIMA_CANCELLED);
}

TEST_CASE("a full disk is an I/O error with the system's words, even when the plugin does not notice, and nothing remains") {
  Compiling c;
  const TempFolder mount_point;
  const bool mounted = mount("none", mount_point.path().c_str(), "tmpfs", 0, "size=256k") == 0;
  rlimit old{};
  if (mounted) {
    c.job.folder = mount_point.path();
  } else {  // not allowed to mount: a limit on file sizes stops the same write
    getrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{40000, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  const std::string why = mounted ? "No space left on device" : "File too large";
  for (const char* act : {"full", "full, unnoticed"}) {
    const CompileFailure failure = c.fails(act);
    CHECK(failure.status.kind() == StatusKind::Io);
    CHECK(failure.code == OPTIMA_IO);
    CHECK(failure.status.message().find("cannot ") == 0);
    CHECK(failure.status.message().find(why) != std::string::npos);
  }
  if (mounted) umount(mount_point.path().c_str());
  else setrlimit(RLIMIT_FSIZE, &old);
  CHECK(c.works("").files.size() == 1);
}

TEST_CASE("a folder that is not there is an I/O error") {
  Compiling c;
  c.job.folder = c.folder / "gone";
  const auto result = c.run("");
  REQUIRE(std::holds_alternative<CompileFailure>(result));
  CHECK(std::get<CompileFailure>(result).status.kind() == StatusKind::Io);
}

TEST_CASE("weights can be retained when the host lends their keepers, and have a path") {
  Compiling c;
  const float weight[] = {1, 2, 3, 4};
  const std::vector<Blob> blobs{Blob::copy(weight, sizeof weight)};
  optima_blob raw{};
  raw.struct_size = sizeof raw;
  raw.data = weight;
  raw.size = sizeof weight;
  raw.fd = -1;
  c.graph.raw.blobs = &raw;
  c.graph.raw.blob_count = 1;
  CHECK(c.works("retain").files == std::vector<std::string>{"retained"});
  CHECK(slurp(c.folder / "retained") == "4 ");  // UNSUPPORTED: bytes that nobody keeps
  fs::remove(c.folder / "retained");
  c.job.blobs = blobs;
  c.works("retain");
  const std::string said = slurp(c.folder / "retained");
  CHECK(said.find("0 /") == 0);
  CHECK(!fs::exists(said.substr(2)));  // the file went with the last release
  fs::remove(c.folder / "retained");
  const Compiled done = c.works("");
  CHECK(done.weights == std::vector<std::pair<std::string, uint32_t>>{{"w", 0}});
}

TEST_CASE("graph_to_onnx goes to the host's writer; without one the plugin hears so") {
  Compiling bare;
  CHECK(bare.message("onnx") == "plugin 'trial': compile: this program writes no ONNX files");
  HostServices s = services();
  uint32_t nodes = 0;
  std::string folder;
  s.graph_to_onnx = [&](const optima_graph& g, const std::string& where) {
    nodes = g.image->nodes.count;
    folder = where;
    return io_error("no room for model.onnx");
  };
  Compiling c(s);
  const CompileFailure failure = c.fails("onnx");
  CHECK(failure.status.message() == "plugin 'trial': compile: no room for model.onnx");
  CHECK(failure.status.kind() == StatusKind::Io);
  CHECK(nodes == 2);
  CHECK(fs::is_directory(folder));
}

TEST_CASE("after a fatal failure the plugin's other calls are refused without calling it") {
  Compiling c;
  CHECK(c.message("fatal") == "plugin 'trial': compile: the board is gone");
  const std::string unusable = "not called, because the plugin reported a fatal failure before";
  CHECK(c.message("") == cat("plugin 'trial': compile: ", unusable));
  CHECK(c.host.plugin->load({}, c.job.device, {}).status().message() == cat("plugin 'trial': load: ", unusable));
}

TEST_CASE("an unknown code without a text still gives a sentence") {
  const PluginFolder folder({"fine"});
  const Registry r = scanned(folder.path());
  const SampleGraph graph(image::pack(identities(1)));
  const TempFolder out;
  CompileJob job;
  job.graph = &graph.raw;
  job.device = {"BAD", 0, {}, 0};
  job.folder = out.path();
  const auto result = r.compiler("bad")->compile(job);
  CHECK(std::get<CompileFailure>(result).status.message() == "plugin 'bad': compile: this plugin compiles nothing");
  CHECK(std::get<CompileFailure>(result).code == OPTIMA_INTERNAL);
}

TEST_CASE("two compiles at a time do not meet") {
  TrialHost host;
  const SampleGraph graph(image::pack(identities(2)));
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 8; ++k) {
        const TempFolder folder;
        CompileJob job;
        job.graph = &graph.raw;
        job.device = {"TRIAL", 0, {}, 0};
        job.stem = "s";
        job.folder = folder.path();
        good += std::holds_alternative<Compiled>(host.plugin->compile(job));
      }
    });
  for (auto& t : threads) t.join();
  CHECK(good == 32);
}

TEST_CASE("the temporary folder of an instance goes with it") {
  LogTrap log;
  std::string temp;
  {
    TrialHost host;
    REQUIRE(host.plugin->devices(nullptr).ok());
    for (const std::string& l : log.lines)
      if (const size_t at = l.find("info trial/start: temp "); at != l.npos) temp = l.substr(at + 23);
    REQUIRE(!temp.empty());
    CHECK(fs::is_directory(temp));
  }
  CHECK(!fs::exists(temp));
}
