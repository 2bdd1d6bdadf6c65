// SPDX-License-Identifier: Apache-2.0
// The text of element-wise kernels: what is read, and what is refused.
#include <doctest/doctest.h>

#include "optima/plugin/error.hpp"
#include "plugins/llvm_cpu/codegen/statement.hpp"

using namespace optima::llvm_cpu;

namespace {

std::string refusal(const char* text) {
  try {
    read_expression(text);
  } catch (const optima::sdk::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an expression is its loop and its statements") {
  const Expression e = read_expression("loop 1 0 4,32; load 0 f32 32,1; const f32 0x1p-1; mul 0 1; cast i32 2; store 1 3 32,1");
  CHECK(e.split.is(1));
  CHECK(e.dims == std::vector<Size>{{4}, {32}});
  REQUIRE(e.statements.size() == 5);
  CHECK(e.statements[0].steps == std::vector<Size>{{32}, {1}});
  CHECK(e.statements[1].number == "0x1p-1");
  CHECK(e.statements[2].values == std::vector<uint32_t>{0, 1});
  CHECK(e.statements[2].operation == "mul"_op);
  CHECK(e.statements[3].type == OPTIMA_I32);
  CHECK(e.statements[4].arg == 1);
}

TEST_CASE("numbers named $k are literals, or slots of the row") {
  const Expression e = read_expression("loop $1 $2 $3,$4; load 0 f32 $5,1; store 1 0 $6,1", {2, 1, 0, 4, 32, 32, 0}, {3, 6});
  CHECK(e.split.is(1));
  CHECK(e.dims == std::vector<Size>{{0, 0}, {32}});
  CHECK(e.statements[0].steps == std::vector<Size>{{32}, {1}});
  CHECK(e.statements[1].steps == std::vector<Size>{{0, 1}, {1}});
  CHECK_FALSE(e.statements[1].steps[0].is(0));
  CHECK_THROWS_WITH_AS(read_expression("loop 0 0 $2; load 0 f32 1", {1, 5}), "expression statement \"loop 0 0 $2\" cannot be read: there is no literal $2", optima::sdk::Error);
}

TEST_CASE("what is no expression is refused with its statement") {
  CHECK(refusal("load 0 f32 1") == "expression statement \"load 0 f32 1\" cannot be read: the first statement, and no other, is \"loop\" or \"strict\"");
  CHECK(read_expression("strict 0 0 4; load 0 f32 1").strict);
  CHECK_FALSE(read_expression("loop 0 0 4; load 0 f32 1").strict);
  CHECK(refusal("loop 2 0 4,32") == "expression statement \"loop 2 0 4,32\" cannot be read: units do not fit the dims");
  CHECK(refusal("loop 0 0 4; load 0 f31 1") == "expression statement \"load 0 f31 1\" cannot be read: the type is unknown");
  CHECK(refusal("loop 0 0 4; load 0 f32 1,1") == "expression statement \"load 0 f32 1,1\" cannot be read: it needs one step per dim");
  CHECK(refusal("loop 0 0 4; load 0 f32 1; plus 0 0") == "expression statement \"plus 0 0\" cannot be read: there is no such operation");
  CHECK(refusal("loop 0 0 4; add 0 1") == "expression statement \"add 0 1\" cannot be read: it uses a value that is not made yet");
  CHECK(refusal("loop 0 0 4; const f32 x y") == "expression statement \"const f32 x y\" cannot be read: it is too long");
  CHECK(refusal("loop 0 0 0") == "expression statement \"loop 0 0 0\" cannot be read: dims must be positive");
  CHECK(refusal("loop 0 0 4") == "an expression without statements");
}
