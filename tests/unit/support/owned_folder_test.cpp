// SPDX-License-Identifier: Apache-2.0
// Folders that go with their owner, however it ends, and folders of others that stay.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "core/support/owned_folder.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using namespace optima::test;
namespace fs = std::filesystem;

namespace {

// In a process of its own, which a signal ends when `killed`.
bool in_child(bool killed, const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    const bool good = body();
    if (good && killed) raise(SIGKILL);
    _exit(good ? 0 : 1);
  }
  int how = 0;
  waitpid(child, &how, 0);
  return killed ? WIFSIGNALED(how) : how == 0;
}

size_t entries(const std::string& folder) { return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator())); }

const auto every = [](std::string_view) { return true; };

}  // namespace

TEST_CASE("an owned folder and its lock go with the object") {
  const TempFolder t;
  {
    auto made = OwnedFolder::make(t / "a", 0700);
    REQUIRE(made.ok());
    REQUIRE(made->has_value());
    put(t / "a/deep/file", "x");
    OwnedFolder moved = std::move(**made);
    CHECK(moved.path() == t / "a");
    remove_left_folders(t.path(), every);  // its owner lives
    CHECK(fs::exists(t / "a/deep/file"));
    CHECK_FALSE(OwnedFolder::make(t / "a", 0700)->has_value());
  }
  CHECK(entries(t.path()) == 0);
}

TEST_CASE("a folder that is there already is nobody's to own, and gets no lock") {
  const TempFolder t;
  put(t / "theirs/thesis.txt", "years of work");
  CHECK_FALSE(OwnedFolder::make(t / "theirs", 0700)->has_value());
  put(t / "other.lock", "");
  CHECK_FALSE(OwnedFolder::make(t / "other", 0700)->has_value());
  CHECK(entries(t.path()) == 2);
  CHECK(OwnedFolder::make(t / "no/such", 0700).status().kind() == StatusKind::Io);
}

TEST_CASE("only what a lock proves to be ours is removed") {
  const TempFolder t;
  REQUIRE(in_child(true, [&] {
    static const auto made = OwnedFolder::make(t / "dead", 0700);
    return made->has_value();
  }));
  REQUIRE(fs::exists(t / "dead.lock"));
  const std::string mark = get(t / "dead.lock");
  put(t / "bare/file", "x");                             // no lock
  put(t / "locked/file", "x"), put(t / "locked.lock", "");  // a lock of somebody else's
  put(t / "other/file", "x"), put(t / "other.lock", mark + "and more");
  put(t / "linked/file", "x"), put(t / "elsewhere", mark), fs::create_symlink(t / "elsewhere", t / "linked.lock");
  put(t / "place/file", "x"), put(t / "way.lock", mark), fs::create_directory_symlink(t / "place", t / "way");
  REQUIRE(::mkfifo((t / "pipe.lock").c_str(), 0600) == 0);
  fs::create_directories(t / "deep.lock");
  put(t / "held/file", "x"), put(t / "held.lock", mark);
  const int holder = ::open((t / "held.lock").c_str(), O_RDWR);
  REQUIRE(::flock(holder, LOCK_EX) == 0);
  remove_left_folders(t.path(), every);
  CHECK_FALSE(fs::exists(t / "dead"));
  CHECK_FALSE(fs::exists(t / "dead.lock"));
  for (const char* name : {"bare", "locked", "other", "linked", "place", "held"}) CHECK_MESSAGE(get(t / (std::string(name) + "/file")) == "x", name);
  for (const char* name : {"locked", "other", "linked", "way", "pipe", "deep", "held"}) CHECK_MESSAGE(fs::exists(t / (std::string(name) + ".lock")), name);
  ::close(holder);
}

TEST_CASE("what a killed process leaves among the temporary files is removed by the next one") {
  const TempFolder t;
  put(t / "optima-notes/thesis.txt", "years of work");
  const auto scratch = [&] {
    ::setenv("TMPDIR", t.path().c_str(), 1);
    static const auto made = ScratchFolder::make("x");
    return made.ok() && fs::exists(made->path());
  };
  REQUIRE(in_child(true, scratch));
  REQUIRE(entries(t.path()) == 3);
  CHECK(in_child(false, [&] {
    ::setenv("TMPDIR", t.path().c_str(), 1);
    const auto made = ScratchFolder::make("y");
    return made.ok() && entries(t.path()) == 3;  // its own with the lock, and the user's
  }));
  CHECK(entries(t.path()) == 1);
  CHECK(get(t / "optima-notes/thesis.txt") == "years of work");
}

// What remove_leftovers() does in a signal handler it does here in a child that then ends without destructors.
TEST_CASE("a process that ends in the middle removes what it remembers, and nothing that is no longer its own") {
  const TempFolder t;
  CHECK(in_child(false, [&] {
    keep_leftovers();
    static const Leftover parent(Leftover::Kind::EmptyFolder, t / "out"), full(Leftover::Kind::EmptyFolder, t / "full");
    fs::create_directories(t / "out");
    put(t / "full/thesis.txt", "years of work");
    static const auto owned = OwnedFolder::make(t / "out/staging", 0700);
    static Leftover kept(Leftover::Kind::Tree, t / "kept");
    put(t / "kept/package", "published");
    kept.forget();
    std::string deep = t / "out/staging";
    for (int i = 0; i < 20; ++i) put((deep += "/" + std::to_string(i)) + "/file", "x");
    for (int i = 0; i < 300; ++i) put(t / "out/staging/many/file_" + std::to_string(i), "x");
    fs::create_directory_symlink(t / "full", t / "out/staging/link");
    remove_leftovers();
    return owned.ok();
  }));
  CHECK_FALSE(fs::exists(t / "out"));
  CHECK(get(t / "full/thesis.txt") == "years of work");
  CHECK(get(t / "kept/package") == "published");
}

TEST_CASE("only a process that asks for it remembers leftovers") {
  const TempFolder t;
  CHECK(in_child(false, [&] {
    static const auto owned = OwnedFolder::make(t / "a", 0700);
    remove_leftovers();
    return fs::exists(t / "a");
  }));
}
