// SPDX-License-Identifier: Apache-2.0
// Texts from files: JSON and TensorProto, and inputs of a model that has texts.
#include "core/tensor_io/text_array.hpp"

#include <doctest/doctest.h>

#include "core/tensor_io/load.hpp"
#include "core/tensor_io/npy.hpp"
#include "core/tensor_io/tensor_proto.hpp"
#include "tests/support/temp_folder.hpp"

using namespace optima;

namespace {

std::string said(std::string_view json) { return read_json_texts(json, "file").status().message(); }

TensorInfo wanted(const TextTable& table) {
  TensorInfo info{"x", OPTIMA_I64, {-1, 2}, {"n", ""}};
  info.texts = &table;
  return info;
}

}  // namespace

TEST_CASE("JSON has a text, or lists of equally long lists of texts") {
  CHECK(read_json_texts("\"a\"", "file")->shape.empty());
  const auto two = read_json_texts(R"([["a", "b"], ["c", "größer"], ["", "e"]])", "file");
  REQUIRE(two.ok());
  CHECK(two->shape == std::vector<int64_t>{3, 2});
  CHECK(two->texts == std::vector<std::string>{"a", "b", "c", "größer", "", "e"});
  CHECK(read_json_texts("[]", "file")->shape == std::vector<int64_t>{0});
  for (const char* bad : {"[1]", "[\"a\", [\"b\"]]", "[[\"a\"], [\"b\", \"c\"]]", "{}", "null", "[\"a\", null]"})
    CHECK(said(bad) == "file: is no array of texts, wanted a text, or lists of equally long lists of them");
}

TEST_CASE("texts in a file of any kind are the codes of an input that has texts") {
  const TextTable table = {"red", "blue"};
  test::TempFolder folder;
  const std::string npy = folder.file("x.npy", write_npy_texts({{1, 2}, {"blue", "pink"}}));
  // dims 1 and 2, data type 8, two texts
  const std::string pb = folder.file("x.pb", std::string("\x08\x01\x08\x02\x10\x08\x32\x04" "blue" "\x32\x04" "pink"));
  const std::string json = folder.file("x.json", R"([["blue", "pink"]])");
  for (const std::string& file : {npy, pb, json}) {
    const Result<Tensor> codes = load_input(file, wanted(table));
    REQUIRE_MESSAGE(codes.ok(), codes.status().message());
    CHECK(codes->dtype == OPTIMA_I64);
    CHECK(std::vector<int64_t>(codes->as<int64_t>().begin(), codes->as<int64_t>().end()) == std::vector<int64_t>{1, 2});
  }
  CHECK(load_input(folder.file("y.json", R"(["blue"])"), wanted(table)).status().message() == "input 'x': found string 1, wanted string ?x2");
  CHECK(load_input(folder.file("y.bin", "blue"), wanted(table)).status().message().find("wanted texts in a .npy, .npz, .json or .pb") != std::string::npos);
}

TEST_CASE("codes come back as texts, and one that has none is one sentence") {
  const TextTable table = {"red", "blue"};
  Tensor t = *code_tensor({{2}, {"blue", "red"}}, table);
  t.name = "y";
  CHECK(*text_elements(t, table) == std::vector<std::string>{"blue", "red"});
  t.as<int64_t>()[1] = 7;
  CHECK(text_elements(t, table).status().message() == "tensor 'y': found code 7, wanted 0 to 1, for there are 2 texts");
}
