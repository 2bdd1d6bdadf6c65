// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <random>

#include "plugins/snpe/dlc/context.hpp"
#include "plugins/snpe/dlc/describe.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;

namespace {

/// The sample as long as it was: what is not in it is code.
std::string context() {
  std::string bytes = bytes_of(OPTIMA_SOURCE_DIR "/tests/unit/snpe_dlc/samples/context.head");
  bytes.resize(53248);
  return bytes;
}

std::string refused(const std::string& bytes) {
  return said([&] { read_context(bytes); });
}

}  // namespace

TEST_CASE("The head of a Hexagon context tells its tools, its SoC and its ports") {
  const HexagonContext c = read_context(context());
  CHECK(c.size == 53248);
  CHECK(c.build == "v2.51.0.260929181845");
  CHECK(c.soc_model == 43);
  CHECK(c.code_size == 49152);
  REQUIRE(c.graphs.size() == 1);
  REQUIRE(c.graphs[0].tensors.size() == 2);
  const DlcTensor &x = tensor(c.graphs[0], "x"), &y = tensor(c.graphs[0], "y");
  CHECK(x.is_input());
  CHECK(y.is_output());
  CHECK(x.dims == std::vector<int64_t>{1, 2, 5, 5});
  CHECK(y.dims == std::vector<int64_t>{1, 3, 5, 5});
  CHECK(type_name(y.type) == "float32");
}

TEST_CASE("A Hexagon context is described with the name of its SoC, other files of that suffix are not") {
  const auto text = describe_file("subgraph_0.sm8550.bin", context());
  REQUIRE(text);
  const nlohmann::json d = nlohmann::json::parse(*text);
  CHECK(d.at("kind") == "Hexagon context");
  CHECK(d.at("SoC") == "sm8550");
  CHECK(d.at("graphs").at(0).at("outputs").at(0).at("name") == "y");
  CHECK_FALSE(describe_file("weights.bin", "anything"));
}

TEST_CASE("A context that is cut off or of another form is refused with a sentence") {
  const std::string all = context();
  CHECK(refused(all.substr(0, 20)) == "Hexagon context is none, or of another version than is read here");
  CHECK(refused(all.substr(0, 500)) == "Hexagon context is cut off in its head");
  CHECK(refused(all.substr(0, 53247)) == "Hexagon context has 53247 bytes, wanted 49152 from byte 4096");
  std::string other = all;
  other[7] = 4;
  CHECK(refused(other) == "Hexagon context is none, or of another version than is read here");
}

TEST_CASE("No bytes crash the reader: 20000 damaged heads") {
  std::mt19937 random(11);
  const std::string all = context();
  int refusals = 0;
  for (int k = 0; k < 20000; ++k) {
    std::string bytes = all;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
      const uint32_t some[] = {static_cast<uint32_t>(random()), 0u, ~0u, 0x7fffffffu};
      std::memcpy(bytes.data() + random() % 964, &some[random() % 4], random() % 2 == 0 ? 1 : 4);
    }
    refusals += !refused(bytes).empty();
  }
  CHECK(refusals > 2000);
}
