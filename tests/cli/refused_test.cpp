// SPDX-License-Identifier: Apache-2.0
// Plugin files that are refused: who plans or runs is told of them, by both programs.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/support/json.hpp"
#include "tests/cli/models.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const std::string kPlugins = OPTIMA_BINARY_DIR "/lib/optima/plugins/";
const std::string kWhy = "plugin 'bad': speaks ABI 0.99, this program speaks 0.1 (at major 0 both must be equal)";

/// llvm_cpu beside a plugin of another minor, which claims BAD:0.
struct Folder {
  TempFolder files;
  std::string model = files.file("tiny.onnxtxt", kTiny), plugins = files / "plugins", bad = plugins + "/bad.so";
  Folder() {
    std::filesystem::create_directory(plugins);
    for (const char* name : {"optima_llvm_cpu.so", "optima_llvm_cpu_rt.so"}) std::filesystem::create_symlink(kPlugins + name, plugins + "/" + name);
    std::filesystem::copy_file(OPTIMA_BINARY_DIR "/tests/unit/loader/plugins/wrong_minor.so", bad);
  }
  Ran host(std::vector<std::string> words) const {
    words.insert(words.begin(), {host_program(), "--plugins", plugins});
    return run(words);
  }
};

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

}  // namespace

TEST_CASE("compile and plan warn once of a refused plugin that might have been a candidate") {
  const Folder f;
  const std::string warning = "optima-host: warning: '" + f.bad + "', plugin 'bad' for BAD, was refused and takes no part: " + kWhy + "\n";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"compile", f.model, "-o", f.files / "out"}, {"plan", f.model}, {"plan", f.model, "--json"}}) {
    CAPTURE(words.back());
    const Ran r = f.host(words);
    CAPTURE(r.err);
    CHECK(r.code == 0);
    CHECK(count(r.err, warning) == 1);
  }
  CHECK(f.host({"plan", f.model, "--device", "X64:0"}).err.find("warning") == std::string::npos);
}

TEST_CASE("a device or plugin whose file was refused is a plugin failure that names file and reason") {
  const Folder f;
  const auto check = [&](const std::vector<std::string>& words, const std::string& part) {
    const Ran r = f.host(words);
    CAPTURE(r.err);
    CHECK(r.code == 5);
    CHECK(r.err.find(part) != std::string::npos);
  };
  const std::string kind = "no plugin serves kind 'BAD', found X64 (llvm_cpu), ARM64 (llvm_cpu); '" + f.bad + "' claims it and was refused: " + kWhy;
  check({"compile", f.model, "-o", f.files / "out", "--device", "BAD:0"}, "device 'BAD:0' (asked by --device): " + kind);
  CHECK_FALSE(std::filesystem::exists(f.files / "out"));
  check({"plan", f.model, "--pin", "op:Relu=BAD:0"}, kind);
  check({"plan", f.model, "--require-device", "bad/BAD:0"}, "no usable plugin 'bad', found llvm_cpu; '" + f.bad + "' is one and was refused: " + kWhy);
  check({"ops", "bad"}, "no compiler plugin 'bad', found llvm_cpu; '" + f.bad + "' is one and was refused: " + kWhy);
  const Ran list = f.host({"devices"});
  CHECK(list.code == 0);
  CHECK(list.out.find("refused:\n  " + f.bad + ": " + kWhy) != std::string::npos);
  CHECK(parse_json(f.host({"devices", "--json"}).out, "stdout").ok());
}

TEST_CASE("a package whose plugin was refused names the file, in both programs; --allow-writable-plugins takes it") {
  const Folder f;
  const std::string package = f.files / "out/tiny", plugins = f.files / "open", file = plugins + "/optima_llvm_cpu_rt.so";
  REQUIRE(f.host({"compile", f.model, "-o", f.files / "out", "--device", "X64:0"}).code == 0);
  std::filesystem::create_directory(plugins);
  std::filesystem::copy_file(kPlugins + "optima_llvm_cpu_rt.so", file);
  REQUIRE(::chmod(file.c_str(), 0777) == 0);
  const std::string why = "needs the runtime side of plugin 'llvm_cpu', found none; '" + file + "' is one and was refused: is writable by everybody (chmod o-w it)";
  for (const std::vector<std::string>& words : {std::vector<std::string>{run_program(), "--plugins", plugins, package, "--input", "random"},
                                                {host_program(), "--plugins", plugins, "run", package, "--input", "random"},
                                                {host_program(), "--plugins", plugins, "bench", package, "--repeat", "1"}}) {
    CAPTURE(words[0]);
    const Ran refused = run(words);
    CAPTURE(refused.err);
    CHECK(refused.code == 5);
    CHECK(refused.err.find(why) != std::string::npos);
    std::vector<std::string> allowed = words;
    allowed.push_back("--allow-writable-plugins");
    CHECK(run(allowed).code == 0);
  }
  const Ran links = run({host_program(), "--plugins", plugins, "calibrate-links", "--device", "X64:0"});
  CHECK(links.code == 5);
  CHECK(run({host_program(), "--plugins", plugins, "calibrate-links"}).err.find("no plugin has a device on this machine; '" + file + "' might have one and was refused: ") != std::string::npos);
  CHECK(links.err.find("'" + file + "' claims it and was refused: is writable by everybody") != std::string::npos);
}
