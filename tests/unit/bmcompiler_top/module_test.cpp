// SPDX-License-Identifier: Apache-2.0
// The text of a module: what MLIR's parser takes, for any name and number.
#include <doctest/doctest.h>

#include <limits>

#include "plugins/bmcompiler/top/module.hpp"

using namespace bmcompiler_plugin::top;

TEST_CASE("a module is written from its arguments to its results") {
  Module m("net");
  const Value x = m.input({"x", {1, 4}});
  const Value w = m.weight("w", {4}, {1, 2, 3, 4});
  const Value y = m.op("Add", {x, w}, Attributes().flag("do_relu", false).f64("relu_limit", -1), Result{"y", {1, 4}});
  m.output(y);
  CHECK(m.text("w.npz") ==
        "module @\"net\" attributes {module.chip = \"ALL\", module.platform = \"ONNX\", module.state = \"TOP_F32\", "
        "module.top_run_mode = \"STATIC\", module.weight_file = \"w.npz\"} {\n"
        "  func.func @main(%arg0: tensor<1x4xf32>) -> tensor<1x4xf32> {\n"
        "    %none = \"top.None\"() : () -> none loc(unknown)\n"
        "    %1 = \"top.Input\"(%arg0) : (tensor<1x4xf32>) -> tensor<1x4xf32> loc(\"x\")\n"
        "    %2 = \"top.Weight\"() : () -> tensor<4xf32> loc(\"w\")\n"
        "    %3 = \"top.Add\"(%1, %2) {do_relu = false, relu_limit = -1.0e+00 : f64} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> loc(\"y\")\n"
        "    return %3 : tensor<1x4xf32>\n  }\n}\n");
  CHECK(m.locations() == std::vector<std::string>{"x", "y"});
}

TEST_CASE("an operator of several results names those that are asked for, and integers come in as such") {
  Module m("net");
  const Value x = m.input({"x", {2, 3}, "si32"});
  const std::vector<Value> made = m.op("TopK", {x, m.none()}, Attributes().i64("K", 1), std::vector<Result>{{"v", {2, 1}}, {"", {}, "none"}, {"i", {2, 1}}});
  m.output(made[0]), m.output(made[2]);
  const std::string text = m.text("w.npz");
  CHECK(text.find("func.func @main(%arg0: tensor<2x3xsi32>) -> (tensor<2x1xf32>, tensor<2x1xf32>)") != text.npos);
  CHECK(text.find("\"top.Input\"(%arg0) : (tensor<2x3xsi32>) -> tensor<2x3xf32> loc(\"x\")") != text.npos);
  CHECK(text.find("%2:3 = \"top.TopK\"(%1, %none) {K = 1 : i64} : (tensor<2x3xf32>, none) -> (tensor<2x1xf32>, none, tensor<2x1xf32>) loc(fused[\"v\", \"i\"])") != text.npos);
  CHECK(text.find("return %2#0, %2#2 : tensor<2x1xf32>, tensor<2x1xf32>") != text.npos);
}

TEST_CASE("names of any bytes stay inside of their quotes") {
  Module m("net");
  m.output(m.op("Abs", {m.input({"a\"b\\c\n", {1}})}, {}, Result{"\xc3\xa9\x01", {1}}));
  const std::string text = m.text("w.npz");
  CHECK(text.find("loc(\"a\\22b\\5Cc\\0A\")") != text.npos);
  CHECK(text.find("loc(\"\\C3\\A9\\01\")") != text.npos);
}

TEST_CASE("numbers keep every bit, infinities too") {
  const auto one = [](double v) { return Attributes().f64("v", v).str(); };
  CHECK(one(0.1) == "v = 1.0e-01 : f64");
  CHECK(one(1.0 / 3) == "v = 3.333333333333333e-01 : f64");
  CHECK(one(-std::numeric_limits<double>::infinity()) == "v = 0xFFF0000000000000 : f64");
  CHECK(Attributes().i64s("a", {}).i64s("b", {1, -2}).si32("c", -1).i32("d", 2).text("e", "x\"").f64s("f", {1}).str() ==
        "a = [], b = [1, -2], c = -1 : si32, d = 2 : i32, e = \"x\\22\", f = [1.0e+00 : f64]");
}

TEST_CASE("a name that is taken gets a number behind it") {
  Module m("net");
  m.input({"x", {1}});
  CHECK(m.unique("x") == "x_1");
  CHECK(m.unique("x") == "x_2");
  CHECK(m.unique("y") == "y");
  CHECK(m.unique("y") == "y_1");
}
