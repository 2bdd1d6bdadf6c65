// SPDX-License-Identifier: Apache-2.0
// What a file declares about shapes, and what of it holds. "ONNX Runtime" is release 1.31 here: each case was tried with it.
#include <doctest/doctest.h>

#include <functional>

#include "core/onnx_io/onnx_io.hpp"
#include "core/support/log.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;
using Edit = std::function<void(onnx::GraphProto&)>;

namespace {

/// A model's graph, and what was logged while it was read.
struct Imported {
  Graph graph;
  std::vector<std::string> warnings;

  std::string type(const std::string& value) const {
    for (const image::Graph& g : graph.contents.graphs)
      for (const image::Value& v : g.values)
        if (v.name == value) return type_text(v);
    return "none";
  }
};

Imported import(std::string_view text, const Edit& edit = {}, const onnx_io::ImportOptions& options = {}) {
  const test::TempFolder folder;
  onnx::ModelProto model = test::graph_model(text);
  if (edit) edit(*model.mutable_graph());
  Imported out;
  set_log([&](LogLevel level, std::string_view component, std::string_view line) {
    if (level == LogLevel::Warn && component == "onnx_io") out.warnings.emplace_back(line);
  });
  auto loaded = onnx_io::load_model(folder.file("m.onnx", model.SerializeAsString()), options);
  set_log({});
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  CHECK(verify(*loaded).message() == "");
  out.graph = std::move(*loaded);
  return out;
}

std::string left_out(const std::string& what) { return "declared shapes that do not hold are left out: " + what; }

onnx::TensorShapeProto::Dimension& first_dim(onnx::ValueInfoProto& v) { return *v.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0); }

onnx_io::ImportOptions with_shape(const std::string& input, std::vector<int64_t> dims) {
  onnx_io::ImportOptions options;
  options.shapes[input] = std::move(dims);
  return options;
}

}  // namespace

TEST_CASE("names that only say that a size is not known are no names, the others are") {
  const auto symbol = [](const std::string& name) {
    return import("g (float[n,4] x) => (float[m,4] y) { y = Relu(x) }", [&](onnx::GraphProto& g) { first_dim(*g.mutable_input(0)).set_dim_param(name); }).type("x");
  };
  for (const char* name : {"?", "", " ", "None", "none", "unk__12", "unk_3", "unk7", "unk", "unk__", "Unknown", "-1"}) CHECK_MESSAGE(symbol(name) == "f32[x.0,4]", name);
  for (const char* name : {"batch", "unknot", "unk__n", "N", "nonesuch", "DynamicDimension.0", "*", "-2", "unknown_dim"})
    CHECK_MESSAGE(symbol(name) == "f32[" + std::string(name) + ",4]", name);
}

// ONNX Runtime takes both for unknown sizes.
TEST_CASE("a size below zero is not known") {
  const Imported m = import("g (float[1,4] x) => (float[1,4] y) <float[1,4] h> { h = Relu(x)  y = Neg(h) }", [](onnx::GraphProto& g) {
    for (onnx::ValueInfoProto* v : {g.mutable_input(0), g.mutable_output(0), g.mutable_value_info(0)}) first_dim(*v).set_dim_value(-1);
  });
  CHECK(m.type("x") == "f32[x.0,4]");
  CHECK(m.type("y") == "f32[x.0,4]");
  CHECK(m.warnings.empty());
}

TEST_CASE("two inputs that are of \"?\" rows each are not taken for equally long") {
  const Imported m = import("g (float[n,4] a, float[n,4] b) => (float[n,4] c, float[n,4] d) { c = Relu(a)  d = Relu(b) }", [](onnx::GraphProto& g) {
    for (auto* list : {g.mutable_input(), g.mutable_output()})
      for (auto& v : *list) first_dim(v).set_dim_param("?");
  });
  CHECK(m.type("c") == "f32[a.0,4]");
  CHECK(m.type("d") == "f32[b.0,4]");
}

TEST_CASE("--dim takes a name as the file spells it, also one that names nothing") {
  onnx_io::ImportOptions options;
  options.dims = {{"unk__616", 2}};
  CHECK(import("g (float[unk__616,4] x, float[unk__617] z) => (float[unk__616,4] y) { y = Relu(x) }", {}, options).type("y") == "f32[2,4]");
}

