// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "core/loader/elf_note.hpp"
#include "core/loader/trust.hpp"
#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

std::string refusal(const Registry& r, const std::string& name) {
  for (const PluginFile& f : r.files())
    if (fs::path(f.path).filename() == name) {
      CHECK(f.refusal.kind() == StatusKind::Plugin);
      return f.refusal.message();
    }
  FAIL("no file " << name);
  return "";
}

Result<Registry> scan(std::vector<std::string> folders, std::vector<std::string> allow = {}, bool writable = false) {
  ScanOptions o;
  o.folders = std::move(folders);
  o.allow = std::move(allow);
  o.allow_writable_by_others = writable;
  return Registry::scan(o, services());
}

}  // namespace

TEST_CASE("a folder and one level below are scanned in order of their paths") {
  const PluginFolder folder;
  folder.add("trial", "b/trial");
  folder.add("fine", "a");
  folder.add("single", "c/deeper/single");
  folder.folder.file("readme.txt", "x");
  const Registry r = scanned(folder.path());
  REQUIRE(r.files().size() == 2);
  CHECK(r.files()[0].path == folder.path() + "/a.so");
  CHECK(r.files()[1].path == folder.path() + "/b/trial.so");
  CHECK((r.files()[0].refusal.ok() && r.files()[1].refusal.ok()));
  CHECK(r.notes().empty());
}

TEST_CASE("plugins come in the user's order, then by priority, then by id") {
  const PluginFolder folder({"fine", "trial"});
  Registry r = scanned(folder.path());
  REQUIRE(r.compilers().size() == 2);
  CHECK(r.compilers()[0]->manifest().id == "trial");  // priority 7
  r.set_order({"bad"});
  CHECK(r.compilers()[0]->manifest().id == "bad");
  CHECK(r.runtimes().size() == 1);
  CHECK(r.runtime("bad") == nullptr);
  CHECK(r.compiler("nobody") == nullptr);
}

TEST_CASE("a plugin folder that is missing or no folder is bad input") {
  const TempFolder t;
  const auto missing = scan({t / "gone"});
  REQUIRE(!missing.ok());
  CHECK(missing.status().kind() == StatusKind::InvalidInput);
  CHECK(missing.status().message() == cat("plugin folder '", t / "gone", "': no such folder"));
  CHECK(scan({t.file("f", "x")}).status().message() == cat("plugin folder '", t / "f", "': not a folder"));
  CHECK(scan({t.path()})->files().empty());
}

TEST_CASE("a folder of sources says so and names the built ones") {
  const TempFolder t;
  t.file("plugins/CMakeLists.txt", "");
  t.file("plugins/acme/CMakeLists.txt", "");
  const auto bare = scan({t / "plugins"});
  REQUIRE(bare.ok());
  REQUIRE(bare->notes().size() == 1);
  CHECK(bare->notes()[0] == cat("plugin folder '", t / "plugins", "' holds sources, no built plugin; build first, then name the build's lib/optima/plugins"));
}

TEST_CASE("a folder of sources stands for the plugins of the newest build beside it") {
  const TempFolder t;
  t.file("plugins/acme/CMakeLists.txt", "");
  fs::create_directories(t / "build/empty/lib/optima/plugins");
  const auto built = [&](const std::string& build, int age_hours) {
    const std::string path = t.file("build/" + build + "/lib/optima/plugins/fine.so", slurp(bad_plugin("fine")));
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(age_hours));
    return path;
  };
  built("debug", 3);
  const std::string newest = built("release", 1);
  built("tsan", 2);
  const auto found = scan({t / "plugins/"});
  REQUIRE(found.ok());
  REQUIRE(found->notes().size() == 1);
  CHECK(found->notes()[0] == cat("plugin folder '", t / "plugins", "' holds sources, no built plugin; taking those built from them in '",
                                 t / "build/release/lib/optima/plugins", "'"));
  REQUIRE(found->files().size() == 1);
  CHECK(found->files()[0].path == newest);
  CHECK(found->files()[0].refusal.ok());
}

