// SPDX-License-Identifier: Apache-2.0
// A plugin crashes, hangs, exits, throws or prints inside each call that the programs make. Users read one sentence that names the plugin
// and the call, never exit code 0, and nothing is left behind.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "core/support/text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]> m (float[4] x) => (float[4] y) { y = Identity(x) })";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Where the programs of one test put their temporary files and caches, and a package that the plugin compiled while it behaved.
class Place {
 public:
  Place() {
    fs::create_directory(temporary());
    model_ = f_.file("m.onnxtxt", kModel);
    const Ran r = run(words(host_program(), {"compile", model_, "-o", f_ / "good", "--device", "MIS:0"}), environment(""));
    CAPTURE(r.err);
    REQUIRE(r.code == 0);
    REQUIRE(nothing_is_left());
  }

  std::string operator/(std::string_view name) const { return f_ / name; }
  const std::string& model() const { return model_; }
  std::string package() const { return f_ / "good/m"; }
  std::string temporary() const { return f_ / "tmp"; }
  std::string told() const { return f_ / "told"; }

  std::vector<std::string> compile_words() const { return words(host_program(), {"compile", model_, "-o", f_ / "out", "--device", "MIS:0", "--json"}); }
  std::vector<std::string> host_words() const { return words(host_program(), {"run", package(), "--input", "random", "--json"}); }
  std::vector<std::string> run_words() const { return words(run_program(), {package(), "--input", "random", "--json"}); }

  /// `wish`: HOW@WHERE. In the probe too when `in_probe`; that needs a cache of its own, for verdicts are remembered.
  std::vector<std::string> environment(const std::string& wish, bool in_probe = false) const {
    std::vector<std::string> out = {"TMPDIR=" + temporary(), "MISBEHAVE=" + wish, "MISBEHAVE_TELL=" + told()};
    out.push_back("XDG_CACHE_HOME=" + f_ / (in_probe ? "cache of " + wish : "cache"));
    if (in_probe) out.push_back("MISBEHAVE_IN_PROBE=1");
    return out;
  }

  bool nothing_is_left() const { return fs::is_empty(temporary()) && !fs::exists(f_ / "out"); }
  void tidy() const {
    fs::remove_all(f_ / "out");
    fs::remove(told());
  }

 private:
  static std::vector<std::string> words(const std::string& program, std::vector<std::string> more) {
    if (program == run_program()) more.insert(more.begin() + 1, {"--plugins", MISBEHAVE_PLUGINS});
    else more.insert(more.begin(), {"--plugins", MISBEHAVE_PLUGINS});
    more.insert(more.begin(), program);
    return more;
  }
  TempFolder f_;
  std::string model_;
};

/// A call of the seam, and how the programs come to make it.
struct Call {
  std::string name;
  enum class Verb { Compile, Run } verb;  // of optima-host
  bool both = true;                       // optima-run makes it, too
  bool for_subgraph = false;              // by either program; what optima-run does while it loads, it does for a subgraph
  bool in_probe = false;                  // where optima-host meets it
};
const Call kCalls[] = {{"query", Call::Verb::Compile, true, false, true}, {"init", Call::Verb::Compile},
                       {"devices", Call::Verb::Compile},                  {"check", Call::Verb::Compile, false},
                       {"compile", Call::Verb::Compile, false, true},     {"load", Call::Verb::Run, true, true},
                       {"execute", Call::Verb::Run, true, true},          {"context_destroy", Call::Verb::Run}};

struct Cell {
  const Place& place;
  std::string how;
  Call call;
  bool host;

  std::string wish() const { return how + "@" + call.name; }
  bool in_probe() const { return host && call.in_probe; }
  std::vector<std::string> words() const {
    return !host ? place.run_words() : call.verb == Call::Verb::Compile ? place.compile_words() : place.host_words();
  }
  std::vector<std::string> environment() const { return place.environment(wish(), in_probe()); }
  std::string error() const { return host ? "optima-host: error: " : "optima-run: "; }
  /// "subgraph 0: plugin 'misbehave': execute"
  std::string who() const {
    if (in_probe()) return "plugin 'optima_misbehave.so': probe";
    const bool loading = !host && call.name != "context_destroy";
    return cat(call.for_subgraph || loading ? "subgraph 0: " : "", "plugin 'misbehave': ", call.name);
  }

  Ran run() const {
    if (how != "hang") return test::run(words(), environment());
    Started program(words(), environment());
    CHECK(program.comes_to_file(place.told()));
    program.signal(SIGTERM);
    CHECK(program.says("interrupted; waiting for " + who()));
    program.signal(SIGTERM);
    return program.finish();
  }

