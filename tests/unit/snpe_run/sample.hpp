// SPDX-License-Identifier: Apache-2.0
// tests: an artifact as plugins/snpe makes them, whose DLC and contexts nobody can run.
#pragma once

#include "plugins/snpe/artifact.hpp"
#include "tests/support/seam_host.hpp"

namespace optima::test {

namespace sdk = optima::sdk;

struct Sample {
  snpe_plugin::Meta meta;
  seam::MemorySink sink;
  optima_device device = seam::device("HEXAGON");
  optima_option attribute{};

  Sample() {
    meta.kind = "HEXAGON", meta.route = "wheels", meta.tools = "onnxruntime 1.31.1 + onnxruntime-qnn 2.7.0", meta.precision = "fp16";
    meta.dlcs = {"subgraph_0.dlc"};
    sink.files["subgraph_0.dlc"] = std::string("PK\3\4 a container", 17);
    for (const std::string soc : {"sm8550", "sm8650"}) {
      meta.contexts.push_back({soc, "subgraph_0." + soc + ".bin", "subgraph_0." + soc + ".onnx"});
      sink.files["subgraph_0." + soc + ".bin"] = std::string("\0\0\0\2\0\0\0\3 a context of ", 23) + soc;
      sink.files["subgraph_0." + soc + ".onnx"] = "\x08\x0d a wrapper of " + soc;
    }
    meta.inputs = {{"x", OPTIMA_F32, {1, 4}, "", ""}}, meta.outputs = {{"y", OPTIMA_F32, {1, 4}, "", ""}};
    sink.files["subgraph_0.meta"] = meta.write();
    sink.format = std::string(snpe_plugin::kFormat);
    seal();
  }

  /// The record of what is in the sink.
  snpe_plugin::Record record() const {
    snpe_plugin::Record r{meta.kind, meta.route, meta.tools, "", {}};
    r.kind = "HEXAGON";
    for (const auto& c : meta.contexts) r.socs += (r.socs.empty() ? "" : ",") + c.soc;
    for (const auto& [name, bytes] : sink.files) r.files.push_back(sdk::record_bytes(name, bytes));
    return r;
  }
  void seal() { sink.compat = record().write(); }
  /// Of the device.
  void soc(const char* name) {
    attribute = seam::option("soc", name);
    device.attrs = &attribute, device.attr_count = 1;
  }
  snpe_plugin::Record verify() const {
    const seam::Artifact artifact(sink, nullptr);
    return snpe_plugin::verify(sdk::Artifact(&artifact.raw), sdk::Device(&device));
  }
  snpe_plugin::Meta read_meta(const snpe_plugin::Record& record) const {
    const seam::Artifact artifact(sink, nullptr);
    return snpe_plugin::read_meta(sdk::Artifact(&artifact.raw), record);
  }
};

}  // namespace optima::test