TEST_CASE("a file that is no usable plugin is listed with its reason, and stops no other") {
  const PluginFolder folder({"fine", "no_note", "msan"});
  folder.folder.file("text.so", "this is a text file\n");
  folder.folder.file("empty.so", "");
  const std::string whole = slurp(bad_plugin("fine"));
  folder.folder.file("half.so", whole.substr(0, 4096));  // what lies behind the loaded segments may go
  std::string object = whole;
  object[16] = 1;  // ET_REL
  folder.folder.file("object.so", object);
  std::string narrow = whole;
  narrow[18] = 40, narrow[19] = 0;
  folder.folder.file("arm.so", narrow);
  std::string manifest = whole;
  manifest.replace(manifest.find("\"id\": \"bad\""), 11, "\"id\": \"BAD\"");
  folder.folder.file("manifest.so", manifest);
  std::string abi = whole;
  abi.replace(abi.find("[[0, 1]]"), 8, "[[0, 9]]");
  folder.folder.file("abi.so", abi);
  std::string link = folder.path() + "/link.so";
  fs::create_symlink(folder.path() + "/nowhere", link);
  const Registry r = scanned(folder.path());
  CHECK(refusal(r, "text.so") == "not an ELF file");
  CHECK(refusal(r, "empty.so") == "not an ELF file");
  CHECK(refusal(r, "half.so").find("truncated or damaged: found ") == 0);
  CHECK(refusal(r, "object.so") == "is an ELF file but no shared library");
  CHECK(refusal(r, "no_note.so") == "is a shared library but no Optima plugin: it has no Optima note");
  CHECK(refusal(r, "arm.so") == cat("is built for ARM, this program runs on ", machine_name(own_machine())));
  CHECK(refusal(r, "manifest.so") == "manifest.id: found 'BAD', wanted 1 to 64 of a-z 0-9 _ . -");
  CHECK(refusal(r, "abi.so") == "speaks ABI 0.9, this program speaks 0.1");
  CHECK(refusal(r, "msan.so").find("is built with the memory sanitizer, this program with ") == 0);
  CHECK(refusal(r, "link.so").find("No such file or directory") != std::string::npos);
  CHECK(r.compiler("bad"));
  CHECK(r.refusal_of("bad").message().find("abi.so': speaks ABI 0.9") != std::string::npos);
}

TEST_CASE("a plugin of another machine is refused by name of both machines") {
  if (!fs::exists(bad_plugin("aarch64"))) {
    MESSAGE("skipped: no aarch64-linux-gnu-gcc, so no plugin of another machine");
    return;
  }
  const PluginFolder folder({"aarch64"});
  CHECK(refusal(scanned(folder.path()), "aarch64.so") == cat("is built for AArch64, this program runs on ", machine_name(own_machine())));
}

TEST_CASE("of two files with one id and role the first is used and named") {
  const PluginFolder folder;
  const std::string first = folder.add("fine", "1"), second = folder.add("fine", "2");
  const Registry r = scanned(folder.path());
  CHECK(refusal(r, "2.so") == cat("duplicate of plugin 'bad' (compiler); used is '", first, "'"));
  CHECK(r.compiler("bad")->path() == first);
  const PluginFolder other({"other_build"});
  const auto both = scan({other.path(), folder.path()});
  CHECK(both->compiler("bad")->path() == other.path() + "/other_build.so");  // the folder named first wins
}

TEST_CASE("a compiler and a runtime half must be of one build") {
  const PluginFolder good;
  good.add("fine"), good.add("runtime_half");
  const Registry pair = scanned(good.path());
  CHECK((pair.compiler("bad") && pair.runtime("bad") && pair.compiler("bad") != pair.runtime("bad")));
  const PluginFolder folder({"fine", "runtime_of_other_build"});
  const Registry r = scanned(folder.path());
  CHECK(refusal(r, "runtime_of_other_build.so") ==
        cat("has build id '2', but the compiler half of plugin 'bad' in '", folder.path(), "/fine.so' has '1'"));
  CHECK((r.compiler("bad") && !r.runtime("bad")));
}

TEST_CASE("files and folders that everybody may write are refused unless allowed") {
  const PluginFolder folder({"fine"});
  const std::string file = folder.path() + "/fine.so";
  chmod(file.c_str(), 0777);
  CHECK(refusal(scanned(folder.path()), "fine.so") == "is writable by everybody (chmod o-w it)");
  CHECK(scan({folder.path()}, {}, true)->compiler("bad"));
  chmod(file.c_str(), 0755);
  chmod(folder.path().c_str(), 0777);
  CHECK(refusal(scanned(folder.path()), "fine.so") == cat("lies in the folder '", folder.path(), "', which is writable by everybody (chmod o-w it)"));
}