  void check(const Ran& r) const {
    if (how == "print") {
      CHECK(r.code == 0);
      CHECK(parse_json(r.out, "stdout").ok());
      CHECK(fs::is_empty(place.temporary()));
      return;
    }
    CHECK(place.nothing_is_left());
    if (how == "hang") check_end(r, 143, "interrupted; " + who() + " did not come back");
    else if (in_probe()) check_refused(r);
    else if (how == "throw") check_thrown(r);
    else check_end(r, 5, who() + (how == "crash" ? ": crashed (SIGSEGV)" : ": called exit()"));
  }

  void check_end(const Ran& r, int code, const std::string& sentence) const {
    CHECK(r.code == code);
    CHECK((call.name == "context_destroy" ? parse_json(r.out, "stdout").ok() : r.out.empty()));  // a destructor runs when all is printed
    if (how == "hang") CHECK(last_line(r.err) == error() + sentence);
    else CHECK(r.err == error() + sentence + "\n");
  }

  // Of a file that the probe refused the list of plugins tells.
  void check_refused(const Ran& r) const {
    CHECK(r.code == 5);
    CHECK(r.out.empty());
    CHECK(has(refusal(), how == "crash" ? "crashes in query (SIGSEGV)" : how == "exit" ? "ends the process in query (exit status 0)" : "query threw an exception"));
  }

  // An exception is caught at the call, and the program goes on with it as with any failure of that call.
  void check_thrown(const Ran& r) const {
    CHECK(r.code == (call.name == "check" ? 4 : 5));
    CHECK(last_line(r.err).starts_with(error()));
    CHECK(has(last_line(r.err), cat("plugin 'misbehave': ", call.name)));
    CHECK(has(last_line(r.err), "threw an exception across the seam: thrown by the plugin"));
  }

  std::string refusal() const {
    const Ran list = test::run({host_program(), "--plugins", MISBEHAVE_PLUGINS, "plugins"}, environment());
    for (size_t at = 0; at < list.out.size();) {
      const size_t end = std::min(list.out.find('\n', at), list.out.size());
      if (const std::string line = list.out.substr(at, end - at); has(line, "query")) return line;
      at = end + 1;
    }
    return "";
  }

  std::string row(const Ran& r) const {
    const auto padded = [](std::string text, size_t width) { return text + std::string(width > text.size() ? width - text.size() : 1, ' '); };
    std::string read = r.code == 0 ? "(stdout is one JSON document)" : last_line(r.err);
    if (in_probe() && (how == "crash" || how == "exit" || how == "throw")) read += "; and in the list of plugins:" + refusal();
    return padded(how, 7) + padded(call.name, 17) + padded(host ? "optima-host" : "optima-run", 13) + padded(std::to_string(r.code), 6) + read + "\n";
  }
};

}  // namespace

TEST_CASE("whatever a plugin does inside a call, users read who and where, and nothing is left behind") {
  const Place place;
  std::string table = "\nHOW    CALL             PROGRAM      EXIT  WHAT THE USER READS LAST\n";
  for (const char* how : {"crash", "hang", "exit", "throw", "print"})
    for (const Call& call : kCalls)
      for (const bool host : {true, false}) {
        if (!host && !call.both) continue;
        const Cell cell{place, how, call, host};
        const std::string wish = cell.wish();
        CAPTURE(wish);
        CAPTURE(host);
        const Ran r = cell.run();
        CAPTURE(r.out);
        CAPTURE(r.err);
        cell.check(r);
        table += cell.row(r);
        place.tidy();
      }
  MESSAGE(table);
}

