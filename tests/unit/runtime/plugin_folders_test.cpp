// SPDX-License-Identifier: Apache-2.0
// Settings of plugins whose folders come with the context, or after it.
#include <filesystem>

#include "tests/support/temp_folder.hpp"
#include "tests/unit/runtime/fake_plugin.hpp"

using namespace optima;
using namespace optima::test;

namespace {

// A folder with plugins/null alone.
struct NullFolder {
  TempFolder folder;
  NullFolder() { std::filesystem::copy_file(OPTIMA_BINARY_DIR "/lib/optima/plugins/optima_null.so", folder / "optima_null.so"); }
};

std::unique_ptr<PluginSource> source(std::vector<std::string> folders, OptionValues options) {
  auto made = scan_plugins({std::move(folders), std::move(options), "tests", "0"});
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return std::move(*made);
}

std::string option(const PluginSource& plugins, std::string_view name) {
  REQUIRE(plugins.find("null"));
  for (const EffectiveOption& o : plugins.find("null")->options())
    if (o.name == name) return o.value;
  return "absent";
}

}  // namespace

TEST_CASE("settings hold for plugins of folders that are added later") {
  const NullFolder null;
  const auto without = source({}, {{"null.refuse", "not today"}, {"optima.threads", "3"}});
  REQUIRE(without->add_folder(null.folder.path()).ok());
  CHECK(option(*without, "null.refuse") == "not today");
  CHECK(option(*without, "optima.threads") == "3");
  CHECK(without->settled().ok());

  const TempFolder empty;
  const auto with = source({empty.path()}, {{"optima.threads", "5"}});
  REQUIRE(with->add_folder(null.folder.path()).ok());
  CHECK(option(*with, "optima.threads") == "5");
}

TEST_CASE("a setting that its plugin does not know, or a value it does not take, is refused with the folder, which then is not there") {
  const NullFolder null;
  const auto unknown = source({}, {{"null.refsue", "x"}});
  CHECK(unknown->add_folder(null.folder.path()).message() == "unknown option 'null.refsue' (nearest: 'null.refuse')");
  CHECK(unknown->find("null") == nullptr);
  const auto wrong = source({}, {{"optima.threads", "many"}});
  CHECK(wrong->add_folder(null.folder.path()).message() == "option 'optima.threads': found 'many', wanted an integer within 0..4096");
  CHECK(scan_plugins({{null.folder.path()}, {{"null.refsue", "x"}}, "tests", "0"}).status().kind() == StatusKind::InvalidInput);
}

TEST_CASE("a setting waits for its plugin while folders are added, and fails the first load when it never came") {
  const NullFolder null;
  const TempFolder empty;
  const auto plugins = source({}, {{"null.refuse", "x"}});
  REQUIRE(plugins->add_folder(empty.path()).ok());
  CHECK(plugins->settled().message() == "option 'null.refuse': no usable plugin 'null'");
  REQUIRE(plugins->add_folder(null.folder.path()).ok());
  CHECK(plugins->settled().ok());

  auto misspelt = source({}, {{"nul.refuse", "x"}});
  REQUIRE(misspelt->add_folder(null.folder.path()).ok());
  RuntimeContext context(std::move(misspelt));
  Bench b;
  b.tensor("in", {4});
  b.package.inputs = b.package.outputs = {"in"};
  b.package.variants[0].pass_through = {{"in", "in", ""}};
  auto package = b.reader();
  REQUIRE(package.ok());
  const auto loaded = LoadedModel::load(context, std::move(*package));
  CHECK(loaded.status().kind() == StatusKind::InvalidInput);
  CHECK(loaded.status().message() == "option 'nul.refuse': no usable plugin 'nul' (nearest: 'null')");
}

TEST_CASE("a plugin that everybody may write is refused unless that is allowed, for folders added later too") {
  const NullFolder null;
  std::filesystem::permissions(null.folder.path(), std::filesystem::perms::all);
  const auto strict = source({null.folder.path()}, {});
  CHECK(strict->find("null") == nullptr);
  CHECK(strict->files().at(0).refusal.message().ends_with("which is writable by everybody (chmod o-w it)"));
  PluginFolders folders;
  folders.allow_writable = true;
  const auto trusting = scan_plugins(folders);
  REQUIRE(trusting.ok());
  REQUIRE((*trusting)->add_folder(null.folder.path()).ok());
  CHECK((*trusting)->find("null"));
}
