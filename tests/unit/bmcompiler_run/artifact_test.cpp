// SPDX-License-Identifier: Apache-2.0
// plugins/bmcompiler: meta files, compat records and models of artifacts, whole and hostile.
#include <doctest/doctest.h>

#include "plugins/bmcompiler/artifact.hpp"
#include "tests/support/seam_host.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/bmcompiler_bmodel/sample.hpp"

using namespace optima;
using namespace optima::test;
using namespace bmcompiler_plugin;

namespace {

/// An artifact whose model nobody can run.
struct Sample {
  Meta meta;
  BmodelSample model;
  seam::MemorySink sink;
  optima_device device = seam::device("TPU");
  optima_option attribute{};

  Sample() {
    meta.chip = "bm1684x", meta.mode = "F32", meta.tools = "tpu_mlir 1.30.2", meta.model = "*.bmodel";
    meta.inputs = {{"x", OPTIMA_F32, {-1, 3, 8, 8}, "x", OPTIMA_F32}}, meta.outputs = {{"a", OPTIMA_I64, {-1, 10}, "y", OPTIMA_F32}};
    seal();
  }
  void seal() {
    sink.format = std::string(kFormat);
    sink.files["subgraph_0.meta"] = meta.write(), sink.files["subgraph_0.bmodel"] = model.bytes();
    Record r{meta.chip, meta.mode, meta.tools, {}};
    for (const auto& [name, bytes] : sink.files) r.files.push_back(sdk::record_bytes("*" + name.substr(name.find('.')), bytes));
    sink.compat = r.write();
  }
  Record verify() const {
    const seam::Artifact artifact(sink, nullptr);
    return bmcompiler_plugin::verify(sdk::Artifact(&artifact.raw), sdk::Device(&device));
  }
  std::string refusal(int32_t code = OPTIMA_CORRUPT) const {
    return error_of([&] { verify(); }, code);
  }
};

}  // namespace

TEST_CASE("a meta file and a record are read as they were written") {
  const Sample sample;
  const Meta m = Meta::read(sample.meta.write());
  CHECK(m.write() == sample.meta.write());
  CHECK(m.outputs[0].dims == std::vector<int64_t>{-1, 10});
  CHECK(m.outputs[0].dtype == OPTIMA_I64);
  CHECK(m.outputs[0].file_dtype == OPTIMA_F32);
  CHECK(Record::read(sample.sink.compat).write() == sample.sink.compat);
}

TEST_CASE("a hostile meta file is refused, saying why") {
  const std::string good = Sample().meta.write();
  const auto refusal = [](const std::string& text) { return error_of([&] { Meta::read(text); }, OPTIMA_CORRUPT); };
  CHECK(refusal("{") == "meta file is not JSON, or truncated");
  CHECK(refusal("[]") == "meta file is no JSON object");
  CHECK(refusal(replaced(good, "sophon.bmodel/1", "sophon.bmodel/2")) == "meta file has format 'sophon.bmodel/2', wanted sophon.bmodel/1");
  CHECK(refusal(replaced(good, "bm1684x", "bm1")).starts_with("meta file has chip 'bm1', wanted one of "));
  CHECK(refusal(replaced(good, "*.bmodel", "../bmodel")) == "meta file has model '../bmodel', wanted a file name");
  CHECK(refusal(replaced(good, "-1", "-2")) == "meta file has a dim of 'x' that is no size");
  CHECK(refusal(replaced(good, "    8,", "    -1,")) == "meta file has a dim of 'x' that is no size");
  CHECK(refusal(replaced(good, "    8,", "    288230376151711744,")) == "meta file has 'x' larger than any tensor");
  Meta batches = Sample().meta;
  batches.batches = {1, 4};
  CHECK(Meta::read(batches.write()).batches == std::vector<int64_t>{1, 4});
  for (const char* wrong : {"4,\n  1", "0,\n  1", "1,\n  -4", "1,\n  \"4\""})
    CHECK(refusal(replaced(batches.write(), "1,\n  4", wrong)) == "meta file has 'batches' that are no sizes in ascending order");
  CHECK(refusal(replaced(good, "\"f32\"", "\"f33\"")) == "meta file has 'x' of type 'f33', wanted an element type");
}