TEST_CASE("every way to take the process down is told with the plugin's call, and is exit code 5") {
  const Place place;
  const std::string who = "plugin 'misbehave': ";
  const std::pair<std::string, std::string> rows[] = {
      {"bus@execute", "subgraph 0: " + who + "execute: crashed (SIGBUS)"},
      {"ill@execute", "subgraph 0: " + who + "execute: crashed (SIGILL)"},
      {"fpe@execute", "subgraph 0: " + who + "execute: crashed (SIGFPE)"},
      {"abort@execute", "subgraph 0: " + who + "execute: aborted (SIGABRT)"},
      {"overflow@execute", "subgraph 0: " + who + "execute: crashed (SIGSEGV, stack overflow)"},
      {"quick_exit@execute", "subgraph 0: " + who + "execute: called quick_exit()"},
      {"_exit@execute", "subgraph 0: " + who + "execute: called _exit()"},
      {"_Exit@execute", "subgraph 0: " + who + "execute: called _exit()"},
      {"crash@bindings", "subgraph 0: " + who + "bindings: crashed (SIGSEGV)"},
      {"crash@context_open", who + "context_open: crashed (SIGSEGV)"},
      {"throw@context_open", who + "context_open: threw an exception across the seam: thrown by the plugin"},
      {"crash@execute_within", "subgraph 0: " + who + "execute: crashed (SIGSEGV)"},
      {"exit@execute_within", "subgraph 0: " + who + "execute: called exit()"},
      {"exit@program_destroy", who + "program_destroy: called exit()"},
      {"crash@deinit", who + "deinit: crashed (SIGSEGV)"},
      {"throw@deinit", who + "deinit: threw an exception across the seam: thrown by the plugin"},
      {"throw@program_destroy", who + "program_destroy: threw an exception across the seam: thrown by the plugin"},
      {"thread crash@execute", "subgraph 0: " + who + "execute: crashed (SIGSEGV) on a thread of its own"},
      {"thread abort@execute", "subgraph 0: " + who + "execute: aborted (SIGABRT) on a thread of its own"},
      {"thread exit@execute", "subgraph 0: " + who + "execute: called exit() on a thread of its own"},
      {"thread _exit@execute", "subgraph 0: " + who + "execute: called _exit() on a thread of its own"},
      {"thread throw@execute", "subgraph 0: " + who + "execute: threw an exception that nobody caught on a thread of its own: thrown by the plugin"},
      {"crash@library", "the library of a plugin crashed (SIGSEGV) while the program ended"},
  };
  for (const auto& [wish, sentence] : rows)
    for (const bool host : {true, false}) {
      CAPTURE(wish);
      CAPTURE(host);
      const Ran r = run(host ? place.host_words() : place.run_words(), place.environment(wish));
      CAPTURE(r.err);
      CHECK(r.code == 5);
      CHECK(last_line(r.err) == (host ? "optima-host: error: " : "optima-run: ") + sentence);
      CHECK(fs::is_empty(place.temporary()));
    }
}

TEST_CASE("what a library does in its destructors leaves the exit code alone") {
  const Place place;
  for (const std::string wish : {"_exit@library", "exit@library"}) {
    CAPTURE(wish);
    CHECK(run(place.host_words(), place.environment(wish)).code == 0);
    CHECK(run({run_program(), place.package(), "--plugins", MISBEHAVE_PLUGINS, "--input", "none.npy"}, place.environment(wish)).code == 3);
  }
}

TEST_CASE("a crash while a library is loaded is told where there is no probe") {
  const Place place;
  std::vector<std::string> environment = place.environment("crash@constructor");
  environment.emplace_back("MISBEHAVE_FROM_START=1");
  const Ran r = run(place.run_words(), environment);
  CHECK(r.code == 5);
  CHECK(r.err == "optima-run: subgraph 0: plugin 'misbehave': being loaded: crashed (SIGSEGV)\n");
  CHECK(fs::is_empty(place.temporary()));
}

TEST_CASE("compare does not pass when a plugin exits with 0") {
  const Place place;
  std::vector<std::string> words = {host_program(), "--plugins", MISBEHAVE_PLUGINS, "compare", place.model(), place.package()};
  CHECK(run(words, place.environment("")).code == 0);
  for (const std::string wish : {"exit@execute", "_exit@execute", "thread exit@execute"}) {
    CAPTURE(wish);
    const Ran r = run(words, place.environment(wish));
    CHECK(r.code == 5);
    CHECK(r.out.empty());
  }
}

TEST_CASE("work that a plugin carries on on a thread of its own is told like a call") {
  const Place place;
  const std::vector<std::string> words = {host_program(), "--plugins", MISBEHAVE_PLUGINS, "compare", place.model(), place.package()};
  const std::string who = "subgraph 0: plugin 'misbehave': submit";
  CHECK(run(words, place.environment("behave@submit")).code == 0);
  for (const auto& [how, said] : {std::pair<std::string, std::string>("crash", ": crashed (SIGSEGV) on a thread of its own"),
                                  {"exit", ": called exit() on a thread of its own"},
                                  {"throw", ": threw an exception that nobody caught on a thread of its own: thrown by the plugin"}}) {
    CAPTURE(how);
    const Ran r = run(words, place.environment(how + "@submit"));
    CHECK(r.code == 5);
    CHECK(r.err == "optima-host: error: " + who + said + "\n");
    CHECK(place.nothing_is_left());
  }
  Started program(words, place.environment("hang@submit"));
  CHECK(program.comes_to_file(place.told()));
  program.signal(SIGTERM);
  CHECK(program.says("interrupted; waiting for " + who));
  program.signal(SIGTERM);
  const Ran r = program.finish();
  CHECK(r.code == 143);
  CHECK(last_line(r.err) == "optima-host: error: interrupted; " + who + " did not come back");
  CHECK(place.nothing_is_left());
}

