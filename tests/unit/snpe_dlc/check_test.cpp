// SPDX-License-Identifier: Apache-2.0
#include "plugins/snpe/dlc/check.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;

namespace {

const Port kX{"x", OPTIMA_F32, {1, 2, 5, 5}, "", ""}, kY{"y", OPTIMA_F32, {1, 3, 5, 5}, "", ""};

std::string judged(const std::vector<Port>& inputs, const std::vector<Port>& outputs) {
  return said([&] { check_ports({read_dlc(sample("float"))}, inputs, outputs); });
}

Port with(Port p, std::vector<int64_t> dims, std::string layout = "") {
  p.dims = std::move(dims), p.layout = std::move(layout);
  return p;
}

/// A DLC of one graph that does nothing.
Dlc dlc(std::vector<DlcTensor> tensors) {
  Dlc d;
  d.graphs.push_back({"g", {}, std::move(tensors)});
  return d;
}

}  // namespace

TEST_CASE("A DLC with the graph's ports passes, and inputs that nothing reads may be missing") {
  CHECK(judged({kX}, {kY}) == "");
  CHECK(judged({Port{"unread", OPTIMA_F32, {7}, "", ""}, kX}, {kY}) == "");
}

TEST_CASE("Every difference is named, with what was found and wanted") {
  CHECK(judged({}, {kY}) == "the DLC has an input 'x', which the subgraph has not");
  CHECK(judged({kX}, {kY, Port{"z", OPTIMA_F32, {1}, "", ""}}) == "the DLC has no output 'z', which the subgraph has");
  CHECK(judged({with(kX, {1, 5, 5, 2})}, {kY}) == "input 'x' of the DLC has dims 1x2x5x5, wanted 1x5x5x2");
  CHECK(judged({kX}, {with(kY, {1, 3, 5})}) == "output 'y' of the DLC has dims 1x3x5x5, wanted 1x3x5");
  Port half = kX;
  half.dtype = OPTIMA_F16;
  CHECK(judged({half}, {kY}) == "input 'x' of the DLC is float32, wanted float16");
}

TEST_CASE("Names and layouts are those of the file") {
  Port renamed = kX;
  renamed.name = "data:0", renamed.file_name = "x";
  CHECK(judged({renamed}, {kY}) == "");
  CHECK(judged({with(kX, {1, 5, 2, 5}, "NHWC")}, {kY}) == "");
}

TEST_CASE("Codes, 64-bit integers and scalars lie in the file as the tools have them") {
  const Dlc d = dlc({{"a", 0x0408, 0, {4}, {}}, {"b", 0x0032, 0, {2}, {}}, {"s", 0x0232, 1, {1}, {}}});
  CHECK(said([&] { check_ports({d}, {{"a", OPTIMA_U8, {4}, "", ""}, {"b", OPTIMA_I64, {2}, "", ""}}, {{"s", OPTIMA_F32, {}, "", ""}}); }) == "");
  CHECK(said([&] { check_ports({d}, {{"a", OPTIMA_I8, {4}, "", ""}, {"b", OPTIMA_I64, {2}, "", ""}}, {}); }) ==
        "input 'a' of the DLC is ufixed8, wanted int8 or sfixed8");
}

TEST_CASE("Floats may be halves or codes in a file that SNPE's runtime runs, and nothing else") {
  const Dlc d = dlc({{"x", 0x0216, 0, {1}, {}}, {"y", 0x0408, 1, {1}, {}}, {"z", 0x0032, 1, {1}, {}}});
  const auto of = [&](const Port& z, bool of_sdk) {
    return said([&] { check_ports({d}, {{"x", OPTIMA_F32, {1}, "", ""}}, {{"y", OPTIMA_F32, {1}, "", ""}, z}, of_sdk); });
  };
  CHECK(of({"z", OPTIMA_I32, {1}, "", ""}, true) == "");
  CHECK(of({"z", OPTIMA_I32, {1}, "", ""}, false) == "input 'x' of the DLC is float16, wanted float32");
  CHECK(of({"z", OPTIMA_F32, {1}, "", ""}, true) == "output 'z' of the DLC is int32, wanted float32 or float16 or sfixed8 or sfixed16 or ufixed8 or ufixed16");
}

TEST_CASE("DLCs in a row hand on what is between them, and one that is not read passes") {
  const Dlc first = dlc({{"x", 0x0232, 0, {1}, {}}, {"q", 0x0232, 1, {1}, {}}}), second = dlc({{"q", 0x0232, 0, {1}, {}}, {"y", 0x0232, 1, {1}, {}}});
  const Port x{"x", OPTIMA_F32, {1}, "", ""}, y{"y", OPTIMA_F32, {1}, "", ""};
  CHECK(said([&] { check_ports({first, second}, {x}, {y}); }) == "");
  CHECK(said([&] { check_ports({second, first}, {x}, {y}); }) == "the DLC has an input 'q', which the subgraph has not");
  CHECK(said([&] { check_ports({first, Dlc{}}, {x}, {y}); }) == "");
}
