// SPDX-License-Identifier: Apache-2.0
#include "core/config/config.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/config/yaml.hpp"

using namespace optima;

namespace {

Config good(std::string_view text) {
  Result<Config> config = parse_config(text, "optima.yaml");
  INFO(config.status().message());
  REQUIRE(config.ok());
  return *config;
}
std::string bad(std::string_view text) {
  const Result<Config> config = parse_config(text, "optima.yaml");
  CHECK(config.status().kind() == StatusKind::InvalidInput);
  return config.status().message();
}

constexpr std::string_view kFull = R"(# a comment
devices:
  - name: NPU:0
    plugin: fastnpu
    target: {arch: v68, fast: true, level: 3}
    memory_limit: 512MiB
    launch_us: 12.5
    gflops: 500
    gflops_half: 900
    gops_int8: 2000
    gbytes_per_s: 25.5
  - slowcpu/CPU:1
links:
  - {from: NPU:0, to: CPU:1, latency_us: 30, gbytes_per_s: 8}
plugins:
  order: [fastnpu, slowcpu]
  allow:
    - fastnpu
    - slowcpu
  options:
    slowcpu:
      linker: /usr/bin/ld
objective: latency
costs: [npu.json, cpu.json]
)";

}  // namespace

TEST_CASE("a full config becomes typed data, options keep the text as written") {
  const Config c = good(kFull);
  REQUIRE(c.devices.size() == 2);
  CHECK(c.devices[0].name.text() == "fastnpu/NPU:0");
  CHECK(c.devices[0].target == OptionValues{{"arch", "v68"}, {"fast", "true"}, {"level", "3"}});
  CHECK(c.devices[0].memory_limit == uint64_t{512} << 20);
  CHECK(c.devices[0].launch_us == 12.5);
  CHECK(c.devices[0].gflops == 500);
  CHECK(c.devices[0].gflops_half == 900);
  CHECK(c.devices[0].gops_int8 == 2000);
  CHECK(c.devices[0].gbytes_per_s == 25.5);
  CHECK(c.devices[1].name.text() == "slowcpu/CPU:1");
  REQUIRE(c.links.size() == 1);
  CHECK(c.links[0].from.text() == "NPU:0");
  CHECK(c.links[0].latency_us == 30);
  CHECK(c.links[0].gbytes_per_s == 8);
  CHECK(c.plugin_order == std::vector<std::string>{"fastnpu", "slowcpu"});
  CHECK(c.plugin_allow == std::vector<std::string>{"fastnpu", "slowcpu"});
  CHECK(c.plugin_options == OptionValues{{"slowcpu.linker", "/usr/bin/ld"}});
  CHECK(c.objective == "latency");
  CHECK(c.costs == std::vector<std::string>{"npu.json", "cpu.json"});
}

TEST_CASE("an empty config is the default one") {
  CHECK(good("") == Config());
  CHECK(good("# nothing\n") == Config());
}

TEST_CASE("the effective config reads back to the same config") {
  Config c = good(kFull);
  CHECK(good(effective_config(c)) == c);
  CHECK(effective_config(good(effective_config(c))) == effective_config(c));
  c.devices[0].target["odd \"key\""] = "line\nbreak: # {x}";
  c.devices[0].launch_us = 0.1;
  c.links[0].gbytes_per_s = 1e-7;
  CHECK(good(effective_config(c)) == c);
  CHECK(effective_config(Config()) == "objective: parts\n");
}

