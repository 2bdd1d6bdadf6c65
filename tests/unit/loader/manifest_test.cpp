// SPDX-License-Identifier: Apache-2.0
#include "core/loader/parse_manifest.hpp"

#include "tests/unit/loader/sample.hpp"

using namespace optima;
using namespace optima::test;

namespace {

const char* const kGood = R"({"manifest": 1, "abi": [[0, 1]], "id": "acme", "vendor": "Acme", "version": "1.2", "build_id": "b7", "min_host_minor": 1,
 "sanitizer": "none", "roles": ["compiler"], "devices": [{"kind": "NPU9", "class": "npu", "flags": ["virtual"], "quantizes": "all"}, {"kind": "CPU9"}], "priority": 5,
 "flags": ["only_when_named", "cancel_by_kill", "of_the_future"], "opsets": [{"domain": "", "min": 7, "max": 21}], "domains": ["com.acme"],
 "functions": [{"domain": "f", "name": "Gelu"}], "formats": ["acme.bin/2"], "future": {"a": 1},
 "limits": {"max_nodes": 9, "connected_only": true, "not_first": ["Softmax"]},
 "operators": [{"domain": "", "op": "Conv", "since_version": [1, 11], "inputs": [[1, 10], [1]], "outputs": [[1]], "rank": [3, 4], "ranks": [[3, 4], [3, 4], [1, 1]],
   "static_shape": true, "const_inputs": 2, "kinds": ["NPU9"], "flags": ["batch_only", "stateful"], "note": "n"}],
 "options": [{"name": "acme.mode", "type": "enum", "scope": "compile", "values": ["a", "b"], "default": "a", "doc": "d", "changes_artifact": true},
             {"name": "acme.level", "type": "int", "scope": "load", "default": 3, "min": 0, "max": 9, "doc": ""}]})";

std::string swapped(std::string from, std::string to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string mistake(const std::string& json) {
  const auto m = parse_manifest(json, "note");
  REQUIRE(!m.ok());
  CHECK(m.status().kind() == StatusKind::InvalidInput);
  return m.status().message();
}

}  // namespace

TEST_CASE("a manifest is read whole; unknown members and flags are ignored") {
  const auto m = parse_manifest(kGood, "note");
  REQUIRE_MESSAGE(m.ok(), m.status().message());
  CHECK(m->id == "acme");
  CHECK(m->abi == std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}});
  CHECK((m->compiler && !m->runtime && m->only_when_named && m->cancel_by_kill && !m->single_instance));
  REQUIRE(m->find_kind("NPU9"));
  CHECK(m->find_kind("NPU9")->is_virtual);
  CHECK((m->find_kind("NPU9")->quantizes_all && !m->find_kind("CPU9")->quantizes_all));
  CHECK(m->find_kind("X64") == nullptr);
  CHECK(m->priority == 5);
  CHECK(m->opsets.at(0).max == 21);
  CHECK(m->functions.at(0).second == "Gelu");
  CHECK(m->limits.max_nodes == 9);
  CHECK(m->limits.not_first == std::vector<std::string>{"Softmax"});
  const OperatorRow& row = m->operators.at(0);
  CHECK(row.inputs == std::vector<uint64_t>{1u << 1 | 1u << 10, 1u << 1});
  CHECK(row.ranks == std::vector<std::pair<int32_t, int32_t>>{{3, 4}, {3, 4}, {1, 1}});
  CHECK((row.rank_min == 3 && row.rank_max == 4 && row.batch_only && row.stateful && row.const_inputs == 2));
  CHECK(m->options.at(0).default_text == "\"a\"");
  CHECK(m->options.at(1).default_text == "3");
  CHECK(m->options.at(1).max == 9);
}