TEST_CASE("--dim takes a dim without a name by its place, alone; where another dim is called so, that one is meant") {
  const auto type = [](std::string_view text, const std::string& value, const std::string& dim) {
    onnx_io::ImportOptions options;
    options.dims = {{dim, 6}};
    return import(text, {}, options).type(value);
  };
  constexpr std::string_view kTwo = "g (float[unk__1,3,unk__1,n] x) => (float[k,3,l,n] y) { y = Relu(x) }";
  CHECK(type(kTwo, "y", "x.2") == "f32[x.0,3,6,n]");
  CHECK(type(kTwo, "y", "unk__1") == "f32[6,3,6,n]");
  const Imported m = import("g (float[n,4] a, float[k,4] b) => (float[n,4] y, float[k,4] z) { y = Relu(a)  z = Relu(b) }", [](onnx::GraphProto& g) {
    first_dim(*g.mutable_input(0)).set_dim_param("?");
    first_dim(*g.mutable_input(1)).set_dim_param("a.0");
  });
  CHECK(m.type("y") == "f32[a.0',4]");
  CHECK(m.type("z") == "f32[a.0,4]");
}

TEST_CASE("an input of a cut goes by its place, too") {
  onnx_io::ImportOptions options;
  options.inputs = {"h"};
  CHECK(import("g (float[n,4] x) => (int64[2,k] y) { h = NonZero(x)  y = Neg(h) }", {}, options).type("y") == "i64[2,h.1]");
}

TEST_CASE("--dim takes the name that is declared of a value at which the model is cut") {
  onnx_io::ImportOptions options;
  options.inputs = {"h"};
  options.dims = {{"n", 3}};
  CHECK(import("g (float[n,4] x) => (int64[2,k] y) <int64[2,n] h> { h = NonZero(x)  y = Neg(h) }", {}, options).type("y") == "i64[2,3]");
}

// ONNX Runtime loads these with a warning and runs them; it keeps what it inferred.
TEST_CASE("a declared rank or size that inference contradicts is a warning, in the middle and at an output") {
  const Imported rank = import("g (float[2,3] x) => (float[2,3] y) <float[3] h> { h = Relu(x)  y = Neg(h) }");
  CHECK(rank.type("h") == "f32[2,3]");
  CHECK(rank.warnings == std::vector<std::string>{left_out("value 'h' is declared [3], but is [2,3]")});
  const Imported size = import("g (float[n,3] x) => (float[7,4] y) <float[n,5] h> { h = Relu(x)  y = Neg(h) }");
  CHECK(size.type("h") == "f32[n,3]");
  CHECK(size.type("y") == "f32[n,3]");
  CHECK(size.warnings == std::vector<std::string>{left_out("value 'h' is declared [n,5], but is [n,3], value 'y' is declared [7,4], but is [n,3]")});
}

TEST_CASE("a whole stale model is one line of warning, and what follows from the input's shape counts") {
  const Imported m = import("g (float[8,3] x) => (float[1,3] y) <float[1,3] a, float[1,3] b, float[1,3] c> { a = Relu(x)  b = Neg(a)  c = Abs(b)  y = Exp(c) }");
  CHECK(m.type("y") == "f32[8,3]");
  REQUIRE(m.warnings.size() == 1);
  CHECK(m.warnings[0].find("value 'a' is declared [1,3], but is [8,3]") != std::string::npos);
  CHECK(m.warnings[0].ends_with(" and 1 more"));
}

// ONNX Runtime runs all of these with a warning, whatever comes out.
TEST_CASE("what is declared is no size of what cannot be inferred: a file holds the sizes of the run that was traced") {
  const Imported m = import("g (float[n,4] x) => (int64[2,7] y, float[m,4] z) { y = NonZero(x)  z = Relu(x) }");
  CHECK(m.type("y").starts_with("i64[2,unk__"));
  CHECK(m.type("z") == "f32[n,4]");
  CHECK(m.warnings.empty());
  const Imported unranked = import("g (float[n,4] x, int64[r] s) => (float[1,k] y) <float[1,k] h> { h = Reshape(x, s)  y = Neg(h) }");
  CHECK(unranked.type("h") == "f32[*]");
  CHECK(unranked.type("y") == "f32[*]");
  // What arithmetic on shapes finds is told in the same words.
  const Imported late = import(R"(g (float[n,4] x) => (float[n,4,1] y) <int64[2] twos = {2, 2}, int64[1] first = {0}> {
    s = Shape(x)  n = Gather(s, first)  t = Concat<axis = 0>(n, twos)  y = Reshape(x, t) })");
  CHECK(late.type("y") == "f32[n,2,2]");
  CHECK(late.warnings == std::vector<std::string>{left_out("value 'y' is declared [n,4,1], but is [n,2,2]")});
}

