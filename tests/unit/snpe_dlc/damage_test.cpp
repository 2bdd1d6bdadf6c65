// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "tests/support/zip.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;
using optima::test::stored;
using optima::test::zip;

namespace {

std::string refused(const std::string& bytes) {
  return said([&] { read_dlc(bytes); });
}

std::string with(std::string bytes, size_t at, std::initializer_list<int> to) {
  for (const int b : to) bytes.at(at++) = static_cast<char>(b);
  return bytes;
}

std::string model_of(const std::string& name) {
  const std::string file = sample(name);
  for (const Part& p : read_directory(file))
    if (p.name == "model") return std::string(p.bytes(file));
  return "";
}

std::string model_refused(const std::string& model) { return refused(zip({stored("model", model)})); }

uint32_t u32(const std::string& s, size_t at) {
  uint32_t n;
  std::memcpy(&n, s.data() + at, sizeof n);
  return n;
}

}  // namespace

TEST_CASE("Files that are no DLC are refused with a sentence") {
  CHECK(refused("") == "file has 0 bytes, too few for a zip file");
  CHECK(refused(std::string(100, 'x')) == "file is no zip file, or is cut off: its end has no directory");
  CHECK(refused(zip({stored("a", "b")})) == "file is a zip file but no DLC: it has neither part 'model' nor 'model.params'");
  CHECK(refused(zip({stored("model", "")})) == "");  // nothing is in it, which is no damage
  CHECK(refused(zip({stored("model", "short")})) == "part 'model' of the DLC does not begin as a model does");
  CHECK(refused(zip({stored("model", std::string("\xD5\x0A\x04\0\0\0\0\0\0\0\0\0XXXX", 16))})) == "part 'model' is no FlatBuffer 'NETD'");
  CHECK(refused(zip({stored("model", "a"), stored("model", "b")})) == "zip file has part 'model' twice");
}

TEST_CASE("A DLC that is cut off anywhere is refused") {
  const std::string file = sample("codes");
  for (size_t n = 0; n < file.size(); ++n) CHECK_MESSAGE(!refused(file.substr(0, n)).empty(), n, " bytes");
}

TEST_CASE("Directories that lie are refused") {
  const std::string file = sample("float");
  const size_t end = file.size() - 22, locator = end - 20, end64 = locator - 56;
  CHECK(refused(with(file, locator + 8, {1})) == "zip file names a directory end that is not there");
  CHECK(refused(with(file, end64 + 32, {0xff, 0xff})) == "zip directory tells of 65535 parts, more than it can hold");
  CHECK(refused(with(file, end64 + 48, {0xff, 0xff, 0xff})) == "zip directory lies outside of the file");
  const size_t entry = file.find("PK\1\2");
  CHECK(refused(with(file, entry, {0})) == "zip directory ends after 0 of 5 parts");
  CHECK(refused(with(file, entry + 46, {'X'})).find("has another name where it lies") != std::string::npos);
  const size_t wide = entry + 46 + 26;  // of "dlc.metadata.history.2.3.0": its extra field
  CHECK(refused(with(file, wide, {2})) == "part 'dlc.metadata.history.2.3.0' of the zip file is not where its directory says");
  CHECK(refused(with(file, wide + 4, {0xff, 0xff})) == "part 'dlc.metadata.history.2.3.0' of the zip file has two sizes");
  CHECK(refused(with(file, wide + 20, {0, 0, 0, 0, 0, 1})) == "part 'dlc.metadata.history.2.3.0' of the zip file is not where its directory says");
  CHECK(refused(with(with(file, wide + 4, {0, 0, 0, 1}), wide + 12, {0, 0, 0, 1})) == "part 'dlc.metadata.history.2.3.0' of the zip file is cut off");
}

TEST_CASE("Tables that lead out of their part, or all to one place, are refused") {
  const std::string model = model_of("float");
  CHECK(model_refused(with(model, 8, {0xff, 0xff, 0xff, 0x7f})) == "part 'model' is damaged: an offset leads out of it at byte 0");
  CHECK(model_refused(model.substr(0, 40)).find("part 'model' is damaged: ") == 0);
  // A list of 200000 graphs, each entry the same one: what it refers to is more than it holds.
  std::string many = model.substr(0, 8) + std::string(200000 * 4 + 64, '\0');
  const auto put = [&](size_t at, uint32_t n) { std::memcpy(many.data() + 8 + at, &n, sizeof n); };
  put(0, 16), std::memcpy(many.data() + 12, "NETD", 4);
  const uint16_t fields[] = {6, 8, 4};
  std::memcpy(many.data() + 16, fields, sizeof fields);
  put(16, 8);  // the root: its fields lie 8 before it
  put(20, 4);  // its list of graphs
  put(24, 200000);
  for (uint32_t k = 0; k < 200000; ++k) put(28 + 4 * k, 16u - (28 + 4 * k));
  CHECK(model_refused(many).find("an offset leads out of it") != std::string::npos);  // offsets lead forward only
  const size_t graph = 28 + 4 * 200000;
  put(graph, static_cast<uint32_t>(graph - 8));  // a table with the root's fields
  for (uint32_t k = 0; k < 200000; ++k) put(28 + 4 * k, static_cast<uint32_t>(graph) - (28 + 4 * k));
  CHECK(model_refused(many).find("more is referred to than there is") != std::string::npos);
}

TEST_CASE("No bytes crash the reader: 60000 damaged DLCs") {
  std::mt19937 random(7);
  int refusals = 0;
  for (const char* name : {"float", "codes", "four_bits"}) {
    const std::string file = sample(name), model = model_of(name);
    for (int k = 0; k < 20000; ++k) {
      const bool whole = k % 4 == 0;
      std::string bytes = whole ? file : model;
      for (int n = 1 + static_cast<int>(random() % 4); n > 0; --n) {
        const size_t at = random() % (bytes.size() - 4);
        const uint32_t some[] = {static_cast<uint32_t>(random()), 0u, ~0u, 0x7fffffffu, u32(bytes, at) + 4, u32(bytes, at) - 1, static_cast<uint32_t>(bytes.size())};
        std::memcpy(bytes.data() + at, &some[random() % 7], random() % 2 == 0 ? 1 : 4);
      }
      refusals += whole ? !refused(bytes).empty() : !model_refused(bytes).empty();
    }
  }
  CHECK(refusals > 10000);
}