TEST_CASE("one signal is enough: after five seconds a plugin that hangs is waited for no longer") {
  const Place place;
  const std::vector<std::string> words = place.compile_words();
  Started program(words, place.environment("hang@compile"));
  REQUIRE(program.comes_to_file(place.told()));
  program.signal(SIGINT);
  const Ran r = program.finish();
  CHECK(r.code == 130);
  CHECK(last_line(r.err) == "optima-host: error: interrupted; subgraph 0: plugin 'misbehave': compile did not come back");
  CHECK(place.nothing_is_left());
}

TEST_CASE("Ctrl-C while a plugin loads ends with 130 as soon as the plugin has asked") {
  const Place place;
  for (const bool host : {true, false}) {
    CAPTURE(host);
    Started program(host ? place.host_words() : place.run_words(), place.environment("obey@load"));
    REQUIRE(program.comes_to_file(place.told()));
    program.signal(SIGINT);
    const Ran r = program.finish();
    CAPTURE(r.err);
    CHECK(r.code == 130);
    CHECK(r.out.empty());
    CHECK(last_line(r.err) == (host ? "optima-host: error: interrupted" : "optima-run: interrupted"));
    CHECK(place.nothing_is_left());
    place.tidy();
  }
}

TEST_CASE("refusals without a word are the plugin's failure") {
  const Place place;
  const Ran r = run(place.compile_words(), place.environment("refuse@sink"));
  CHECK(r.code == 5);
  CHECK(has(last_line(r.err), "plugin 'misbehave': compile: it refused a node by a verdict of size 0"));
  CHECK(place.nothing_is_left());
}

// It waits for its config, which is a FIFO, and is in no plugin then.
TEST_CASE("a crash of the program itself is told as such and takes its usual course") {
  const TempFolder f;
  const std::string config = f / "config";
  REQUIRE(::mkfifo(config.c_str(), 0600) == 0);
  for (const auto& [signal, said] : {std::pair(SIGSEGV, "crashed (SIGSEGV)"), std::pair(SIGABRT, "aborted (SIGABRT)")}) {
    Started program({host_program(), "--config", config, "plugins"});
    const int writer = ::open(config.c_str(), O_WRONLY | O_CLOEXEC);
    program.signal(signal);
    const Ran r = program.finish();
    ::close(writer);
    CHECK(r.code == 128 + signal);
    CHECK(r.err == cat("optima-host: error: the program itself ", said, ", please report it\n"));
  }
}

TEST_CASE("stdout is the program's own, under each of its names") {
  const Place place;
  const std::vector<std::string> plan = {host_program(), "--plugins", MISBEHAVE_PLUGINS, "plan", place.model(), "--device", "MIS:0"};
  for (const std::string name : {"-", "/dev/stdout", "/proc/self/fd/1"}) {
    CAPTURE(name);
    std::vector<std::string> words = plan;
    words.insert(words.end(), {"-o", name});
    const Ran r = run(words, place.environment("print@check"));
    CHECK(r.code == 0);
    CHECK(parse_json(r.out, "stdout").ok());
    CHECK(has(r.err, "and writes"));
    words = plan;
    words.insert(words.end(), {"--log-json", name, "--log-level", "debug"});
    const Ran logged = run(words, place.environment("log@check"));
    CHECK(logged.code == 0);
    CHECK(has(logged.err, "placement of 'm'"));
    CHECK(parse_json(logged.out.substr(0, logged.out.find('\n')), "stdout").ok());
  }
}

TEST_CASE("a plugin that floods the log is cut after a thousand lines, with their number") {
  const Place place;
  for (const bool host : {true, false}) {
    CAPTURE(host);
    const Ran r = run(host ? place.host_words() : place.run_words(), place.environment("log@execute"));
    CHECK(r.code == 0);
    CHECK(has(r.err, "misbehave: line 999\n"));
    CHECK_FALSE(has(r.err, "line 1000"));
    CHECK(has(r.err, "misbehave: has logged 1000 lines; more are left out\n"));
    CHECK(has(r.err, "misbehave: 4000 more lines of its log were left out\n"));
    std::vector<std::string> words = host ? place.host_words() : place.run_words();
    words.insert(words.end(), {"--log-level", "error"});
    CHECK(run(words, place.environment("log@execute")).err.empty());
  }
}

TEST_CASE("only regular files are opened in a plugin folder, the others are listed with what they are") {
  const TempFolder f;
  REQUIRE(::mkfifo((f / "fifo.so").c_str(), 0600) == 0);
  fs::create_directory(f / "folder.so");
  fs::create_symlink("/dev/zero", f / "device.so");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (f / "socket.so").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const Ran r = run({host_program(), "--plugins", f.path(), "plugins"});
  ::close(listener);
  CAPTURE(r.out);
  CHECK(r.code == 0);
  for (const char* said : {"is a FIFO, wanted a regular file", "is a folder, wanted a regular file", "is a device, wanted a regular file", "is a socket, wanted a regular file"})
    CHECK(has(r.out, said));
}