TEST_CASE("before opset 13 Softmax flattens what it gets, of whatever rank that is declared") {
  const test::TempFolder folder;
  const auto loaded = onnx_io::load_model(folder.file("m.onnx", test::graph_model("g (float[n,4] x, int64[r] s) => (float[a,b] y) <float[a,b] h> { h = Reshape(x, s)  y = Softmax(h) }", 11).SerializeAsString()));
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  CHECK(loaded->main().nodes.size() > 2);  // of rank 2 it would be one node
}

TEST_CASE("of an operator that nobody knows, and of what is made of it, the file has the word") {
  const auto type = [](std::string_view graph, const std::string& value) {
    const auto g = onnx_io::load_text("<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 3]> " + std::string(graph), "t");
    REQUIRE_MESSAGE(g.ok(), g.status().message());
    for (const image::Graph& each : g->contents.graphs)
      for (const image::Value& v : each.values)
        if (v.name == value) return type_text(v);
    return std::string("none");
  };
  constexpr std::string_view kPlain = "g (float[2,3] x) => (float[2,10] y, int64[2,8] z) <float[2,10] k> { k = com.acme.Widen (x)  y = Neg(k)  z = NonZero(x) }";
  CHECK(type(kPlain, "k") == "f32[2,10]");
  CHECK(type(kPlain, "y") == "f32[2,10]");
  CHECK(type(kPlain, "z").starts_with("i64[2,unk__"));
  constexpr std::string_view kBody = R"(g (bool c, float[2,3] x) => (float[2,10] y, int64[2,8] z) {
    y = If(c) <then_branch = t () => (float[2,10] r) { r = com.acme.Widen (x) }, else_branch = e () => (float[2,10] q) { q = com.acme.Widen (x) }>  z = NonZero(x) })";
  CHECK(type(kBody, "y") == "f32[2,10]");
  constexpr std::string_view kLoop = R"(g (int64 n, bool c, float[2,3] x) => (float[2,10] y) {
    y = Loop(n, c, x) <body = b (int64 i, bool ci, float[p,q] s) => (bool co, float[2,10] r) <float[2,10] k> { co = Identity(ci)  k = Neg(s)  r = com.acme.Widen (k) }> })";
  CHECK(type(kLoop, "k") == "f32[2,10]");
  CHECK(type(kLoop, "r") == "f32[2,10]");
  CHECK(type(kBody, "z").starts_with("i64[2,unk__"));
}

// ONNX Runtime gives the rows that there are, and warns.
TEST_CASE("an output is not taken for as long as an input because both are declared under one name") {
  CHECK(import("g (float[n,4] x) => (int64[2,n] y) { y = NonZero(x) }").type("y") == "i64[2,unk__0]");
  CHECK(import("g (float[n,4] x, int64[2] s) => (float[n,4] y) { y = Expand(x, s) }").type("y").starts_with("f32[unk__"));
  // Followed through arithmetic on shapes it is the input's size.
  CHECK(import(R"(g (float[n,2,2] x) => (float[n,4] y) <int64[1] four = {4}, int64[1] first = {0}> {
    s = Shape(x)  n = Gather(s, first)  t = Concat<axis = 0>(n, four)  y = Reshape(x, t) })").type("y") == "f32[n,4]");
}

TEST_CASE("declared shapes that contradict each other where nothing is inferred are left out") {
  const Imported m = import("g (float[n,4] x) => (int64[2,9] y) <int64[2,7] h> { h = NonZero(x)  y = Neg(h) }");
  CHECK(m.type("y").starts_with("i64[2,unk__"));
  CHECK(m.warnings.empty());
}

