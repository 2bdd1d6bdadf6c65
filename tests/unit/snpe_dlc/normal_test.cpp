// SPDX-License-Identifier: Apache-2.0
#include "plugins/snpe/dlc/normal.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/zip.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;

namespace {

/// The bytes after normalize().
std::string normal(const std::string& bytes) {
  const optima::test::TempFolder folder;
  const std::string path = folder / "a.dlc";
  std::ofstream(path, std::ios::binary) << bytes;
  normalize(path);
  return bytes_of(path);
}

std::string at_another_time(std::string bytes) {
  int changed = 0;
  for (size_t at = bytes.find("UTC"); at != std::string::npos; at = bytes.find("UTC", at + 1), ++changed) bytes[at - 2] = bytes[at - 2] == '5' ? '6' : '5';
  REQUIRE(changed == 3);
  return bytes;
}

}  // namespace

TEST_CASE("Two builds at different times are the same bytes, and say the same as before") {
  const std::string file = sample("codes"), later = at_another_time(file);
  REQUIRE(file != later);
  const std::string once = normal(file);
  CHECK(once == normal(later));
  CHECK(once == normal(once));
  CHECK(once.size() == file.size());
  CHECK(once.find("\"timestamp\": \"1980-01-01 00:00:00 UTC\"") != std::string::npos);
  CHECK(once.find("2026-") == std::string::npos);
  const Dlc before = read_dlc(file), after = read_dlc(once);
  CHECK(after.made_by == before.made_by);
  CHECK(after.graphs.at(0).tensors.size() == before.graphs.at(0).tensors.size());
}

TEST_CASE("Nothing but times is touched, and sums that were made stay right") {
  using namespace optima::test;
  const std::string model("\xD5\x0A\x03\0\0\0\0\0\"timestamp\": \"2026-11-22 16:39:39 UTC\"", 47);
  const std::string odd = "\"timestamp\": \"yesterday, before the sun went down\" \"timestamp\": \"2026-11";
  const auto file = [&](const std::string& time) {
    return zip({stored("model", model), stored("dlc.metadata9", "{\"timestamp\": \"" + time + " UTC\"}"), stored("dlc.metadata.x", odd)});
  };
  CHECK(normal(file("2026-11-22 16:39:39")) == file("1980-01-01 00:00:00"));
}

TEST_CASE("What cannot be made normal says so") {
  CHECK(said([] { normalize("/nowhere/a.dlc"); }) == "file '/nowhere/a.dlc' cannot be changed: No such file or directory");
  CHECK(said([] { normal(""); }) == "file has 0 bytes, too few for a zip file");
  CHECK(said([] { normal("PK and more that is none of a zip file"); }).find("file is no zip file") == 0);
}