TEST_CASE("a link that leads where everybody may write is refused, and so is one over such a place") {
  const PluginFolder folder, open({"fine"});
  fs::create_symlink(open.path() + "/fine.so", folder.path() + "/link.so");
  CHECK(scanned(folder.path()).compiler("bad"));
  chmod(open.path().c_str(), 0777);
  const std::string everybody = "which is writable by everybody (chmod o-w it)";
  CHECK(refusal(scanned(folder.path()), "link.so") == cat("lies, behind a link, in the folder '", open.path(), "', ", everybody));
  CHECK(scan({folder.path()}, {}, true)->compiler("bad"));
  // the link that is followed on the way may be changed
  const PluginFolder safe({"fine"});
  fs::create_symlink(safe.path() + "/fine.so", open.path() + "/middle");
  fs::remove(folder.path() + "/link.so");
  fs::create_symlink(open.path() + "/middle", folder.path() + "/link.so");
  CHECK(refusal(scanned(folder.path()), "link.so") == cat("lies, behind a link, in the folder '", open.path(), "', ", everybody));
  fs::remove(folder.path() + "/link.so");
  fs::create_symlink("loop.so", folder.path() + "/loop.so");
  CHECK(refusal(scanned(folder.path()), "loop.so").find("Too many levels of symbolic links") != std::string::npos);
}

TEST_CASE("a folder above the plugin's may be open to everybody, but not one with a link on the way, unless it is sticky") {
  const PluginFolder folder;
  const std::string file = folder.add("fine", "inner/fine");
  chmod(folder.path().c_str(), 0777);  // whoever puts another folder there cannot make a file of ours
  CHECK(scanned(folder.path()).compiler("bad"));
  CHECK(only_trusted_write(file, ::geteuid()).ok());
  fs::create_directory_symlink("inner", folder.path() + "/link");
  const std::string over_link = folder.path() + "/link/fine.so";
  CHECK(only_trusted_write(over_link, ::geteuid()).message() == cat("lies in the folder '", folder.path(), "', which is writable by everybody (chmod o-w it)"));
  chmod(folder.path().c_str(), 01777);
  CHECK(only_trusted_write(over_link, ::geteuid()).ok());
}

TEST_CASE("a file or a folder of another user is refused") {
  constexpr uid_t kOther = 4711;
  const PluginFolder folder({"fine"});
  const std::string file = folder.path() + "/fine.so";
  const std::string wanted = cat("wanted root or user ", ::geteuid(), ", who runs this program (chown it)");
  if (::geteuid() != 0) {  // to somebody else our files are another's
    CHECK_FALSE(only_trusted_write(file, kOther).ok());
    return;
  }
  REQUIRE(::chown(file.c_str(), kOther, kOther) == 0);
  CHECK(refusal(scanned(folder.path()), "fine.so") == cat("belongs to user 4711, ", wanted));
  CHECK(scan({folder.path()}, {}, true)->compiler("bad"));
  CHECK(only_trusted_write(file, kOther).ok());  // root's folders are anybody's to trust
  REQUIRE((::chown(file.c_str(), 0, 0) == 0 && ::chown(folder.path().c_str(), kOther, kOther) == 0));
  CHECK(refusal(scanned(folder.path()), "fine.so") == cat("lies in the folder '", folder.path(), "', which belongs to user 4711, ", wanted));
  chmod(folder.path().c_str(), 01777);  // sticky, but the folder is another's
  CHECK_FALSE(scanned(folder.path()).compiler("bad"));
  const PluginFolder tree;  // only what holds the file counts: trees are lent
  const std::string lent = tree.path() + "/lent";
  tree.add("fine", "lent/inner/fine");
  REQUIRE(::chown(lent.c_str(), kOther, kOther) == 0);
  CHECK(scanned(lent + "/inner").compiler("bad"));
  const PluginFolder sticky, target({"fine"});
  const std::string link = sticky.path() + "/link.so";
  fs::create_symlink(target.path() + "/fine.so", link);
  chmod(sticky.path().c_str(), 01777);
  CHECK(scanned(sticky.path()).compiler("bad"));
  REQUIRE(::lchown(link.c_str(), kOther, kOther) == 0);
  CHECK(refusal(scanned(sticky.path()), "link.so") == cat("lies behind the link '", link, "', which belongs to user 4711, ", wanted));
  chmod(sticky.path().c_str(), 0755);
  CHECK(scanned(sticky.path()).compiler("bad"));
}

TEST_CASE("only plugins of the allow-list are used") {
  const PluginFolder folder({"fine", "trial"});
  const auto r = scan({folder.path()}, {"trial"});
  REQUIRE(r.ok());
  CHECK(refusal(*r, "fine.so") == "plugin 'bad' is not in the allow-list");
  CHECK(r->compilers().size() == 1);
}

TEST_CASE("a folder named twice, or through its parent, is looked at once") {
  const PluginFolder folder;
  folder.add("fine", "sub/fine");
  CHECK(scan({folder.path(), folder.path() + "/sub", folder.path() + "/./sub/"})->files().size() == 1);
}