// The library takes these axes from the first operand that has some.
TEST_CASE("axes of an Einsum broadcast, those under an ellipsis and those of one letter") {
  const auto type = [](const char* a, const char* b, const char* equation) {
    return import(std::string("g (float[") + a + "] a, float[" + b + "] b) => (float y) { y = Einsum <equation = \"" + equation + "\"> (a, b) }").type("y");
  };
  CHECK(type("n,1,4,8,32", "1,n,5,8,32", "...TNH, ...SNH -> ...NTS") == "f32[n,n,8,4,5]");
  CHECK(type("n,1,4,8", "1,3,5,8", "...th,...sh->...ts") == "f32[n,3,4,5]");
  CHECK(type("2,4,8", "n,5,8", "...th,...sh->t...s") == "f32[4,2,5]");
  CHECK(type("n,4,8", "1,5,8", "...th,...sh") == "f32[n,5,4]");  // letters in their order
  CHECK(type("n,1,4,8", "1,m,5,8", "...bth,...bsh->...bts") == "f32[n,m,4,5]");
  CHECK(type("n,1,8", "n,6,8", "nth,nth->nt") == "f32[n,6]");
  CHECK(type("n,s,8", "n,s,8", "nsh,nsh->ns") == "f32[n,s]");
  CHECK(type("n,4,8", "m,5,8", "...th,...sh->...ts").starts_with("f32[unk__"));
}

TEST_CASE("of an output that is declared among the values, too, in another type, the output counts") {
  const Imported m = import("g (float16[n,4] x) => (float[n,4] y) <float16[n,4] y> { y = Cast <to = 1> (x) }");
  CHECK(m.type("y") == "f32[n,4]");
  CHECK(m.warnings.empty());
}

// ONNX Runtime refuses an initializer of another shape than the input of its name, and takes any value_info.
TEST_CASE("an initializer has the shape that it has, whatever is declared of it") {
  const auto declare = [](bool input, std::vector<int64_t> dims) {
    return [input, dims](onnx::GraphProto& g) {
      onnx::ValueInfoProto& v = input ? *g.add_input() : *g.add_value_info();
      v.set_name("w");
      v.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
      for (int64_t d : dims) v.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
    };
  };
  for (bool input : {true, false}) {
    const Imported m = import("g (float[2,2] x) => (float[2,2] y) <float[2] w = {1, 2}> { y = Add(x, w) }", declare(input, {3, 2}));
    CHECK(m.type("y") == "f32[2,2]");
    CHECK(m.graph.main().inputs.size() == 1);
    CHECK(m.warnings == std::vector<std::string>{left_out("value 'w' is declared [3,2], but is [2]")});
  }
  CHECK_FALSE(onnx_io::load_text(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (int64[2] w, float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) })", "t").ok());
  const Imported output = import("g (float[2] x) => (float[5] w, float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  CHECK(output.type("w") == "f32[2]");
  CHECK(output.type("y") == "f32[2]");
}

// ONNX Runtime runs all three.
TEST_CASE("stale shapes inside bodies are warnings") {
  const Imported branch = import(R"(g (bool c, float[2,3] x) => (float[2,3] y) {
    y = If(c) <then_branch = t () => (float[7] r) { r = Relu(x) }, else_branch = e () => (float[2,3] s) <float[9] k> { k = Neg(x)  s = Abs(k) }> })");
  CHECK(branch.type("y") == "f32[2,3]");
  CHECK(branch.type("r") == "f32[2,3]");
  CHECK(branch.type("k") == "f32[2,3]");
  CHECK(branch.warnings.size() == 1);
  const Imported loop = import(R"(g (int64 n, bool c, float[2,3] x) => (float[4] y) {
    y = Loop(n, c, x) <body = b (int64 i, bool ci, float[5] s) => (bool co, float[8] t) { co = Identity(ci)  t = Relu(s) }> })");
  CHECK(loop.type("s") == "f32[2,3]");
  CHECK(loop.type("t") == "f32[2,3]");
  CHECK(loop.type("y") == "f32[2,3]");
  CHECK(loop.type("i") == "i64[]");
  CHECK_FALSE(loop.warnings.empty());
  const Imported scan = import(R"(g (float[2] h, float[5,3] x) => (float[9] y, float[5,3] z) {
    y, z = Scan <num_scan_inputs = 1, body = b (float[4] s, float[6] r) => (float[4] t, float[6] q) { t = Neg(s)  q = Relu(r) }> (h, x) })");
  CHECK(scan.type("s") == "f32[2]");
  CHECK(scan.type("q") == "f32[3]");
  CHECK(scan.type("y") == "f32[2]");
}

