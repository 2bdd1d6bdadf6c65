// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "tests/unit/package/sample.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

std::set<std::string> listing(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) names.insert(fs::relative(entry.path(), folder).string());
  return names;
}

}  // namespace

TEST_CASE("a committed package has exactly the files of the format and nothing beside it") {
  TempFolder t;
  write_sample(t / "out");
  const std::string sha = to_hex(sha256(kWeightBytes.data(), kWeightBytes.size()));
  CHECK(listing(t / "out") ==
        std::set<std::string>{"m", "m/model.meta", "m/placement.json", "m/self_test", "m/self_test/input_0.npy", "m/weights",
                              "m/weights/" + sha + ".bin", "m/Subgraph_0", "m/Subgraph_0/subgraph_0.meta", "m/Subgraph_0/kernels",
                              "m/Subgraph_0/kernels/a.so", "m/Subgraph_1", "m/Subgraph_1/subgraph_1.meta", "m/Subgraph_1/kernels",
                              "m/Subgraph_1/kernels/a.so"});
}

TEST_CASE("writing the same package twice gives the same bytes") {
  TempFolder t;
  write_sample(t / "a");
  write_sample(t / "b");
  REQUIRE(listing(t / "a") == listing(t / "b"));
  for (const std::string& name : listing(t / "a"))
    if (fs::is_regular_file(t / ("a/" + name))) CHECK_MESSAGE(get(t / ("a/" + name)) == get(t / ("b/" + name)), name);
}

TEST_CASE("what is read is what was written") {
  TempFolder t;
  const Package wrote = write_sample(t / "out");
  const auto reader = PackageReader::open(t / "out/m", {false, t / "cache"});
  REQUIRE_MESSAGE(reader.ok(), reader.status().message());
  const Package& p = reader->package();
  CHECK(p.hash == wrote.hash);
  CHECK(p.folder == t / "out/m");
  CHECK(p.inputs == std::vector<std::string>{"in"});
  CHECK(p.outputs == std::vector<std::string>{"out", "in"});
  REQUIRE(p.find_tensor("in"));
  CHECK(p.find_tensor("in")->shape == std::vector<int64_t>{1, 3, -1});
  CHECK(p.find_tensor("in")->symbols[2] == "width");
  REQUIRE(p.variants.size() == 1);
  const PackageSubgraph& s = p.variants[0].subgraphs[1];
  CHECK(s.device == "REF:0");
  CHECK(s.plugin_build == "b7");
  CHECK(s.target.attributes == OptionValues{{"cpu", "znver4"}});
  CHECK(s.target.memory_limit == 1 << 20);
  CHECK(s.compat_record == std::vector<std::byte>{std::byte{0}, std::byte{0xAB}, std::byte{0xff}});
  CHECK(s.meta == std::vector<std::pair<std::string, std::string>>{{"kernels", "1"}});
  CHECK(p.variants[0].pass_through[0].input == "in");
  const auto code = reader->artifact(1, "kernels/a.so");
  REQUIRE(code.ok());
  CHECK(std::string(reinterpret_cast<const char*>(code->data), code->size) == "code");
  const auto weight = reader->weight(s.weights[0].second);
  REQUIRE(weight.ok());
  CHECK(reinterpret_cast<uintptr_t>(weight->data) % 64 == 0);
  CHECK(std::string(reinterpret_cast<const char*>(weight->data), weight->size) == kWeightBytes);
}

TEST_CASE("a writer that is dropped leaves nothing, the output folder and its parents included") {
  TempFolder t;
  {
    auto writer = PackageWriter::create({t / "deep/er/out", "m"});
    REQUIRE(writer.ok());
    fill(*writer);
    CHECK(fs::exists(writer->staging() + "/weights"));
  }
  CHECK(listing(t.path()).empty());
}

TEST_CASE("a failed commit leaves nothing and keeps a folder that was there before") {
  TempFolder t;
  fs::create_directories(t / "out");
  auto writer = PackageWriter::create({t / "out", "m"});
  REQUIRE(writer.ok());
  Package p = fill(*writer);
  p.variants[0].subgraphs[0].files.push_back({"missing.bin", "", 0});
  {
    auto moved = std::move(*writer);
    const Status status = moved.commit(p).status();
    CHECK(status.kind() == StatusKind::Plugin);
    CHECK(status.message().find("artifact file 'missing.bin' was promised and not written") == 0);
  }
  CHECK(listing(t.path()) == std::set<std::string>{"out"});
}

TEST_CASE("a file that no subgraph names is refused") {
  TempFolder t;
  auto writer = PackageWriter::create({t / "out", "m"});
  REQUIRE(writer.ok());
  const Package p = fill(*writer);
  put(writer->staging() + "/Subgraph_0/kernels/stray.o", "x");
  CHECK(writer->commit(p).status().message() == "artifact file 'kernels/stray.o' was written and not named, wanted every file through the sink");
}

TEST_CASE("a package that exists is refused without replace, and stays as it was") {
  TempFolder t;
  write_sample(t / "out");
  const std::string before = get(t / "out/m/model.meta");
  const Status status = PackageWriter::create({t / "out", "m"}).status();
  CHECK(status.kind() == StatusKind::InvalidInput);
  CHECK(status.message() == "package '" + (t / "out/m") + "' exists, wanted a free name or --force");
  CHECK(get(t / "out/m/model.meta") == before);
}

TEST_CASE("replace exchanges the package; until then the old one is whole") {
  TempFolder t;
  write_sample(t / "out");
  auto writer = PackageWriter::create({t / "out", "m", true});
  REQUIRE(writer.ok());
  Package p = fill(*writer);
  p.options["fake.level"] = "9";
  CHECK(open_package(t / "out/m")->options.at("fake.level") == "3");
  REQUIRE(writer->commit(p).ok());
  CHECK(open_package(t / "out/m")->options.at("fake.level") == "9");
  CHECK(fs::exists(t / "out/m"));
  size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(t / "out")) entries += !entry.path().empty();
  CHECK(entries == 1);
}

