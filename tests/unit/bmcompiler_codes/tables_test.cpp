// SPDX-License-Identifier: Apache-2.0
// From ranges of a graph's values to the tools' tables for a module.
#include <doctest/doctest.h>

#include "codes/tables.hpp"

using namespace bmcompiler_plugin;
using top::Attributes;
using top::Module;
using top::Value;

namespace {

/// A module written by hand; attributes do not matter to tables.
struct Written {
  Module module{"m"};
  Value in(const char* name) { return module.input({name, {4}}); }
  Value weight(const char* name) { return module.weight(name, {4}, {1, 2, 3, 4}); }
  Value op(const char* what, const std::vector<Value>& operands, const char* name) { return module.op(what, operands, Attributes(), top::Result{name, {4}}); }
};

const std::string kFirst = "# codes of the model: location threshold min max\n";

}  // namespace

TEST_CASE("a signed range has 127 steps on each side, one from zero on 255, and operators between ranges compute on codes") {
  Written w;
  w.op("Conv", {w.in("x"), w.weight("w"), w.weight("b")}, "y");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 128}}, {"y", {0.25f, 0}}}, "F32");
  CHECK(t.calibration == kFirst + "x 63.5 -64 63.5\ny 63.75 -0 63.75\n");
  CHECK(t.precisions.empty());
  CHECK(t.any_codes);
  CHECK_FALSE(t.asymmetric);
}

TEST_CASE("a zero point of its own asks for tables with two ends") {
  Written w;
  w.op("Tanh", {w.in("x")}, "y");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 100}}, {"y", {0.25f, 128}}}, "F32");
  CHECK(t.asymmetric);
  CHECK(t.calibration == kFirst + "x 63.5 -50 77.5\ny 31.75 -32 31.75\n");
}

TEST_CASE("what has no range computes in floats, by name, and who reads it too") {
  Written w;
  w.op("Tanh", {w.op("Exp", {w.in("x")}, "y/inner")}, "y");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 128}}, {"y", {0.25f, 128}}}, "F16");
  CHECK(t.precisions == "y/inner F16\ny F16\n");
  CHECK_FALSE(t.any_codes);
}

TEST_CASE("moves hand ranges on, and back where nobody else reads") {
  Written w;
  const Value conv = w.op("Conv", {w.op("Reshape", {w.in("x")}, "x/row"), w.weight("w"), w.module.none()}, "y/row");
  w.op("Reshape", {conv}, "y");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 128}}, {"y", {0.25f, 128}}}, "F32");
  CHECK(t.calibration == kFirst + "x 63.5 -64 63.5\nx/row 63.5 -64 63.5\ny/row 31.75 -32 31.75\ny 31.75 -32 31.75\n");
  CHECK(t.precisions.empty());
}

TEST_CASE("what a Relu alone reads gets the Relu's range on both sides") {
  Written w;
  w.op("Relu", {w.op("Conv", {w.in("x"), w.weight("w"), w.module.none()}, "c")}, "y");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 128}}, {"y", {0.0498046875f, 0}}}, "F32");  // 12.7 = 255 steps
  CHECK(t.calibration.find("\nc 12.7") != std::string::npos);
  CHECK(t.precisions.empty());
}

TEST_CASE("constants that the tools compute have no lines") {
  Written w;
  w.op("MatMul", {w.in("x"), w.op("Permute", {w.weight("w")}, "w/turned"), w.module.none()}, "y");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 128}}, {"y", {0.25f, 128}}, {"w", {1, 128}}}, "F32");
  CHECK(t.calibration == kFirst + "x 63.5 -64 63.5\ny 31.75 -32 31.75\n");
  CHECK(t.precisions.empty());
}

