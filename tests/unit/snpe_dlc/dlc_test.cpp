// SPDX-License-Identifier: Apache-2.0
#include "tests/support/zip.hpp"
#include "tests/unit/snpe_dlc/sample.hpp"

using namespace snpe_plugin;
using namespace snpe_plugin::test;

using Dims = std::vector<int64_t>;
using Names = std::vector<std::string>;

TEST_CASE("A DLC tells its parts, who made it, its graph, operators and tensors") {
  const std::string file = sample("float");
  const Dlc d = read_dlc(file);
  CHECK(d.size == file.size());
  Names parts;
  for (const Part& p : d.parts) parts.push_back(p.name);
  CHECK(parts == Names{"dlc.metadata.history.2.3.0", "dlc.metadata2.3.0", "model", "model.params", "model.params.bin"});
  CHECK(d.version == 4);
  CHECK(d.not_told.empty());
  REQUIRE(d.made_by.size() == 3);
  CHECK(d.made_by[0] == std::pair<std::string, std::string>("tool", "qnn-net-run"));
  CHECK(d.made_by[1] == std::pair<std::string, std::string>("version", "2.51.0.260929181845"));
  CHECK(d.made_by[2] == std::pair<std::string, std::string>("backend", "libQnnIr.so(.dll)"));
  REQUIRE(d.graphs.size() == 1);
  const DlcGraph& g = d.graphs[0];
  CHECK(g.name.rfind("QNNExecutionProvider_", 0) == 0);
  REQUIRE(g.ops.size() == 4);
  CHECK(g.ops[1].type == "Conv2d");
  CHECK(g.ops[1].inputs == Names{"Transpose_out0", "w", "b"});
  CHECK(g.ops[1].outputs == Names{"conv1"});
  CHECK(g.ops[2].name == "relu1");
  CHECK(g.tensors.size() == 7);
  const DlcTensor& x = tensor(g, "x");
  CHECK(x.is_input());
  CHECK(x.dims == Dims{1, 2, 5, 5});
  CHECK(type_name(x.type) == "float32");
  CHECK(x.coding.told);
  CHECK(x.coding.scales.empty());
  CHECK(tensor(g, "y").is_output());
  CHECK(role_name(tensor(g, "w").role) == "constant");
  CHECK(tensor(g, "w").dims == Dims{3, 3, 2, 3});  // QNN's order: height, width, in, out
}

TEST_CASE("Scales and offsets are the model's, the offset with QNN's sign") {
  const Dlc d = read_dlc(sample("codes"));
  const DlcGraph& g = d.graphs.at(0);
  const DlcTensor& x = tensor(g, "xq");
  CHECK(type_name(x.type) == "ufixed8");
  CHECK(x.coding.axis == -1);
  CHECK(x.coding.scales == std::vector<float>{0.02f});
  CHECK(x.coding.offsets == std::vector<int32_t>{-128});
  const DlcTensor& w = tensor(g, "wi");
  CHECK(type_name(w.type) == "sfixed8");
  CHECK(w.coding.axis == 3);
  CHECK(w.coding.scales == std::vector<float>{0.05f, 0.06f, 0.07f});
  CHECK(w.coding.offsets == std::vector<int32_t>{0, 0, 0});
  CHECK(tensor(g, "bi").coding.axis == 0);
  CHECK(type_name(tensor(g, "bi").type) == "sfixed32");
}

TEST_CASE("Codes of four bits are told by their bits") {
  const DlcTensor w = tensor(read_dlc(sample("four_bits")).graphs.at(0), "w_transpose");
  CHECK(type_name(w.type) == "sfixed8");
  CHECK(w.coding.bits == 4);
  CHECK(w.coding.scales == std::vector<float>{0.1f});
}

TEST_CASE("What cannot be told is said, not invented") {
  using namespace optima::test;
  CHECK(type_name(0x0999) == "type 0x0999");
  CHECK(type_name(0x0264) == "float64");
  CHECK(type_name(0x0508) == "bool");
  CHECK(role_name(9) == "role 9");
  const Dlc old = read_dlc(zip({stored("model", std::string("\xD5\x0A\x03\0\0\0\0\0rest", 12)), stored("dlc.metadata", "converter-version=1.68.0\nodd\nmodel-version=7\n")}));
  CHECK(old.version == 3);
  CHECK(old.graphs.empty());
  CHECK(old.not_told == Names{"part 'model' has version 3, of which nothing is known here"});
  CHECK(old.made_by == std::vector<std::pair<std::string, std::string>>{{"converter-version", "1.68.0"}, {"model-version", "7"}});
  CHECK(read_dlc(zip({deflated("model", "anything")})).not_told == Names{"part 'model' is compressed"});
  CHECK(read_dlc(zip({stored("model.params", "weights")})).not_told == Names{"there is no part 'model'"});
}