TEST_CASE("mistakes are told with their place, what was found and what was wanted") {
  CHECK(bad("devcies: []\n") == "optima.yaml:1:1: unknown key 'devcies' in the file (nearest: 'devices')");
  CHECK(bad("devices:\n  - name: NPU:0\n    memory: 3\n") == "optima.yaml:3:5: unknown key 'memory' in device");
  CHECK(bad("links:\n  - {from: A:0, too: B:0}\n") == "optima.yaml:2:17: unknown key 'too' in link (nearest: 'to')");
  CHECK(bad("devices: 3\n") == "optima.yaml:1:10: devices: found '3', wanted a list");
  CHECK(bad("devices:\n  - [A:0]\n") == "optima.yaml:2:5: device: found a list, wanted a map");
  CHECK(bad("devices:\n  - plugin: x\n") == "optima.yaml:2:5: device: key 'name' is missing, wanted as KIND:index");
  CHECK(bad("devices:\n  - name: npu\n") == "optima.yaml:2:11: name: device 'npu': wanted KIND:index or plugin/KIND:index, as in CPU:0 or acme/CPU:0");
  CHECK(bad("devices:\n  - {name: a/NPU:0, plugin: b}\n") == "optima.yaml:2:29: plugin: found 'b', but the name says 'a'");
  CHECK(bad("devices:\n  - {name: NPU:0, plugin: a b}\n") == "optima.yaml:2:27: plugin: found 'a b', wanted a plugin id");
  CHECK(bad("devices:\n  - NPU:0\n  - name: NPU:0\n") == "optima.yaml:3:5: device 'NPU:0' appears twice");
  CHECK(bad("devices:\n  - {name: NPU:0, memory_limit: 3 apples}\n") == "optima.yaml:2:33: memory_limit: found '3 apples', wanted bytes, as 1048576 or 512MiB");
  CHECK(bad("devices:\n  - {name: NPU:0, memory_limit: 99999999999TiB}\n").ends_with("memory_limit: found '99999999999TiB', wanted bytes, as 1048576 or 512MiB"));
  CHECK(bad("devices:\n  - {name: NPU:0, launch_us: -1}\n") == "optima.yaml:2:30: launch_us: found '-1', wanted microseconds, 0 or more");
  CHECK(bad("devices:\n  - {name: NPU:0, launch_us: nan}\n").ends_with("launch_us: found 'nan', wanted microseconds, 0 or more"));
  CHECK(bad("devices:\n  - {name: NPU:0, target: [a]}\n") == "optima.yaml:2:27: target: found a list, wanted a map of options");
  CHECK(bad("devices:\n  - {name: NPU:0, target: {a: [1]}}\n") == "optima.yaml:2:31: target.a: found a list, wanted a value");
  CHECK(bad("links:\n  - {from: A:0}\n") == "optima.yaml:2:5: link: key 'to' is missing, wanted a device");
  CHECK(bad("links:\n  - {from: A:0, to: B:0}\n  - {from: A:0, to: B:0}\n") == "optima.yaml:3:5: link from 'A:0' to 'B:0' appears twice");
  CHECK(bad("links:\n  - {from: A:0, to: B:0, gbytes_per_s: fast}\n") == "optima.yaml:2:40: gbytes_per_s: found 'fast', wanted gigabytes per second, 0 or more");
  CHECK(bad("plugins: [a]\n") == "optima.yaml:1:10: plugins: found a list, wanted a map");
  CHECK(bad("plugins:\n  order: a\n") == "optima.yaml:2:10: order: found 'a', wanted a list of plugin ids");
  CHECK(bad("plugins:\n  order: [a, b, a]\n") == "optima.yaml:2:17: order: plugin id 'a' appears twice");
  CHECK(bad("plugins:\n  options: {a: 3}\n") == "optima.yaml:2:16: options.a: found '3', wanted a map of options");
  CHECK(bad("objective: fastest\n") == "optima.yaml:1:12: objective: found 'fastest', wanted 'parts' or 'latency'");
  CHECK(bad("costs: a.json\n") == "optima.yaml:1:8: costs: found 'a.json', wanted a list of files");
  CHECK(bad("costs: [a, a]\n") == "optima.yaml:1:12: costs: file 'a' appears twice");
  CHECK(bad("devices:\n  - {name: NPU:0, gflops: -1}\n").ends_with("gflops: found '-1', wanted 1e9 operations per second, 0 or more"));
  CHECK(bad("- a\n") == "optima.yaml:1:1: the file: found a list, wanted a map");
}

TEST_CASE("duplicate keys name both places") {
  CHECK(bad("objective: parts\nplugins: {}\nobjective: parts\n") == "optima.yaml:3:1: key 'objective' appears twice, first at line 1 column 1");
  CHECK(bad("plugins: {order: [], order: []}\n") == "optima.yaml:1:22: key 'order' appears twice, first at line 1 column 11");
}

TEST_CASE("bad YAML is told with its place") {
  CHECK(bad("devices: [1, 2\n").starts_with("optima.yaml:2:1: is not valid YAML: "));
  CHECK(bad("a: b: c\n").starts_with("optima.yaml:1:5: is not valid YAML: "));
  CHECK(bad("objective: parts\n---\nobjective: parts\n") == "optima.yaml:2:1: found a second document, wanted one");
  CHECK(bad("? [a]\n: b\n") == "optima.yaml:1:3: a key must be a name");
  CHECK(bad("objective: !!str parts\n") == "optima.yaml:1:12: tag 'tag:yaml.org,2002:str' is not supported");
}