TEST_CASE("an artifact whose model is what its meta file says is taken") {
  Sample sample;
  CHECK(sample.verify().chip == "bm1684x");
  sample.attribute = seam::option("chip", "bm1684x");
  sample.device.attrs = &sample.attribute, sample.device.attr_count = 1;
  CHECK(sample.verify().files.size() == 2);
}

TEST_CASE("another chip, format or model is refused") {
  Sample sample;
  sample.attribute = seam::option("chip", "bm1688");
  sample.device.attrs = &sample.attribute, sample.device.attr_count = 1;
  CHECK(sample.refusal(OPTIMA_WRONG_DEVICE) == "files were made for bm1684x, the device is 'bm1688', wanted a compilation with bmcompiler.chip=bm1688");
  Sample unknown;
  unknown.sink.format = "sophon.bmodel/9";
  CHECK(unknown.refusal(OPTIMA_RECOMPILE) == "artifact has format 'sophon.bmodel/9', wanted sophon.bmodel/1");
  Sample other_chip;
  other_chip.model.chip = "BM1684", other_chip.seal();
  CHECK(other_chip.refusal() == "bmodel was made for 'BM1684', the record says BM1684X");
  Sample other_sizes;
  other_sizes.model.batches = {{1, 3, 8, 9}}, other_sizes.seal();
  CHECK(other_sizes.refusal() == "input 'x' has other sizes in the bmodel than in the meta file");
  Sample other_type;
  other_type.model.type = 1, other_type.seal();
  CHECK(other_type.refusal() == "input 'x' is f16 in the bmodel, f32 in the meta file");
  Sample other_output;
  other_output.meta.outputs[0].file_name = "z", other_output.seal();
  CHECK(other_output.refusal() == "bmodel has no output 'z', which the meta file has");
  Sample other_stages;
  other_stages.meta.batches = {1, 2, 4}, other_stages.seal();
  CHECK(other_stages.refusal() == "bmodel has 2 stages, the meta file 3 batches");
  Sample two_nets;
  two_nets.model.nets = 2, two_nets.seal();
  CHECK(two_nets.refusal() == "bmodel has 2 networks, wanted one");
}

TEST_CASE("a file that is damaged, missing or of another size is found") {
  Sample sample;
  sample.sink.files["subgraph_0.bmodel"].back() ^= 1;
  CHECK(sample.refusal().starts_with("file 'subgraph_0.bmodel' is damaged: its sum is "));
  sample.sink.files["subgraph_0.bmodel"] += "x";
  CHECK(sample.refusal().starts_with("file 'subgraph_0.bmodel' has "));
  sample.sink.files.erase("subgraph_0.bmodel");
  CHECK(sample.refusal() == "file 'subgraph_0.bmodel' is missing");
  Sample cut;
  cut.sink.compat.pop_back();
  CHECK(cut.refusal() == "compat record is truncated");
}

TEST_CASE("ports take the names and types that the tools gave their tensors") {
  Meta meta = Sample().meta;
  Bmodel model = read_bmodel(BmodelSample().bytes());
  model.nets[0].stages[0].inputs[0].name = "x_f16", model.nets[0].stages[0].inputs[0].dtype = OPTIMA_F16;
  model.nets[0].stages[0].outputs[0].name = "another";
  adopt_ports(model, meta);
  CHECK(meta.inputs[0].file_name == "x_f16");
  CHECK(meta.inputs[0].file_dtype == OPTIMA_F16);
  CHECK(meta.outputs[0].file_name == "another");  // the only one that is left
  meta.outputs.push_back({"b", OPTIMA_F32, {1}, "b", OPTIMA_F32});
  CHECK(error_of([&] { adopt_ports(model, meta); }, OPTIMA_TOOL_FAILED) == "the tools left 'b' out of the bmodel");
}