TEST_CASE("replace refuses a folder that is not a package") {
  TempFolder t;
  put(t / "out/m/thesis.txt", "years of work");
  const Status status = PackageWriter::create({t / "out", "m", true}).status();
  CHECK(status.message() == "'" + (t / "out/m") + "' exists and is not a package, wanted a package or a free name");
  CHECK(get(t / "out/m/thesis.txt") == "years of work");
}

TEST_CASE("a package that appears while another is written is not overwritten") {
  TempFolder t;
  auto slow = PackageWriter::create({t / "out", "m"});
  REQUIRE(slow.ok());
  const Package p = fill(*slow);
  write_sample(t / "out");
  CHECK(slow->commit(p).status().message() == "package '" + (t / "out/m") + "' exists, wanted a free name or --force");
}

TEST_CASE("what a killed run left is removed by the next run, what a living run holds is not") {
  TempFolder t;
  const pid_t child = fork();
  if (child == 0) {
    auto writer = PackageWriter::create({t / "out", "m"});
    if (writer.ok() && writer->add_file("alloc.json", "{}").ok()) raise(SIGKILL);
    _exit(1);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  REQUIRE(WIFSIGNALED(how));
  const std::string dead = t / ("out/.m." + std::to_string(child));
  REQUIRE(fs::exists(dead));
  auto living = PackageWriter::create({t / "out", "m"});
  REQUIRE(living.ok());
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(dead + ".lock"));
  auto second = PackageWriter::create({t / "out", "m"});
  REQUIRE(second.ok());
  CHECK(fs::exists(living->staging()));
  CHECK(living->staging() != second->staging());
}

TEST_CASE("folders of the user that look like leftovers stay, also under the number of this run") {
  TempFolder t;
  const std::string own = std::to_string(getpid());
  for (const std::string& name : {std::string("1"), std::string("20240101-1"), own, own + "-1"}) put(t / ("out/.m." + name + "/thesis.txt"), "years of work");
  put(t / "out/.m.7/thesis.txt", "years of work"), put(t / "out/.m.7.lock", "mine");
  put(t / "out/.m.8.old/thesis.txt", "years of work");
  put(t / ("out/.m." + own + "-2.lock"), ""), put(t / ("out/.m." + own + "-3.old/thesis.txt"), "years of work");
  const std::set<std::string> before = listing(t.path());
  write_sample(t / "out");
  std::set<std::string> after = listing(t.path());
  std::erase_if(after, [](const std::string& name) { return name == "out/m" || name.starts_with("out/m/"); });
  CHECK(after == before);
  for (const std::string& name : after)
    if (name.ends_with("thesis.txt")) CHECK_MESSAGE(get(t / name) == "years of work", name);
}

TEST_CASE("an old package that a dead run had moved aside comes back") {
  TempFolder t;
  write_sample(t / "out");
  const pid_t child = fork();
  if (child == 0) {
    auto writer = PackageWriter::create({t / "out", "m", true});
    fs::rename(t / "out/m", writer->staging() + ".old");
    raise(SIGKILL);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  REQUIRE_FALSE(fs::exists(t / "out/m"));
  CHECK_FALSE(PackageWriter::create({t / "out", "m"}).ok());
  CHECK(open_package(t / "out/m").ok());
}

TEST_CASE("names that are no folder names are refused") {
  TempFolder t;
  for (const std::string name : {"", ".m", "a/b", "..", "a\nb"}) {
    const Status status = PackageWriter::create({t / "out", name}).status();
    CHECK(status.kind() == StatusKind::InvalidInput);
  }
  CHECK(listing(t.path()).empty());
}

TEST_CASE("a disk that is full gives an Io error that names the file, and nothing remains") {
  TempFolder t;
  fs::create_directories(t / "out");
  const pid_t child = fork();
  if (child == 0) {  // a file-size limit stands for the full disk: write() fails the same way
    signal(SIGXFSZ, SIG_IGN);
    rlimit small{500, 500};
    setrlimit(RLIMIT_FSIZE, &small);
    bool good = false;
    {
      auto writer = PackageWriter::create({t / "out", "m"});
      const Status status = writer->add_weight(Blob::copy(kWeightBytes.data(), kWeightBytes.size())).status();
      good = status.kind() == StatusKind::Io && status.message().find("cannot write '") == 0;
    }
    _exit(good ? 0 : 1);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK(WIFEXITED(how));
  CHECK(WEXITSTATUS(how) == 0);
  CHECK(fs::is_empty(t / "out"));
}

TEST_CASE("an output folder that cannot be made is an Io error") {
  TempFolder t;
  put(t / "file", "x");
  const Status status = PackageWriter::create({t / "file/out", "m"}).status();
  CHECK(status.kind() == StatusKind::Io);
  CHECK(status.message() == "cannot create folder '" + (t / "file/out") + "': Not a directory");
}

TEST_CASE("a weight that comes from a file range is stored with exactly those bytes") {
  TempFolder t;
  put(t / "model.bin", "0123456789");
  const auto file = map_file(t / "model.bin");
  REQUIRE(file.ok());
  auto writer = PackageWriter::create({t / "out", "m"});
  REQUIRE(writer.ok());
  const auto sha = writer->add_weight(slice(*file, 3, 4));
  REQUIRE(sha.ok());
  CHECK(*sha == to_hex(sha256("3456", 4)));
  CHECK(get(writer->staging() + "/weights/" + *sha + ".bin") == "3456");
}
