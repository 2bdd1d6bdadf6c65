// SPDX-License-Identifier: Apache-2.0
#include "core/backend/refused.hpp"

#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

PluginFile file(const std::string& path, const std::string& id, std::vector<std::string> kinds, Status refusal = {}) {
  PluginFile out;
  out.path = path;
  out.manifest.id = id;
  out.manifest.compiler = true;
  for (std::string& kind : kinds) out.manifest.devices.push_back({std::move(kind), "npu", false});
  out.refusal = std::move(refusal);
  return out;
}

}  // namespace

TEST_CASE("a refused file counts where no usable file of its id and role stands in, and claims what its note says") {
  const Status crash = plugin_error("crashes in init (SIGSEGV)");
  std::vector<PluginFile> files = {file("/p/a.so", "a", {"NPU", "TPU"}, crash), file("/p/b.so", "b", {"NPU"}), file("/p/b2.so", "b", {"NPU"}, crash),
                                   file("/p/text.so", "", {}, plugin_error("not an ELF file"))};
  files[3].manifest.compiler = false;
  const auto refused = refused_files(files, &Manifest::compiler);
  REQUIRE(refused.size() == 1);
  CHECK(refused[0]->path == "/p/a.so");
  CHECK(refused_files(files, &Manifest::runtime).empty());
  CHECK(claiming(refused, "NPU").size() == 1);
  CHECK(claiming(refused, "GPU").empty());
  CHECK(of_plugin(refused, "a").size() == 1);
  CHECK(of_plugin(refused, "b").empty());
  CHECK(refused_hint(refused) == "; '/p/a.so' claims it and was refused: crashes in init (SIGSEGV)");
  CHECK(refused_hint({}) == "");
  CHECK(refused_note(*refused[0]) == "'/p/a.so', plugin 'a' for NPU, TPU, was refused and takes no part: crashes in init (SIGSEGV)");
}

TEST_CASE("what the allow-list leaves out is told apart from what is wrong") {
  const PluginFolder folder({"fine", "trial", "msan"});
  ScanOptions o;
  o.folders = {folder.path()};
  o.allow = {"bad"};
  const auto r = Registry::scan(o, services());
  REQUIRE(r.ok());
  for (const PluginFile& f : r->files()) CHECK(f.unwanted == (f.manifest.id == "trial"));
  const auto refused = refused_files(r->files(), &Manifest::compiler);
  REQUIRE(refused.size() == 1);  // "msan" has the id of "fine", which serves
  CHECK(refused[0]->manifest.id == "trial");
}
