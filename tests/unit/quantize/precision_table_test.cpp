// SPDX-License-Identifier: Apache-2.0
#include "core/quantize/precision_table.hpp"

#include <doctest/doctest.h>

#include "core/support/file.hpp"

using namespace optima;

namespace {

std::string error_of(const std::string& text) { return parse_precision_table(text, "q").status().message(); }

}  // namespace

TEST_CASE("a quantize table names a precision for some nodes, and is written again as it was") {
  const Result<std::string> text = read_file(OPTIMA_SOURCE_DIR "/tests/unit/quantize/data/tpu_qtable");
  REQUIRE(text.ok());
  const auto nodes = parse_precision_table(*text, "q");
  REQUIRE_MESSAGE(nodes.ok(), nodes.status().message());
  CHECK(*nodes == std::vector<NodePrecision>{{"model/pool", "f16"}, {"softmax_1", "f32"}, {"122_Conv", "int8"}});
  CHECK(left_float(*nodes, "in q") == std::vector<LeftFloat>{{"model/pool", "in q"}, {"softmax_1", "in q"}});
  CHECK(*write_precision_table(*nodes) == *text);
  CHECK(*parse_precision_table("a bf16\nb W4F16 # few\r\nc UINT8\n", "q") == std::vector<NodePrecision>{{"a", "bf16"}, {"b", "w4"}, {"c", "int8"}});
}

TEST_CASE("a line of a quantize table that says nothing known is named") {
  CHECK(error_of("# x\na F8E4M3") == "q:2: 'a': found mode 'F8E4M3', wanted F32, F16, BF16, INT8, UINT8, W8F16, W8BF16, W4F16, W4BF16");
  CHECK(error_of("a") == "q:1: 'a': found 1 words, wanted NAME MODE");
  CHECK(error_of("a F16\na F16") == "q:2: 'a': was given before");
  const NodePrecision wide{"a", "a16w8"}, blank{"a b", "f16"};
  CHECK(write_precision_table({&wide, 1}).status().message() == "node 'a': found precision 'a16w8', wanted f32, f16, bf16, int8, w8, w4 for a quantize table");
  CHECK(write_precision_table({&blank, 1}).status().message() == "node 'a b': found blanks or # in the name, wanted a word for a quantize table");
}