TEST_CASE("exponentials and normalizations compute in floats, and beside normalizations of layers so do sums and attention") {
  Written w;
  const Value x = w.in("x"), first = w.op("MatMul", {x, w.weight("w"), w.module.none()}, "first");
  const Value gelu = w.op("GELU", {first}, "gelu"), second = w.op("MatMul", {gelu, w.weight("v"), w.module.none()}, "second");
  const Value sum = w.op("Add", {x, second}, "sum"), norm = w.op("LayerNorm", {sum, w.weight("g"), w.weight("b")}, "norm");
  w.op("Softmax", {w.op("MatMul", {norm, norm, w.module.none()}, "scores")}, "soft");
  std::map<std::string, Range> ranges;
  for (const char* name : {"x", "first", "gelu", "second", "sum", "norm", "scores", "soft"}) ranges[name] = {0.5f, 128};
  const Tables t = tables_of(w.module, ranges, "F32");
  CHECK(t.any_codes);
  CHECK(t.precisions == "sum F32\nnorm F32\nscores F32\nsoft F32\n");
}

TEST_CASE("where layers are normalized a class token and positions join the others in floats, elsewhere in codes; what stays in floats is counted") {
  for (const bool normalized : {true, false}) {
    Written w;
    const Value both = w.op("Concat", {w.weight("token"), w.in("x")}, "both"), placed = w.op("Add", {w.op("Reshape", {both}, "rows"), w.weight("p")}, "placed");
    const Value norm = normalized ? w.op("LayerNorm", {placed, w.weight("g"), w.weight("b")}, "norm") : placed;
    w.op("Add", {w.op("MatMul", {norm, w.weight("w"), w.module.none()}, "product"), w.weight("v")}, "y");
    std::map<std::string, Range> ranges;
    for (const char* name : {"x", "both", "rows", "placed", "norm", "product", "y"}) ranges[name] = {0.5f, 128};
    const Tables t = tables_of(w.module, ranges, "F32");
    CHECK(t.precisions == (normalized ? "both F32\nrows F32\nplaced F32\nnorm F32\n" : ""));
    CHECK(t.floats == (normalized ? std::map<std::string, size_t>{{"Add", 1}, {"Concat", 1}, {"LayerNorm", 1}} : std::map<std::string, size_t>{}));
  }
}

TEST_CASE("a bias or a Relu behind a product in floats is in floats, too, as the tools make them one") {
  Written w;
  const Value product = w.op("MatMul", {w.op("Exp", {w.in("x")}, "e"), w.weight("w"), w.module.none()}, "p");
  w.op("Relu", {w.op("Add", {product, w.weight("b")}, "a")}, "y");
  std::map<std::string, Range> ranges;
  for (const char* name : {"x", "p", "a", "y"}) ranges[name] = {0.5f, 128};
  CHECK(tables_of(w.module, ranges, "F32").precisions == "e F32\np F32\na F32\ny F32\n");
}

TEST_CASE("a Relu that codes of another device come to is in floats, as what makes numbers of them is") {
  Written w;
  const Value numbers = w.op("MulConst", {w.op("AddConst", {w.in("x/q")}, "x/dq/AddConst")}, "x/dq");
  w.op("Conv", {w.op("Relu", {numbers}, "y"), w.weight("w"), w.module.none()}, "z");
  std::map<std::string, Range> ranges;
  for (const char* name : {"x/dq", "y", "z"}) ranges[name] = {0.5f, 128};
  CHECK(tables_of(w.module, ranges, "F32").precisions == "x/dq/AddConst F32\nx/dq F32\ny F32\n");
}

TEST_CASE("what keeps F32 among floats of 16 bits is told so, with codes beside it and without") {
  Written w;
  const Value x = w.in("x");
  w.op("Softmax", {x}, "kept");
  w.op("Softmax", {x}, "other");
  const Tables t = tables_of(w.module, {{"x", {0.5f, 128}}}, "BF16", {"kept"});
  CHECK(t.precisions == "kept F32\nother BF16\n");
  CHECK(f32_table({"a", "b"}, "F16") == "a F32\nb F32\n");
  CHECK(f32_table({"a"}, "F32").empty());
  CHECK_THROWS_AS(f32_table({"a b"}, "F16"), sdk::Error);
}