TEST_CASE("a mistake in a manifest is named with its place") {
  CHECK(mistake(swapped("\"manifest\": 1", "\"manifest\": 2")) == "note.manifest: found 2, wanted format 1");
  CHECK(mistake(swapped("\"id\": \"acme\"", "\"id\": \"Acme\"")) == "note.id: found 'Acme', wanted 1 to 64 of a-z 0-9 _ . -");
  CHECK(mistake(swapped("\"id\": \"acme\"", "\"id\": \"optima\"")) == "note.id: found 'optima', wanted a name that is not reserved");
  CHECK(mistake(swapped("\"id\": \"acme\"", "\"id\": 3")) == "note.id: found number, wanted a string");
  CHECK(mistake(swapped("[[0, 1]]", "[]")) == "note.abi: found no pair, wanted at least one [major, minor]");
  CHECK(mistake(swapped("[[0, 1]]", "[[0]]")) == "note.abi[0]: found [0], wanted [major, minor]");
  CHECK(mistake(swapped("\"build_id\": \"b7\"", "\"build_id\": \"\"")) == "note.build_id: found an empty string, wanted a text that differs between builds");
  CHECK(mistake(swapped("\"sanitizer\": \"none\"", "\"sanitizer\": \"x\"")) == "note.sanitizer: found 'x', wanted one of none address thread memory");
  CHECK(mistake(swapped("[\"compiler\"]", "[]")) == "note.roles: found none, wanted compiler, runtime or both");
  CHECK(mistake(swapped("[\"compiler\"]", "[\"cook\"]")) == "note.roles: found 'cook', wanted one of compiler runtime");
  CHECK(mistake(swapped("\"kind\": \"NPU9\"", "\"kind\": \"npu\"")) == "note.devices[0].kind: found 'npu', wanted upper-case letters, digits and _");
  CHECK(mistake(swapped("\"quantizes\": \"all\"", "\"quantizes\": \"most\"")) == "note.devices[0].quantizes: found 'most', wanted one of products all");
  CHECK(mistake(swapped("\"since_version\": [1, 11]", "\"since_version\": [11, 1]")) ==
        "note.operators[0].since_version: found [11,1], wanted [low, high] within 1..2147483647");
  CHECK(mistake(swapped("[[1, 10], [1]]", "[[1, 64]]")) == "note.operators[0].inputs[0]: found 64, wanted dtype numbers 1..63");
  CHECK(mistake(swapped("[[1, 10], [1]]", "[7]")) == "note.operators[0].inputs[0]: found number, wanted an array of dtype numbers");
  CHECK(mistake(swapped("[1, 1]]", "[1, 65]]")) == "note.operators[0].ranks[2]: found [1,65], wanted [low, high] within 0..64");
  CHECK(mistake(swapped("\"kinds\": [\"NPU9\"]", "\"kinds\": [\"GPU\"]")) == "note.operators[0].kinds: found 'GPU', wanted kinds that devices lists");
  CHECK(mistake(swapped("\"acme.mode\"", "\"mode\"")) == "note.options[0].name: found 'mode', wanted 'acme.' and then a-z 0-9 _ . -");
  CHECK(mistake(swapped("\"acme.level\"", "\"acme.mode\"")) == "note.options[1].name: found 'acme.mode', wanted each option once");
  CHECK(mistake(swapped("\"type\": \"int\"", "\"type\": \"integer\"")) ==
        "note.options[1].type: found 'integer', wanted one of bool int float string enum path bytes list");
  CHECK(mistake(swapped("\"max_nodes\": 9", "\"max_nodes\": -9")) == "note.limits.max_nodes: found -9, wanted 0 or more");
  CHECK(mistake(swapped("\"priority\": 5", "\"priority\": -9223372036854775808")) == "note.priority: found -9223372036854775808, wanted a number of 32 bits");
  CHECK(mistake("{\"manifest\": 1}") == "note: member 'abi' is missing, wanted an array");
  CHECK(mistake("[]").find("note: found array, wanted an object") == 0);
  CHECK(mistake("{").find("note") == 0);
}

TEST_CASE("no cut of a manifest is taken for a manifest") {
  const std::string all = kGood;
  for (size_t n = 0; n < all.size(); ++n) CHECK(!parse_manifest(std::string_view(all).substr(0, n), "note").ok());
}