TEST_CASE("with --shape nothing that the file declares of other values counts, in bodies either") {
  const Imported m = import(R"(g (int64 n, bool c, float[1,3] x) => (float[1,3] y) <float[1,3] h> {
    h = Relu(x)  y = Loop(n, c, h) <body = b (int64 i, bool ci, float[1,3] s) => (bool co, float[1,3] t) { co = Identity(ci)  t = Relu(s) }> })",
                            {}, with_shape("x", {8, 3}));
  for (const char* value : {"h", "s", "t", "y"}) CHECK_MESSAGE(m.type(value) == "f32[8,3]", value);
  CHECK(m.type("i") == "i64[]");
  CHECK(m.warnings.empty());
}

TEST_CASE("an output that is an input, or is in a sequence, has the new sizes too") {
  CHECK(import("g (float[1,3] x) => (float[1,3] x, float[1,3] y) { y = Relu(x) }", {}, with_shape("x", {8, 3})).type("y") == "f32[8,3]");
  const Imported m = import("g (float[1,3] x) => (float[1,3] x, float[1,3] y) { y = Relu(x) }", {}, with_shape("x", {8, 3}));
  CHECK(m.type("x") == "f32[8,3]");
  CHECK(m.warnings.empty());
  const Imported sequence = import("g (float[1,3] x) => (seq(float[1,3]) y) { y = SequenceConstruct(x) }", {}, with_shape("x", {8, 3}));
  CHECK(sequence.type("y").find("[8,3]") != std::string::npos);
}

// ONNX Runtime loads a model whose values have no shape.
TEST_CASE("values without a shape are no fault, with --shape or without") {
  const char* const text = "g (float[n,3] x, float[3] w) => (float[n,3] y, int64[2,k] z, seq(float[n,3]) s) { y = Add(x, w)  z = NonZero(x)  s = SequenceConstruct(x) }";
  const Edit bare = [](onnx::GraphProto& g) {
    for (auto* list : {g.mutable_input(), g.mutable_output()})
      for (auto& v : *list) {
        if (v.type().has_tensor_type()) v.mutable_type()->mutable_tensor_type()->clear_shape();
        else v.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->clear_shape();
      }
  };
  CHECK(import(text, bare).type("y") == "f32[*]");
  const Imported shaped = import(text, bare, with_shape("x", {2, 3}));
  CHECK(shaped.type("x") == "f32[2,3]");
  CHECK(shaped.type("w") == "f32[*]");
  CHECK(shaped.type("z").starts_with("i64[2,"));
  CHECK(import("g (float[2,3] x, float[2] s) => (float[2,3] y) { y = Neg(x) }", [](onnx::GraphProto& g) {
          g.mutable_input(1)->mutable_type()->mutable_sparse_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
        }, with_shape("x", {4, 3})).type("y") == "f32[4,3]");
  CHECK(import(text, [](onnx::GraphProto& g) { g.mutable_output(0)->clear_type(); }, with_shape("x", {2, 3})).type("y") == "f32[2,3]");
}

TEST_CASE("a plugin's answer wins over what the file declares of its operator's outputs, and so does what follows from it") {
  onnx_io::ImportOptions options;
  options.infer_foreign = [](const optima_graph&, uint32_t) -> Result<std::vector<image::Value>> {
    return std::vector<image::Value>{{"", OPTIMA_F32, std::vector<image::Dim>{{2, ""}, {30, ""}}, OPTIMA_NONE, OPTIMA_KIND_TENSOR}};
  };
  const test::TempFolder folder;
  const auto g = onnx_io::load_text(R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
    g (float[2,3] x) => (float[2,10] y) <float[2,10] k> { k = com.acme.Widen (x)  y = Neg(k) })", "t", options);
  REQUIRE_MESSAGE(g.ok(), g.status().message());
  CHECK(type_text(g->main().values[g->main().nodes[0].outputs[0]]) == "f32[2,30]");
  CHECK(type_text(g->main().values[g->main().outputs[0]]) == "f32[2,30]");
}