TEST_CASE("what lets a small file grow large is refused") {
  CHECK(bad("a: &x [1]\nb: *x\n") == "optima.yaml:1:4: anchors are not supported");
  CHECK(bad("a: *x\n").starts_with("optima.yaml:1:4: "));
  CHECK(bad(std::string(65, '[') + std::string(65, ']')).find("nested deeper than 64") != std::string::npos);
  CHECK(bad(std::string(1000000, '[')).starts_with("optima.yaml:"));
  CHECK(bad(std::string(100000, '{')).starts_with("optima.yaml:"));
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  CHECK(bad(deep).find("nested deeper than 64") != std::string::npos);
  CHECK(bad(std::string((size_t{16} << 20) + 1, 'a')) == "optima.yaml: is 16.0 MiB, wanted at most 16.0 MiB");
}

TEST_CASE("YAML becomes JSON with the types it looks like") {
  const Result<Json> json = yaml_to_json("a: 1\nb: '1'\nc: 2.5\nd: true\ne: ~\nf: X64:0\ng: [x, -3]\n'*': \"y\"\n1: {}\nh: .inf\ni: 0x10\n", "a.yaml");
  REQUIRE(json.ok());
  CHECK(to_line(*json) == R"({"a":1,"b":"1","c":2.5,"d":true,"e":null,"f":"X64:0","g":["x",-3],"*":"y","1":{},"h":".inf","i":"0x10"})");
}

TEST_CASE("a missing config file is told by name") {
  CHECK(read_config("/nowhere/optima.yaml").status().kind() == StatusKind::InvalidInput);
  CHECK(read_config("/nowhere/optima.yaml").status().message().find("/nowhere/optima.yaml") != std::string::npos);
}

TEST_CASE("damaged configs are refused or read, never worse") {
  std::mt19937_64 random(11);
  static constexpr std::string_view junk = "{}[]:,-?*&!|>'\"%@`#\n \t\\ax0\x01\xff";
  for (int i = 0; i < 3000; ++i) {
    std::string text(kFull);
    for (uint64_t k = 1 + random() % 6; k > 0; --k) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, 1 + random() % 20);
      else text.insert(at, 1, junk[random() % junk.size()]);
      if (text.empty()) text = "x";
    }
    const Result<Config> config = parse_config(text, "x");
    if (!config.ok()) CHECK(config.status().kind() == StatusKind::InvalidInput);
    if (!config.ok()) continue;
    const std::string effective = effective_config(*config);
    INFO(effective);
    CHECK(parse_config(effective, "x").status().message() == "");
  }
}

TEST_CASE("sizes of dims and shapes of inputs are taken as the command line takes them, and written back") {
  const Config c = good("dims: {batch: [4, 1, 8], width: '32..960:32@320', x.2: 48}\nshapes: {x: [1, 3, 48, '?'], s: []}\n");
  CHECK(range_text(c.dims.at("batch")) == "4,1,8");
  CHECK(range_text(c.dims.at("width")) == "32..960:32@320");
  CHECK(range_text(c.dims.at("x.2")) == "48");
  CHECK(c.shapes == std::map<std::string, std::vector<int64_t>>{{"s", {}}, {"x", {1, 3, 48, -1}}});
  CHECK(good(effective_config(c)) == c);
  CHECK(bad("dims:\n  width: 9..3\n") == "optima.yaml:2:10: dims.width: found '9..3': found sizes from 9 to 3, wanted a least and a largest one from 0 to 2147483647");
  CHECK(bad("dims: [1]\n") == "optima.yaml:1:7: dims: found a list, wanted a map from names of dims to sizes");
  CHECK(bad("dims: {n: {a: 1}}\n").ends_with("dims.n: found a map, wanted sizes as 320, [1, 4, 8] or 32..960:32@320"));
  CHECK(bad("shapes: {x: 3}\n").ends_with("shapes.x: found '3', wanted a list of sizes"));
  CHECK(bad("shapes: {x: [1, -2]}\n").ends_with("shapes.x: found '-2', wanted a size of 0 or more, or '?' for one that stays open"));
}
